//! What the wiring gets from the command line: whom to serve, and how.
//!
//! Owns the shapes, and how an address to listen on may be written. The other words are `args`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::protocol::settings::Overrides;

/// Where clients look for a host that nobody told them of.
const PORT: u16 = 3199;

/// An address to listen on: with its port, or one of the two alone; `localhost` is this machine.
///
/// # Errors
/// One sentence: it is none.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let address = |text: &str| if text == "localhost" { Some(here) } else { text.parse().ok() };
    let parted = text.rsplit_once(':').filter(|(name, _)| *name == "localhost");
    let parted = parted.and_then(|(_, port)| Some(SocketAddr::new(here, port.parse().ok()?)));
    let port = || text.parse().ok().map(|port| SocketAddr::new(here, port));
    let alone = || address(text).map(|address| SocketAddr::new(address, PORT));
    text.parse().ok().or(parted).or_else(port).or_else(alone).ok_or_else(|| {
        "this is no address and port of this machine; give both, as 127.0.0.1:3199, or a port alone"
            .to_owned()
    })
}

/// What the wiring of the desktop host gets from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopOptions {
    /// The address.
    pub listen: SocketAddr,
    /// The folders.
    pub workspaces: Vec<PathBuf>,
    /// The file of the token; the default without.
    pub token_file: Option<PathBuf>,
    /// Certificate chain and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Further names that the host answers to.
    pub names: Vec<String>,
    /// Whether a pairing code is shown where nobody sits at a terminal, too.
    pub pair: bool,
}

/// What the serving room gets from the command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServeOptions {
    /// The strongest layer of the settings.
    pub overrides: Overrides,
    /// Whom it serves.
    pub serving: Serving,
}

/// Whom a server serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Serving {
    /// One editor on stdin and stdout.
    #[default]
    Stdio,
    /// A client of the Agent Client Protocol on stdin and stdout.
    AgentClient,
    /// Clients over HTTP and WebSocket.
    Desktop(DesktopOptions),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_on_is_read_as_people_write_it() {
        let said = |text: &str| listen_address(text).map(|address| address.to_string()).ok();
        for (text, wanted) in [
            ("127.0.0.1:3200", "127.0.0.1:3200"),
            ("localhost:0", "127.0.0.1:0"),
            ("3200", "127.0.0.1:3200"),
            ("localhost", "127.0.0.1:3199"),
            (" 192.168.1.5 ", "192.168.1.5:3199"),
            ("[::1]:3200", "[::1]:3200"),
            ("::1", "[::1]:3199"),
        ] {
            assert_eq!(said(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", ":3200", "example.com:80", "localhost:x", "127.0.0.1:70000", "http://127.0.0.1:3199"]
        {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
