//! The table of directives: the name of each, and the parser of its arguments. Errors list the names, and so do the tests of the pages and
//! of the generator.

use super::clone::clone;
use super::im2col::decompose_im2col;
use super::online::decompose_online;
use super::statements::{emit, pack, pin, precompute, specialize, strided, tune};
use super::winograd::decompose_winograd;
use super::{Directive, DirectiveKind, Item, Statement, StatementKind, mma, pipeline, promote, target, tiles, vectorize};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::syntax::expr;
use crate::syntax::words::{self, Argument};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;

/// A row of the table of directives.
pub struct Row {
    /// The name in schedules.
    pub name: &'static str,
    parse: Parse,
}

impl Row {
    /// True if the first argument is a stage or a tensor.
    fn names_stage(&self) -> bool {
        matches!(self.parse, Whole(_)) || ["promote", "compute_at", "inline", "root"].contains(&self.name)
    }
}

/// Reads the arguments after the name, and returns the place at which they end.
enum Parse {
    /// A directive for stages' nests, which may be in a block. The parser gets the place of its name.
    Directive(fn(&mut Cursor<'_>, SpanId) -> Parsed<DirectiveKind>),
    /// A statement about the whole variant.
    Statement(fn(&mut Cursor<'_>) -> Parsed<StatementKind>),
}

/// The tree that was read, and the place at which it ends.
type Parsed<K> = Result<(K, SpanId), Error>;

use Parse::{Directive as Nest, Statement as Whole};

/// All directives.
pub const DIRECTIVES: [Row; 33] = [
    Row { name: "split", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, tiles::split)) },
    Row { name: "tile", parse: Nest(|c, _| tiles::tile(c)) },
    Row { name: "fuse", parse: Nest(fuse) },
    Row { name: "reorder", parse: Nest(|c, _| of_axes(c, DirectiveKind::Reorder)) },
    Row { name: "distribute", parse: Nest(distribute) },
    Row { name: "serial", parse: Nest(|c, _| of_axes(c, DirectiveKind::Serial)) },
    Row { name: "unroll", parse: Nest(|c, _| of_axes(c, DirectiveKind::Unroll)) },
    Row { name: "border", parse: Nest(|c, _| of_axes(c, DirectiveKind::Border)) },
    Row { name: "vectorize", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, vectorize::vectorize)) },
    Row { name: "dot", parse: Nest(dot) },
    Row { name: "mma", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, mma::mma)) },
    Row { name: "fragment", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, mma::fragment)) },
    Row { name: "promote", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, promote::promote)) },
    Row { name: "compute_at", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, promote::compute_at)) },
    Row { name: "pipeline", parse: Nest(|c, _| c.inside(Delimiter::Parenthesis, pipeline::pipeline)) },
    Row { name: "rfactor", parse: Nest(rfactor) },
    Row { name: "scatter", parse: Nest(|c, _| of_axes(c, DirectiveKind::Scatter)) },
    Row { name: "accumulate", parse: Nest(accumulate) },
    Row { name: "inline", parse: Nest(|c, _| of_stages(c, DirectiveKind::Inline)) },
    Row { name: "root", parse: Nest(|c, _| of_stages(c, DirectiveKind::Root)) },
    Row { name: "default", parse: Nest(|c, name| alone(c, name, DirectiveKind::Default)) },
    Row { name: "show", parse: Nest(|c, name| alone(c, name, DirectiveKind::Show)) },
    Row { name: "clone", parse: Whole(clone) },
    Row { name: "decompose_im2col", parse: Whole(decompose_im2col) },
    Row { name: "decompose_online", parse: Whole(decompose_online) },
    Row { name: "decompose_winograd", parse: Whole(decompose_winograd) },
    Row { name: "emit", parse: Whole(|c| c.inside(Delimiter::Parenthesis, emit)) },
    Row { name: "pack", parse: Whole(|c| c.inside(Delimiter::Parenthesis, pack)) },
    Row { name: "pin", parse: Whole(pin) },
    Row { name: "precompute", parse: Whole(precompute) },
    Row { name: "specialize", parse: Whole(specialize) },
    Row { name: "strided", parse: Whole(strided) },
    Row { name: "tune", parse: Whole(tune) },
];

/// Reads the arguments of a directive, and the `;` after them.
pub(super) fn directive(cursor: &mut Cursor<'_>, name: &Name) -> Result<Item, Error> {
    let Some(row) = row(name) else { return Err(unknown(name)) };
    let called = row.name;
    let to_its_end = |cursor: &mut Cursor<'_>, end| {
        let span = cursor.join(name.span, end);
        let arrow = cursor.peek("->");
        let ends = cursor.expect(";").map(|_| span);
        ends.map_err(|error| if arrow { error.help("the target follows `=>`, not `->`: `… => workgroup(y, x);`") } else { error })
    };
    Ok(match row.parse {
        Nest(parse) => {
            let (kind, end) = parse(cursor, name.span)?;
            Item::Directive(Directive { called, kind, span: to_its_end(cursor, end)?, planned: None })
        }
        Whole(parse) => {
            let (kind, end) = parse(cursor)?;
            Item::Statement(Statement { called, kind, name: name.span, span: to_its_end(cursor, end)? })
        }
    })
}

fn row(name: &Name) -> Option<&'static Row> {
    DIRECTIVES.iter().find(|row| row.name == name.as_str())
}

/// Refuses a call of a directive of another language, `compute_root(f)`, before its name.
pub(super) fn foreign(cursor: &mut Cursor<'_>) -> Option<Error> {
    let (word, at) = (cursor.peek_name()?, cursor.here());
    let args = cursor.ahead(|c| {
        c.skip_one();
        arguments(c)
    })?;
    let help = words::help(words::DIRECTIVES, &word, &args)?;
    Some(Error::new(at, format!("unknown directive `{word}`")).help(help))
}

/// Refuses a directive that is written as a method of a stage, `f.tile(x: 8)`, before its `.`.
pub(super) fn method(cursor: &mut Cursor<'_>, stage: &Name) -> Option<Error> {
    let (name, args) = cursor.ahead(|c| {
        c.expect(".")?;
        let (text, span) = (c.peek_name().unwrap_or_default(), c.here());
        c.skip_one();
        Ok((Name { text, span }, arguments(c)?))
    })?;
    let error = Error::new(name.span, format!("`{name}` is a method of `{stage}` here, but directives are not methods"));
    let block = || format!("write it in the block of the stage: `{stage} {{ {name}(…); }}`");
    let whole = row(&name).filter(|row| row.names_stage()).map(|_| format!("write `{name}({stage}, …);`"));
    Some(error.help(words::help_of_method(stage, name.as_str(), &args).or(whole).unwrap_or_else(block)))
}

/// Reads the arguments of a call of another language. An argument that is not a name is `…`.
fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<Argument>, Error> {
    let one = |c: &mut Cursor<'_>| {
        let name = c.name("a name");
        let is_name = name.is_ok() && (c.is_empty() || c.peek(","));
        c.skip_to(&[","]);
        Ok(name.ok().filter(|_| is_name).unwrap_or_else(|| Name { text: "…".into(), span: SpanId::NONE }))
    };
    let (names, _) = cursor.list(Delimiter::Parenthesis, one)?;
    Ok(names.iter().map(Argument::from).collect())
}

fn unknown(name: &Name) -> Error {
    if name.text.starts_with("decompose_") {
        return Error::new(name.span, format!("the directive `{name}` is not supported yet"));
    }
    let known = DIRECTIVES.map(|row| row.name);
    let help = did_you_mean(&name.text, known).unwrap_or_else(|| format!("the directives are {}", list(known)));
    Error::new(name.span, format!("unknown directive `{name}`")).help(help)
}

/// Reads the arguments of a directive that takes only axes.
fn of_axes(cursor: &mut Cursor<'_>, kind: fn(Vec<Name>) -> DirectiveKind) -> Parsed<DirectiveKind> {
    let (names, end) = cursor.inside(Delimiter::Parenthesis, |c| names_to(c, ""))?;
    Ok((kind(names), end))
}

/// Reads the arguments of a directive that takes only stages.
fn of_stages(cursor: &mut Cursor<'_>, kind: fn(Vec<Name>) -> DirectiveKind) -> Parsed<DirectiveKind> {
    let (names, end) = cursor.inside(Delimiter::Parenthesis, |c| {
        let mut names = vec![families::stages(c, "a stage")?];
        while c.eat(",").is_some() && !c.is_empty() {
            names.push(families::stages(c, "a stage")?);
        }
        Ok(names)
    })?;
    Ok((kind(names), end))
}

fn fuse(cursor: &mut Cursor<'_>, _: SpanId) -> Parsed<DirectiveKind> {
    cursor.inside(Delimiter::Parenthesis, |c| {
        let axes = names_to(c, "=>")?;
        let help = match &axes[..] {
            [first @ .., into] if axes.len() > 2 => format!("write `fuse({} => {into})`", list_of(first)),
            _ => format!("name the fused axis: `fuse({} => f)`", list_of(&axes)),
        };
        let into = arrow_name(c).map_err(|error| error.help(help))?;
        Ok(DirectiveKind::Fuse { axes, into })
    })
}

fn distribute(cursor: &mut Cursor<'_>, _: SpanId) -> Parsed<DirectiveKind> {
    cursor.inside(Delimiter::Parenthesis, |c| {
        let axes = names_to(c, "=>")?;
        let help = || format!("write `distribute({} => workgroup(…))`, with a coordinate for each axis", list_of(&axes));
        c.expect("=>").map_err(|error| error.help(help()))?;
        let target = target::target(c)?;
        let by = if c.eat(",").is_some() && !c.is_empty() { Some(target::by(c)?) } else { None };
        Ok(DirectiveKind::Distribute { axes, target, by })
    })
}

fn dot(cursor: &mut Cursor<'_>, _: SpanId) -> Parsed<DirectiveKind> {
    cursor.inside(Delimiter::Parenthesis, |c| {
        let axis = c.name("the axis of a sum")?;
        c.expect(",")?;
        Ok(DirectiveKind::Dot { axis, bytes: expr::arithmetic(c)? })
    })
}

fn rfactor(cursor: &mut Cursor<'_>, _: SpanId) -> Parsed<DirectiveKind> {
    cursor.inside(Delimiter::Parenthesis, |c| {
        let axis = c.name("an axis of a reduction")?;
        let help = format!("name the stage of partial results: `rfactor({axis} => part)`");
        Ok(DirectiveKind::Rfactor { into: arrow_name(c).map_err(|error| error.help(help))?, axis })
    })
}

fn accumulate(cursor: &mut Cursor<'_>, _: SpanId) -> Parsed<DirectiveKind> {
    cursor.inside(Delimiter::Parenthesis, |c| {
        if !c.peek_word("as") {
            return Err(c.expected("`as` and a dtype").help("write `accumulate(as f32)`"));
        }
        c.expect_word("as")?;
        Ok(DirectiveKind::Accumulate(c.name("a dtype")?))
    })
}

/// Reads a directive without arguments. Its parentheses may be left out.
fn alone(cursor: &mut Cursor<'_>, name: SpanId, kind: DirectiveKind) -> Parsed<DirectiveKind> {
    if cursor.peek_group(Delimiter::Parenthesis) {
        let (_, end) = cursor.inside(Delimiter::Parenthesis, |_| Ok(()))?;
        return Ok((kind, end));
    }
    Ok((kind, name))
}

/// Reads names of axes separated by commas, up to an operator or the end. There is at least one.
pub(super) fn names_to(cursor: &mut Cursor<'_>, stop: &str) -> Result<Vec<Name>, Error> {
    let mut names = vec![cursor.name("an axis")?];
    while cursor.eat(",").is_some() {
        if cursor.is_empty() || (!stop.is_empty() && cursor.peek(stop)) {
            break;
        }
        names.push(axis_after(cursor, &names)?);
    }
    Ok(names)
}

/// Reads an axis after others. In Halide, a number there is a factor.
fn axis_after(cursor: &mut Cursor<'_>, before: &[Name]) -> Result<Name, Error> {
    let factor = cursor.ahead(|c| c.with(|s| s.parse::<syn::LitInt>()));
    let split = before.last().zip(factor).map(|(axis, by)| format!("split it first: `tile({axis}: {by});`"));
    cursor.name("an axis").map_err(|error| error.maybe_help(split))
}

/// Returns names as a list in source.
fn list_of(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn arrow_name(cursor: &mut Cursor<'_>) -> Result<Name, Error> {
    cursor.expect("=>")?;
    cursor.name("a name for the result")
}
