//! The parser of expressions.
//!
//! Parses by precedence climbing, because `syn::Expr` cannot read `sum(k in 0..K) { … }`. The precedences are Rust's: postfix, unary `-`
//! and `!`, `as`, `* / %`, `+ -`, `<< >>`, `&`, `^`, `|`, comparisons (which do not chain), `&&`, `||`.

use super::several::{self, components, values};
use super::{BinaryOp, Block, Combiner, Expr, ExprKind, Let, Outside, Range, Reduce, ReduceOp};
use crate::diag::{Error, SpanId};
use crate::expr::Compare;
use crate::expr::operators::Level;
use crate::syntax::{Cursor, Name, families, foreign, functions, limits, words};
use proc_macro2::Delimiter;
use std::sync::Arc;

/// An operator of two operands.
enum Operator {
    Binary(BinaryOp),
    Compare(Compare),
}

impl Operator {
    /// Returns the operator with that symbol, and its precedence.
    fn from_symbol(symbol: &str) -> Option<(Operator, Level)> {
        match BinaryOp::from_symbol(symbol) {
            Some(op) => Some((Operator::Binary(op), op.level())),
            None => Compare::from_symbol(symbol).map(|op| (Operator::Compare(op), Level::Compared)),
        }
    }
}

/// Reads an expression.
pub fn expr(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    binary(cursor, Level::Any)
}

/// Reads an expression without comparisons outside parentheses, for arithmetic and for values of generics, because `>` ends the generics.
pub fn arithmetic(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    binary(cursor, Level::Compared.tighter())
}

/// Reads operands and the operators between them that bind at least as tightly as `least`.
fn binary(cursor: &mut Cursor<'_>, least: Level) -> Result<Expr, Error> {
    cursor.deeper(|cursor| {
        let mut left = cast(cursor)?;
        let mut compared = false;
        while let Some(symbol) = cursor.peek_operator() {
            let Some((operator, level)) = Operator::from_symbol(&symbol).filter(|(_, level)| *level >= least) else { break };
            let comparison = matches!(operator, Operator::Compare(_));
            if comparison && compared {
                return Err(foreign::chained(cursor, &left));
            }
            let at = cursor.expect(&symbol)?;
            let right = binary(cursor, level.tighter())?;
            let span = cursor.join(left.span, right.span);
            let (left_box, right_box) = (Box::new(left), Box::new(right));
            let kind = match operator {
                Operator::Binary(op) => ExprKind::Binary(op, at, left_box, right_box),
                Operator::Compare(op) => ExprKind::Compare(op, at, left_box, right_box),
            };
            left = Expr { kind, span };
            cursor.higher()?;
            compared = comparison;
        }
        Ok(left)
    })
}

/// Reads `a as f32 as i32`.
fn cast(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let mut value = unary(cursor)?;
    while cursor.eat_word("as").is_some() {
        let to = cursor.name("a dtype")?;
        let span = cursor.join(value.span, to.span);
        value = Expr { kind: ExprKind::Cast(Box::new(value), to), span };
        cursor.higher()?;
    }
    Ok(value)
}

/// Reads `-a` or `!a`.
fn unary(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let (at, make): (SpanId, fn(Box<Expr>) -> ExprKind) = if let Some(at) = cursor.eat("-") {
        (at, ExprKind::Neg)
    } else if let Some(at) = cursor.eat("!") {
        (at, ExprKind::Not)
    } else {
        return postfix(cursor);
    };
    let operand = cursor.deeper(unary)?;
    let span = cursor.join(at, operand.span);
    cursor.higher()?;
    Ok(Expr { kind: make(Box::new(operand)), span })
}

/// Reads an atom and the methods called on it.
fn postfix(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let mut value = atom(cursor)?;
    loop {
        if cursor.peek_group(Delimiter::Bracket) {
            return Err(foreign::indexed(cursor.here(), &value));
        }
        if cursor.eat(".").is_none() {
            return Ok(value);
        }
        let name = cursor.name("a method")?;
        if !cursor.peek_group(Delimiter::Parenthesis) {
            return Err(cursor.expected("`(`").note("values have methods, but no fields"));
        }
        let (args, close) = arguments(cursor)?;
        let span = cursor.join(value.span, close);
        value = Expr { kind: ExprKind::Method { receiver: Box::new(value), name, args }, span };
        cursor.higher()?;
    }
}

/// Reads `(a, b)`, and returns its place too.
fn arguments(cursor: &mut Cursor<'_>) -> Result<(Vec<Expr>, SpanId), Error> {
    cursor.list(Delimiter::Parenthesis, expr)
}

/// Reads an operand of operators and methods.
fn atom(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    if cursor.peek_group(Delimiter::None) {
        return Ok(cursor.inside(Delimiter::None, expr)?.0);
    }
    if cursor.peek_group(Delimiter::Parenthesis) {
        let one = |c: &mut Cursor<'_>| {
            let inner = expr(c)?;
            foreign::not_one_value(c, &inner).map_or(Ok(inner), Err)
        };
        let (inner, span) = cursor.inside(Delimiter::Parenthesis, one)?;
        return Ok(Expr { kind: inner.kind, span });
    }
    if cursor.peek_group(Delimiter::Brace) {
        let block = block(cursor)?;
        let span = block.span;
        return Ok(Expr { kind: ExprKind::Block(block), span });
    }
    if cursor.peek_group(Delimiter::Bracket) {
        let (items, span) = cursor.list(Delimiter::Bracket, expr)?;
        cursor.higher()?;
        return Ok(Expr { kind: ExprKind::Array(items), span });
    }
    if cursor.peek("|") || cursor.peek("||") || cursor.peek_word("move") {
        return Err(foreign::closure(cursor));
    }
    if let Some(error) = foreign::item(cursor) {
        return Err(error);
    }
    match cursor.peek_name().as_deref() {
        Some("true" | "false") | None => literal(cursor),
        Some("if") => choice(cursor),
        Some(word) => match foreign::control_flow(word) {
            Some(help) => Err(Error::new(cursor.here(), format!("`{word}` is not supported in kernels")).help(help)),
            None => named(cursor),
        },
    }
}

/// Reads a number or a truth value.
fn literal(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let span = cursor.here();
    let expected = cursor.expected("an expression");
    let suffix = |s: &str| (!s.is_empty()).then(|| s.to_string());
    let kind = match cursor.with(|s| s.parse::<syn::Lit>()).map_err(|_| expected.clone())? {
        syn::Lit::Bool(b) => ExprKind::Bool(b.value),
        syn::Lit::Int(int) => {
            let value = int.base10_parse().map_err(|e| Error::new(span, e.to_string()))?;
            ExprKind::Int { value, suffix: suffix(int.suffix()) }
        }
        syn::Lit::Float(float) => {
            let value = float.base10_digits().parse().map_err(|_| expected)?;
            ExprKind::Float { value, suffix: suffix(float.suffix()) }
        }
        _ => return Err(expected),
    };
    Ok(Expr { kind, span })
}

/// Reads an expression that begins with a name: a value, a path, a read or a reduction.
fn named(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    if cursor.peek_ranges(1) {
        return reduce(cursor);
    }
    let name = cursor.name("an expression")?;
    if let Some(error) = foreign::macro_call(cursor, &name) {
        return Err(error);
    }
    if cursor.peek("::") {
        return path(cursor, name);
    }
    if cursor.peek_group(Delimiter::Parenthesis) {
        let (args, close) = arguments(cursor)?;
        let span = cursor.join(name.span, close);
        return Ok(Expr { kind: ExprKind::Call { function: name, args }, span });
    }
    let name = families::member(cursor, name)?;
    let outside = match cursor.peek_outside() {
        Some("pad") => {
            cursor.expect(".")?;
            cursor.expect_word("pad")?;
            Outside::Pad(Box::new(cursor.inside(Delimiter::Parenthesis, expr)?.0))
        }
        Some(_) => {
            cursor.expect(".")?;
            cursor.expect_word("clamp")?;
            cursor.inside(Delimiter::Parenthesis, |_| Ok(()))?;
            Outside::Clamp
        }
        None if cursor.peek_group(Delimiter::Bracket) => Outside::Never,
        None => return Ok(Expr { span: name.span, kind: ExprKind::Name(name.text) }),
    };
    let one = |c: &mut Cursor<'_>| {
        let index = expr(c)?;
        foreign::slice(c, &name, &index).map_or(Ok(index), Err)
    };
    let (index, close) = cursor.list(Delimiter::Bracket, one)?;
    cursor.higher()?;
    let span = cursor.join(name.span, close);
    Ok(Expr { kind: ExprKind::Index { tensor: name, outside, index }, span })
}

/// Reads `f32::INFINITY`, or `f32::max(a, b)`, after the first name.
fn path(cursor: &mut Cursor<'_>, first: Name) -> Result<Expr, Error> {
    let start = first.span;
    let mut names = vec![first];
    let mut last = start;
    while cursor.eat("::").is_some() {
        if let (true, Some(function)) = (cursor.peek("<"), names.last()) {
            return Err(foreign::typed_call(cursor, function));
        }
        let name = cursor.name("a name")?;
        last = name.span;
        names.push(name);
    }
    let span = cursor.join(start, last);
    if !cursor.peek_group(Delimiter::Parenthesis) {
        return Ok(Expr { kind: ExprKind::Path(names), span });
    }
    let text = names.iter().map(Name::as_str).collect::<Vec<_>>().join("::");
    let (args, close) = arguments(cursor)?;
    let kind = ExprKind::Call { function: Name { text, span }, args };
    Ok(Expr { kind, span: cursor.join(start, close) })
}

/// Reads `if c { a } else { b }`.
fn choice(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let start = cursor.expect_word("if")?;
    if cursor.peek_word("let") {
        return Err(cursor.expected("a condition").note("patterns are not supported in kernels"));
    }
    let cond = Box::new(expr(cursor)?);
    let then = block(cursor)?;
    if cursor.eat_word("else").is_none() {
        return Err(cursor.expected("`else`").note("an `if` is a value, so it needs both branches"));
    }
    let other = if cursor.peek_word("if") {
        let inner = cursor.deeper(choice)?;
        let span = inner.span;
        Block { lets: Vec::new(), value: Box::new(inner), span }
    } else {
        block(cursor)?
    };
    let span = cursor.join(start, other.span);
    cursor.higher()?;
    Ok(Expr { kind: ExprKind::If { cond, then, other }, span })
}

/// Reads `where N >= 1, N % 4 == 0`, up to the body. Without `where` there are no facts.
pub fn facts(cursor: &mut Cursor<'_>) -> Result<Vec<Expr>, Error> {
    let mut found = Vec::new();
    if cursor.eat_word("where").is_none() {
        return Ok(found);
    }
    while !cursor.peek_group(Delimiter::Brace) {
        found.push(expr(cursor)?);
        if cursor.eat(",").is_none() {
            break;
        }
    }
    Ok(found)
}

/// Reads `{ let a = …; value }`.
pub fn block(cursor: &mut Cursor<'_>) -> Result<Block, Error> {
    let (content, span) = cursor.inside(Delimiter::Brace, |c| {
        let lets = lets(c)?;
        if c.is_empty() {
            return Err(c.expected("a value").note("the last expression of a block, without `;`, is its value"));
        }
        let value = expr(c)?;
        if c.peek(";") {
            return Err(c.expected("`}`").note("the last expression of a block, without `;`, is its value"));
        }
        Ok((lets, Box::new(value)))
    })?;
    cursor.higher()?;
    Ok(Block { lets: content.0, value: content.1, span })
}

/// Reads the names that a block gives to values.
pub(in crate::syntax) fn lets(cursor: &mut Cursor<'_>) -> Result<Vec<Let>, Error> {
    let mut lets = Vec::new();
    while cursor.peek_word("let") {
        match local(cursor) {
            Ok(bound) => {
                lets.extend(bound);
                limits::lets(&lets)?;
            }
            Err(error) => {
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    Ok(lets)
}

/// Reads `let a: f32 = …;`, or `let (a, b) = reduce(…) …;`, which gives each component of the result a name.
fn local(cursor: &mut Cursor<'_>) -> Result<Vec<Let>, Error> {
    cursor.expect_word("let")?;
    if cursor.peek_word("mut") {
        let error = Error::new(cursor.here(), "`mut` is not supported in kernels: a name keeps its value");
        return Err(error.help("bind another name by another `let`"));
    }
    if cursor.ahead(several::names_of_reduction).is_some() {
        return several::lets_of_reduction(cursor);
    }
    if let Some(error) = foreign::pattern(cursor) {
        return Err(error);
    }
    let name = cursor.name("a name")?;
    if cursor.peek_group(Delimiter::Bracket) {
        let error = Error::new(cursor.here(), "a tensor is not defined inside an expression");
        return Err(error.help("move the `let` before this definition"));
    }
    let dtype = match cursor.eat(":") {
        Some(_) => Some(cursor.name("a dtype")?),
        None => None,
    };
    Ok(vec![let_value(cursor, name, dtype)?])
}

/// Reads the value of a `let`, or a closure, after the name and the dtype.
pub fn let_value(cursor: &mut Cursor<'_>, name: Name, dtype: Option<Name>) -> Result<Let, Error> {
    cursor.expect("=")?;
    let value = match functions::closure(cursor, &name)? {
        Some(function) => {
            if let Some(dtype) = &dtype {
                let error = Error::new(dtype.span, format!("`{name}` is a closure, which has no dtype"));
                return Err(error.help(format!("write the dtype of its result: `let {name} = |…| -> {dtype} {{ … }};`")));
            }
            Expr { span: function.span, kind: ExprKind::Closure(Arc::new(function)) }
        }
        None => expr(cursor)?,
    };
    cursor.expect(";")?;
    Ok(Let { name, dtype, value })
}

/// Reads `sum(k in 0..K, j in lo..hi) { … }`, or `reduce(k in 0..K) { … } from … by |a, b| …`.
fn reduce(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    let name = cursor.name("a reduction")?;
    let op = ReduceOp::from_name(&name.text).ok_or_else(|| {
        let names = ReduceOp::ALL.map(ReduceOp::name);
        let error = Error::new(name.span, format!("unknown reduction `{name}`"));
        let help = words::help(words::VALUES, &name.text, &[]).or_else(|| crate::diag::did_you_mean(&name.text, names));
        error.note(format!("there are {}", crate::diag::list(names))).maybe_help(help)
    })?;
    let (ranges, close) = cursor.list(Delimiter::Parenthesis, |c| range(c, op))?;
    let head = cursor.join(name.span, close);
    let only = if cursor.eat_word("where").is_some() { Some(Box::new(condition(cursor)?)) } else { None };
    let (items, close) = if op == ReduceOp::Reduce { items(cursor)? } else { block(cursor).map(|b| (vec![b.clone()], b.span))? };
    if cursor.peek_word("where") {
        let error = Error::new(cursor.here(), "the condition of a reduction comes before its body");
        return Err(error.help(format!("write `{name}(…) where … {{ … }}`")));
    }
    let combiner = if op == ReduceOp::Reduce { Some(Arc::new(combiner(cursor, items.len())?)) } else { None };
    let span = cursor.join(name.span, combiner.as_ref().map_or(close, |combiner| combiner.span));
    Ok(Expr { kind: ExprKind::Reduce(Reduce { op, head, ranges, only, items, combiner, component: None }), span })
}

/// Reads the item of `reduce`, as one block for each component.
fn items(cursor: &mut Cursor<'_>) -> Result<(Vec<Block>, SpanId), Error> {
    let place = cursor.here();
    if !cursor.peek_group(Delimiter::Brace) {
        return Err(cursor.expected("`{`").note("the item of a reduction is in braces"));
    }
    let found = values(cursor)?;
    components(&found, place)?;
    let item = |value: Expr| match value.kind {
        ExprKind::Block(block) => block,
        kind => Block { lets: Vec::new(), value: Expr { kind, span: value.span }.into(), span: value.span },
    };
    Ok((found.into_iter().map(item).collect(), place))
}

/// Reads `from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m)`, for a state of `count` components.
fn combiner(cursor: &mut Cursor<'_>, count: usize) -> Result<Combiner, Error> {
    let help = "write `reduce(k in 0..K) { x[k] } from 0.0 by |a, b| a + b`";
    if cursor.eat_word("from").is_none() {
        return Err(cursor.expected("`from`").note("`reduce` has an identity and a combiner").help(help));
    }
    let at = cursor.here();
    let identity = values(cursor)?;
    several::agree(&identity, count, at, "the identity")?;
    if cursor.eat_word("by").is_none() {
        return Err(cursor.expected("`by`").note("`reduce` has an identity and a combiner").help(help));
    }
    let start = cursor.here();
    let operands = several::operands(cursor, count)?;
    let at = cursor.here();
    let combined = values(cursor)?;
    several::agree(&combined, count, at, "the combined state")?;
    let end = combined.last().map_or(at, |last| last.span);
    Ok(Combiner { identity, operands, combined, span: cursor.join(start, end) })
}

/// Reads the condition after `where`.
fn condition(cursor: &mut Cursor<'_>) -> Result<Expr, Error> {
    if cursor.peek_group(Delimiter::Brace) {
        return Err(cursor.expected("a condition").help("leave out `where`, or write `where x[i] > 0.0 { … }`"));
    }
    expr(cursor)
}

/// Reads `k in lo..hi`, a range of a reduction.
fn range(cursor: &mut Cursor<'_>, op: ReduceOp) -> Result<Range, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect_word("in")?;
    if cursor.peek_group(Delimiter::Parenthesis)
        && let Some(error) = foreign::ordered(cursor, op, &axis)
    {
        return Err(error);
    }
    let low = expr(cursor)?;
    let inclusive = cursor.eat("..=").is_some();
    if !inclusive && cursor.eat("..").is_none() {
        return Err(cursor.expected("`..`").help(format!("an axis has a range: `{axis} in 0..N`")));
    }
    let high = expr(cursor)?;
    if let Some(error) = foreign::condition(cursor, &axis) {
        return Err(error);
    }
    Ok(Range { axis, low, high, inclusive })
}
