//! Where an event has the text of which it is a piece: for who must see a text across its pieces, and change one.
//!
//! Owns reading and writing there, without building the payload. Never knows a field: the dialects say where.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::domain::event::EngineEvent;

/// Where the text of a piece stands, and what tells its text from others of the same type.
#[derive(Debug)]
pub struct Slot {
    /// The names that lead to it, for each of the ways in which it is written; the first that holds text is it.
    pub(super) paths: &'static [&'static [&'static str]],
    /// The fields in which two pieces of one text are alike.
    pub(super) alike: &'static [&'static str],
}

impl Slot {
    /// The text of the piece; `None` when there is none.
    pub fn read(&self, event: &EngineEvent) -> Option<String> {
        self.paths.iter().find_map(|path| read(event, path))
    }

    /// Gives the piece another text.
    pub fn write(&self, event: &mut EngineEvent, text: String) {
        let Some(path) = self.paths.iter().find(|path| read(event, path).is_some()) else { return };
        let Some((first, rest)) = path.split_first() else { return };
        let mut at = event.payload.get_mut(*first);
        for name in rest {
            at = at.and_then(|value| value.get_mut(*name));
        }
        if let Some(value) = at {
            *value = Value::String(text);
        }
    }

    /// Whether one piece goes on where the other ended; both are of the type of this slot.
    pub fn continues(&self, one: &EngineEvent, other: &EngineEvent) -> bool {
        one.kind == other.kind
            && self.alike.iter().all(|name| one.payload.get(*name) == other.payload.get(*name))
    }
}

fn read(event: &EngineEvent, path: &[&str]) -> Option<String> {
    if let Some(raw) = event.payload.raw() {
        return SlotPlace(path)
            .deserialize(&mut serde_json::Deserializer::from_str(raw))
            .ok()
            .map(Cow::into_owned);
    }
    let (first, rest) = path.split_first()?;
    let found = rest.iter().try_fold(event.payload.get(*first)?, |value, name| value.get(*name))?;
    found.as_str().map(str::to_owned)
}

/// The text at the end of a path of names; an error where there is none.
struct SlotPlace<'p>(&'p [&'p str]);

impl<'de> DeserializeSeed<'de> for SlotPlace<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            deserializer.deserialize_str(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for SlotPlace<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text at the end of its path")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (first, rest) = self.0.split_first().ok_or_else(|| A::Error::custom("no text"))?;
        let mut found = None;
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            if name == *first {
                // Of two fields with one name the last one counts, as in the map.
                found = Some(map.next_value_seed(SlotPlace(rest))?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| A::Error::custom("no text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::payload::Payload;

    const SLOT: Slot = Slot { paths: &[&["a", "t"], &["b"]], alike: &["id"] };

    fn event(payload: &str) -> EngineEvent {
        EngineEvent {
            id: String::new(),
            kind: "k".to_owned(),
            turn: None,
            ts: None,
            payload: serde_json::from_str::<Payload>(payload).unwrap(),
            repaired: false,
        }
    }

    #[test]
    fn a_text_is_found_in_the_raw_payload_and_in_a_built_one_alike() {
        for (payload, text) in [
            (r#"{"x":[1,{"t":2}],"a":{"n":null,"t":"in\nside"}}"#, Some("in\nside")),
            (r#"{"b":"beside","a":{"t":7}}"#, Some("beside")),
            (r#"{"b":"one","b":"two"}"#, Some("two")),
            (r#"{"a":["t"],"b":null}"#, None),
            ("{}", None),
        ] {
            let mut event = event(payload);
            assert_eq!(SLOT.read(&event).as_deref(), text, "{payload}");
            event.payload.insert("built".to_owned(), Value::Null);
            assert_eq!(SLOT.read(&event).as_deref(), text, "{payload}");
        }
    }

    #[test]
    fn a_text_is_replaced_where_it_stands_and_nothing_else_is() {
        let mut piece = event(r#"{"b":"beside","a":{"t":7}}"#);
        SLOT.write(&mut piece, "new".to_owned());
        assert_eq!(serde_json::to_string(&piece.payload).unwrap(), r#"{"b":"new","a":{"t":7}}"#);
        let mut other = event(r#"{"c":1}"#);
        SLOT.write(&mut other, "new".to_owned());
        assert_eq!(serde_json::to_string(&other.payload).unwrap(), r#"{"c":1}"#);
    }

    #[test]
    fn pieces_of_two_ids_are_of_two_texts() {
        let (one, two, none) = (event(r#"{"id":1}"#), event(r#"{"id":2}"#), event("{}"));
        assert!(SLOT.continues(&one, &one) && SLOT.continues(&none, &none));
        assert!(!SLOT.continues(&one, &two) && !SLOT.continues(&one, &none));
    }
}
