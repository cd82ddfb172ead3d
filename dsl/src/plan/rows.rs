//! Rows that are reduced along memory: sums and maxima of rows, softmax, normalizations, products of a matrix and a vector.
//!
//! A workgroup has one row. Its invocations read adjacent elements and combine their partial results. On a CPU, where a workgroup costs as
//! much as tens of elements, it has several shorter rows, and an invocation reduces a short one by itself. Several statistics of one
//! row, and the stage that uses them, are one dispatch: the row is read from memory once, and from the cache after that.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};
use super::pointwise::UNROLLED;
use super::reductions;

/// The most elements of a row for one subgroup.
const SHORT: i64 = 256;

/// The most elements of a row for one invocation of a CPU, because invocations then read at the stride of a row.
const STRIDE: i64 = 64;

/// The invocations of a workgroup if each has a row.
const LANE_ROWS: i64 = 64;

/// The most elements of a row if a workgroup of a CPU has several rows.
const MEDIUM: i64 = 4096;

/// The rows of such a workgroup.
const ROWS: i64 = 16;

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

impl<'n> Group<'n> {
    /// Returns the axes of the rows, and the axes along each row of a stage without a reduction.
    fn sides(&self) -> (&'n [Side], &'n [Side]) {
        let count = self.members.first().map_or(self.host.parallel.len(), |member| member.parallel.len());
        self.host.parallel.split_at(count)
    }

    /// Returns the reductions.
    fn reductions(&self) -> impl Iterator<Item = &'n Nest> {
        self.members.iter().copied().chain([self.host]).filter(|nest| nest.monoid.is_some())
    }
}

/// Plans a group.
pub(super) fn plan(group: &Group<'_>, machine: &Machine<'_>) -> Option<Draft> {
    let Group { host, members } = group;
    let (rows, columns) = group.sides();
    let count = rows.len();
    if rows.is_empty() || rows.iter().any(|side| side.ragged) {
        return None;
    }
    if is_by_lanes(group, machine) {
        return Some(by_lanes(group, machine));
    }
    let all = || members.iter().copied().chain([*host]);
    let lanes = all().map(|nest| lanes(nest, machine)).min()?;
    let threads = all().filter_map(|nest| threads(nest, lanes, machine)).max()?;
    let mut draft = Draft::default();
    let threads = draft.number((machine, host), "THREADS", threads, machine.sizes(threads));
    let (row, outer) = rows.split_last()?;
    let several = several(group, machine).map(|rows| draft.number((machine, host), "ROWS", rows, near(rows, 2..=4 * ROWS)));
    let (own, why) = match &several {
        Some(rows) => {
            (format!("{}: {rows}{}", row.name, tail(row.exact, rows.value, "")), format!("{rows} rows for each workgroup"))
        }
        None => (format!("{}: 1", row.name), "a row for each workgroup".to_owned()),
    };
    let tiles: Vec<String> = outer.iter().map(|side| format!("{}: 1", side.name)).chain([own]).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), vec!["x"; count].join(", ")), why);
    if several.is_some() {
        draft.line(format!("serial({})", row.name), "");
    }
    match host.monoid {
        None => {
            for (text, why) in across(columns, &threads, lanes) {
                draft.line(text, why);
            }
        }
        Some(_) => {
            for (text, why) in along(host, &threads, lanes, machine) {
                draft.line(text, why);
            }
        }
    }
    for member in members.iter().rev() {
        draft.line(format!("compute_at({}, {}, to: register)", member.name, place(group, machine)), "in the dispatch that uses it");
    }
    for member in members {
        for (text, why) in along(member, &threads, lanes, machine) {
            draft.of(&member.name, text, why);
        }
    }
    Some(draft)
}

/// True if each invocation of a plan has a row.
fn is_by_lanes(group: &Group<'_>, machine: &Machine<'_>) -> bool {
    machine.profile.cpu && group.reductions().all(|nest| nest.items.is_some_and(|items| items <= STRIDE))
}

/// Returns the rows of a workgroup, if it has several: on a CPU, where a workgroup costs as much as tens of elements.
fn several(group: &Group<'_>, machine: &Machine<'_>) -> Option<i64> {
    let is_medium = group.reductions().all(|nest| nest.items.is_some_and(|items| items <= MEDIUM));
    let extent = group.sides().0.last()?.exact.map_or(i64::MAX, power_above);
    (machine.profile.cpu && is_medium).then_some(ROWS.min(extent))
}

/// Returns the loop of a plan that is run once for each row.
pub(super) fn place<'n>(group: &Group<'n>, machine: &Machine<'_>) -> &'n str {
    match group.sides().0.last() {
        _ if is_by_lanes(group, machine) => "thread",
        Some(row) if several(group, machine).is_some() => &row.name,
        _ => "workgroup",
    }
}

/// Plans a group of short rows for a CPU: an invocation has a row, because a workgroup for each would cost more than the row.
fn by_lanes(group: &Group<'_>, machine: &Machine<'_>) -> Draft {
    let (rows, columns) = group.sides();
    let (mut draft, mut lines) = (Draft::default(), Vec::new());
    let axis = joined(rows, "rows", &mut lines);
    lines.into_iter().for_each(|(text, why)| draft.line(text, why));
    let extent = points(rows);
    let threads = LANE_ROWS.min(extent.map_or(LANE_ROWS, power_above));
    let threads = draft.number((machine, group.host), "THREADS", threads, machine.sizes(threads));
    let word = tail(extent, threads.value, "");
    draft.line(format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} rows"));
    draft.line(format!("distribute({axis} => thread(x))"), "a short row for each invocation");
    if !columns.is_empty() {
        draft.line(format!("serial({})", Nest::names(columns)), "");
    }
    for member in group.members.iter().rev() {
        draft.line(format!("compute_at({}, thread, to: register)", member.name), "in the dispatch that uses it");
    }
    draft
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
fn along(nest: &Nest, threads: &Number, lanes: i64, machine: &Machine<'_>) -> Vec<(String, String)> {
    let (mut lines, strategy) = (Vec::new(), machine.strategy(nest));
    let sides = if machine.profile.cpu { vector(&nest.reduced, machine) } else { &nest.reduced };
    let name = joined(sides, "items", &mut lines);
    let word = tail(points(sides), threads.value, "");
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

/// Returns the last axes that have a vector of elements. The others remain loops on a CPU, because a vector of indices is divided lane by lane
/// there.
fn vector<'n>(sides: &'n [Side], machine: &Machine<'_>) -> &'n [Side] {
    let is_enough = |from: &usize| points(&sides[*from..]).is_none_or(|n| n >= machine.lanes());
    let from = (0..sides.len()).rev().find(is_enough).unwrap_or(0);
    &sides[from..]
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
    let aligned = aligned(group, machine);
    let both = |most: i64| [aligned.clone(), short(group, most)].concat();
    let has_fewer = machine.profile.subgroup.is_some_and(|lanes| i64::from(lanes) < machine.row());
    match () {
        () if machine.profile.cpu => vec![short(group, STRIDE), both(MEDIUM), short(group, MEDIUM), aligned],
        () if has_fewer => vec![both(SHORT), aligned, short(group, SHORT)],
        () => vec![aligned],
    }
}

/// Returns the facts that most sizes meet.
pub(super) fn wishes(group: &Group<'_>, machine: &Machine<'_>) -> Vec<String> {
    if machine.profile.cpu { short(group, MEDIUM) } else { aligned(group, machine) }
}

/// Returns the facts that all rows have at most this many elements.
fn short(group: &Group<'_>, most: i64) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for nest in group.reductions() {
        facts.extend(reductions::short(nest, most).into_iter().filter(|fact| !facts.contains(fact)).collect::<Vec<_>>());
    }
    facts
}

/// Returns the facts that make the accesses of a group wide.
fn aligned(group: &Group<'_>, machine: &Machine<'_>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for nest in group.members.iter().copied().chain([group.host]) {
        let last = nest.reduced.last().or(nest.parallel.last());
        let fact = last.filter(|side| !side.ragged).and_then(|side| side.multiple(machine.vector(nest)));
        facts.extend(fact.filter(|fact| !facts.contains(fact)));
    }
    facts
}
