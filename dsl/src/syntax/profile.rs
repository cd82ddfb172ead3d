//! The body of `profile!`: `/// docs pub name: base { field: value, … }`.

use super::{Cursor, Name, Parsed, Prefix};
use crate::diag::{Error, SpanId, Spans};
use proc_macro2::{Delimiter, TokenStream};

/// A profile as written: the profile that it extends, and the fields that differ. [`crate::profile::Profile::extend`] checks and applies
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Documentation, attributes, visibility.
    pub prefix: Prefix,
    /// Its name.
    pub name: Name,
    /// The path of the profile that it extends.
    pub base: Vec<Name>,
    /// The fields, in order.
    pub fields: Vec<Field>,
}

/// `name: value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Name,
    /// The value.
    pub value: Value,
    /// The place of the value.
    pub span: SpanId,
}

/// A field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `512`.
    Number(u64),
    /// `[512, 512, 64]`.
    Numbers(Vec<(u64, SpanId)>),
    /// `[address, f16]`; also `[]`.
    Names(Vec<Name>),
    /// `[.., address, f16]`: these features, added to the inherited ones.
    More(Vec<Name>),
    /// `none`: another word.
    Word(Name),
    /// `[16 x 16 x 16 f16 f16 f32]`.
    Matrices(Vec<Row>),
}

/// `16 x 16 x 16 f16 f16 f32`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// M, N and K.
    pub shape: [(u64, SpanId); 3],
    /// Element types.
    pub dtypes: Vec<Name>,
    /// The place at which it begins.
    pub span: SpanId,
}

/// Reads the body of `profile!`.
pub fn parse(tokens: TokenStream, spans: &mut Spans) -> Parsed<Profile> {
    super::parse(tokens, spans, profile)
}

/// Reads a profile.
pub fn profile(cursor: &mut Cursor<'_>) -> Result<Profile, Error> {
    let prefix = Prefix::parse(cursor)?;
    let name = cursor.name("the profile's name")?;
    let mut profile = Profile { prefix, name, base: Vec::new(), fields: Vec::new() };
    if cursor.eat(":").is_none() {
        let error = cursor.expected("`:`").note("a profile extends another one");
        return Err(error.help(format!("write `{}: vulkan_1_1 {{ … }}`", profile.name)));
    }
    profile.base = path(cursor)?;
    profile.fields = cursor.group(Delimiter::Brace, |c| Ok(c.commas(field)))?.0.unwrap_or_default();
    Ok(profile)
}

/// Reads `a::b::c`, with or without `::` before it.
pub fn path(cursor: &mut Cursor<'_>) -> Result<Vec<Name>, Error> {
    cursor.eat("::");
    let mut names = Vec::new();
    loop {
        // `crate`, `self` and `super` are keywords, but valid in a path.
        let word = cursor.peek_name().filter(|w| ["crate", "self", "super"].contains(&w.as_str()));
        match word.and_then(|text| Some(Name { span: cursor.eat_word(&text)?, text })) {
            Some(name) => names.push(name),
            None => names.push(cursor.name("a profile")?),
        }
        if cursor.eat("::").is_none() {
            return Ok(names);
        }
    }
}

fn field(cursor: &mut Cursor<'_>) -> Result<Field, Error> {
    let name = cursor.name("a field")?;
    cursor.expect(":")?;
    let span = cursor.here();
    if !cursor.peek_group(Delimiter::Bracket) {
        let value = match cursor.peek_name() {
            Some(_) => Value::Word(cursor.name("a value")?),
            None => Value::Number(number(cursor)?),
        };
        return Ok(Field { name, value, span });
    }
    let (value, span) = cursor.group(Delimiter::Bracket, |c| {
        if c.eat("..").is_some() {
            if !c.is_empty() {
                c.expect(",")?;
            }
            return Ok(Value::More(c.commas(|c| c.name("a feature"))));
        }
        if c.peek_name().is_some() || c.is_empty() {
            return Ok(Value::Names(c.commas(|c| c.name("a feature"))));
        }
        if c.peek_word_after("x") {
            return Ok(Value::Matrices(c.commas(row)));
        }
        Ok(Value::Numbers(c.commas(counted)))
    })?;
    Ok(Field { name, value: value.unwrap_or(Value::Names(Vec::new())), span })
}

/// Reads a number, and returns its place too.
fn counted(cursor: &mut Cursor<'_>) -> Result<(u64, SpanId), Error> {
    let span = cursor.here();
    Ok((number(cursor)?, span))
}

/// Reads `16 x 16 x 16 f16 f16 f32`.
fn row(cursor: &mut Cursor<'_>) -> Result<Row, Error> {
    let span = cursor.here();
    let m = counted(cursor)?;
    cursor.expect_word("x")?;
    let n = counted(cursor)?;
    cursor.expect_word("x")?;
    let shape = [m, n, counted(cursor)?];
    let mut dtypes = Vec::new();
    while cursor.peek_name().is_some() {
        dtypes.push(cursor.name("a dtype")?);
    }
    Ok(Row { shape, dtypes, span })
}

fn number(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    let expected = cursor.expected("a whole number");
    let literal = cursor.with(|s| s.parse::<syn::LitInt>()).map_err(|_| expected.clone())?;
    literal.base10_parse().map_err(|_| expected)
}
