//! Readers that take what an engine really sends: a field of another kind than expected reads as missing, and never spoils
//! the fields beside it.
//!
//! The types serve events, which are many: they never build what they skip, so that lists and objects that nobody asked for cost
//! no memory, and borrow text from the payload where it stands there as it is, without an escape. The functions serve answers,
//! which are few, and any type.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What has members: an object, and any other JSON, which has none.
pub(in crate::domain::dialect) trait Members {
    /// The value of a member.
    fn member(&self, name: &str) -> Option<&Value>;

    /// A member that is a string, an empty one too.
    fn string(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_str()
    }

    /// A member that is a list.
    fn list(&self, name: &str) -> Option<&Vec<Value>> {
        self.member(name)?.as_array()
    }

    /// A member that is an object.
    fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.member(name)?.as_object()
    }
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl Members for Map<String, Value> {
    fn member(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

/// A field of any type, for `deserialize_with`; the default where it has another shape.
pub(in crate::domain::dialect) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // A struct would be read from a list, by position.
    Ok(if value.is_array() { T::default() } else { T::deserialize(value).unwrap_or_default() })
}

/// The entries of a list that fit, for `deserialize_with`; none where it is no list.
pub(in crate::domain::dialect) fn each<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(maybe_each(deserializer)?.unwrap_or_default())
}

/// The same, where a list is told from none.
pub(in crate::domain::dialect) fn maybe_each<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(if let Value::Array(items) = Value::deserialize(deserializer)? { Some(fitting(items)) } else { None })
}

/// The entries that fit.
pub fn fitting<T: DeserializeOwned>(entries: Vec<Value>) -> Vec<T> {
    entries.into_iter().filter_map(|entry| T::deserialize(entry).ok()).collect()
}

/// A string, a number or a flag; anything else is `Other`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::domain::dialect) enum Plain<'a> {
    Text(Cow<'a, str>),
    Flag(bool),
    Number(i64),
    #[default]
    Other,
}

impl<'a> Plain<'a> {
    /// The string, when it is one and says something.
    pub(in crate::domain::dialect) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Flag(_) | Self::Number(_) | Self::Other => None,
        }
    }

    pub(in crate::domain::dialect) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Text(_) | Self::Number(_) | Self::Other => None,
        }
    }

    pub(in crate::domain::dialect) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Flag(_) | Self::Other => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Plain<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Plain<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Plain<'de>, E> {
                Ok(Plain::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Plain<'de>, E> {
                Ok(Plain::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Plain<'de>, E> {
                Ok(Plain::Flag(flag))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Plain<'de>, E> {
                Ok(Plain::Number(number))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Plain<'de>, E> {
                Ok(i64::try_from(number).map_or(Plain::Other, Plain::Number))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Plain<'de>, E> {
                Ok(Plain::Other)
            }
            fn visit_unit<E>(self) -> Result<Plain<'de>, E> {
                Ok(Plain::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Plain<'de>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Plain::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Plain<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Plain::Other)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Words in any of the ways engines write them: a string, an object with `text` or `content`, or a list of such parts, which
/// are joined. `None`: there are none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::domain::dialect) struct Words<'a>(pub(in crate::domain::dialect) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Words<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
                Ok(Words(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
                Ok(Words(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Words<'de>, E> {
                Ok(Words(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Words<'de>, E> {
                Ok(Words(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Words<'de>, E> {
                Ok(Words(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Words<'de>, E> {
                Ok(Words(None))
            }
            fn visit_unit<E>(self) -> Result<Words<'de>, E> {
                Ok(Words(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words<'de>, A::Error> {
                let mut whole: Option<Cow<'de, str>> = None;
                while let Some(Words(part)) = list.next_element()? {
                    match (&mut whole, part) {
                        (Some(whole), Some(part)) => whole.to_mut().push_str(&part),
                        (None, part) => whole = part,
                        (Some(_), None) => {}
                    }
                }
                Ok(Words(whole))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words<'de>, A::Error> {
                let mut said = None;
                while let Some(name) = map.next_key::<String>()? {
                    if matches!(name.as_str(), "text" | "content") {
                        let Words(words) = map.next_value()?;
                        said = said.or(words);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Words(said))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The fields of an object; `None` where JSON of another kind stands.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::domain::dialect) struct Inside<T>(pub(in crate::domain::dialect) Option<T>);

impl<T> Default for Inside<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Inside<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Inside<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E>(self, _: &str) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_unit<E>(self) -> Result<Inside<T>, E> {
                Ok(Inside(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Inside<T>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Inside(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Inside<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|fields| Inside(Some(fields)))
            }
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_str, json};

    #[test]
    fn a_field_of_another_kind_reads_as_missing_from_text_and_from_a_map_alike() {
        #[derive(serde::Deserialize, Default, Debug, PartialEq)]
        #[serde(default)]
        struct Fields<'a> {
            #[serde(borrow)]
            a: Plain<'a>,
            #[serde(borrow)]
            b: Inside<Inner<'a>>,
            #[serde(borrow)]
            c: Words<'a>,
        }
        #[derive(serde::Deserialize, Default, Debug, PartialEq)]
        #[serde(default)]
        struct Inner<'a> {
            #[serde(borrow)]
            d: Plain<'a>,
        }
        let read = |a, b, c| Fields { a, b: Inside(b), c: Words(c) };
        let said = || Some("ab".into());
        let cases = [
            (json!({}), read(Plain::Other, None, None)),
            (json!({"a": [1], "b": [{}], "c": 7}), read(Plain::Other, None, None)),
            (json!({"a": {"x": 1}, "b": "s", "c": null}), read(Plain::Other, None, None)),
            (
                json!({"a": "t", "b": {"d": -3}, "c": "ab"}),
                read(Plain::Text("t".into()), Some(Inner { d: Plain::Number(-3) }), said()),
            ),
            (
                json!({"a": true, "b": {}, "c": {"text": "ab", "n": []}}),
                read(Plain::Flag(true), Some(Inner::default()), said()),
            ),
            (
                json!({"a": 1.5, "b": 1, "c": [{"type": "x", "text": "a"}, {"y": 1}, "b"]}),
                read(Plain::Other, None, said()),
            ),
            (
                json!({"a": 18_446_744_073_709_551_615_u64, "b": false, "c": {"content": [{"text": "ab"}]}}),
                read(Plain::Other, None, said()),
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(from_str::<Fields<'_>>(&json.to_string()).unwrap(), expected, "{json}");
            assert_eq!(Fields::deserialize(&json).unwrap(), expected, "{json}");
        }
    }
}
