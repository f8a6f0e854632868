//! The token of a desktop host: made once, kept in a file that only its owner can read, compared without telling how far it fits.
//!
//! Owns the file and the comparison. The token itself is never said: who may read the file has it.

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::platform::private;

/// Random bytes of a token; nobody guesses 256 bits.
const BYTES: usize = 32;

/// Shortest token that is taken from a file: what a person types by hand is guessed.
const SHORTEST: usize = 20;

/// A token, by its hash alone.
#[derive(Clone, Copy)]
pub(crate) struct HostToken {
    digest: [u8; 32],
}

impl HostToken {
    /// Of this text.
    pub(crate) fn of(text: &str) -> Self {
        Self { digest: Sha256::digest(text.as_bytes()).into() }
    }

    /// Whether this is the token. Both are hashed first and every byte is looked at, so that the time says nothing.
    pub(crate) fn is(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let differing = self.digest.iter().zip(given).fold(0_u8, |sum, (ours, theirs)| sum | (ours ^ theirs));
        std::hint::black_box(differing) == 0
    }
}

impl std::fmt::Debug for HostToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostToken(…)")
    }
}

/// The token in this file, made where there is none.
///
/// # Errors
/// One sentence: the file cannot be made or read, others may read it, or it holds no token.
pub(crate) fn read_or_make(file: &Path) -> Result<String, String> {
    match std::fs::symlink_metadata(file) {
        Ok(found) => read(file, &found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(file),
        Err(error) => Err(format!("The token file {} cannot be read: {error}.", file.display())),
    }
}

fn read(file: &Path, found: &std::fs::Metadata) -> Result<String, String> {
    let named = file.display();
    if !found.is_file() {
        return Err(format!("The token file {named} is no plain file; name another one."));
    }
    let open = private::read_by_others(file)
        .map_err(|error| format!("The token file {named} cannot be looked at: {error}."))?;
    if let Some(close) = open {
        return Err(format!(
            "Other users can read the token file {named}; {close}, or delete it and get a new one."
        ));
    }
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("The token file {named} cannot be read: {error}."))?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "The token file {named} holds no token of at least {SHORTEST} characters without blanks; delete it and get a new one."
        ));
    }
    Ok(token.to_owned())
}

fn make(file: &Path) -> Result<String, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("The token file {} cannot be made: {error}.", file.display());
    let mut bytes = [0_u8; BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| failed(&"the system gives no random numbers"))?;
    let token = URL_SAFE_NO_PAD.encode(bytes);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private::create_folder(folder).map_err(|error| failed(&error))?;
    }
    let mut opened = private::create_file(file, private::new_file()).map_err(|error| failed(&error))?;
    opened
        .write_all(format!("{token}\n").as_bytes())
        .and_then(|()| opened.sync_all())
        .map_err(|error| failed(&error))?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_06_a_token_is_made_once_for_its_owner_alone_and_is_long() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("new").join("token");
        let made = read_or_make(&file).unwrap();
        assert_eq!(made.len(), 43);
        assert_eq!(read_or_make(&file).unwrap(), made);
        assert_ne!(read_or_make(&place.path().join("other")).unwrap(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(read_or_make(&file).unwrap_err().contains("chmod 600"));
        }
    }

    #[test]
    fn only_the_whole_token_fits() {
        let token = HostToken::of("a-token-of-some-length");
        assert!(token.is("a-token-of-some-length"));
        for other in ["", "a-token-of-some-lengt", "a-token-of-some-length ", "A-token-of-some-length"] {
            assert!(!token.is(other), "{other:?}");
        }
        assert_eq!(format!("{token:?}"), "HostToken(…)");
    }

    #[test]
    fn a_file_without_a_token_or_that_is_a_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let short = place.path().join("short");
        private::create_file(&short, private::new_file()).unwrap().write_all(b"abc\n").unwrap();
        #[cfg(unix)]
        {
            let link = place.path().join("link");
            std::os::unix::fs::symlink(&short, &link).unwrap();
            assert!(read_or_make(&link).unwrap_err().contains("no plain file"));
        }
        assert!(read_or_make(&short).unwrap_err().contains("no token"));
    }
}
