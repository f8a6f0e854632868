//! The version of the wire.

/// Version of the `bb/*` surface: `v` everywhere. Additive changes keep it; a breaking change raises it (seed 000).
pub const WIRE_VERSION: u8 = 1;

/// Name of this server in `serverInfo` and `bb/init`.
pub const SERVER_NAME: &str = "breadboard-ls";

/// Version of this server.
pub const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");
