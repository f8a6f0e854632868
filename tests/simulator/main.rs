//! The simulated engines, driven over their wires: each quirk of an engine is a row here.

mod acp;
mod cli;
mod commands;
mod connect;
mod desk;
mod errors;
mod faults;
mod files;
mod inputs;
mod permissions;
mod pr40;
mod schemas;
mod scripts;
