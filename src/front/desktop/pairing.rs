//! Pairing: a short code from the host's terminal, traded once for the token.
//!
//! Owns the code that is open, when it is over, and how often it may be guessed. Nobody is told whether a code was wrong, old or used.
//! The token is kept here, since the gate has its hash alone.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::rate::RateLimit;
use super::token::HostToken;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};

/// Letters of a code: none that is read as another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Letters of a code: 40 bits, against a handful of guesses.
const LENGTH: usize = 8;

/// How long a code may be used.
const LIFE: Duration = Duration::from_secs(600);

/// Wrong codes after which the one that is open is void: a person mistypes once or twice.
const GUESSES: u32 = 5;

/// Tries at once and a second, of all callers together.
const TRIES: (u32, u32) = (5, 1);

/// See the module.
pub(crate) struct PairingDesk {
    token: String,
    open: Mutex<Option<OpenCode>>,
    tries: RateLimit,
    /// Tells the person at the terminal that a code was used.
    tell: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct OpenCode {
    code: HostToken,
    until: Instant,
    guesses: u32,
}

impl PairingDesk {
    /// For this token; no code is open.
    pub(crate) fn of(token: &str) -> Self {
        let tries = RateLimit::new(TRIES.0, TRIES.1);
        Self { token: token.to_owned(), open: Mutex::default(), tries, tell: OnceLock::new() }
    }

    /// Calls this whenever the token was given away for a code. What was set first stays.
    pub(crate) fn when_used(&self, tell: impl Fn() + Send + Sync + 'static) {
        let _ = self.tell.set(Box::new(tell));
    }

    /// A new code in place of the one that was open, for a person to type.
    ///
    /// # Errors
    /// One sentence when the system gives no random numbers.
    pub(crate) fn open(&self) -> Result<String, String> {
        let mut bytes = [0_u8; LENGTH];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random
            .fill(&mut bytes)
            .map_err(|_| "There is no pairing code: the system gives no random numbers.")?;
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
        let code: String = bytes.iter().map(letter).collect();
        let open = OpenCode { code: HostToken::of(&code), until: Instant::now() + LIFE, guesses: 0 };
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        let (first, second) = code.split_at(LENGTH / 2);
        Ok(format!("{first}-{second}"))
    }

    /// The token for the code that is open, which is then used up.
    ///
    /// # Errors
    /// When there were too many tries, or it is not that code.
    pub(super) fn trade(&self, given: &str) -> Result<String, DesktopRefusal> {
        self.trade_at(given, Instant::now())
    }

    fn trade_at(&self, given: &str, now: Instant) -> Result<String, DesktopRefusal> {
        if !self.tries.take() {
            return Err(DesktopRefusal::new(
                RefusalCode::RateLimited,
                "Too many codes were tried; wait a few seconds and type it again.",
            ));
        }
        let given: String = given
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(2 * LENGTH)
            .collect::<String>()
            .to_uppercase();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = open.as_mut().is_some_and(|open| {
            open.guesses += 1;
            open.until > now && open.guesses <= GUESSES && open.code.is(&given)
        });
        open.take_if(|open| fits || open.guesses >= GUESSES || open.until <= now);
        drop(open);
        if fits {
            if let Some(tell) = self.tell.get() {
                tell();
            }
            return Ok(self.token.clone());
        }
        Err(DesktopRefusal::new(
            RefusalCode::Unauthorized,
            "This is not the pairing code that is open; take the newest one in the terminal of the host, or have it show another.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn desk() -> (PairingDesk, String) {
        let desk = PairingDesk::of("the-token");
        let code = desk.open().unwrap();
        (desk, code)
    }

    #[test]
    fn a_code_is_traded_once_however_it_is_typed_and_another_takes_its_place() {
        let (desk, code) = desk();
        assert_eq!(code.len(), LENGTH + 1);
        let told = Arc::<AtomicU32>::default();
        let count = Arc::clone(&told);
        desk.when_used(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let typed = code.to_lowercase().replace('-', " ");
        assert_eq!(desk.trade(&typed).ok().as_deref(), Some("the-token"));
        assert_eq!(desk.trade(&code).unwrap_err().code, RefusalCode::Unauthorized);
        let (older, newer) = (desk.open().unwrap(), desk.open().unwrap());
        assert!(desk.trade(&older).is_err());
        assert!(desk.trade(&newer).is_ok());
        // And the person who showed the code hears of each.
        assert_eq!(told.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_code_is_over_with_its_time_or_after_five_wrong_ones_and_tries_are_bounded() {
        let (desk, code) = desk();
        assert!(desk.trade_at(&code, Instant::now() + LIFE).is_err());
        assert!(desk.trade(&code).is_err());
        let (desk, code) = self::desk();
        for _ in 0..GUESSES {
            assert_eq!(desk.trade("").unwrap_err().code, RefusalCode::Unauthorized);
        }
        assert_eq!(desk.trade(&code).unwrap_err().code, RefusalCode::RateLimited);
        let open = desk.open.lock().unwrap();
        assert!(open.is_none());
    }
}
