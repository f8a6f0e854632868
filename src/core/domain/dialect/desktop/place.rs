//! Where a message stands in the journal of a host that numbers its sessions, as our own does.
//!
//! Owns how a place is read and how it stands in our journal. Additive to the seed: a host that numbers nothing has no places.

use serde_json::{Map, Value};

use crate::domain::dialect::loose::Members;

/// A place in the journal of a host: everything up to there is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlace {
    /// Opaque name of the numbers.
    pub epoch: String,
    /// Number of the last event.
    pub seq: u64,
}

/// Where a message stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceOfMessage {
    /// Nowhere: it is no part of the transcript, or its host numbers nothing.
    Nowhere,
    /// It belongs to others that follow, the last of which has their place.
    Within,
    /// With it and all before it everything up to there is known.
    At(HostPlace),
}

impl HostPlace {
    /// Reads `{ epoch, seq }`.
    pub fn read(place: &Map<String, Value>) -> Option<Self> {
        let epoch = place.string("epoch").filter(|epoch| !epoch.is_empty())?.to_owned();
        Some(Self { epoch, seq: place.get("seq")?.as_u64()? })
    }

    /// Reads what `to_token` made.
    pub fn of_token(token: &str) -> Option<Self> {
        let (seq, epoch) = token.split_once('@')?;
        Some(Self { epoch: epoch.to_owned(), seq: seq.parse().ok()? }).filter(|place| !place.epoch.is_empty())
    }

    /// As it stands beside an event in our journal.
    pub fn to_token(&self) -> String {
        format!("{}@{}", self.seq, self.epoch)
    }
}

impl PlaceOfMessage {
    /// Of a message with this payload.
    pub fn of(payload: &Map<String, Value>) -> Self {
        if payload.get("more").and_then(Value::as_bool) == Some(true) {
            return Self::Within;
        }
        payload.object("position").and_then(HostPlace::read).map_or(Self::Nowhere, Self::At)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_is_read_and_kept() {
        let placed = |message: Value| PlaceOfMessage::of(message.as_object().unwrap());
        let place = HostPlace { epoch: "e@1".to_owned(), seq: 7 };
        assert_eq!(
            placed(json!({ "position": { "epoch": "e@1", "seq": 7 } })),
            PlaceOfMessage::At(place.clone())
        );
        assert_eq!(placed(json!({ "more": true })), PlaceOfMessage::Within);
        for other in [json!({}), json!({ "position": 7 }), json!({ "position": { "epoch": "", "seq": 7 } })] {
            assert_eq!(placed(other), PlaceOfMessage::Nowhere);
        }
        assert_eq!(HostPlace::of_token(&place.to_token()), Some(place));
        for no_token in ["", "7", "x@e", "7@"] {
            assert_eq!(HostPlace::of_token(no_token), None, "{no_token}");
        }
    }
}
