//! Features given in records, in place of the text behind them.

use std::borrow::Cow;
use std::str::FromStr;

use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use serde::Serialize;

use super::super::field_path::FieldPath;
use super::super::value::Value;
use super::there::unfit;

/// Base64 of RFC 4648, section 4, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Fields of a record's fingerprint and signature.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GivenFields {
    /// Holds 64 bits: a number is decimal, with or without a sign, and a string has
    /// `fingerprint_digits`.
    pub fingerprint_field: FieldPath,
    /// Notation of a fingerprint in a string, as in every cell of CSV.
    pub fingerprint_digits: Digits,
    /// Holds bytes: binary data in Parquet, base64 elsewhere.
    pub signature_field: FieldPath,
    /// Holds the text behind the features, if the record has one.
    #[serde(skip)]
    pub text_field: FieldPath,
}

/// Notation of a fingerprint in a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Digits {
    /// 16 hexadecimal digits.
    #[default]
    Hex,
    /// A decimal number of 64 bits, with or without a sign.
    Decimal,
}

/// Content of a field in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Told<T> {
    /// The record has no such field.
    #[default]
    NoField,
    /// The field states that there is no value: null, or an empty cell of CSV.
    Null,
    /// The value of the field.
    Is(T),
}

/// Features given in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The 64 bits of the fingerprint.
    pub fingerprint: Told<u64>,
    /// Bytes of the signature, not yet validated.
    pub signature: Told<Box<[u8]>>,
    /// The text behind the features.
    pub text: Told<Box<str>>,
}

impl GivenFields {
    /// Reads the fingerprint, the signature and the text, which `next` yields in this order.
    pub(super) fn given<'a>(&self, mut next: impl FnMut() -> Option<Value<'a>>) -> Result<Given, String> {
        let (fingerprint, signature, text) = (next(), next(), next());
        Ok(Given {
            fingerprint: self.fingerprint(fingerprint)?,
            signature: self.signature(signature)?,
            text: told_text(text),
        })
    }

    fn fingerprint(&self, value: Option<Value<'_>>) -> Result<Told<u64>, String> {
        let path = &self.fingerprint_field;
        let out_of_range = || format!("field {path} holds a number that 64 bits cannot hold");
        match (value, self.fingerprint_digits) {
            (None, _) => Ok(Told::NoField),
            (Some(Value::Null), _) => Ok(Told::Null),
            (Some(Value::Integer(number)), _) => decimal(&number).map(Told::Is).ok_or_else(out_of_range),
            (Some(Value::Text(text)), Digits::Decimal) => decimal(&text)
                .map(Told::Is)
                .ok_or_else(|| format!("field {path} holds {text:?}, which is no whole number of 64 bits")),
            (Some(Value::Text(text)), Digits::Hex) => hexadecimal(&text).map(Told::Is).ok_or_else(|| {
                format!(
                    "field {path} holds {text:?}, and a string as fingerprint has 16 hexadecimal digits; \
                     --fingerprint-digits decimal takes strings as decimal numbers"
                )
            }),
            (value, _) => {
                let help = "--fingerprint-field names the one that holds the fingerprint";
                Err(unfit(value.as_ref(), path, "an integer of 64 bits, or 16 hexadecimal digits", help))
            }
        }
    }

    fn signature(&self, value: Option<Value<'_>>) -> Result<Told<Box<[u8]>>, String> {
        let path = &self.signature_field;
        match value {
            None => Ok(Told::NoField),
            Some(Value::Null) => Ok(Told::Null),
            Some(Value::Bytes(bytes)) => Ok(Told::Is(bytes.into())),
            Some(Value::Text(text)) => match BASE64.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Told::Is(bytes.into())),
                Err(error) => Err(format!("field {path} holds a string that is no base64: {error}")),
            },
            value => {
                let help = "--signature-field names the one that holds the signature";
                Err(unfit(value.as_ref(), path, "base64 or bytes as signature", help))
            }
        }
    }
}

/// Returns the text, which a record need not have: any other value than a string is none.
fn told_text(value: Option<Value<'_>>) -> Told<Box<str>> {
    match value {
        None => Told::NoField,
        Some(Value::Text(text)) => Told::Is(text.into()),
        Some(_) => Told::Null,
    }
}

/// Parses a decimal number of 64 bits, with or without a sign.
fn decimal(digits: &str) -> Option<u64> {
    digits.parse().ok().or_else(|| i64::from_str(digits).ok().map(i64::cast_unsigned))
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let are_digits = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    are_digits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Wraps binary data of a Parquet column.
pub(super) fn bytes<'a>(bytes: &'a [u8]) -> Value<'a> {
    Value::Bytes(Cow::Borrowed(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fingerprint_digits: Digits) -> GivenFields {
        let path = |name: &str| name.parse().unwrap();
        GivenFields {
            fingerprint_field: path("f"),
            fingerprint_digits,
            signature_field: path("s"),
            text_field: path("t"),
        }
    }

    #[test]
    fn what_digits_mean_follows_from_the_type_and_not_from_their_looks() {
        let text = |text: &'static str| Some(Value::Text(text.into()));
        let number = |number: &'static str| Some(Value::Integer(number.into()));
        let is = |bits: u64| Ok(Told::Is(bits));
        for (value, hex, in_decimal) in [
            (number("18446744073709551615"), is(u64::MAX), is(u64::MAX)),
            (number("-1"), is(u64::MAX), is(u64::MAX)),
            (number("-9223372036854775808"), is(1 << 63), is(1 << 63)),
            (number("1234567890123456"), is(1_234_567_890_123_456), is(1_234_567_890_123_456)),
            (text("1234567890123456"), is(0x1234_5678_9012_3456), is(1_234_567_890_123_456)),
            (text("9E3779b97f4a7c15"), is(0x9e37_79b9_7f4a_7c15), Err("no whole number")),
            (text("-1"), Err("16 hexadecimal digits; --fingerprint-digits decimal"), is(u64::MAX)),
            (text("0x1234567890abcd"), Err("16 hexadecimal digits"), Err("no whole number")),
            (text("+234567890123456"), Err("16 hexadecimal digits"), is(234_567_890_123_456)),
            (text("18446744073709551616"), Err("16 hexadecimal digits"), Err("no whole number")),
            (Some(Value::Float(1e19)), Err("--fingerprint-field"), Err("--fingerprint-field")),
            (Some(Value::Null), Ok(Told::Null), Ok(Told::Null)),
            (None, Ok(Told::NoField), Ok(Told::NoField)),
        ] {
            for (digits, expected) in [(Digits::Hex, hex), (Digits::Decimal, in_decimal)] {
                match (fields(digits).fingerprint(value.clone()), expected) {
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}: {part}"),
                    (got, expected) => {
                        assert_eq!(got, expected.map_err(str::to_owned), "{value:?} {digits:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn signatures_are_bytes_or_base64() {
        let signature = |value| fields(Digits::Hex).signature(value);
        let is = |bytes: &[u8]| Ok(Told::Is(bytes.into()));
        for text in ["EQEjRWeJq83v", "AP8", "AP8="] {
            let told = signature(Some(Value::Text(text.into())));
            assert_eq!(told, is(&BASE64.decode(text).unwrap()), "{text}");
        }
        assert_eq!(signature(Some(bytes(&[0, 255]))), is(&[0, 255]));
        assert_eq!(signature(Some(Value::Null)), Ok(Told::Null));
        assert_eq!(signature(None), Ok(Told::NoField));
        for (value, part) in [
            (Value::Text("A".into()), "no base64"),
            (Value::Text("a-_b".into()), "no base64"),
            (Value::Integer("7".into()), "--signature-field"),
        ] {
            let reason = signature(Some(value)).unwrap_err();
            assert!(reason.contains(part), "{reason}: {part}");
        }
    }
}
