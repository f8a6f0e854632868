//! Faults on demand, for the tests on the real binary; not in release builds.
//!
//! `BREADBOARD_LS_FAULT=panic:<method>` makes that handler panic, `slow:<method>` makes it wait until it is cancelled.

/// What the environment asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault {
    panics: Option<String>,
    waits: Option<String>,
}

impl Fault {
    /// Reads the environment.
    pub(super) fn from_env() -> Self {
        let mut fault = Self::default();
        for wish in std::env::var("BREADBOARD_LS_FAULT").unwrap_or_default().split(',') {
            match wish.split_once(':') {
                Some(("panic", method)) => fault.panics = Some(method.to_owned()),
                Some(("slow", method)) => fault.waits = Some(method.to_owned()),
                _ => {}
            }
        }
        fault
    }

    /// A fault for tests in process.
    #[cfg(test)]
    pub(crate) fn of(panics: Option<&str>, waits: Option<&str>) -> Self {
        Self { panics: panics.map(str::to_owned), waits: waits.map(str::to_owned) }
    }

    /// Panics when it was asked to.
    pub(super) fn strike(&self, method: &str) {
        assert!(self.panics.as_deref() != Some(method), "BREADBOARD_LS_FAULT asked for this panic");
    }

    /// Whether this method is to wait until it is cancelled.
    pub(super) fn waits(&self, method: &str) -> bool {
        self.waits.as_deref() == Some(method)
    }
}
