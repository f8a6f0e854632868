//! Cloned repositories whose files are traps: ignore files, links, pipes, devices, gitfiles.
