//! The embedded agent: turn loop, tools, models, retrieval.
//!
//! Owns what happens inside one turn. Never knows the editor or the loop: it speaks through `ports`.

pub(crate) mod budget;
mod compaction;
#[cfg(test)]
pub(crate) mod fake_model;
#[cfg(test)]
pub(crate) mod fake_port;
mod go_on;
pub(crate) mod index;
mod instructions;
pub(crate) mod models;
pub(crate) mod pictures;
pub(crate) mod planner;
pub(crate) mod ports;
pub(crate) mod proposal;
mod question;
mod recall;
mod reply;
pub(crate) mod request;
pub(crate) mod retrieval;
mod rules;
pub(crate) mod tools;
pub(crate) mod turn;
pub(crate) mod turn_output;
pub(crate) mod wished_file;
mod written_files;

#[cfg(test)]
mod planner_tests;
#[cfg(test)]
mod turn_tests;

/// `1 place`, `2 places`.
fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
