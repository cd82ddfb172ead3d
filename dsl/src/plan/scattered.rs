//! Reductions whose items each belong to one element of the result, which the data choose: histograms, counts and scattered sums.
//!
//! Each item updates its element, instead of being compared with all elements. Integers are updated by atomics: in shared memory, whose
//! bins a workgroup then adds to the result, or directly in the result if it is too large. On a CPU, and for floats, whose order must not
//! vary, each invocation has its own bins, and a second dispatch adds them. On a CPU with many rows, an invocation has the bins of whole rows.

use super::draft::Draft;
use super::form::{Nest, Side, points};
use super::machine::{Machine, PIECE};
use super::number::near;
use super::reductions::short;
use super::rows::joined;
use crate::nest::Body;
use crate::schedule::memory::scatter::chosen;

/// The most elements of the result for which items are compared with all of them.
const FEW: i64 = 4;

/// The most items for which they are, because further dispatches cost more.
const SHORT: i64 = 1024;

/// The items of an invocation with bins of its own.
const OWN: i64 = 4096;

/// The rows from which they keep all cores of a CPU at work.
const ROWS: i64 = 64;

/// The most bins of an invocation, or of a workgroup.
const BINS: i64 = 4096;

/// A reduction of this form.
pub(super) struct Scattered<'n> {
    nest: &'n Nest,
    /// The axes that the data choose.
    bins: Vec<Side>,
    /// The other parallel axes: each of their points has its own bins.
    rows: Vec<Side>,
}

/// Returns the form of a stage, if the data choose some of its axes.
pub(super) fn of<'n>(nest: &'n Nest, machine: &Machine<'_>) -> Option<Scattered<'n>> {
    let exprs = &machine.program.exprs;
    let Body::Reduce { monoid, lift, .. } = &machine.program.stages[nest.stage].body else { return None };
    let (_, dtype) = monoid.operation(exprs)?;
    let is_chosen = |side: &Side| side.least >= 1 && chosen(exprs, monoid, lift, side.axis).is_some();
    let (bins, rows) = nest.parallel.iter().cloned().partition(is_chosen);
    let scattered = Scattered { nest, bins, rows };
    let count = scattered.count();
    let is_short = count.is_some_and(|count| count <= BINS) && nest.items.is_some_and(|items| items <= SHORT);
    let ragged = nest.parallel.iter().chain(&nest.reduced).any(|side| side.ragged);
    let pays = !scattered.bins.is_empty() && count.is_none_or(|count| count > FEW) && !is_short;
    (pays && !ragged && !nest.reduced.is_empty() && dtype.bytes() == 4).then_some(scattered)
}

impl Scattered<'_> {
    /// Returns the most bins of a point of the rows, if that is known.
    fn count(&self) -> Option<i64> {
        self.bins.iter().try_fold(1i64, |all, side| all.checked_mul(side.most?))
    }

    /// Returns sets of facts under which the reduction has another plan, the best first: many rows, few items, or few bins, if their number is
    /// not known.
    pub(super) fn regimes(&self, machine: &Machine<'_>) -> Vec<Vec<String>> {
        let many_rows = match self.rows.as_slice() {
            [rows] if machine.profile.cpu && rows.least < ROWS => vec![format!("{} >= {ROWS}", rows.factor())],
            _ => Vec::new(),
        };
        let few = match (self.count(), self.bins.as_slice()) {
            (Some(count), _) if count <= BINS => short(self.nest, SHORT),
            (None, [bins]) => vec![format!("{} <= {BINS}", bins.factor())],
            _ => Vec::new(),
        };
        vec![many_rows, few]
    }

    /// Returns the facts that most sizes meet.
    pub(super) fn wishes(&self, machine: &Machine<'_>) -> Vec<String> {
        self.regimes(machine).into_iter().find(|facts| !facts.is_empty()).unwrap_or_default()
    }

    /// Writes the plans, the best first.
    pub(super) fn plans(&self, machine: &Machine<'_>) -> Vec<Draft> {
        let exprs = &machine.program.exprs;
        let is_float = self.nest.monoid.as_ref().is_some_and(|monoid| exprs.dtype(monoid.identity[0]).is_float());
        let adds = self.nest.monoid.as_ref().is_some_and(|monoid| matches!(monoid.atomic(exprs), Some(None))) && !is_float;
        let few = self.count().is_some_and(|count| count <= BINS);
        let mut plans = Vec::new();
        let rows = self.rows.iter().fold(1i64, |all, side| all.saturating_mul(side.least.max(1)));
        if machine.profile.cpu && rows >= ROWS {
            plans.push(self.by_rows(machine));
        }
        if few && machine.shares() && adds {
            plans.push(self.shared(machine));
        }
        if few && (!machine.shares() || !adds) {
            plans.push(self.private(machine));
        }
        if adds {
            plans.push(self.direct(machine));
        }
        plans
    }

    /// Writes the lines that distribute the rows to workgroups.
    fn place_rows(&self, slot: &str) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        if !self.rows.is_empty() {
            let row = joined(&self.rows, "rows", &mut lines);
            lines.push((format!("distribute({row} => workgroup({slot}))"), String::new()));
        }
        lines
    }

    /// Writes the directive for the axes that the data choose.
    fn scatter(&self) -> (String, &'static str) {
        (format!("scatter({})", Nest::names(&self.bins)), "one update for each item")
    }

    /// Begins a plan with pieces of the items, each with a part of the result. Returns the axis of items and the name of the parts.
    fn pieces(&self, machine: &Machine<'_>, draft: &mut Draft, piece: i64) -> (String, String) {
        let mut lines = Vec::new();
        let axis = joined(&self.nest.reduced, "items", &mut lines);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        let part = format!("{}_part", self.nest.name);
        let piece = draft.number((machine, self.nest), "PIECE", piece, near(piece, piece / 4..=4 * piece));
        draft.line(format!("tile({axis}: {piece} => {axis}_o)"), "pieces with bins of their own");
        draft.line(format!("rfactor({axis}_o => {part})"), "then the bins are added");
        (axis, part)
    }

    /// The bins of a workgroup are in shared memory.
    fn shared(&self, machine: &Machine<'_>) -> Draft {
        let mut draft = Draft::default();
        let (axis, part) = self.pieces(machine, &mut draft, PIECE);
        let mut lines = self.place_rows("y");
        let bins = joined(&self.bins, "bins", &mut lines);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        let threads = draft.number((machine, self.nest), "THREADS", machine.invocations(), machine.sizes(machine.invocations()));
        draft.line(format!("distribute({axis}_o => workgroup(x), by: atomic)"), "");
        draft.line(format!("compute_at({part}, {axis}_o, to: shared)"), "");
        draft.line(format!("tile({bins}: {threads} => {bins}_r)"), "");
        draft.line(format!("serial({bins}_r)"), "");
        draft.line(format!("distribute({bins} => thread(x))"), "");
        let lanes = machine.vector(self.nest);
        let (text, why) = self.scatter();
        draft.of(&part, text, why);
        draft.of(&part, format!("split({axis}, [_, {threads}, {lanes}] => {axis}_r, {axis}_t, {axis}_v)"), "");
        draft.of(&part, format!("distribute({axis}_t => thread(x), by: atomic)"), "");
        draft.of(&part, format!("unroll({axis}_v)"), "");
        draft
    }

    /// Each invocation has its own bins in device memory.
    fn private(&self, machine: &Machine<'_>) -> Draft {
        let mut draft = Draft::default();
        let piece = if machine.profile.cpu { PIECE } else { OWN };
        let (axis, part) = self.pieces(machine, &mut draft, piece);
        let mut lines = self.place_rows("y");
        let bins = joined(&self.bins, "bins", &mut lines);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        let most = points(&self.bins).unwrap_or(i64::MAX);
        let columns = if machine.profile.cpu { machine.lanes() } else { machine.invocations() }.min(most);
        let columns = draft.number((machine, self.nest), "COLUMNS", columns, machine.sizes(columns));
        draft.line(format!("tile({bins}: {columns}) => workgroup(x)"), format!("{columns} bins"));
        draft.line(format!("distribute({bins} => thread(x))"), "");
        let threads = machine.lanes();
        let threads = draft.number((machine, self.nest), "THREADS", threads, machine.sizes(threads));
        let (text, why) = self.scatter();
        draft.of(&part, text, why);
        for (text, why) in self.place_rows("y") {
            draft.of(&part, text, why);
        }
        draft.of(&part, format!("tile({axis}_o: {threads}) => workgroup(x)"), "");
        draft.of(&part, format!("distribute({axis}_o => thread(x))"), format!("{threads} invocations with bins of their own"));
        let lanes = 2 * machine.vector(self.nest);
        draft.of(&part, format!("tile({axis}: {lanes} => {axis}_r)"), "");
        draft.of(&part, format!("unroll({axis})"), "");
        draft
    }

    /// Each invocation updates the bins of whole rows.
    fn by_rows(&self, machine: &Machine<'_>) -> Draft {
        let (mut draft, mut lines) = (Draft::default(), Vec::new());
        let (text, why) = self.scatter();
        draft.line(text, why);
        let row = joined(&self.rows, "rows", &mut lines);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        let threads = machine.lanes();
        let threads = draft.number((machine, self.nest), "THREADS", threads, machine.sizes(threads));
        draft.line(format!("tile({row}: {threads}) => workgroup(x)"), "");
        draft.line(format!("distribute({row} => thread(x))"), format!("{threads} invocations, each with the bins of its row"));
        draft
    }

    /// All invocations update the result.
    fn direct(&self, machine: &Machine<'_>) -> Draft {
        let (mut draft, mut lines) = (Draft::default(), self.place_rows("y"));
        let (text, why) = self.scatter();
        draft.line(text, why);
        let axis = joined(&self.nest.reduced, "items", &mut lines);
        lines.into_iter().for_each(|(text, why)| draft.line(text, why));
        let threads = draft.number((machine, self.nest), "THREADS", machine.invocations(), machine.sizes(machine.invocations()));
        draft.line(format!("tile({axis}: {threads} => {axis}_o)"), "");
        draft.line(format!("distribute({axis}_o => workgroup(x), by: atomic)"), "");
        draft.line(format!("distribute({axis} => thread(x), by: atomic)"), format!("{threads} invocations"));
        draft
    }
}
