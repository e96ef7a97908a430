//! One schema for files whose columns differ by name, by order, or in that they may be null.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::printer::print_schema;
use parquet::schema::types::{Type, TypePtr};

/// The columns of all files so far.
#[derive(Clone)]
pub(super) struct United {
    /// Schema of the first file.
    first: TypePtr,
    fields: Vec<TypePtr>,
}

impl United {
    pub(super) fn new(first: &TypePtr) -> Self {
        Self { first: Arc::clone(first), fields: first.get_fields().to_vec() }
    }

    /// Adds the columns of another file. A column that a file lacks is null there. The error is a
    /// column that differs, in both forms.
    pub(super) fn add(&mut self, schema: &TypePtr) -> Result<(), [String; 2]> {
        if schema.get_fields() == self.first.get_fields() {
            return Ok(());
        }
        let named = |fields: &[TypePtr], name: &str| {
            let mut called = fields.iter().filter(|field| field.name() == name).cloned();
            (called.next(), called.next())
        };
        let here = schema.get_fields();
        let mut fields = Vec::new();
        for field in &self.fields {
            let other = match named(here, field.name()) {
                (other, None) if named(&self.fields, field.name()).1.is_none() => other,
                (other, _) => return Err([show(Some(field)), show(other.as_ref())]),
            };
            let both = match &other {
                None => optional(field),
                Some(other) if is_null(other) => optional(field),
                Some(other) if is_null(field) => optional(other),
                Some(other) => united(field, other),
            };
            fields.push(both.ok_or_else(|| [show(Some(field)), show(other.as_ref())])?);
        }
        for field in here.iter().filter(|field| named(&self.fields, field.name()).0.is_none()) {
            let nothing = || [show(None), show(Some(field))];
            if named(here, field.name()).1.is_some() {
                return Err(nothing());
            }
            fields.push(optional(field).ok_or_else(nothing)?);
        }
        self.fields = fields;
        Ok(())
    }

    /// Returns true if the schema is that of the first file.
    pub(super) fn is_first(&self) -> bool {
        self.fields == self.first.get_fields()
    }

    pub(super) fn schema(&self) -> parquet::errors::Result<TypePtr> {
        if self.is_first() {
            return Ok(Arc::clone(&self.first));
        }
        let root = Type::group_type_builder(self.first.name()).with_fields(self.fields.clone());
        root.build().map(Arc::new)
    }
}

/// Returns the definition levels in the united `schema` of a column's levels in its own `file`.
/// `None` if the file has no such column, or holds nothing but null in it.
pub(super) fn levels(schema: &Type, file: &Type, path: &[String]) -> Option<Vec<i16>> {
    let (mut there, mut here, mut level, mut levels) = (schema, file, 0, Vec::new());
    for name in path {
        let find = |fields: &[TypePtr]| fields.iter().position(|field| field.name() == name);
        if !there.is_group() || !here.is_group() {
            return None;
        }
        there = &there.get_fields()[find(there.get_fields())?];
        here = &here.get_fields()[find(here.get_fields())?];
        if repetition(here) != Repetition::REQUIRED {
            levels.push(level);
        }
        level += i16::from(repetition(there) != Repetition::REQUIRED);
    }
    levels.push(level);
    (here.is_primitive() && (!is_null(here) || is_null(there))).then_some(levels)
}

/// Returns the type that takes the values of both; `None` if there is none.
fn united(one: &TypePtr, other: &TypePtr) -> Option<TypePtr> {
    if one == other {
        return Some(Arc::clone(one));
    }
    let both = match (repetition(one), repetition(other)) {
        (one, other) if one == other => one,
        (Repetition::REPEATED, _) | (_, Repetition::REPEATED) => return None,
        _ => Repetition::OPTIONAL,
    };
    // Older programs write one of two names for the same annotation.
    let (told, untold) = if logical(one).is_some() { (one, other) } else { (other, one) };
    let converted = |of: &Type| of.get_basic_info().converted_type();
    let is_same_kind = logical(one) == logical(other)
        || (logical(untold).is_none() && converted(one) != ConvertedType::NONE);
    let fits = one.name() == other.name() && is_same_kind && converted(one) == converted(other);
    let fields = match (&**one, &**other) {
        (
            Type::PrimitiveType { physical_type: a, type_length: b, scale: c, precision: d, .. },
            Type::PrimitiveType { physical_type: e, type_length: f, scale: g, precision: h, .. },
        ) if (a, b, c, d) == (e, f, g, h) => Vec::new(),
        (Type::GroupType { fields: one, .. }, Type::GroupType { fields: other, .. })
            if one.len() == other.len() =>
        {
            one.iter().zip(other).map(|(one, other)| united(one, other)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    if fits { with(told, both, fields) } else { None }
}

fn optional(field: &TypePtr) -> Option<TypePtr> {
    match repetition(field) {
        Repetition::REQUIRED => {
            let fields = if field.is_group() { field.get_fields().to_vec() } else { Vec::new() };
            with(field, Repetition::OPTIONAL, fields)
        }
        // A repeated field of no elements stands for null.
        Repetition::OPTIONAL | Repetition::REPEATED => Some(Arc::clone(field)),
    }
}

/// Returns the type with another repetition, and other fields if it is a group.
fn with(field: &Type, repetition: Repetition, fields: Vec<TypePtr>) -> Option<TypePtr> {
    let info = field.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let built = match field {
        Type::PrimitiveType { physical_type, type_length, scale, precision, .. } => {
            Type::primitive_type_builder(field.name(), *physical_type)
                .with_repetition(repetition)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_length(*type_length)
                .with_precision(*precision)
                .with_scale(*scale)
                .with_id(id)
                .build()
        }
        Type::GroupType { .. } => Type::group_type_builder(field.name())
            .with_repetition(repetition)
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields)
            .with_id(id)
            .build(),
    };
    built.ok().map(Arc::new)
}

fn repetition(of: &Type) -> Repetition {
    of.get_basic_info().repetition()
}

fn logical(of: &Type) -> Option<&LogicalType> {
    of.get_basic_info().logical_type_ref()
}

/// Returns true for a column that its writer saw nothing but null in.
fn is_null(of: &Type) -> bool {
    of.is_primitive() && logical(of) == Some(&LogicalType::Unknown)
}

/// Returns the first column that differs, in both forms.
pub(super) fn difference(there: &Type, here: &Type) -> Option<[String; 2]> {
    let (there, here) = (there.get_fields(), here.get_fields());
    let place = (0..there.len().max(here.len())).find(|i| there.get(*i) != here.get(*i))?;
    Some([show(there.get(place)), show(here.get(place))])
}

fn show(field: Option<&TypePtr>) -> String {
    let Some(field) = field else { return "none".to_owned() };
    let mut text = Vec::new();
    print_schema(&mut text, field);
    let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    format!("`{}`", text.trim_end_matches(';'))
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn schema(fields: &str) -> TypePtr {
        Arc::new(parse_message_type(&format!("message m {{ {fields} }}")).unwrap())
    }

    #[track_caller]
    fn check(files: &[&str], expected: Result<&str, &str>) {
        let files: Vec<TypePtr> = files.iter().map(|fields| schema(fields)).collect();
        let mut united = United::new(&files[0]);
        let added = files[1..].iter().try_for_each(|file| united.add(file));
        match (added, expected) {
            (Ok(()), Ok(expected)) => {
                let united = united.schema().unwrap();
                assert_eq!(united.get_fields(), schema(expected).get_fields(), "{united:?}");
            }
            (Err(difference), Err(part)) => assert!(difference.concat().contains(part), "{difference:?}"),
            (added, _) => panic!("{added:?} {expected:?}"),
        }
    }

    #[test]
    fn columns_are_united_by_name() {
        let (id, text) = ("required binary id (STRING);", "required binary text (STRING);");
        let both = &format!("{id} {text}");
        check(&[both, both], Ok(both));
        check(&[both, &format!("{text} {id}")], Ok(both));
        let lang = "required binary id (STRING); required binary text (STRING); optional int32 n;";
        check(&[both, &format!("{text} {id} required int32 n;"), both], Ok(lang));
        check(&[&format!("{both} required int32 n;"), both], Ok(lang));
        check(&["required int32 n;", "optional int32 n;"], Ok("optional int32 n;"));
        check(&["optional int32 n (UNKNOWN);", "required double n;"], Ok("optional double n;"));
        check(&["required double n;", "optional int32 n (UNKNOWN);"], Ok("optional double n;"));
        check(
            &["required binary t (UTF8);", "required binary t (STRING);"],
            Ok("required binary t (STRING);"),
        );
        check(
            &["optional group g { required int32 a; }", "required group g { optional int32 a; }"],
            Ok("optional group g { optional int32 a; }"),
        );
        check(&["required int32 n;", "required int64 n;"], Err("INT64 n"));
        check(&["required binary t;", "required binary t (STRING);"], Err("(STRING)"));
        check(&["repeated int32 n;", "required int32 n;"], Err("REPEATED"));
        check(
            &["required group g { required int32 a; }", "required group g { required int32 b; }"],
            Err("b"),
        );
        check(&["required int32 n;", "required int32 n; required int32 m; required int32 m;"], Err("m"));
        check(&["required int32 m; required int32 m;", "required int32 m;"], Err("m"));
    }

    #[test]
    fn levels_count_what_may_be_null_there() {
        let there = schema(
            "optional group g { repeated group list { optional group e { optional int32 a; } } }
             optional int32 b; optional int32 c (UNKNOWN);",
        );
        let here = schema(
            "required group g { repeated group list { optional group e { required int32 a; } } }
             optional int32 b (UNKNOWN); optional int32 c (UNKNOWN);",
        );
        let path = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let levels = |from: &TypePtr, name: &str| levels(&there, from, &path(name));
        assert_eq!(levels(&there, "g/list/e/a"), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(levels(&here, "g/list/e/a"), Some(vec![1, 2, 4]));
        assert_eq!(levels(&here, "b"), None);
        assert_eq!(levels(&here, "c"), Some(vec![0, 1]));
        assert_eq!(levels(&here, "d"), None);
        assert_eq!(levels(&schema("required int32 g;"), "g/list/e/a"), None);
    }
}
