//! The contract as the program carries it: the files of `schemas/`, packed by `build.rs`.
//!
//! Owns unpacking them. Never makes one: `protocol::schema` does, in the tests that keep `schemas/` true. What makes them would
//! weigh fifteen times as much as they do.

use std::collections::BTreeMap;

use serde_json::Value;

/// One file behind the other, each as its name, a line end, its text and a byte of zero; deflated.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.packed"));

/// More than all of them; what is longer is not ours.
const LONGEST: usize = 8 << 20;

/// The text of every schema, by its name below `schemas/`.
pub(crate) fn schemas() -> BTreeMap<String, String> {
    let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(PACKED, LONGEST).unwrap_or_default();
    let text = String::from_utf8(unpacked).unwrap_or_default();
    let files = text.split('\0').filter_map(|file| file.split_once('\n'));
    files.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The OpenAPI document of a desktop host.
pub(crate) fn openapi() -> Value {
    let schemas = schemas();
    let document = schemas.get("desktop/host/openapi.json").and_then(|text| serde_json::from_str(text).ok());
    document.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{desktop, schema};

    #[test]
    fn what_is_packed_is_what_the_code_says() {
        let made: BTreeMap<String, String> = schema::files()
            .into_iter()
            .map(|(name, file)| (name, serde_json::to_string_pretty(&file).expect("is JSON") + "\n"))
            .collect();
        assert_eq!(schemas(), made);
        assert_eq!(openapi(), desktop::openapi::document());
    }
}
