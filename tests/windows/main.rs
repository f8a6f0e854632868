//! Windows of one user on one workspace: real processes over the real wire, opened, closed, killed and started again.
//!
//! `lease` has the stories of two windows, `runs` the seeded ones. `BREADBOARD_WINDOW_RUNS` is how many seeds of two windows run
//! (6) and of twenty (1), `BREADBOARD_WINDOW_FROM` the first seed (1). A seed fixes what is done; it does not fix which of two
//! processes is faster, so a failure that hangs on timing may need some tries.

#[path = "../e2e/harness/mod.rs"]
mod harness;
mod lease;
mod model;
mod runs;
