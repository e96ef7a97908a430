//! Extraction of the requested values from one line of JSON. The rest is skipped, not kept.

pub(super) mod beginning;
pub(super) mod documents;
pub(super) mod not_a_number;
mod plain;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::field_path::{FieldPath, Step};
use super::value::{TEXT_SEPARATOR, Value, Values};

/// Requested fields, as a tree of their paths.
#[derive(Debug)]
pub(super) struct JsonFields {
    root: Node,
    n_values: usize,
    /// Value of each path, and its place where it is found by another way, beyond the values.
    other_ways: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The values at this node.
    values: Vec<Wanted>,
    /// Nodes below, by the name of a field or the index in an array.
    children: Vec<(String, Node)>,
    /// Node of each element of an array that has none of its own.
    each: Option<Box<Node>>,
}

/// Place of a value among those of the record.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    value: usize,
    /// True if the values of several elements are joined.
    is_joined: bool,
}

impl JsonFields {
    pub(super) fn new<'p>(paths: impl Iterator<Item = &'p FieldPath>) -> Self {
        let paths: Vec<&FieldPath> = paths.collect();
        let (mut root, n_values, mut other_ways) = (Node::default(), paths.len(), Vec::new());
        for (i, path) in paths.into_iter().enumerate() {
            for (n_way, way) in path.ways().enumerate() {
                let value = if n_way == 0 { i } else { n_values + other_ways.len() };
                root.add(way, Wanted { value, is_joined: false });
                if n_way > 0 {
                    other_ways.push((i, value));
                }
            }
        }
        root.give_each_to_children();
        Self { root, n_values, other_ways }
    }

    /// Reads one line; the error is the reason shown to the user.
    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> Result<Values<'a>, String> {
        let line = simdutf8::compat::from_utf8(line).map_err(|error| {
            format!(
                "invalid UTF-8 after byte {} of the line; --encoding names another encoding",
                error.valid_up_to()
            )
        })?;
        if line.trim_start().starts_with('[') {
            return Err("a JSON array: JSON Lines has one object on each line".to_owned());
        }
        self.read(line).or_else(|why| {
            let clean = not_a_number::without(line).ok_or(why)?;
            Ok(self.read(&clean)?.into_iter().map(|value| value.map(Value::into_owned)).collect())
        })
    }

    fn read<'a>(&self, line: &'a str) -> Result<Values<'a>, String> {
        let mut values = vec![None; self.n_all()];
        if plain::read(line, &self.root, &mut values).is_none() {
            values.fill(None);
            self.judge(line, &mut values)?;
        }
        for (value, other) in &self.other_ways {
            let other = values[*other].take();
            values[*value] = values[*value].take().or(other);
        }
        values.truncate(self.n_values);
        Ok(values)
    }

    /// The number of values with those that are found by another way.
    fn n_all(&self) -> usize {
        self.n_values + self.other_ways.len()
    }

    /// Reads any line of JSON, or says why it is none.
    fn judge<'a>(&self, line: &'a str, values: &mut [Option<Value<'a>>]) -> Result<(), String> {
        let mut json = serde_json::Deserializer::from_str(line);
        let object = Object(At { node: &self.root, values });
        object.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
            // Every record is one line, so serde's line number is of no use.
            let reason = error.to_string().replace(" at line 1 column ", " at column ");
            // serde reports only the place where the second half of a pair is missing.
            if reason.contains("hex escape") {
                format!("{reason}: a lone surrogate is no character")
            } else {
                reason
            }
        })
    }
}

impl Node {
    fn add(&mut self, steps: &[Step], wanted: Wanted) {
        match steps.split_first() {
            None => self.values.push(wanted),
            Some((Step::Name(name), rest)) => self.child_mut(name).add(rest, wanted),
            Some((Step::Each, rest)) => {
                self.each.get_or_insert_default().add(rest, Wanted { is_joined: true, ..wanted });
            }
        }
    }

    fn child_mut(&mut self, name: &str) -> &mut Self {
        let known = self.children.iter().position(|(child, _)| child == name);
        let place = known.unwrap_or_else(|| {
            self.children.push((name.to_owned(), Self::default()));
            self.children.len() - 1
        });
        &mut self.children[place].1
    }

    /// Gives all of `each` to the elements with nodes of their own, which are looked at first.
    fn give_each_to_children(&mut self) {
        if let Some(each) = &self.each {
            self.children.iter_mut().for_each(|(_, child)| child.merge(each));
        }
        let children = self.children.iter_mut().map(|(_, child)| child);
        children.chain(self.each.as_deref_mut()).for_each(Self::give_each_to_children);
    }

    fn merge(&mut self, other: &Self) {
        self.values.extend_from_slice(&other.values);
        other.children.iter().for_each(|(name, child)| self.child_mut(name).merge(child));
        if let Some(each) = &other.each {
            self.each.get_or_insert_default().merge(each);
        }
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|(child, _)| child == name).map(|(_, node)| node)
    }

    fn element(&self, i: usize) -> Option<&Self> {
        // Indices become names only where some are requested.
        let child = if self.children.is_empty() { None } else { self.child(&i.to_string()) };
        child.or(self.each.as_deref())
    }
}

/// Visitor of the value at `node`, which is put into its place among the values. If a field occurs
/// twice, the last one counts.
struct At<'n, 'v, 'de> {
    node: &'n Node,
    values: &'v mut [Option<Value<'de>>],
}

impl<'de> At<'_, '_, 'de> {
    fn set(&mut self, value: Value<'de>) {
        let Some((last, others)) = self.node.values.split_last() else { return };
        for other in others {
            self.put(*other, value.clone());
        }
        self.put(*last, value);
    }

    fn put(&mut self, wanted: Wanted, value: Value<'de>) {
        let place = &mut self.values[wanted.value];
        *place = Some(match place.take().filter(|_| wanted.is_joined) {
            None | Some(Value::Null) => value,
            Some(before) => joined(before, value),
        });
    }

    fn visit_fields<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(child) = map.next_key_seed(Key(self.node))? {
            match child {
                Some(node) => map.next_value_seed(At { node, values: self.values })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Joins the values of two elements of an array, which must be texts.
fn joined<'a>(before: Value<'a>, value: Value<'a>) -> Value<'a> {
    match (before, value) {
        (before, Value::Null) => before,
        (Value::Text(before), Value::Text(text)) => {
            Value::Text(Cow::Owned(before.into_owned() + TEXT_SEPARATOR + &text))
        }
        (Value::Text(_), value) | (value, _) => value,
    }
}

impl<'de> DeserializeSeed<'de> for At<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Accepts any JSON: the caller decides which values will do.
impl<'de> Visitor<'de> for At<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(mut self, text: &'de str) -> Result<(), E> {
        self.set(Value::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.set(Value::Text(Cow::Owned(text.to_owned())));
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.set(Value::Integer(number.to_string().into()));
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.set(Value::Integer(number.to_string().into()));
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.set(Value::Float(number));
        Ok(())
    }

    fn visit_bool<E>(mut self, _: bool) -> Result<(), E> {
        self.set(Value::Other("a boolean"));
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.set(Value::Null);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        self.set(Value::Other("an object"));
        self.visit_fields(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<(), A::Error> {
        self.set(Value::Other("an array"));
        for i in 0_usize.. {
            let more = match self.node.element(i) {
                Some(node) => array.next_element_seed(At { node, values: self.values })?,
                None => array.next_element::<IgnoredAny>()?.map(|_| ()),
            };
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// The record itself, which must be an object.
struct Object<'n, 'v, 'de>(At<'n, 'v, 'de>);

impl<'de> DeserializeSeed<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        self.0.visit_fields(map)
    }
}

/// Visitor of a field name: finds the node of this field.
struct Key<'n>(&'n Node);

impl<'de, 'n> DeserializeSeed<'de> for Key<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Key<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.child(name))
    }
}

#[cfg(test)]
mod tests;
