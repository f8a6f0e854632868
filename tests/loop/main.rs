//! The loop against a real journal and ports that remember: order, durability, approvals, the queue, a stalled outbox, a
//! full disk. Everything that needs the wire itself is in `tests/e2e`.

mod approvals;
mod delivery;
mod desk;
mod disk;
mod journal;
mod late;
mod prompts;
mod recovery;
mod redaction;
