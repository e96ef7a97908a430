//! Forms of a flag's value in TOML.

use std::any::TypeId;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use clap::{Arg, ArgAction};
use toml::Value;

/// Form of a setting in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Integer,
    /// A number of seconds, which need not be whole, or text with a unit.
    Duration,
    String,
}

impl Kind {
    pub(super) fn of(arg: &Arg) -> Self {
        let is = |ids: &[TypeId]| ids.iter().any(|id| arg.get_value_parser().type_id() == *id);
        if is(&[TypeId::of::<bool>()]) {
            Self::Boolean
        } else if is(&[TypeId::of::<Duration>()]) {
            Self::Duration
        } else if is(&[
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<usize>(),
            TypeId::of::<NonZeroU32>(),
            TypeId::of::<NonZeroU64>(),
            TypeId::of::<NonZeroUsize>(),
        ]) {
            Self::Integer
        } else {
            Self::String
        }
    }

    /// Returns the name for a message: `integer is expected`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Duration => "number of seconds, or string with a unit,",
            Self::String => "string",
        }
    }

    /// Returns the text of the flag's value; `None` if the file has a value of another kind.
    pub(super) fn read(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Boolean, Value::Boolean(is_so)) => Some(is_so.to_string()),
            (Self::Integer | Self::Duration, Value::Integer(number)) => Some(number.to_string()),
            // A share is a number in a file, too.
            (Self::Duration | Self::String, Value::Float(number)) => Some(number.to_string()),
            (Self::Duration | Self::String, Value::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns a value of which [`read`](Self::read) makes the same text.
    pub(super) fn write(self, text: &str) -> Value {
        match self {
            Self::Boolean => text.parse().ok().map(Value::Boolean),
            Self::Integer => text.parse().ok().map(Value::Integer),
            Self::Duration => match text.parse() {
                Ok(whole) => Some(Value::Integer(whole)),
                Err(_) => text.parse().ok().map(Value::Float),
            },
            Self::String => None,
        }
        .unwrap_or_else(|| Value::String(text.to_owned()))
    }
}

/// Returns true if the flag may be given several times.
pub(super) fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}
