//! One line: an object whose values are numbers, texts, truth values or null.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::column::number_text;
use crate::error::shown;

/// The value of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Gap,
    Number(f64),
    /// A number that must keep its digits where it is kept as text: an id, say.
    Whole(i128),
    Text(String),
    Boolean(bool),
}

/// As it is written, or nearly so; nothing for a gap.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Gap => Ok(()),
            Scalar::Number(value) => f.write_str(&number_text(*value)),
            Scalar::Whole(value) => value.fmt(f),
            Scalar::Text(text) => f.write_str(text),
            Scalar::Boolean(value) => value.fmt(f),
        }
    }
}

/// Calls `pair` with the keys of a line's object and their values. An error is the end of a sentence that begins with the
/// line's number.
pub(super) fn each_pair(
    line: &[u8],
    pair: impl FnMut(&str, Scalar) -> Result<(), String>,
) -> Result<(), String> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let mut fault = None;
    let read = json.deserialize_map(Pairs { pair, fault: &mut fault }).and_then(|()| json.end());
    match (fault, read) {
        (Some(what), _) => Err(what),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) if line.trim_ascii_start().starts_with(b"[") => {
            Err("begins a list; write one JSON object a line (`jq -c '.[]'` does it)".to_string())
        }
        (None, Err(error)) => {
            // The position that is added is one in the line; the line itself is named already.
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(format!(
                "is not a JSON object ({}, column {}); correct it or drop it",
                shown(what),
                error.column()
            ))
        }
    }
}

struct Pairs<'f, F> {
    pair: F,
    fault: &'f mut Option<String>,
}

impl<'de, F: FnMut(&str, Scalar) -> Result<(), String>> Visitor<'de> for Pairs<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let found = match map.next_value_seed(ScalarSeed)? {
                Some(value) => (self.pair)(&key, value),
                None => Err(format!(
                    "has a nested value under the key '{}'; write numbers, texts, true, false or null",
                    shown(&key)
                )),
            };
            if let Err(what) = found {
                *self.fault = Some(what);
                return Err(M::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

/// A key, borrowed where it is written without escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_string()))
    }
}

/// A value; nothing if it is nested.
struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Option<Scalar>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Option<Scalar>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text, true, false or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Gap))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Boolean(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Number(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Whole(value.into())))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Whole(value.into())))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Text(text.to_string())))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
