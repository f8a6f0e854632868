//! Looking into a model's JSON without building it.
//!
//! Owns a view that borrows: a value is its text until a field, a string or a number of it is wanted. What has another type
//! than expected is absent, because providers add and change fields; nothing is sized by what a provider says. Each look
//! reads the text of its value once, without recursion.

use std::borrow::Cow;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounds;
use super::fault::ModelFault;
use crate::domain::wire::lenient_json;

/// Any JSON value, as its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Json<'a>(&'a RawValue);

/// The text of an event as strict JSON: as it came, or repaired where it holds what Python writes (`NaN`, halves of
/// surrogate pairs) or broken UTF-8.
///
/// # Errors
/// When it is no JSON, or nested deeper than anything a provider sends.
pub(super) fn strict(data: &[u8]) -> Result<Cow<'_, str>, ModelFault> {
    if let Ok(text) = std::str::from_utf8(data)
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
        && lenient_json::is_strict(text)
    {
        return Ok(Cow::Borrowed(text));
    }
    if data.len() > bounds::REPAIRED_BYTES {
        return Err(ModelFault::Unreadable);
    }
    lenient_json::repair(data).map(Cow::Owned).ok_or(ModelFault::Unreadable)
}

impl<'a> Json<'a> {
    /// The value of a text.
    pub(super) fn of(text: &'a str) -> Result<Self, ModelFault> {
        serde_json::from_str(text).map(Self).map_err(|_| ModelFault::Unreadable)
    }

    /// Its text.
    pub(super) fn raw(self) -> &'a str {
        self.0.get()
    }

    /// These fields of an object, in this order; of a double one the last. Absent, `null` and fields of no object are `None`.
    pub(super) fn fields<const N: usize>(self, names: [&str; N]) -> [Option<Self>; N] {
        let found = serde_json::Deserializer::from_str(self.0.get()).deserialize_map(Pick(&names));
        found.unwrap_or([None; N]).map(|raw| raw.map(Self).filter(|value| value.raw() != "null"))
    }

    /// One field.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        let [value] = self.fields([name]);
        value
    }

    /// A string.
    pub(super) fn text(self) -> Option<String> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// A number that counts something. Negative, broken, huge and other values are none.
    pub(super) fn count(self) -> Option<u64> {
        self.0.get().parse().ok()
    }

    /// Whether it is `true`.
    pub(super) fn is_true(self) -> bool {
        self.0.get() == "true"
    }

    /// Whether it is an object.
    pub(super) fn is_object(self) -> bool {
        self.0.get().starts_with('{')
    }

    /// The items of an array, none for any other value. `None` where there are more than `most`, of which none is kept.
    pub(super) fn items(self, most: usize) -> Option<Vec<Self>> {
        if !self.0.get().starts_with('[') {
            return Some(Vec::new());
        }
        let items = serde_json::Deserializer::from_str(self.0.get()).deserialize_seq(Items { most });
        items.ok().flatten().map(|items| items.into_iter().map(Self).collect())
    }
}

/// The arguments of a call: `null` where there are none, a string where they are no JSON.
///
/// # Errors
/// When they hold more values than [`bounds::ARGUMENT_VALUES`].
pub(super) fn arguments(text: &str) -> Result<Value, ModelFault> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    if values_in(text) > bounds::ARGUMENT_VALUES {
        return Err(ModelFault::ArgumentValues);
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

/// At least how many values a JSON text holds: those that are separated outside of its strings.
fn values_in(text: &str) -> usize {
    let mut count = 1;
    let mut within = false;
    let mut escaped = false;
    for byte in text.bytes() {
        match (within, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => within = !within,
            (false, b',' | b':' | b'[' | b'{') => count += 1,
            (true | false, _) => {}
        }
    }
    count
}

struct Pick<'n, const N: usize>(&'n [&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Pick<'_, N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = map.next_key_seed(NameIndex(self.0))? {
            match place.and_then(|place| found.get_mut(place)) {
                Some(slot) => *slot = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Which of the names a key is.
struct NameIndex<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for NameIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameIndex<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

struct Items {
    most: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = Option<Vec<&'de RawValue>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            if items.len() >= self.most {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
            items.push(item);
        }
        Ok(Some(items))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_another_type_than_expected_is_absent() {
        let text = r#"{ "a": 1, "b": null, "c": "x", "a": 2, "d": -1, "e": 1.5, "f": 1e999, "g": 99999999999999999999 }"#;
        let [a, b, c, d, e, f, g, h] =
            Json::of(text).unwrap().fields(["a", "b", "c", "d", "e", "f", "g", "h"]);
        assert_eq!(a.and_then(Json::count), Some(2));
        assert!(b.is_none() && h.is_none());
        assert_eq!(c.and_then(Json::text).as_deref(), Some("x"));
        for number in [c, d, e, f, g] {
            assert_eq!(number.unwrap().count(), None);
        }
        assert!(Json::of("[1]").unwrap().field("a").is_none());
        assert_eq!(Json::of("{}").unwrap().items(3).map(|items| items.len()), Some(0));
    }

    #[test]
    fn an_array_with_too_many_items_is_refused_and_not_kept() {
        let text = format!("[{}1]", "1,".repeat(1_000_000));
        assert!(Json::of(&text).unwrap().items(128).is_none());
        assert_eq!(Json::of("[1,2]").unwrap().items(2).map(|items| items.len()), Some(2));
    }

    #[test]
    fn arguments_are_counted_before_they_are_built() {
        assert_eq!(arguments(" ").ok(), Some(Value::Null));
        assert_eq!(arguments(r#"{"a":["b,c:[{"]}"#).ok(), Some(json!({ "a": ["b,c:[{"] })));
        assert_eq!(arguments("{no").ok(), Some(json!("{no")));
        let commas = format!(r#"{{"a":"{}\",,"}}"#, ",".repeat(200_000));
        assert!(arguments(&commas).is_ok());
        let many = format!("[{}0]", "0,".repeat(bounds::ARGUMENT_VALUES));
        assert_eq!(arguments(&many), Err(ModelFault::ArgumentValues));
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(arguments(&deep), Ok(Value::String(deep.clone())));
    }

    #[test]
    fn an_event_that_is_not_quite_json_is_repaired_and_a_deep_one_is_none() {
        assert_eq!(strict(b"{\"a\":NaN}").unwrap(), "{\"a\":null}");
        assert_eq!(strict(b"{\"a\":\"\\ud83d\"}").unwrap(), "{\"a\":\"\\ufffd\"}");
        assert!(matches!(strict(b"{\"a\":1}"), Ok(Cow::Borrowed(_))));
        let deep = "[".repeat(1 << 20);
        for broken in ["", "{", "data", deep.as_str()] {
            assert_eq!(strict(broken.as_bytes()), Err(ModelFault::Unreadable));
        }
    }
}
