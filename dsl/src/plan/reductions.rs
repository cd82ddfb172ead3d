//! Reductions whose results are few, or whose items are columns.
//!
//! If few results have many items, one dispatch reduces pieces of the items and a second one the partial results, so that all
//! cores work. Columns go to adjacent invocations, because these read adjacent elements.

use super::draft::Draft;
use super::form::{Nest, Side, Step, points, tail};
use super::machine::{CHAIN, Machine, PIECE, groups, power_above};
use super::number::{Number, near};
use super::rows::joined;

/// The rows of a column's piece on a GPU.
const COLUMN_PIECE: i64 = 256;

/// The most items for which a second dispatch costs more than it saves.
const SHORT: i64 = 2048;

/// Returns the longest column, in items, that one dispatch reduces.
fn short_column(machine: &Machine<'_>) -> i64 {
    if machine.profile.cpu { CHAIN } else { SHORT }
}

/// Plans a reduction to a single element.
pub(super) fn total(nest: &Nest, machine: &Machine<'_>) -> Option<Draft> {
    if !nest.parallel.is_empty() || !nest.has_parts(machine.profile) {
        return None;
    }
    let (mut draft, mut lines) = (Draft::default(), Vec::new());
    let axis = joined(&nest.reduced, "items", &mut lines);
    lines.into_iter().for_each(|(text, why)| draft.line(text, why));
    let strategy = machine.strategy(nest);
    let threads = if machine.profile.cpu { machine.row() } else { machine.invocations() };
    let length = nest.items;
    if length.is_some_and(|length| length <= PIECE) {
        let threads = threads.min(power_above(length.unwrap_or(threads))).max(machine.row().min(32));
        let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
        let word = tail(points(&nest.reduced), threads.value, "");
        draft.line(format!("tile({axis}: {threads}{word} => {axis}_o)"), "one workgroup");
        draft.line(format!("distribute({axis} => thread(x), by: {strategy})"), format!("{threads} invocations"));
        return Some(draft);
    }
    let lanes = machine.vector(nest);
    let part = format!("{}_part", nest.name);
    let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
    let piece = draft.number((machine, nest), "PIECE", PIECE, near(PIECE, PIECE / 2..=2 * PIECE));
    draft.line(format!("tile({axis}: {piece} => {axis}_o)"), "a piece for each workgroup");
    draft.line(format!("rfactor({axis}_o => {part})"), "a second dispatch combines the pieces");
    let word = tail(pieces(nest, PIECE), threads.value, "");
    draft.line(format!("tile({axis}_o: {threads}{word} => {axis}_r)"), "");
    draft.line(format!("distribute({axis}_o => thread(x), by: {strategy})"), format!("{threads} invocations"));
    draft.of(&part, format!("distribute({axis}_o => workgroup(x))"), "");
    draft.of(&part, format!("split({axis}, [_, {threads}, {lanes}] => {axis}_r, {axis}_t, {axis}_v)"), "16 bytes an access");
    draft.of(&part, format!("distribute({axis}_t => thread(x), by: {strategy})"), format!("{threads} invocations"));
    draft.of(&part, format!("unroll({axis}_v)"), "");
    Some(draft)
}

/// Plans the reduction of columns: the last axis of the result is contiguous in memory.
pub(super) fn columns(nest: &Nest, machine: &Machine<'_>) -> Option<Draft> {
    let (last, outer) = nest.parallel.split_last()?;
    let at = nest.parallel.len() - 1;
    if nest.parallel.iter().chain(&nest.reduced).any(|side| side.ragged) || nest.reads.iter().all(|r| r.steps[at] != Step::Next) {
        return None;
    }
    if are_few(nest, machine) {
        return few_columns(nest, machine);
    }
    let (mut draft, mut lines) = (Draft::default(), Vec::new());
    let axis = joined(&nest.reduced, "items", &mut lines);
    let length = nest.items;
    let most = power_above(last.most.unwrap_or(i64::MAX));
    let x = machine.invocations().min(most);
    let ones: Vec<String> = outer.iter().map(|side| format!("{}: 1", side.name)).collect();
    let tile = |x: &Number| format!("{}: {x}{}", last.name, tail(last.exact, x.value, ""));
    let tiles = |x: &Number| [ones.as_slice(), &[tile(x)]].concat().join(", ");
    let slots = |first: &str| [vec![first; outer.len()], vec!["x"]].concat().join(", ");
    if length.is_some_and(|length| length <= short_column(machine)) {
        let x = draft.number((machine, nest), "THREADS", x, machine.sizes(x));
        draft.line(format!("tile({}) => workgroup({})", tiles(&x), slots("y")), format!("{x} columns"));
        draft.line(format!("distribute({} => thread(x))", last.name), "adjacent columns to adjacent invocations");
        return Some(draft);
    }
    if !nest.has_parts(machine.profile) {
        return None;
    }
    lines.into_iter().for_each(|(text, why)| draft.line(text, why));
    let piece = if machine.profile.cpu { CHAIN } else { COLUMN_PIECE };
    let part = format!("{}_part", nest.name);
    let piece = draft.number((machine, nest), "PIECE", piece, near(piece, 64..=CHAIN));
    let threads = draft.number((machine, nest), "THREADS", x, machine.sizes(x));
    draft.line(format!("tile({axis}: {piece} => {axis}_o)"), "a piece for each workgroup");
    draft.line(format!("rfactor({axis}_o => {part})"), "a second dispatch combines the pieces");
    if machine.profile.cpu {
        draft.line(format!("tile({}) => workgroup({})", tiles(&threads), slots("y")), format!("{threads} columns"));
        draft.line(format!("distribute({} => thread(x))", last.name), "");
    } else {
        let (x, y) = (x.min(32), machine.invocations() / x.min(32));
        draft.line(format!("tile({}) => workgroup({})", tiles(&x.into()), slots("y")), format!("{x} columns"));
        draft.line(format!("distribute({} => thread(x))", last.name), "");
        let word = tail(pieces(nest, piece.value), y, "");
        draft.line(format!("tile({axis}_o: {y}{word} => {axis}_r)"), "");
        draft.line(format!("distribute({axis}_o => thread(y), by: tree)"), format!("{y} pieces at a time"));
    }
    draft.of(&part, format!("distribute({axis}_o => workgroup(y))"), "");
    draft.of(&part, format!("tile({}) => workgroup({})", tiles(&threads), slots("z")), format!("{threads} columns"));
    draft.of(&part, format!("distribute({} => thread(x))", last.name), "adjacent columns to adjacent invocations");
    Some(draft)
}

/// True if the columns of a position fit in one access, and the result has several positions.
fn are_few(nest: &Nest, machine: &Machine<'_>) -> bool {
    let last = nest.parallel.last().and_then(|side| side.exact);
    nest.parallel.len() > 1 && last.is_some_and(|n| n <= machine.vector(nest))
}

/// Plans the reduction of a few columns, as the three coordinates of a force: an invocation computes all columns of a position, because they
/// share the rest of the computation.
fn few_columns(nest: &Nest, machine: &Machine<'_>) -> Option<Draft> {
    let (last, outer) = nest.parallel.split_last()?;
    let mut draft = Draft::default();
    let threads = machine.invocations();
    let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
    let word = tail(points(outer), threads.value, "");
    let place = |lines: &mut Vec<(String, String)>, over: &[&str]| {
        let axis = joined(outer, "positions", lines);
        lines.push((format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} positions")));
        lines.push((format!("distribute({axis} => thread(x))"), String::new()));
        lines
            .push((format!("reorder({})", [over, &[&last.name]].concat().join(", ")), "all columns of a position together".into()));
        lines.push((format!("unroll({})", last.name), String::new()));
    };
    let mut lines = Vec::new();
    let over: Vec<&str> = nest.reduced.iter().map(|side| side.name.as_str()).collect();
    if nest.items.is_some_and(|items| items <= COLUMN_PIECE) {
        place(&mut lines, &over);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        return Some(draft);
    }
    if !nest.has_parts(machine.profile) {
        return None;
    }
    let axis = joined(&nest.reduced, "items", &mut lines);
    let piece = if machine.profile.cpu { CHAIN } else { COLUMN_PIECE };
    let piece = draft.number((machine, nest), "PIECE", piece, near(piece, 64..=CHAIN));
    let part = format!("{}_part", nest.name);
    lines.push((format!("tile({axis}: {piece} => {axis}_o)"), "a piece for each workgroup".into()));
    lines.push((format!("rfactor({axis}_o => {part})"), "a second dispatch combines the pieces".into()));
    place(&mut lines, &[&format!("{axis}_o")]);
    lines.into_iter().for_each(|(text, why)| draft.line(text, why));
    let mut lines = vec![(format!("distribute({axis}_o => workgroup(y))"), String::new())];
    place(&mut lines, &[&axis]);
    lines.into_iter().for_each(|(text, why)| draft.of(&part, text, why));
    Some(draft)
}

/// Returns the number of pieces of a reduction, if its length is a literal.
fn pieces(nest: &Nest, piece: i64) -> Option<i64> {
    points(&nest.reduced).map(|length| groups(length, piece))
}

/// Returns a fact under which one dispatch of columns is enough.
pub(super) fn short_columns(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    if are_few(nest, machine) { Vec::new() } else { short(nest, short_column(machine)) }
}

/// Returns a fact under which one dispatch is enough.
pub(super) fn short(nest: &Nest, most: i64) -> Vec<String> {
    let length = nest.items;
    if length.is_some() {
        return Vec::new();
    }
    let all: Vec<String> = nest.reduced.iter().map(Side::factor).collect();
    vec![format!("{} <= {most}", all.join(" * "))]
}
