//! Rows that are reduced along memory: sums and maxima of rows, softmax, normalizations, products of a matrix and a vector.
//!
//! A workgroup has one row. Its invocations read adjacent elements and combine their partial results. Several statistics of one
//! row, and the stage that uses them, are one dispatch: the row is read from memory once, and from the cache after that.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::Number;
use super::pointwise::UNROLLED;
use super::reductions;

/// The most elements of a row for one subgroup.
const SHORT: i64 = 256;

/// A stage, and the statistics of rows that only it and other members use.
pub(super) struct Group<'n> {
    /// The stage that the statistics are computed in.
    pub(super) host: &'n Nest,
    /// The statistics, in order of definition.
    pub(super) members: Vec<&'n Nest>,
}

/// True if the stage reduces axes that are contiguous in memory, and too long to unroll.
pub(super) fn is_row(nest: &Nest) -> bool {
    let along = |read: &&Touch| (0..nest.reduced.len()).any(|n| read.steps[nest.reduced_at(n)] == Step::Next);
    nest.monoid.is_some() && !is_window(nest) && !is_sliding(nest) && dominant(nest).as_ref().is_some_and(along)
}

/// True if the reduction is a window of literal size, which each invocation unrolls.
pub(super) fn is_window(nest: &Nest) -> bool {
    let count = points(&nest.reduced);
    nest.monoid.is_some() && count.is_some_and(|count| count <= UNROLLED)
}

/// True if a window slides along memory: neighbouring elements of the result read overlapping items.
pub(super) fn is_sliding(nest: &Nest) -> bool {
    nest.monoid.is_some() && dominant(nest).is_some_and(|read| slides(nest, read))
}

/// True if a parallel axis and an axis of the reduction both move a read to the next element.
pub(super) fn slides(nest: &Nest, read: &Touch) -> bool {
    let (parallel, reduced) = read.steps.split_at(nest.parallel.len());
    parallel.contains(&Step::Next) && reduced.contains(&Step::Next)
}

/// Returns the read of the items that depends on the most axes.
pub(super) fn dominant(nest: &Nest) -> Option<&Touch> {
    nest.reads.iter().max_by_key(|read| read.steps.iter().filter(|s| **s != Step::Stays).count())
}

/// Returns the group of a stage, given the nests of all stages. Without statistics, a reduction of rows is a group of its own.
pub(super) fn group<'n>(host: &'n Nest, nests: &'n [Nest]) -> Option<Group<'n>> {
    let rows = match host.monoid {
        Some(_) if is_row(host) => host.parallel.len(),
        Some(_) => return None,
        None => host.parallel.len().checked_sub(1)?,
    };
    let mut members: Vec<&Nest> =
        nests.iter().filter(|nest| nest.open && !nest.rooted && !nest.result && nest.stage != host.stage && is_row(nest)).collect();
    members.retain(|nest| (1..=rows).contains(&nest.parallel.len()));
    // A member is read only by the host and by other members, each at its own row.
    loop {
        let inside = |nest: &Nest| nest.stage == host.stage || members.iter().any(|m| m.stage == nest.stage);
        let is_used_here = |member: &&&Nest| {
            nests.iter().all(|reader| {
                let mut reads = reader.all_reads().filter(|read| read.buffer == member.write.buffer).peekable();
                reads.peek().is_none() || (inside(reader) && reads.all(|read| read.prefix))
            })
        };
        let kept: Vec<&Nest> = members.iter().filter(is_used_here).copied().collect();
        if kept.len() == members.len() {
            break;
        }
        members = kept;
    }
    let count = members.first().map(|m| m.parallel.len());
    members.retain(|m| Some(m.parallel.len()) == count);
    let fits = match host.monoid {
        Some(_) => count.is_none_or(|count| count == host.parallel.len()),
        None => !members.is_empty(),
    };
    fits.then_some(Group { host, members })
}

/// Plans a group.
pub(super) fn plan(group: &Group<'_>, machine: &Machine<'_>) -> Option<Draft> {
    let Group { host, members } = group;
    let count = members.first().map_or(host.parallel.len(), |m| m.parallel.len());
    let (rows, columns) = host.parallel.split_at(count);
    if rows.is_empty() || rows.iter().any(|side| side.ragged) {
        return None;
    }
    let all = || members.iter().copied().chain([*host]);
    let lanes = all().map(|nest| lanes(nest, machine)).min()?;
    let threads = all().filter_map(|nest| threads(nest, lanes, machine)).max()?;
    let mut draft = Draft::default();
    let threads = draft.number((machine, host), "THREADS", threads, machine.sizes(threads));
    let tiles: Vec<String> = rows.iter().map(|side| format!("{}: 1", side.name)).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), vec!["x"; count].join(", ")), "a row for each workgroup");
    match host.monoid {
        None => {
            for (text, why) in across(columns, &threads, lanes) {
                draft.line(text, why);
            }
        }
        Some(_) => {
            for (text, why) in along(host, &threads, lanes, machine.strategy(host)) {
                draft.line(text, why);
            }
        }
    }
    for member in members.iter().rev() {
        draft.line(format!("compute_at({}, workgroup, to: register)", member.name), "in the dispatch that uses it");
    }
    for member in members {
        for (text, why) in along(member, &threads, lanes, machine.strategy(member)) {
            draft.of(&member.name, text, why);
        }
    }
    Some(draft)
}

/// Returns the elements of one access: several if rows are aligned.
fn lanes(nest: &Nest, machine: &Machine<'_>) -> i64 {
    let most = machine.vector(nest);
    let last = nest.reduced.last().or(nest.parallel.last());
    let aligned = last.is_some_and(|side| !side.ragged && side.divisor >= most);
    if aligned { most } else { 1 }
}

/// Returns the invocations for a row: as many as it has accesses, at most as many as a workgroup should have.
fn threads(nest: &Nest, lanes: i64, machine: &Machine<'_>) -> Option<i64> {
    let length = if nest.reduced.is_empty() { nest.parallel.last()?.most } else { nest.items };
    let accesses = length.map_or(i64::MAX, |length| power_above(groups(length, lanes)));
    let least = machine.profile.subgroup.map_or(1, i64::from).min(machine.row());
    let most =
        if length.is_some_and(|length| length <= SHORT) && machine.profile.subgroup.is_some() { least } else { machine.row() };
    Some(most.min(accesses).max(least))
}

/// Returns the directives that spread the columns of a row over invocations.
fn across(columns: &[Side], threads: &Number, lanes: i64) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let name = joined(columns, "columns", &mut lines);
    let rounds = rounds(columns, threads.value * lanes);
    let word = tail(points(columns), threads.value, "");
    match lanes {
        1 => {
            lines.push((format!("tile({name}: {threads}{word} => {name}_o)"), format!("{threads} invocations")));
            lines.push((format!("distribute({name} => thread(x))"), "adjacent elements to adjacent invocations".into()));
        }
        _ => {
            lines.push((
                format!("split({name}, [_, {threads}, {lanes}]{word} => {name}_o, {name}_t, {name}_v)"),
                format!("{threads} invocations"),
            ));
            lines.push((format!("distribute({name}_t => thread(x))"), String::new()));
            lines.push((format!("vectorize({name}_v, {lanes}, unaligned: scalar)"), "16 bytes an access".into()));
        }
    }
    if rounds != Some(1) {
        lines.push((format!("serial({name}_o)"), String::new()));
    }
    lines
}

/// Returns the directives that spread a reduction over invocations.
fn along(nest: &Nest, threads: &Number, lanes: i64, strategy: &str) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let name = joined(&nest.reduced, "items", &mut lines);
    let word = tail(points(&nest.reduced), threads.value, "");
    match lanes {
        1 => {
            lines.push((format!("tile({name}: {threads}{word} => {name}_o)"), format!("{threads} invocations")));
            lines.push((format!("distribute({name} => thread(x), by: {strategy})"), String::new()));
        }
        _ => {
            lines.push((
                format!("split({name}, [_, {threads}, {lanes}]{word} => {name}_o, {name}_t, {name}_v)"),
                format!("{threads} invocations"),
            ));
            lines.push((format!("distribute({name}_t => thread(x), by: {strategy})"), String::new()));
            lines.push((format!("unroll({name}_v)"), "16 bytes an access".into()));
        }
    }
    lines
}

/// Fuses axes, if there are several, and returns the name of the result.
pub(super) fn joined(sides: &[Side], into: &str, lines: &mut Vec<(String, String)>) -> String {
    match sides {
        [one] => one.name.clone(),
        all => {
            lines.push((format!("fuse({} => {into})", Nest::names(all)), String::new()));
            into.to_owned()
        }
    }
}

/// Returns the number of rounds in which tiles cover axes, if it is known.
fn rounds(sides: &[Side], tile: i64) -> Option<i64> {
    let length = points(sides);
    length.map(|length| groups(length, tile))
}

/// Returns sets of facts under which a group has another plan, the best first.
pub(super) fn regimes(group: &Group<'_>, machine: &Machine<'_>) -> Vec<Vec<String>> {
    let (aligned, short) = (aligned(group, machine), short(group, machine));
    if short.is_empty() {
        return vec![aligned];
    }
    vec![[aligned.clone(), short.clone()].concat(), aligned, short]
}

/// Returns the facts under which a subgroup reduces a row, if more invocations reduce longer ones.
fn short(group: &Group<'_>, machine: &Machine<'_>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    if machine.profile.subgroup.is_none_or(|lanes| i64::from(lanes) >= machine.row()) {
        return facts;
    }
    for nest in group.members.iter().copied().chain([group.host]).filter(|nest| nest.monoid.is_some()) {
        facts.extend(reductions::short(nest, SHORT).into_iter().filter(|fact| !facts.contains(fact)).collect::<Vec<_>>());
    }
    facts
}

/// Returns the facts that make the accesses of a group wide.
pub(super) fn aligned(group: &Group<'_>, machine: &Machine<'_>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for nest in group.members.iter().copied().chain([group.host]) {
        let last = nest.reduced.last().or(nest.parallel.last());
        let fact = last.filter(|side| !side.ragged).and_then(|side| side.multiple(machine.vector(nest)));
        facts.extend(fact.filter(|fact| !facts.contains(fact)));
    }
    facts
}
