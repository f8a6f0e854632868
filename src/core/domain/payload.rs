//! The payload of an event: a JSON object, as the engine wrote it or as it was built here.
//!
//! Owns the choice between the two. An engine's text is stored and sent as it came, and becomes a map only when somebody
//! looks inside: nineteen of twenty bytes of a BreadBoard stream are never looked into. Never changes what it holds but
//! by `DerefMut`.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::strict_json::Object;

/// A JSON object. Reads like a `Map`; a text that came from an engine is parsed at the first such read. Small, since an event
/// changes hands a dozen times on its way.
#[derive(Clone, Default)]
pub struct Payload {
    /// The object's own text, while nothing was changed in it.
    raw: Option<Box<str>>,
    /// That text as a map, once somebody looked.
    parsed: OnceCell<Box<Map<String, Value>>>,
    /// What there is instead of a text.
    own: Option<Box<Map<String, Value>>>,
}

impl Payload {
    /// The text of an object, kept as it is. `None` when it is JSON of another kind.
    pub fn from_raw(raw: Box<RawValue>) -> Option<Self> {
        let object = raw.get().trim_start().starts_with('{');
        object.then(|| Self { raw: Some(raw.into()), ..Self::default() })
    }

    /// The text of an object that was walked already.
    pub(crate) fn from_object(object: Object<'_>) -> Self {
        Self { raw: Some(object.text().into()), ..Self::default() }
    }

    /// The text, where it still stands as it came.
    pub fn raw(&self) -> Option<&str> {
        self.raw.as_deref()
    }

    /// Reads fields into a type without building the map. `None` when they do not fit it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        match &self.raw {
            Some(raw) => serde_json::from_str(raw).ok(),
            None => T::deserialize(&**self).ok(),
        }
    }

    /// As JSON text on one line.
    pub fn to_text(&self) -> String {
        match &self.raw {
            Some(raw) if memchr::memchr(b'\n', raw.as_bytes()).is_none() => raw.to_string(),
            // A map holds strings, numbers, lists and maps only, which always serialise.
            _ => serde_json::to_string(&**self).unwrap_or_default(),
        }
    }

    /// Bytes of its text; for a map made here, about.
    pub fn bytes(&self) -> usize {
        self.raw.as_ref().map_or_else(|| self.to_text().len(), |raw| raw.len())
    }
}

impl Payload {
    /// The text as a map; empty where there is none.
    fn parse(raw: Option<&str>) -> Box<Map<String, Value>> {
        Box::new(raw.map(parse).unwrap_or_default())
    }
}

impl Deref for Payload {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        match &self.own {
            Some(own) => own,
            None => self.parsed.get_or_init(|| Self::parse(self.raw.as_deref())),
        }
    }
}

impl DerefMut for Payload {
    fn deref_mut(&mut self) -> &mut Self::Target {
        let (raw, parsed) = (self.raw.take(), self.parsed.take());
        self.own.get_or_insert_with(|| parsed.unwrap_or_else(|| Self::parse(raw.as_deref())))
    }
}

/// What `from_raw` took is an object; one that is nested too deeply to be built reads as empty.
fn parse(raw: &str) -> Map<String, Value> {
    serde_json::from_str(raw).unwrap_or_default()
}

impl From<Map<String, Value>> for Payload {
    fn from(own: Map<String, Value>) -> Self {
        Self { own: Some(Box::new(own)), ..Self::default() }
    }
}

impl From<Payload> for Map<String, Value> {
    fn from(mut payload: Payload) -> Self {
        std::mem::take(&mut *payload)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.raw {
            // Only a `RawValue` is written as it is, and it looks at the text once more; an event's own text does not
            // (`SessionEvent::to_json`).
            Some(raw) => match serde_json::from_str::<&RawValue>(raw) {
                Ok(raw) => raw.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
            None => (**self).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(raw).ok_or_else(|| serde::de::Error::custom("a payload is a JSON object"))
    }
}

impl JsonSchema for Payload {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Payload".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Map::<String, Value>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r000_50_a_payload_leaves_as_the_very_text_that_came() {
        let text = r#"{"b":1.50,"a":"\u00e9","b":2}"#;
        let payload: Payload = serde_json::from_str(text).unwrap();
        assert_eq!(payload.get("a"), Some(&json!("é")));
        assert_eq!(serde_json::to_string(&payload).unwrap(), text);
    }

    #[test]
    fn a_change_makes_it_a_map_and_only_then_the_text_is_another() {
        let mut payload: Payload = serde_json::from_str(r#"{ "a": 1 }"#).unwrap();
        payload.insert("b".to_owned(), json!(2));
        assert_eq!(payload, Payload::from(json!({"a": 1, "b": 2}).as_object().cloned().unwrap()));
        assert_eq!(serde_json::to_string(&payload).unwrap(), r#"{"a":1,"b":2}"#);
        assert_eq!(payload.raw(), None);
    }

    #[test]
    fn fields_are_read_from_text_and_from_a_map_alike() {
        #[derive(Deserialize, PartialEq, Debug)]
        struct Delta {
            delta: String,
        }
        let text: Payload = serde_json::from_str(r#"{"delta":"x","more":1}"#).unwrap();
        let map = Payload::from(json!({"delta": "x", "more": 1}).as_object().cloned().unwrap());
        assert_eq!(text.read::<Delta>(), Some(Delta { delta: "x".to_owned() }));
        assert_eq!(map.read::<Delta>(), text.read::<Delta>());
        assert_eq!(Payload::default().read::<Delta>(), None);
    }

    #[test]
    fn what_is_no_object_is_no_payload() {
        for other in ["[]", "1", "null", "\"{\""] {
            assert!(serde_json::from_str::<Payload>(other).is_err(), "{other}");
        }
    }
}
