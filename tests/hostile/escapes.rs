//! Paths, links and names that try to reach outside the workspace through every method that takes one.
