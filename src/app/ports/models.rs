//! The port of the endpoints of models, before one is chosen.

use super::Secret;
use crate::app::inbox::Reply;
use crate::protocol::request::{ModelProvider, ModelsCheckResult};

/// An endpoint that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEndpoint {
    /// Whose protocol it speaks.
    pub provider: String,
    /// The model that is to be there.
    pub name: Option<String>,
    /// Base URL; `None` for the provider's own.
    pub url: Option<String>,
    /// The key that goes along, and is not kept.
    pub token: Option<Secret>,
}

/// Asks endpoints what they have, whichever engine is in use.
pub trait ModelEndpoints: Send {
    /// Whose models can be used.
    fn providers(&self) -> Vec<ModelProvider>;
    /// Asks this one; never blocks.
    fn check(&self, endpoint: ModelEndpoint, reply: Reply<ModelsCheckResult>);
}
