//! Reads scripts, of either engine.
//!
//! Owns the sentence that says what is wrong in one, and where. Never knows a word of them: those are in the `script` of each.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::Value;

/// Most rounds of one `repeat`: a million lines already take a while to read.
pub(super) const MOST_ROUNDS: u64 = 1_000_000;

/// Reads a script or a part of one.
///
/// # Errors
/// One sentence that names the path and the reason.
pub(super) fn read<T: DeserializeOwned>(script: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(script).map_err(|error| match error.path().to_string().as_str() {
        "." => format!("The script cannot be read: {}.", error.inner()),
        path => format!("`{path}` of the script cannot be read: {}.", error.inner()),
    })
}

/// A member that may be `null`, for `deserialize_with`: left out, it is `None`.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A number up to `MOST`, for `deserialize_with`.
pub(super) fn at_most<'de, const MOST: u64, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        number if number > MOST => Err(D::Error::custom(format_args!("{number} is more than {MOST}"))),
        number => Ok(Some(number)),
    }
}

/// What a step is, of the readings of its words.
///
/// # Errors
/// When it has no word, or more than one.
pub(super) fn only<T>(words: impl IntoIterator<Item = Option<T>>) -> Result<T, &'static str> {
    let mut words = words.into_iter().flatten();
    match (words.next(), words.next()) {
        (Some(step), None) => Ok(step),
        (None, _) => Err("this step says nothing that happens"),
        (Some(_), Some(_)) => Err("this step says two things that happen; write one after the other"),
    }
}
