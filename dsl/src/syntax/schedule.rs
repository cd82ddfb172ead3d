//! The body of `schedule!`: which kernel, for which profile, under which facts, and the directives.

use super::expr::{self, Expr};
use super::{Cursor, Name, Prefix};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::nest::{Level, Slot, Tail};
use proc_macro2::Delimiter;

/// A schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its documentation, attributes and visibility.
    pub prefix: Prefix,
    /// The variant's name.
    pub name: Name,
    /// The kernel's path, as written.
    pub kernel: Vec<Name>,
    /// `T = f32, S = 2`.
    pub bindings: Vec<Binding>,
    /// The profile's path, as written.
    pub profile: Vec<Name>,
    /// What stands after `where`.
    pub facts: Vec<Expr>,
    /// The directives.
    pub items: Vec<Item>,
}

/// `T = f32` or `S = 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The generic.
    pub name: Name,
    /// Its value: a name for a dtype, a number for a parameter.
    pub value: Expr,
}

/// What stands in a schedule's braces.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A directive for the output.
    Directive(Directive),
    /// Directives for stages: `s, o { … }`.
    Block {
        /// The stages.
        stages: Vec<Name>,
        /// What each of them gets.
        directives: Vec<Directive>,
    },
}

/// A directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Which one.
    pub kind: DirectiveKind,
    /// From its name to its closing parenthesis (or what is produced).
    pub span: SpanId,
}

/// The directives.
#[derive(Clone, Debug, PartialEq)]
pub enum DirectiveKind {
    /// `split(oc, [2, _, 4] round_up => r, t, v)`.
    Split {
        /// What is split.
        axis: Name,
        /// A number, or `_`, for each part.
        factors: Vec<Factor>,
        /// What happens past the end.
        tail: Option<TailWord>,
        /// The parts.
        names: Vec<Name>,
    },
    /// `tile(i: 8, k: 8 round_up => k_o) => workgroup(x, y)`.
    Tile {
        /// The tiles.
        tiles: Vec<Tile>,
        /// Where the outer parts go.
        target: Option<Target>,
    },
    /// `fuse(oh, ow => p)`.
    Fuse {
        /// What is fused, outermost first.
        axes: Vec<Name>,
        /// The result.
        into: Name,
    },
    /// `reorder(k, i, j)`.
    Reorder(Vec<Name>),
    /// `distribute(i, j => thread(y, x))`.
    Distribute {
        /// What is distributed.
        axes: Vec<Name>,
        /// Where it goes.
        target: Target,
    },
    /// `serial(n)`.
    Serial(Vec<Name>),
    /// `unroll(i, j)`.
    Unroll(Vec<Name>),
    /// `vectorize(j, 4, unaligned: scalar)`.
    Vectorize {
        /// What is vectorized.
        axis: Name,
        /// How many lanes.
        lanes: Expr,
        /// Whether access lane by lane is meant where alignment is not proved.
        scalar: bool,
    },
    /// `show`.
    Show,
}

/// A factor of a split.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// A number.
    Number(Expr),
    /// `_`: whatever is left.
    Inferred(SpanId),
}

/// `i: 8 round_up => i_o`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// What is tiled.
    pub axis: Name,
    /// The extent of a tile.
    pub factor: Expr,
    /// What happens past the end.
    pub tail: Option<TailWord>,
    /// The name of the outer part.
    pub outer: Option<Name>,
}

/// A word after a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailWord {
    /// What it says.
    pub tail: Tail,
    /// Where it stands.
    pub span: SpanId,
}

/// `workgroup(z, z, y, x)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Workgroups or threads.
    pub level: Level,
    /// The coordinates, and where they stand.
    pub slots: Vec<(Slot, SpanId)>,
    /// The whole.
    pub span: SpanId,
}

/// The names of the directives, and of those that the design has and this version has not.
const DIRECTIVES: [&str; 9] = ["split", "tile", "fuse", "reorder", "distribute", "serial", "unroll", "vectorize", "show"];
const LATER: [&str; 14] = [
    "promote",
    "inline",
    "compute_at",
    "root",
    "rfactor",
    "pack",
    "precompute",
    "specialize",
    "tune",
    "pin",
    "pipeline",
    "mma",
    "dot",
    "decompose_winograd",
];

impl Schedule {
    /// Reads a whole `schedule!`.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Schedule, Error> {
        let prefix = Prefix::parse(cursor)?;
        let name = cursor.name("the variant's name")?;
        cursor.expect(":")?;
        let kernel = path(cursor, "the kernel's path")?;
        let bindings = bindings(cursor)?;
        if !cursor.peek_word("for") {
            return Err(cursor
                .expected("`for` and a profile")
                .help("a schedule's head reads `NAME: kernel<T = f32> for profile where … { … }`"));
        }
        cursor.expect_word("for")?;
        let profile = path(cursor, "the profile's path")?;
        let facts = facts(cursor)?;
        let (items, _) = cursor.group(Delimiter::Brace, |inside| Ok(items(inside)))?;
        Ok(Schedule { prefix, name, kernel, bindings, profile, facts, items: items.unwrap_or_default() })
    }
}

fn path(cursor: &mut Cursor<'_>, what: &str) -> Result<Vec<Name>, Error> {
    cursor.eat("::");
    let mut names = vec![segment(cursor, what)?];
    while cursor.eat("::").is_some() {
        names.push(segment(cursor, what)?);
    }
    Ok(names)
}

/// A part of a path: a name, or a keyword that stands for a module.
fn segment(cursor: &mut Cursor<'_>, what: &str) -> Result<Name, Error> {
    for word in ["crate", "self", "super", "$crate"] {
        if let Some(span) = cursor.eat_word(word) {
            return Ok(Name { text: word.into(), span });
        }
    }
    cursor.name(what)
}

fn bindings(cursor: &mut Cursor<'_>) -> Result<Vec<Binding>, Error> {
    let mut found = Vec::new();
    if cursor.eat("<").is_none() {
        return Ok(found);
    }
    while !cursor.peek(">") {
        let name = cursor.name("a generic's name")?;
        cursor.expect("=")?;
        found.push(Binding { name, value: expr::arithmetic(cursor)? });
        if cursor.eat(",").is_none() {
            break;
        }
    }
    cursor.expect(">")?;
    Ok(found)
}

fn facts(cursor: &mut Cursor<'_>) -> Result<Vec<Expr>, Error> {
    let mut found = Vec::new();
    if cursor.eat_word("where").is_none() {
        return Ok(found);
    }
    while !cursor.peek_group(Delimiter::Brace) {
        found.push(expr::expr(cursor)?);
        if cursor.eat(",").is_none() {
            break;
        }
    }
    Ok(found)
}

/// Directives and blocks up to the end. One that cannot be read is an error, and the next ones follow.
fn items(cursor: &mut Cursor<'_>) -> Vec<Item> {
    let mut found = Vec::new();
    while !cursor.is_empty() {
        match item(cursor) {
            Ok(item) => found.push(item),
            Err(error) => {
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    found
}

fn item(cursor: &mut Cursor<'_>) -> Result<Item, Error> {
    let first = cursor.name("a directive or a stage")?;
    if !cursor.peek(",") && !cursor.peek_group(Delimiter::Brace) {
        return directive(cursor, first).map(Item::Directive);
    }
    let mut stages = vec![first];
    while cursor.eat(",").is_some() {
        stages.push(cursor.name("a stage")?);
    }
    let (directives, _) = cursor.group(Delimiter::Brace, |inside| {
        let mut found = Vec::new();
        for item in items(inside) {
            match item {
                Item::Directive(directive) => found.push(directive),
                Item::Block { stages, .. } => {
                    let span = stages.first().map_or(SpanId::NONE, |s| s.span);
                    inside.report(Error::new(span, "a stage's block stands in another one").help("write it beside the other one"));
                }
            }
        }
        Ok(found)
    })?;
    Ok(Item::Block { stages, directives: directives.unwrap_or_default() })
}

fn directive(cursor: &mut Cursor<'_>, name: Name) -> Result<Directive, Error> {
    if !DIRECTIVES.contains(&name.as_str()) {
        return Err(unknown(&name));
    }
    let (kind, end) = match name.as_str() {
        "show" => show(cursor, name.span)?,
        "tile" => tile(cursor)?,
        "split" => cursor.inside(Delimiter::Parenthesis, split)?,
        "fuse" => {
            cursor.inside(Delimiter::Parenthesis, |c| Ok(DirectiveKind::Fuse { axes: names_to(c, "=>")?, into: arrow_name(c)? }))?
        }
        "distribute" => cursor.inside(Delimiter::Parenthesis, |c| {
            let axes = names_to(c, "=>")?;
            c.expect("=>")?;
            let target = target(c)?;
            refuse_strategy(c)?;
            Ok(DirectiveKind::Distribute { axes, target })
        })?,
        "vectorize" => cursor.inside(Delimiter::Parenthesis, vectorize)?,
        plain => {
            let (axes, end) = cursor.inside(Delimiter::Parenthesis, |c| names_to(c, ""))?;
            let kind = match plain {
                "reorder" => DirectiveKind::Reorder(axes),
                "serial" => DirectiveKind::Serial(axes),
                _ => DirectiveKind::Unroll(axes),
            };
            (kind, end)
        }
    };
    let span = cursor.join(name.span, end);
    cursor.expect(";")?;
    Ok(Directive { kind, span })
}

fn unknown(name: &Name) -> Error {
    let error = Error::new(name.span, format!("there is no directive `{name}`"));
    if LATER.contains(&name.as_str()) || name.text.starts_with("decompose_") {
        return Error::new(name.span, format!("the directive `{name}` is not supported yet"));
    }
    let help = did_you_mean(&name.text, DIRECTIVES).unwrap_or_else(|| format!("the directives are {}", list(DIRECTIVES)));
    error.help(help)
}

fn show(cursor: &mut Cursor<'_>, name: SpanId) -> Result<(DirectiveKind, SpanId), Error> {
    if cursor.peek_group(Delimiter::Parenthesis) {
        let (_, end) = cursor.inside(Delimiter::Parenthesis, |_| Ok(()))?;
        return Ok((DirectiveKind::Show, end));
    }
    Ok((DirectiveKind::Show, name))
}

/// Names with commas between them, up to an operator or the end; at least one.
fn names_to(cursor: &mut Cursor<'_>, stop: &str) -> Result<Vec<Name>, Error> {
    let mut names = vec![cursor.name("an axis")?];
    while cursor.eat(",").is_some() {
        if cursor.is_empty() || (!stop.is_empty() && cursor.peek(stop)) {
            break;
        }
        names.push(cursor.name("an axis")?);
    }
    Ok(names)
}

fn arrow_name(cursor: &mut Cursor<'_>) -> Result<Name, Error> {
    cursor.expect("=>")?;
    cursor.name("a name for the result")
}

fn split(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(",")?;
    let (factors, _) = cursor.inside(Delimiter::Bracket, |inside| {
        let mut factors = vec![factor(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            factors.push(factor(inside)?);
        }
        Ok(factors)
    })?;
    let tail = tail(cursor)?;
    cursor.expect("=>")?;
    let names = names_to(cursor, "")?;
    Ok(DirectiveKind::Split { axis, factors, tail, names })
}

fn factor(cursor: &mut Cursor<'_>) -> Result<Factor, Error> {
    match cursor.eat_word("_").or_else(|| cursor.eat("_")) {
        Some(span) => Ok(Factor::Inferred(span)),
        None => expr::arithmetic(cursor).map(Factor::Number),
    }
}

fn tail(cursor: &mut Cursor<'_>) -> Result<Option<TailWord>, Error> {
    let Some(word) = cursor.peek_name() else { return Ok(None) };
    let name = cursor.name("a tail")?;
    let tail = match word.as_str() {
        "guard" => Tail::Guard,
        "exact" => Tail::Exact,
        "round_up" => Tail::RoundUp,
        "peel" | "shift" => {
            return Err(Error::new(name.span, format!("the tail `{word}` is not supported yet")).help("write `guard`"));
        }
        _ => {
            let tails = ["guard", "exact", "round_up"];
            let help = did_you_mean(&word, tails).unwrap_or_else(|| format!("the tails are {}", list(tails)));
            return Err(Error::new(name.span, format!("there is no tail `{word}`")).help(help));
        }
    };
    Ok(Some(TailWord { tail, span: name.span }))
}

fn tile(cursor: &mut Cursor<'_>) -> Result<(DirectiveKind, SpanId), Error> {
    let (tiles, end) = cursor.inside(Delimiter::Parenthesis, |inside| {
        let mut tiles = vec![one_tile(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            tiles.push(one_tile(inside)?);
        }
        Ok(tiles)
    })?;
    if cursor.eat("=>").is_none() {
        return Ok((DirectiveKind::Tile { tiles, target: None }, end));
    }
    let target = target(cursor)?;
    let end = target.span;
    Ok((DirectiveKind::Tile { tiles, target: Some(target) }, end))
}

fn one_tile(cursor: &mut Cursor<'_>) -> Result<Tile, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(":")?;
    let factor = expr::arithmetic(cursor)?;
    let tail = tail(cursor)?;
    let outer = if cursor.eat("=>").is_some() { Some(cursor.name("a name for the outer part")?) } else { None };
    Ok(Tile { axis, factor, tail, outer })
}

fn target(cursor: &mut Cursor<'_>) -> Result<Target, Error> {
    let name = cursor.name("`workgroup(…)` or `thread(…)`")?;
    let level = match name.as_str() {
        "workgroup" => Level::Workgroup,
        "thread" => Level::Thread,
        "subgroup" | "lane" => return Err(Error::new(name.span, format!("distribution to `{name}` is not supported yet"))),
        _ => {
            let error = Error::new(name.span, format!("nothing can be distributed to `{name}`"));
            let help = did_you_mean(&name.text, ["workgroup", "thread"]);
            return Err(error.help(help.unwrap_or_else(|| "write `workgroup(…)` or `thread(…)`".into())));
        }
    };
    let (slots, end) = cursor.inside(Delimiter::Parenthesis, |inside| {
        let mut slots = vec![slot(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            slots.push(slot(inside)?);
        }
        Ok(slots)
    })?;
    let span = cursor.join(name.span, end);
    Ok(Target { level, slots, span })
}

fn slot(cursor: &mut Cursor<'_>) -> Result<(Slot, SpanId), Error> {
    let name = cursor.name("`x`, `y` or `z`")?;
    let slot = match name.as_str() {
        "x" => Slot::X,
        "y" => Slot::Y,
        "z" => Slot::Z,
        _ => {
            return Err(
                Error::new(name.span, format!("there is no coordinate `{name}`")).help("the coordinates are `x`, `y` and `z`")
            );
        }
    };
    Ok((slot, name.span))
}

/// `by: …` comes with reductions across invocations.
fn refuse_strategy(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    if cursor.eat(",").is_some() && !cursor.is_empty() {
        let here = cursor.here();
        return Err(Error::new(here, "reductions across invocations are not supported yet"));
    }
    Ok(())
}

fn vectorize(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(",")?;
    let lanes = expr::arithmetic(cursor)?;
    let mut scalar = false;
    if cursor.eat(",").is_some() && !cursor.is_empty() {
        cursor.expect_word("unaligned")?;
        cursor.expect(":")?;
        if cursor.eat_word("scalar").is_none() {
            return Err(cursor
                .expected("`scalar`")
                .help("`unaligned: scalar` reads and writes lane by lane where alignment is not proved"));
        }
        scalar = true;
    }
    Ok(DirectiveKind::Vectorize { axis, lanes, scalar })
}
