//! Secrets of settings and environments in whatever leaves the server or is stored.
