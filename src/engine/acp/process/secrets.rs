//! Secrets that stand in no log of an agent, those too that become known while it runs.
//!
//! Owns the one set of them for all agents. Cloning shares it.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::domain::policy::redact::Redactor;

/// What is replaced in everything that is written from now on.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Arc<RwLock<Redactor>>);

impl Secrets {
    /// Hides one more.
    pub fn add(&self, secret: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).add(secret);
    }

    /// Those that are known now.
    pub(super) fn known(&self) -> RwLockReadGuard<'_, Redactor> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Redactor> for Secrets {
    fn from(known: Redactor) -> Self {
        Self(Arc::new(RwLock::new(known)))
    }
}
