//! `dot(k, 4)`: adds the products of four bytes at a time, by an instruction that takes four consecutive factors in one 32-bit word.
//!
//! The axis is split exactly, and the inner part becomes the innermost loop. The outer part keeps the name. The sum of four products is
//! exact, so that the sum wraps as if they were added one by one.
//!
//! Refused: a profile without the instruction; an axis that is not of a sum; other items than products of two bytes that are read; another
//! number than 4; an extent that 4 is not proved to divide. After the other directives of the stage, factors whose four bytes are not
//! proved to be one word, and tails that cut words.

use super::lanes::{Along, Missing, in_order};
use super::{peel, split, vectorize};
use crate::diag::{Error, SpanId, list};
use crate::expr::{Binary, Expr, ExprId, Outside, Read};
use crate::launch::{DType, DotSigns, Feature};
use crate::nest::local_bytes::is_stored_narrow;
use crate::nest::path::Frame;
use crate::nest::{AxisDef, AxisId, Body, Exec, Space, State, Tail};
use crate::profile::Profile;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::expr as tree;

/// The bytes of a word.
const BYTES: i64 = 4;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, name: &Name, bytes: &tree::Expr, span: SpanId) -> Applied {
    check_device(nest, span)?;
    let axis = nest.axis(name)?;
    let at = split::plain(nest, axis, name.span)?;
    peel::check_uniform(nest, axis, name.span, "the dot products")?;
    check_alone(nest, name)?;
    let signs = check_items(nest, axis, name)?;
    let count = nest.positive(bytes, "the number of factors in a word")?;
    if count != BYTES {
        let error = Error::new(bytes.span, format!("a dot product has {BYTES} pairs of bytes, not {count}"));
        return Err(error.note("the instruction takes 32-bit words").help(format!("write `dot({name}, {BYTES})`")));
    }
    check_divides(nest, axis, name)?;
    let inner = split::inner(nest, (axis, at), name, (count, "dot"), span);
    nest.path.frames.push(Frame::looped(inner, Exec::Dot, span));
    nest.take_hulls(span)?;
    nest.refresh();
    let what = format!("the device adds products of bytes in words ({} factors)", signs.name());
    nest.program.owe(what, State::CheckedAtLaunch, span);
    Ok(())
}

fn check_device(nest: &StageNest<'_>, span: SpanId) -> Applied {
    let (profile, feature) = (nest.profile, Feature::IntegerDotProduct);
    if profile.has(feature) {
        return Ok(());
    }
    let error = Error::new(span, format!("the profile `{}` does not have `{}`", profile.name, feature.name()));
    Err(error.help(format!("leave `dot` out, or take {}", Profile::that_have(feature))))
}

/// Checks that the stage does not have lanes, matrices or another dot product.
fn check_alone(nest: &StageNest<'_>, name: &Name) -> Applied {
    let other = |f: &&Frame| matches!(f.as_loop(), Some((_, Exec::Lanes | Exec::Dot | Exec::Matrix(_))));
    let Some(frame) = nest.path.frames.iter().find(other) else { return Ok(()) };
    let (what, help) = match frame.as_loop() {
        Some((_, Exec::Dot)) => ("has a dot product already", "leave one of the two out"),
        Some((_, Exec::Lanes)) => {
            ("is in lanes already", "unroll that axis instead, because the words are the vectors of a dot product")
        }
        _ => ("is on matrix units already", "leave one of the two out"),
    };
    Err(Error::new(name.span, format!("this stage {what}")).note_at(frame.span, "by this directive").help(help))
}

/// Checks that the stage sums products of two bytes over the axis. Returns the signs of the factors.
fn check_items(nest: &StageNest<'_>, axis: AxisId, name: &Name) -> Result<DotSigns, Error> {
    let (program, stage) = (&*nest.program, &nest.program.stages[nest.stage]);
    let help = format!("`dot` needs `sum({name} in …) {{ a * b }}` of two factors that are read from tensors of `i8` or `u8`");
    let refuse = |what: String| Err(Error::new(name.span, what).help(help.clone()));
    let Body::Reduce { monoid, .. } = &stage.body else { return refuse(format!("`{}` is not a sum", stage.name)) };
    if monoid.name != "sum" || nest.path.compute.value.len() != 1 {
        return refuse(format!("`{}` is a `{}`, but a dot product is a sum", stage.name, monoid.name));
    }
    if !nest.is_reduction(axis) {
        let error = Error::new(name.span, format!("`{name}` is a parallel axis, but a dot product adds along an axis of the sum"));
        let axes = nest.path.axes().filter(|axis| nest.is_reduction(*axis)).map(|axis| nest.name(axis));
        return Err(error.help(format!("the sum is over {}", list(axes))));
    }
    let item = nest.path.compute.value[0];
    let Expr::Binary(Binary::Mul, a, b) = *program.exprs.get(item) else {
        return refuse(format!("the items of `{}` are not products", stage.name));
    };
    let dtype = program.exprs.dtype(item);
    if !matches!(dtype, DType::I32 | DType::U32) {
        let error = Error::new(name.span, format!("the products of `{}` are of type `{dtype}`", stage.name));
        return Err(error.note("a dot product is a sum in 32 bits").help("convert both factors, as in `a as i32 * b as i32`"));
    }
    let mut bytes = [dtype; 2];
    for (byte, factor) in bytes.iter_mut().zip([a, b]) {
        let Some(read) = read_by(nest, factor) else {
            let error = Error::new(name.span, format!("the factor `{}` is computed, but words are read", nest.text(factor)));
            return Err(error.help("compute it in a stage of its own, placed by `compute_at` or stored by `root`"));
        };
        *byte = program.buffers[read.buffer].dtype;
    }
    let Some(signs) = DotSigns::of(bytes) else {
        let wide = bytes.into_iter().find(|dtype| !matches!(dtype, DType::I8 | DType::U8)).unwrap_or(dtype);
        return refuse(format!("a factor of `{}` is of type `{wide}`, but words hold bytes", stage.name));
    };
    Ok(signs)
}

/// Returns the read that a factor is, without the conversions to more bits.
fn read_by(nest: &StageNest<'_>, factor: ExprId) -> Option<Read> {
    match nest.program.exprs.get(nest.program.exprs.widened(factor)) {
        Expr::Read(read) => Some(read.clone()),
        _ => None,
    }
}

fn check_divides(nest: &StageNest<'_>, axis: AxisId, name: &Name) -> Applied {
    let extent = nest.program.axes[axis].extent;
    if nest.prover().divides(BYTES, extent) {
        return Ok(());
    }
    let text = nest.text(extent);
    let error = Error::new(name.span, format!("the extent `{text}` of `{name}` is not proved to be a multiple of {BYTES}"));
    Err(error.help(match nest.program.exprs.as_int(extent) {
        Some(_) => format!("choose a tile of `{name}` that {BYTES} divides"),
        None => format!(
            "state `where {} % {BYTES} == 0`, or tile it, `tile({name}: 32 round_up => {name}_o)`, and promote the factors with `fill: 0`",
            split::parenthesized(&text)
        ),
    }))
}

/// Checks, after all directives of a stage, that four factors along its dot product are one word.
pub fn check_words(nest: &mut StageNest<'_>) -> Applied {
    let dots = |f: &Frame| f.as_loop().filter(|(_, exec)| *exec == Exec::Dot).map(|(axis, _)| (axis, f.span));
    let Some((inner, span)) = nest.path.frames.iter().find_map(dots) else { return Ok(()) };
    let name = match nest.program.axes[inner].def {
        AxisDef::Part { of, .. } => nest.name(of).to_owned(),
        _ => nest.name(inner).to_owned(),
    };
    if let Some(pred) = vectorize::cut(nest, inner, BYTES).filter(|pred| pred.tail != Tail::RoundUp) {
        let text = nest.text(nest.program.axes[pred.axis].extent);
        let error = Error::new(span, format!("`{name}` ends at {text}, which may be within a word"));
        let help = format!("write `round_up` after the tile of `{name}` and promote the factors with `fill: 0`");
        return Err(error.help(format!("{help}, or state `where {} % {BYTES} == 0`", split::parenthesized(&text))));
    }
    let Expr::Binary(Binary::Mul, a, b) = *nest.program.exprs.get(nest.path.compute.value[0]) else { return Ok(()) };
    for factor in [a, b] {
        if let Some(read) = read_by(nest, factor) {
            check_word(nest, &read, inner, &name, span)?;
        }
    }
    Ok(())
}

/// Checks that four elements of a read along the dot product are one word in memory.
fn check_word(nest: &mut StageNest<'_>, read: &Read, inner: AxisId, name: &str, span: SpanId) -> Applied {
    let along = in_order(nest, read.buffer, &read.index, inner, BYTES);
    let buffer = &nest.program.buffers[read.buffer];
    let (tensor, made) = (buffer.name.clone(), buffer.span);
    let refuse = |what: String| Error::new(span, format!("`{tensor}` {what}"));
    if matches!(buffer.space, Space::Constant(_)) {
        return Err(refuse("is a table, whose elements are not packed in words".into()).help("make it an argument of the kernel"));
    }
    if buffer.space == Space::Shared && !is_stored_narrow(buffer.dtype, nest.profile) {
        let why = format!("has elements of 32 bits in shared memory, because `{}` does not have `i8`", nest.profile.name);
        return Err(refuse(why)
            .note_at(made, "it is made here")
            .help("write `to: register` there, or read the words from device memory"));
    }
    if i64::from(buffer.swizzle) % BYTES != 0 {
        let error = refuse(format!("is swizzled by {}, which moves the bytes of a word apart", buffer.swizzle));
        return Err(error.note_at(made, "here").help(format!("swizzle by a multiple of {BYTES}")));
    }
    match along {
        Along::Wide if leaves(read) => {
            let error = refuse(format!("can be out of bounds within a word along `{name}`"));
            Err(error.help(copy(nest, read, name)))
        }
        Along::Wide => Ok(()),
        Along::Uniform => {
            let error = refuse(format!("does not change along `{name}`, so a word of it is not four factors"));
            Err(error.help(format!("name an axis that both factors depend on, or leave `dot` out, because the sum of the other factor along `{name}` can be multiplied once")))
        }
        Along::Scattered => Err(refuse(format!("is not contiguous along `{name}`")).help(copy(nest, read, name))),
        Along::Unaligned(Missing::Fact(fact)) => {
            let error = refuse(format!("is contiguous along `{name}`, but its words are not proved to be aligned"));
            let error = error.note(format!("the fact `{fact}` is missing"));
            Err(error.help(format!("state it in the schedule's header, `where {fact}`, or {}", copy(nest, read, name))))
        }
        Along::Unaligned(Missing::Multiple(index)) => {
            let error = refuse(format!("is contiguous along `{name}`, but its words are not proved to be aligned"));
            let error = error.note(format!("they begin at `{index}`, which is not always a multiple of {BYTES}"));
            Err(error.help(copy(nest, read, name)))
        }
        Along::Unaligned(Missing::Other(why)) => {
            Err(refuse(format!("is contiguous along `{name}`, but its words are not proved to be aligned")).note(why))
        }
    }
}

/// True if a read can be out of bounds in the dimension that its words are in.
fn leaves(read: &Read) -> bool {
    match &read.outside {
        Outside::Never => false,
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.last().is_some_and(|(low, high)| *low || *high),
    }
}

/// Returns a help that makes the words of a factor: a copy or a layout in which the axis of the dot product is last.
fn copy(nest: &StageNest<'_>, read: &Read, name: &str) -> String {
    let (program, buffer) = (&*nest.program, &nest.program.buffers[read.buffer]);
    let mut axes: Vec<&str> = Vec::new();
    for index in &read.index {
        program.exprs.uses_axis(*index, &mut |axis| {
            let own = nest.name(axis);
            if own != name && !axes.contains(&own) {
                axes.push(own);
            }
            false
        });
    }
    axes.push(name);
    let (tensor, order) = (&buffer.name, axes.join(", "));
    if !buffer.space.is_global() {
        return format!("name the axes of the copy where it is made, with `{name}` last: `{tensor}[{order}]`");
    }
    // The copy is made in the loop around the words, or in a loop over tiles of them.
    let mut loops =
        nest.path.frames.iter().filter_map(Frame::as_loop).filter(|(axis, exec)| *exec == Exec::Serial && nest.is_reduction(*axis));
    let around = loops.next().map(|(axis, _)| nest.name(axis)).filter(|around| *around != name);
    let (tile, at) = match around {
        Some(around) => (String::new(), around.to_owned()),
        None => (format!("tile({name}: 32 => {name}_o); "), format!("{name}_o")),
    };
    let copied =
        format!("copy it in that order before `dot`, `{tile}promote({tensor} => {tensor}_s[{order}], at: {at}, to: shared)`");
    let index: Vec<String> = read.index.iter().map(|index| nest.text(*index)).collect();
    let is_plain = |text: &String| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !matches!(buffer.space, Space::Input) || !index.iter().all(is_plain) || !index.iter().any(|text| text == name) {
        return copied;
    }
    let others = index.iter().filter(|text| *text != name).map(|text| format!("{text}, ")).collect::<String>();
    format!("{copied}, or store it so, `pack({tensor}[{}] => [{name} / {BYTES}, {others}{name} % {BYTES}])`", index.join(", "))
}
