//! JSON as a reference: what a parser that builds everything says of a text.

use breadboard_core::domain::wire::lenient_json::MAX_DEPTH;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The value of a text that every strict parser reads, within the depth that counts.
pub fn strict(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|value| depth(value) <= MAX_DEPTH)
}

/// Levels of arrays and objects.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Whether the text is an object that has a name twice, of which each reader may take another.
pub fn has_a_name_twice(text: &str) -> bool {
    struct Names(Vec<String>);
    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Reader;
            impl<'de> Visitor<'de> for Reader {
                type Value = Names;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                    let mut names = Vec::new();
                    while let Some((name, IgnoredAny)) = map.next_entry()? {
                        names.push(name);
                    }
                    Ok(Names(names))
                }
            }
            deserializer.deserialize_map(Reader)
        }
    }
    let Ok(Names(mut names)) = serde_json::from_str(text) else { return false };
    let all = names.len();
    names.sort();
    names.dedup();
    names.len() < all
}
