//! Refuses Rust's statements and expressions that kernels do not have. Each error gives the line to write instead.

use super::expr::{Expr, ExprKind, Range, ReduceOp, expr};
use super::kernel::{Define, Statement, statement};
use super::words::{self, Argument};
use super::{Cursor, Name};
use crate::diag::{Error, SpanId, list};
use crate::expr::Compare;
use proc_macro2::Delimiter;

/// Refuses a statement of Rust that kernels do not have, and skips its body.
pub(super) fn refused(cursor: &mut Cursor<'_>) -> bool {
    let at = cursor.here();
    let word = cursor.peek_name().unwrap_or_default();
    let error = match word.as_str() {
        "for" => looped(cursor),
        "if" => conditional(cursor),
        "struct" | "enum" | "trait" | "impl" | "type" | "mod" | "use" | "static" | "extern" | "pub" | "unsafe" | "async" => {
            let what = format!("`{word}` is not allowed in a kernel, which holds only definitions");
            Error::new(at, what).help("move it out: the kernel is an item like it")
        }
        _ => match control_flow(&word) {
            Some(help) => Error::new(at, format!("`{word}` is not supported in kernels")).help(help),
            None => return false,
        },
    };
    cursor.report(error);
    loop {
        while !cursor.is_empty() && !cursor.peek(";") && !cursor.peek_group(Delimiter::Brace) {
            cursor.skip_one();
        }
        cursor.skip_one();
        if !cursor.peek_word("else") {
            return true;
        }
    }
}

/// Returns the help for one of Rust's control-flow keywords.
pub(super) fn control_flow(word: &str) -> Option<&'static str> {
    match word {
        "for" | "while" | "loop" => Some(
            "a definition `y[i] = …` runs over its axes by itself, and a reduction is `sum(k in 0..K) { … }`; \
             loops without known bounds are out of scope",
        ),
        "match" => Some("write `if … { … } else if … { … } else { … }`"),
        "return" => Some("a block's value is its last expression, without `;`"),
        "break" | "continue" => Some("a reduction takes all items: skip one with `if … { … } else { … }`"),
        _ => None,
    }
}

/// Returns the error of `if c { y[i] = …; }` without skipping it. The help puts the `if` into the value of one definition.
fn conditional(cursor: &mut Cursor<'_>) -> Error {
    let error = Error::new(cursor.here(), "a definition cannot be inside an `if`");
    let read = cursor.ahead(|c| {
        c.expect_word("if")?;
        let condition = expr(c)?;
        let (first, _) = c.group(Delimiter::Brace, |c| {
            let first = statement(c);
            c.skip_all();
            first
        })?;
        Ok((condition, first))
    });
    let text = match read {
        Some((condition, Some(Statement::Define(Define { name, index, value, compound: None, .. })))) => {
            let left = format!("{name}[{}]", super::expr::commas(&index));
            format!("{left} = if {} {{ {} }} else {{ … }};", condition.short(), value.short())
        }
        _ => "y[i] = if … { … } else { … };".into(),
    };
    error.help(format!("choose the value: `{text}`"))
}

/// Returns the error of `for s in 0..4 { … }` without skipping it. The help turns its ranges into axes or a reduction.
fn looped(cursor: &mut Cursor<'_>) -> Error {
    let error = Error::new(cursor.here(), "`for` is not supported in kernels");
    let help = cursor.ahead(|c| {
        let mut ranges = Vec::new();
        let definition = nested(c, &mut ranges)?;
        Ok(in_place_of(&ranges, definition))
    });
    error.help(help.flatten().unwrap_or_else(|| control_flow("for").unwrap_or_default().into()))
}

/// Returns the first definition within loops, and the loops' ranges.
fn nested(cursor: &mut Cursor<'_>, ranges: &mut Vec<Range>) -> Result<Statement, Error> {
    if cursor.eat_word("for").is_none() {
        return statement(cursor);
    }
    let axis = cursor.name("an axis")?;
    cursor.expect_word("in")?;
    let low = expr(cursor)?;
    let inclusive = cursor.eat("..=").is_some();
    if !inclusive {
        cursor.expect("..")?;
    }
    let high = expr(cursor)?;
    ranges.push(Range { axis, low, high, inclusive });
    let (definition, _) = cursor.group(Delimiter::Brace, |c| {
        let definition = nested(c, ranges);
        c.skip_all();
        definition
    })?;
    definition.ok_or_else(|| cursor.expected("a definition"))
}

/// Returns the definition that replaces a definition within loops.
fn in_place_of(ranges: &[Range], statement: Statement) -> Option<String> {
    let Statement::Define(Define { name, index, ty, value, compound, .. }) = statement else { return None };
    let has = |range: &&Range| index.iter().any(|i| i.as_name() == Some(range.axis.as_str()));
    let others: Vec<&Range> = ranges.iter().filter(|range| !has(range)).collect();
    let left = |index: &[Expr]| format!("{name}[{}]", super::expr::commas(index));
    match (ty, compound) {
        // A loop that defines stages becomes one stage with another axis.
        (Some(ty), None) => {
            let mut axes: Vec<String> = others.iter().map(|range| range.axis.to_string()).collect();
            let mut shape: Vec<String> = others.iter().map(|range| extent(range)).collect();
            axes.extend(index.iter().map(ToString::to_string));
            shape.extend(ty.shape.unwrap_or_default().iter().map(ToString::to_string));
            let (axes, shape) = (axes.join(", "), shape.join(", "));
            Some(format!("give the stage an axis for the loop: `let {name}[{axes}]: {}[{shape}] = {};`", ty.dtype, value.short()))
        }
        (None, None) if others.is_empty() => {
            Some(format!("a definition runs over its axes by itself: write `{} = {};`", left(&index), value.short()))
        }
        (None, Some((op, _))) if !others.is_empty() => {
            let reduction = op.reduction()?;
            let ranges: Vec<String> = others.iter().map(ToString::to_string).collect();
            let (left, ranges, value) = (left(&index), ranges.join(", "), value.short());
            Some(format!("a definition gives the whole element: write `{left} = {reduction}({ranges}) {{ {value} }};`"))
        }
        _ => None,
    }
}

/// Returns the number of values of a range.
fn extent(range: &Range) -> String {
    let Range { low, high, inclusive, .. } = range;
    let one = if *inclusive { " + 1" } else { "" };
    match &low.kind {
        ExprKind::Int { value: 0, .. } => format!("{high}{one}"),
        _ => format!("{high}{one} - {}", low.short_operand()),
    }
}

/// Refuses a closure that is not the value of a `let`, and whose `|`, `||` or `move` comes next.
pub(super) fn closure(cursor: &mut Cursor<'_>) -> Error {
    let error = Error::new(cursor.here(), "a closure is not a value of a kernel, because it has to be called");
    error.help("give it a name, `let f = |a, b| …;`, and call it: `f(x[i], y[i])`")
}

/// Refuses a path to an item of Rust: `super::a`.
pub(super) fn item(cursor: &mut Cursor<'_>) -> Option<Error> {
    let word = ["super", "crate", "self", "Self"].into_iter().find(|word| cursor.peek_word(word))?;
    let error = Error::new(cursor.here(), format!("`{word}::…` is an item of Rust, which kernels do not use"));
    Some(error.help("write its value here, or make it an argument"))
}

/// Refuses a call that names a type, `cast::<u8>(x)`, at its `<`.
pub(super) fn typed_call(cursor: &mut Cursor<'_>, function: &Name) -> Error {
    let error = Error::new(function.span, format!("the call of `{function}` cannot name a type"));
    let read = cursor.ahead(|c| {
        c.expect("<")?;
        let of = c.name("a dtype")?;
        c.expect(">")?;
        let (args, _) = c.list(Delimiter::Parenthesis, expr)?;
        Ok((of, args))
    });
    let Some((of, args)) = read else { return error.help(format!("write `{function}(…)`")) };
    let given: Vec<Argument> = std::iter::once((&of).into()).chain(args.iter().map(Argument::from)).collect();
    let own = || format!("write `{function}({})`", super::expr::commas(&args));
    error.help(words::help(words::VALUES, function.as_str(), &given).unwrap_or_else(own))
}

/// Refuses a second comparison after `left`. In C++, `cast<float>(x)` is a call.
pub(super) fn chained(cursor: &mut Cursor<'_>, left: &Expr) -> Error {
    if let ExprKind::Compare(Compare::Lt, _, function, of) = &left.kind
        && let (Some(function), Some(of)) = (function.as_name(), of.as_name())
        && cursor.peek(">")
        && words::help(words::VALUES, function, &[]).is_some()
    {
        let text = |text: &str| Name { text: text.to_owned(), span: left.span };
        let value = cursor.ahead(|c| {
            c.expect(">")?;
            expr(c)
        });
        let given: Vec<Argument> = std::iter::once((&text(of)).into()).chain(value.as_ref().map(Argument::from)).collect();
        let error = Error::new(left.span, format!("the call of `{function}` cannot name a type"));
        return error.maybe_help(words::help(words::VALUES, function, &given));
    }
    Error::new(cursor.here(), "comparisons do not chain").help("write `a < b && b < c`")
}

/// Refuses the call of a macro, after its name.
pub(super) fn macro_call(cursor: &mut Cursor<'_>, name: &Name) -> Option<Error> {
    let mark = cursor.eat("!")?;
    let span = cursor.join(name.span, mark);
    let error = Error::new(span, format!("`{name}!` cannot be called in a kernel"));
    Some(match name.as_str() {
        "vec" => error.help("a table is a constant: `const W: f32[2] = [1.0, 2.0];`"),
        word if words::help(words::VALUES, word, &[]).is_some() => error.maybe_help(words::help(words::VALUES, word, &[])),
        _ => {
            let error = error.note("a kernel is read before macros in it are expanded");
            error.help("write its expansion here, or let a `macro_rules!` of yours expand to the whole `kernel! { … }`")
        }
    })
}

/// Refuses a pattern that is not a name, after `let`.
pub(super) fn pattern(cursor: &mut Cursor<'_>) -> Option<Error> {
    let at = cursor.here();
    let of_type = cursor.ahead(|c| {
        c.name("a type")?;
        Ok(c.peek_group(Delimiter::Parenthesis) || c.peek_group(Delimiter::Brace))
    });
    if of_type == Some(true) {
        return Some(Error::new(at, "a `let` of a kernel names one value").help("write `let a = …;`, without a pattern"));
    }
    if !cursor.peek_group(Delimiter::Parenthesis) && !cursor.peek_group(Delimiter::Bracket) {
        return None;
    }
    let read = cursor.ahead(|c| {
        let names = tuple(c, |c| c.name("a name"))?;
        c.expect("=")?;
        Ok((names, tuple(c, expr)))
    });
    let error = Error::new(at, "a `let` of a kernel names one value");
    let Some((names, values)) = read else { return Some(error.help("write a `let` for each value")) };
    let values: Vec<String> = match values {
        Ok(values) if values.len() == names.len() => values.iter().map(Expr::short).collect(),
        _ => vec!["…".into(); names.len()],
    };
    let lets: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("let {name} = {value};")).collect();
    Some(error.help(format!("write `{}`", lets.join(" "))))
}

/// Reads the items of a list in parentheses or brackets.
fn tuple<T>(cursor: &mut Cursor<'_>, item: impl FnMut(&mut Cursor<'_>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    let delimiter = if cursor.peek_group(Delimiter::Bracket) { Delimiter::Bracket } else { Delimiter::Parenthesis };
    Ok(cursor.list(delimiter, item)?.0)
}

/// Refuses a tuple or a range in parentheses, after its first value.
pub(super) fn not_one_value(cursor: &mut Cursor<'_>, first: &Expr) -> Option<Error> {
    if cursor.peek(",") {
        let error = Error::new(cursor.here(), "a tuple is not a value of a kernel");
        return Some(error.help("give each part a name of its own, `let a = …;`, or a definition"));
    }
    if cursor.peek("..") || cursor.peek("..=") {
        let at = cursor.here();
        let high = cursor.ahead(|c| {
            c.skip_one();
            expr(c)
        });
        let range = high.map_or_else(|| format!("{}..…", first.short()), |high| format!("{}..{}", first.short(), high.short()));
        let error = Error::new(at, format!("the range `{range}` is not a value"));
        return Some(error.help(format!("a reduction runs over it: `sum(k in {range}) {{ … }}`")));
    }
    None
}

/// Refuses a range in parentheses and the methods that are called on it: `k in (0..N).rev()`.
pub(super) fn ordered(cursor: &mut Cursor<'_>, op: ReduceOp, axis: &Name) -> Option<Error> {
    let at = cursor.here();
    let (low, high, inclusive, last, method, by) = cursor.ahead(|c| {
        let ((low, high, inclusive), last) = c.inside(Delimiter::Parenthesis, |c| {
            let low = expr(c)?;
            let inclusive = c.eat("..=").is_some();
            if !inclusive {
                c.expect("..")?;
            }
            Ok((low, expr(c)?, inclusive))
        })?;
        if c.eat(".").is_none() {
            return Ok((low, high, inclusive, last, None, None));
        }
        let method = c.name("a method")?;
        let by = c.list(Delimiter::Parenthesis, expr)?.0.into_iter().next();
        Ok((low, high, inclusive, method.span, Some(method), by))
    })?;
    let dots = if inclusive { "..=" } else { ".." };
    let (from, to) = (low.short(), high.short());
    let from_zero = matches!(low.kind, ExprKind::Int { value: 0, .. });
    let range = format!("{axis} in {from}{dots}{to}");
    let Some(method) = method else {
        let error = Error::new(at, format!("the range of `{axis}` cannot be in parentheses"));
        return Some(error.help(format!("write `{range}`")));
    };
    let span: SpanId = last;
    Some(match (method.as_str(), by) {
        ("rev", _) => {
            let back = match (inclusive, from_zero) {
                (false, true) => format!("{} - 1 - {axis}", high.short_operand()),
                (false, false) => format!("{from} + {} - 1 - {axis}", high.short_operand()),
                (true, true) => format!("{} - {axis}", high.short_operand()),
                (true, false) => format!("{from} + {} - {axis}", high.short_operand()),
            };
            let (cannot, name) = (format!("the range of `{axis}` cannot be reversed"), op.name());
            if matches!(op, ReduceOp::Argmin | ReduceOp::Argmax) {
                let error = Error::new(span, format!("{cannot}, because `{name}` returns the lowest position of equal items"));
                let last = back.replace(&format!("- {axis}"), &format!("- {name}({range}) {{ … }}"));
                return Some(error.help(format!("for the highest one, write `{last}`, with `{back}` for `{axis}` in the braces")));
            }
            let error = Error::new(span, format!("{cannot}, because a reduction is unordered"));
            error.help(format!("write `{range}`; if an index is to count down, `{back}`"))
        }
        ("step_by", Some(by)) if from_zero && !inclusive => {
            let error = Error::new(span, format!("the range of `{axis}` cannot have steps"));
            let (count, by) =
                (format!("({} + {} - 1) / {}", high.short_operand(), by.short(), by.short_operand()), by.short_operand());
            error.help(format!("write `{axis} in 0..{count}`, and `{axis} * {by}` for `{axis}`"))
        }
        (other, _) => {
            let error = Error::new(span, format!("unknown method `{other}` on the range of `{axis}`"));
            error.help(format!("write `{range}`, and choose in the body by `if`"))
        }
    })
}

/// Refuses a condition after a range: `k in 0..N where …`.
pub(super) fn condition(cursor: &mut Cursor<'_>, axis: &Name) -> Option<Error> {
    let word = ["where", "if"].into_iter().find(|word| cursor.peek_word(word))?;
    let at = cursor.here();
    let condition = cursor.ahead(|c| {
        c.expect_word(word)?;
        expr(c)
    });
    let condition = condition.map_or_else(|| "…".into(), |condition| condition.short());
    let error = Error::new(at, format!("the range of `{axis}` cannot have a condition"));
    Some(error.help(format!("write it after all ranges: `sum({axis} in …) where {condition} {{ … }}`")))
}

/// Refuses indices of a value that is not a tensor.
pub(super) fn indexed(at: SpanId, value: &Expr) -> Error {
    match &value.kind {
        ExprKind::Index { tensor, index, .. } => two_lists(at, tensor, index),
        ExprKind::Call { function, .. } => Error::new(at, format!("a call of `{function}` is one value, without indices")).help(format!(
            "a function takes elements, `{function}(x[i])`; if it is a kernel, write its definition here, `let {function}_of[i]: f32[N] = …;`"
        )),
        ExprKind::Method { receiver, name, args } if receiver.as_name().is_some() => {
            let error = Error::new(name.span, format!("unknown method `{name}` of a tensor"));
            let args: Vec<Argument> = std::iter::once(&**receiver).chain(args).map(Argument::from).collect();
            let help = words::help(words::VALUES, name.as_str(), &args);
            error.help("a tensor has `pad(v)[…]` and `clamp()[…]`").maybe_help(help)
        }
        _ => {
            let error = Error::new(at, "only tensors have indices");
            error.help("give the value a name: `let t[i]: f32[N] = …;`, then read `t[i]`")
        }
    }
}

/// Refuses a second list of indices after the first one of a tensor.
pub(super) fn two_lists(at: SpanId, tensor: &Name, first: &[Expr]) -> Error {
    let error = Error::new(at, format!("`{tensor}` has one list of indices"));
    error.help(format!("write `{tensor}[{}, …]`", super::expr::commas(first)))
}

/// Refuses a range as an index: `x[i..i + 3]`.
pub(super) fn slice(cursor: &mut Cursor<'_>, tensor: &Name, low: &Expr) -> Option<Error> {
    if !cursor.peek("..") && !cursor.peek("..=") {
        return None;
    }
    let error = Error::new(cursor.here(), format!("`{tensor}[…]` reads one element, not a range"));
    let high = cursor.ahead(|c| {
        c.skip_one();
        expr(c)
    });
    let high = high.map_or_else(|| "…".into(), |high| high.short());
    Some(error.help(format!("a reduction runs over a range: `sum(k in {}..{high}) {{ {tensor}[k] }}`", low.short())))
}

/// Refuses a definition of several names that are not tensors with axes: `(a, b) = …`.
pub(super) fn several(cursor: &mut Cursor<'_>) -> Option<Error> {
    if !cursor.peek_group(Delimiter::Parenthesis) {
        return None;
    }
    let at = cursor.here();
    let parts = cursor.ahead(|c| tuple(c, expr))?;
    let error = Error::new(at, format!("a definition names tensors with their axes, and this names {}", list(&parts)));
    Some(error.help("write `(a[i], b[i]) = (x, y);`"))
}
