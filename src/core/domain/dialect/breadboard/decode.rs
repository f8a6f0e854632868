//! The BreadBoard dialect: one `data` of its event stream becomes one `EngineEvent`.
//!
//! Owns the envelope. Total: any bytes become an event, and what cannot be read is kept raw. The payload is checked and
//! copied as text, never built. Never a class (that is `normalize`), never a cursor (that is the engine edge's).

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::domain::event::EngineEvent;
use crate::domain::payload::Payload;
use crate::domain::wire::lenient_json::{is_strict, repair};
use crate::domain::wire::sse::SseFrame;
use crate::domain::wire::strict_json::{Object, Walk};

/// The type of what could not be read (wire.md section 3).
const UNKNOWN: &str = "unknown";

/// One event of the stream. What only some callers ask for is borrowed from the frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<'a> {
    /// The event. Its `id` is the `id:` line of this very frame, or `""` where it had none.
    pub event: EngineEvent,
    /// The engine's number of the event: per session from 1, without holes. `None` where the envelope has no integer:
    /// then the event is in no log, and its id must never become a resume cursor.
    pub seq: Option<u64>,
    /// `id` of the envelope, the same at every replay.
    pub envelope_id: Option<Cow<'a, str>>,
    /// The session that the envelope names.
    pub session_id: Option<Cow<'a, str>>,
    /// Newer engines only: the cursor of an event that is in the log. A scalar that is no string is given as its text.
    pub stable_cursor: Option<Cow<'a, str>>,
    /// Newer engines only: the input that this belongs to.
    pub input_id: Option<Cow<'a, str>>,
    /// Newer engines only: the turn that this belongs to.
    pub turn_id: Option<Cow<'a, str>>,
}

impl Decoded<'_> {
    /// The same, without the text that it was read from.
    fn into_owned(self) -> Decoded<'static> {
        let owned = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Decoded {
            event: self.event,
            seq: self.seq,
            envelope_id: owned(self.envelope_id),
            session_id: owned(self.session_id),
            stable_cursor: owned(self.stable_cursor),
            input_id: owned(self.input_id),
            turn_id: owned(self.turn_id),
        }
    }
}

/// Reads one frame.
pub fn decode<'a>(frame: &SseFrame<'a>) -> Decoded<'a> {
    let id = frame.own_id.unwrap_or_default();
    let text = str::from_utf8(frame.data).ok();
    if let Some(decoded) = text.and_then(|text| PlainField::decoded(id, text)) {
        return decoded;
    }
    let fields = text.and_then(FrameFields::read);
    if let (Some(text), Some(fields)) = (text, &fields)
        && fields.are_strict()
    {
        return fields.decoded(id, text, false);
    }
    let repaired = repair(frame.data);
    if let Some(text) = &repaired
        && let Some(fields) = FrameFields::read(text)
    {
        return fields.decoded(id, text, true).into_owned();
    }
    // No JSON, no object, or nested too deeply; of the last the envelope is still good.
    let fields = fields.unwrap_or_default();
    fields.with(id, UNKNOWN.to_owned(), raw(&String::from_utf8_lossy(frame.data)), text.is_none())
}

fn raw(text: &str) -> Payload {
    let mut payload = Map::new();
    payload.insert("raw".to_owned(), Value::from(text));
    Payload::from(payload)
}

/// The envelope as the engine nearly always writes it: each field of the kind that it has, no escape in a short one, no name
/// twice. Read in one go; whatever is not like that is read field by field.
#[derive(Default)]
struct PlainField<'a> {
    id: Option<&'a str>,
    seq: Option<u64>,
    kind: Option<&'a str>,
    session_id: Option<&'a str>,
    turn: Option<u64>,
    timestamp: Option<u64>,
    timestamp_ms: Option<u64>,
    payload: Option<Object<'a>>,
    stable_cursor: Option<&'a str>,
    input_id: Option<&'a str>,
    turn_id: Option<&'a str>,
}

impl<'a> PlainField<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut plain = Self::default();
        let mut walk = Walk::new(text)?;
        if !walk.take(b'{') {
            return None;
        }
        loop {
            let name = walk.plain_string()?;
            if !walk.take(b':') {
                return None;
            }
            match name {
                "id" => string(&mut plain.id, &mut walk)?,
                "seq" => whole(&mut plain.seq, &mut walk)?,
                "type" => string(&mut plain.kind, &mut walk)?,
                "session_id" => string(&mut plain.session_id, &mut walk)?,
                "turn" => whole(&mut plain.turn, &mut walk)?,
                "timestamp" => whole(&mut plain.timestamp, &mut walk)?,
                "timestamp_ms" => whole(&mut plain.timestamp_ms, &mut walk)?,
                "payload" if plain.payload.is_none() => plain.payload = Some(walk.object()?),
                "payload" => return None,
                "stable_cursor" => string(&mut plain.stable_cursor, &mut walk)?,
                "input_id" => string(&mut plain.input_id, &mut walk)?,
                "turn_id" => string(&mut plain.turn_id, &mut walk)?,
                _ => walk.value()?,
            }
            if !walk.take(b',') {
                break;
            }
        }
        (walk.take(b'}') && walk.is_at_end()).then_some(plain)
    }

    fn decoded(own_id: &str, text: &'a str) -> Option<Decoded<'a>> {
        let plain = Self::read(text)?;
        let kind = plain.kind.filter(|kind| !kind.is_empty())?;
        Some(Decoded {
            event: EngineEvent {
                id: own_id.to_owned(),
                kind: kind.to_owned(),
                turn: plain.turn,
                ts: plain.timestamp_ms.or(plain.timestamp).and_then(|time| i64::try_from(time).ok()),
                payload: Payload::from_object(plain.payload?),
                repaired: false,
            },
            seq: plain.seq,
            envelope_id: plain.id.map(Cow::Borrowed),
            session_id: plain.session_id.map(Cow::Borrowed),
            stable_cursor: plain.stable_cursor.map(Cow::Borrowed),
            input_id: plain.input_id.map(Cow::Borrowed),
            turn_id: plain.turn_id.map(Cow::Borrowed),
        })
    }
}

/// Reads a string or `null` into a field. `None`: it is neither, or the field was there already.
fn string<'a>(field: &mut Option<&'a str>, walk: &mut Walk<'a>) -> Option<()> {
    if field.is_some() {
        return None;
    }
    if !walk.take_null() {
        *field = Some(walk.plain_string()?);
    }
    Some(())
}

/// The same for a whole number.
fn whole(field: &mut Option<u64>, walk: &mut Walk<'_>) -> Option<()> {
    if field.is_some() {
        return None;
    }
    if !walk.take_null() {
        *field = Some(walk.whole_number()?);
    }
    Some(())
}

/// The envelope, field by field as text, so that a field of another shape than expected spoils only itself. Of a name
/// that comes twice the last one counts, as it does for the engine.
#[derive(Debug, Default)]
struct FrameFields<'a> {
    id: Option<&'a RawValue>,
    seq: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    turn: Option<&'a RawValue>,
    timestamp: Option<&'a RawValue>,
    timestamp_ms: Option<&'a RawValue>,
    payload: Option<&'a RawValue>,
    stable_cursor: Option<&'a RawValue>,
    input_id: Option<&'a RawValue>,
    turn_id: Option<&'a RawValue>,
}

impl<'a> FrameFields<'a> {
    /// `None` when the text is not a JSON object by its grammar.
    fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether every strict parser can read what is kept of this envelope. Fields without a name for us are dropped, and the
    /// short ones are plain nearly always, so it is the payload that is looked through.
    fn are_strict(&self) -> bool {
        let short = [
            self.id,
            self.seq,
            self.kind,
            self.session_id,
            self.turn,
            self.timestamp,
            self.timestamp_ms,
            self.stable_cursor,
            self.input_id,
            self.turn_id,
        ];
        let plain = |field: &RawValue| {
            let text = field.get();
            let quoted = text.len() > 1 && text.starts_with('"') && memchr(b'\\', text.as_bytes()).is_none();
            quoted || (text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())) || is_strict(text)
        };
        self.payload.is_none_or(|payload| is_strict(payload.get())) && short.into_iter().flatten().all(plain)
    }

    fn decoded(&self, id: &str, text: &str, repaired: bool) -> Decoded<'a> {
        let kind = self.kind.and_then(word).filter(|kind| !kind.is_empty()).map(Cow::into_owned);
        let payload = match self.payload {
            None => Some(Payload::default()),
            Some(payload) if payload.get() == "null" => Some(Payload::default()),
            Some(payload) => Payload::from_raw(payload.to_owned()),
        };
        match (kind, payload) {
            (Some(kind), Some(payload)) => self.with(id, kind, payload, repaired),
            // Without a type or a payload it is JSON, and still nothing that we could name.
            (None, _) | (_, None) => self.with(id, UNKNOWN.to_owned(), raw(text), repaired),
        }
    }

    fn with(&self, id: &str, kind: String, payload: Payload, repaired: bool) -> Decoded<'a> {
        let ts = |field: Option<&RawValue>| field.and_then(milliseconds);
        Decoded {
            event: EngineEvent {
                id: id.to_owned(),
                kind,
                turn: self.turn.and_then(number),
                ts: ts(self.timestamp_ms).or_else(|| ts(self.timestamp)),
                payload,
                repaired,
            },
            seq: self.seq.and_then(number),
            envelope_id: self.id.and_then(word),
            session_id: self.session_id.and_then(word),
            stable_cursor: self.stable_cursor.and_then(scalar),
            input_id: self.input_id.and_then(word),
            turn_id: self.turn_id.and_then(word),
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(field: &RawValue) -> Option<T> {
    serde_json::from_str(field.get()).ok()
}

/// A string. One without an escape stands there as it is.
fn word(field: &RawValue) -> Option<Cow<'_, str>> {
    let plain = field.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match plain.filter(|plain| memchr(b'\\', plain.as_bytes()).is_none()) {
        Some(plain) => Some(Cow::Borrowed(plain)),
        None => read(field).map(Cow::Owned),
    }
}

/// A whole number, not below zero. Of up to 18 digits it is read at once.
fn number(field: &RawValue) -> Option<u64> {
    let digits = field.get().as_bytes();
    if digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return read(field);
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

fn milliseconds(field: &RawValue) -> Option<i64> {
    if let Some(Ok(time)) = number(field).map(i64::try_from) {
        return Some(time);
    }
    // A fraction of a millisecond is cut off.
    read::<i64>(field).or_else(|| read::<f64>(field).map(|time| time as i64))
}

fn scalar(field: &RawValue) -> Option<Cow<'_, str>> {
    match read(field)? {
        Value::String(text) => Some(Cow::Owned(text)),
        scalar @ (Value::Number(_) | Value::Bool(_)) => Some(Cow::Owned(scalar.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for FrameFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = FrameFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = FrameFields::default();
        while let Some(Name(name)) = map.next_key()? {
            let Some(field) = name.map(|name| name(&mut fields)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            *field = Some(map.next_value()?);
        }
        Ok(fields)
    }
}

/// Where the value of a name goes; `None` for a name that we do not know.
struct Name(Option<for<'f, 'a> fn(&'f mut FrameFields<'a>) -> &'f mut Option<&'a RawValue>>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(Name(match name {
            "id" => Some(|fields| &mut fields.id),
            "seq" => Some(|fields| &mut fields.seq),
            "type" => Some(|fields| &mut fields.kind),
            "session_id" => Some(|fields| &mut fields.session_id),
            "turn" => Some(|fields| &mut fields.turn),
            "timestamp" => Some(|fields| &mut fields.timestamp),
            "timestamp_ms" => Some(|fields| &mut fields.timestamp_ms),
            "payload" => Some(|fields| &mut fields.payload),
            "stable_cursor" => Some(|fields| &mut fields.stable_cursor),
            "input_id" => Some(|fields| &mut fields.input_id),
            "turn_id" => Some(|fields| &mut fields.turn_id),
            _ => None,
        }))
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
