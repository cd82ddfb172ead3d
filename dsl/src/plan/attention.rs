//! Attention in one dispatch: the maximum, the sum and the output of a row are computed block by block of keys, as
//! `decompose_online` rewrites them, so the scores of a block stay in fragments or registers.
//!
//! The accumulators of a row need literal lengths of heads, so facts state them. Without these facts, and for devices that
//! cannot reduce matrices, each product is a dispatch of its own ([`super::product`]).

use super::draft::{Block, Draft, Line, Plan};
use super::form::{Nest, Side, Step};
use super::machine::Machine;
use super::number::{Number, near};
use super::product;
use crate::expr::Binary;
use crate::launch::Feature;
use crate::nest::{Body, Program, Space, StageId};
use tilewright_launch::DType;

/// The lengths of heads for which the block plan is written.
const HEADS: [i64; 2] = [64, 128];

/// The queries of a workgroup on matrix units.
const QUERIES: i64 = 128;

/// The queries of a workgroup for the shorter heads, if 128 does not divide the number of queries.
const FEW_QUERIES: i64 = 64;

/// The keys of a block on matrix units.
const KEYS: i64 = 64;

/// The stages and axes of an attention.
pub(super) struct Attention {
    /// The product of queries and keys.
    score: Nest,
    /// The maximum of a row of scores.
    largest: Nest,
    /// The exponentials, in order of definition; the last one is a factor of the output.
    weights: Vec<Nest>,
    /// The sum of a row of exponentials.
    total: Nest,
    /// The product of exponentials and values.
    output: Nest,
    /// The tensors of queries, keys and values.
    tensors: [String; 3],
    /// True for each of these tensors that facts state to be finite.
    finite: [bool; 3],
}

/// Finds the attention that defines the only result of a program without nests.
pub(super) fn find(program: &Program) -> Option<Attention> {
    let mut results = program.stages.ids().filter(|stage| program.is_result(*stage));
    let output = Nest::of(program, results.next().filter(|_| results.next().is_none())?);
    let product = product::of(&output, program).filter(|product| product.has_one_of_each())?;
    let [left, value] = product.factors();
    let mut open = vec![program.definition(left)?];
    let (mut weights, mut reductions) = (Vec::new(), Vec::new());
    while let Some(stage) = open.pop() {
        match &program.stages[stage].body {
            Body::Reduce { .. } => reductions.push(stage),
            Body::Map(value) => {
                weights.push(stage);
                let read = program.exprs.reads(*value).into_iter().filter_map(|read| program.definition(read.buffer));
                open.extend(read.filter(|stage| !weights.contains(stage)));
            }
        }
    }
    weights.sort_unstable();
    reductions.sort_unstable();
    reductions.dedup();
    let is = |stage: &StageId, operation: Binary| {
        let monoid = Nest::of(program, *stage).monoid.and_then(|monoid| monoid.operation(&program.exprs));
        monoid.is_some_and(|(found, _)| found == operation)
    };
    let [score, largest] = <[StageId; 2]>::try_from(reductions).ok()?;
    let total = output.finish.iter().filter_map(|read| program.definition(read.buffer)).find(|stage| is(stage, Binary::Add))?;
    let score = Nest::of(program, score);
    let [query, key] = product::of(&score, program).filter(|product| product.has_one_of_each())?.factors();
    let name = |buffer| (program.buffers[buffer].space == Space::Input).then(|| program.buffers[buffer].name.clone());
    let tensors = [name(query)?, name(key)?, name(value)?];
    let finite = [query, key, value].map(|buffer| program.checks.finite.contains(&buffer));
    let weights = weights.into_iter().map(|stage| Nest::of(program, stage)).collect();
    let found =
        Attention { largest: Nest::of(program, largest), total: Nest::of(program, total), score, weights, output, tensors, finite };
    (is(&largest, Binary::Max) && found.is_plain()).then_some(found)
}

impl Attention {
    /// True if every stage has one axis of rows, and reads elements at linear positions. The number of keys may depend on the row.
    fn is_plain(&self) -> bool {
        let all = [&self.score, &self.largest, &self.total, &self.output].into_iter().chain(&self.weights);
        let square = |nest: &Nest| nest.parallel.iter().all(|side| !side.ragged) && nest.reduced.len() <= 1;
        let rows = |nest: &Nest| nest.reads.iter().all(|read| read.steps.iter().all(|step| *step != Step::Unknown));
        let elements = self.score.reduced.iter().all(|side| !side.ragged);
        all.into_iter().all(|nest| square(nest) && rows(nest)) && elements && !self.weights.is_empty()
    }

    /// True if a row has only some of the keys, as in causal attention.
    fn is_masked(&self) -> bool {
        self.output.reduced.iter().any(|side| side.ragged)
    }

    /// True if items past the last key of a row can be 0: a weight of 0 times a finite value.
    fn can_mask(&self) -> bool {
        !self.is_masked() || self.finite[2]
    }

    /// Returns the axes of queries, keys, elements of a key and elements of a value.
    fn axes(&self) -> Option<[&Side; 4]> {
        let [.., row, element] = self.output.parallel.as_slice() else { return None };
        Some([row, self.output.reduced.last()?, self.score.reduced.last()?, element])
    }

    /// True if the device reduces and converts matrices of f16, and the weights are rounded to f16.
    fn has_units(&self, machine: &Machine<'_>) -> bool {
        let has = |feature| machine.profile.has(feature);
        let shape = machine.profile.matrices.iter().any(|row| row.shape == [16, 16, 16] && row.sum == DType::F32);
        let halves = self.score.reads.iter().all(|read| read.dtype == DType::F16);
        let rounded = self.weights.last().is_some_and(|weight| weight.write.dtype == DType::F16);
        shape && halves && rounded && self.can_mask() && has(Feature::MatrixReductions) && has(Feature::MatrixConversions)
    }

    /// True if all values are f32 and the device keeps one vector of rows in registers.
    fn has_registers(&self, machine: &Machine<'_>) -> bool {
        let all = [&self.score, &self.output].into_iter().chain(&self.weights);
        machine.profile.cpu && all.into_iter().all(|nest| nest.widest() == 4 && nest.write.dtype == DType::F32)
    }

    /// Returns sets of facts under which one dispatch computes the attention.
    pub(super) fn regimes(&self, machine: &Machine<'_>) -> Vec<Vec<String>> {
        let Some([row, key, depth, element]) = self.axes() else { return Vec::new() };
        let exactly = |side: &Side, n: i64| (side.exact != Some(n)).then(|| format!("{} == {n}", side.text));
        let units = self.has_units(machine);
        if !units && !self.has_registers(machine) {
            return Vec::new();
        }
        let heads = HEADS.iter().filter(|n| [depth, element].iter().all(|side| side.exact.is_none_or(|exact| exact == **n)));
        let facts = |n: i64, queries: i64| {
            let lengths = [exactly(depth, n), exactly(element, n)];
            let keys = key.multiple(KEYS).filter(|_| !self.is_masked());
            let tiles = [row.multiple(queries), keys].into_iter().filter(|_| units);
            lengths.into_iter().chain(tiles).flatten().collect()
        };
        let few = heads.clone().filter(|n| units && **n == HEADS[0] && row.divisor % QUERIES != 0).map(|n| (*n, FEW_QUERIES));
        let all = heads.take(if units { HEADS.len() } else { 1 }).map(|n| (*n, QUERIES));
        all.chain(few).map(|(n, queries)| facts(n, queries)).collect()
    }

    /// Returns the queries of a workgroup that divide the number of all queries.
    fn queries(&self, row: &Side, length: i64) -> Option<i64> {
        let fits = |queries: &i64| row.divisor % queries == 0 && (*queries == QUERIES || length == HEADS[0]);
        [QUERIES, FEW_QUERIES].into_iter().find(fits)
    }

    /// Plans all stages, the best plan first. Returns none if the facts do not state the lengths.
    pub(super) fn plans(&self, machine: &Machine<'_>) -> Vec<Plan> {
        let Some([row, key, depth, element]) = self.axes() else { return Vec::new() };
        let Some(length) = depth.exact.filter(|n| HEADS.contains(n) && element.exact == Some(*n)) else { return Vec::new() };
        if self.has_units(machine)
            && let Some(queries) = self.queries(row, length)
            && (self.is_masked() || key.divisor % KEYS == 0)
        {
            // A mask of the scores costs less than masks of all their readers, but needs finite scores.
            let masks = (self.is_masked() && self.finite == [true; 3]).then_some(true);
            return masks.into_iter().chain([false]).map(|mask| self.on_units(machine, (queries, length), mask)).collect();
        }
        self.has_registers(machine).then(|| self.in_registers(machine)).into_iter().collect()
    }

    /// Returns the names of the stages of a block: its maximum, sum and output.
    fn block(&self) -> [String; 3] {
        [&self.largest, &self.total, &self.output].map(|nest| format!("block_{}", nest.name))
    }

    /// Returns the statement that computes the stages block by block. `mask` masks the scores instead of their readers.
    fn decomposition(&self, keys: &Number, mask: bool) -> Line {
        let [largest, total, output] = self.block();
        let of = [&self.largest, &self.total, &self.output].map(|nest| nest.name.as_str()).join(", ");
        let mask = if mask { format!(", mask: {}", self.score.name) } else { String::new() };
        line(
            format!("decompose_online({of} => {largest}, {total}, {output}, block: {keys}{mask})"),
            "the scores of a block are never stored",
        )
    }

    /// Returns the tile of the result for a workgroup: one of each batch, and `rows` rows.
    fn tile(&self, rows: &Number) -> Option<Line> {
        let [batch @ .., row, _] = self.output.parallel.as_slice() else { return None };
        let ones = batch.iter().map(|side| format!("{}: 1", side.name));
        let tiles: Vec<String> = ones.chain([format!("{}: {rows}", row.name)]).collect();
        // The rows with the most keys come first, so that the last workgroups to finish are short.
        let (x, why) = if self.is_masked() { ("x down", ", the longest rows first") } else { ("x", "") };
        let slots: Vec<&str> = (0..batch.len()).map(|n| if n + 1 == batch.len() { "y" } else { "z" }).chain([x]).collect();
        Some(line(format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")), format!("{rows} queries{why}")))
    }

    /// Returns the placements of all stages at the loop over blocks, consumers first.
    fn placements(&self, output_at: &str, at: &str, to: &str) -> Vec<Line> {
        let [largest, total, output] = self.block();
        let weights = self.weights.iter().rev().map(|nest| nest.name.clone());
        let inner = [total].into_iter().chain(weights).chain([largest, self.score.name.clone()]);
        let place = |name: String, at: &str| line(format!("compute_at({name}, {at}, to: {to})"), "");
        [place(output, output_at)].into_iter().chain(inner.map(|name| place(name, at))).collect()
    }

    /// Plans fragments of matrix units, for `queries` of a workgroup and heads of `length` elements.
    fn on_units(&self, machine: &Machine<'_>, (queries, length): (i64, i64), mask: bool) -> Plan {
        let [i, j] = last_two(&self.score);
        let d = name(self.score.reduced.last());
        let [row, element] = last_two(&self.output);
        let (key, rows) = (name(self.output.reduced.last()), if length > HEADS[0] { 16 } else { 32 });
        let [query_of, key_of, value_of] = &self.tensors;
        let [largest, total, output] = self.block();
        let mut numbers = Draft::default();
        let mut number = |name: &str, n: i64, least: i64| numbers.number((machine, &self.output), name, n, near(n, least..=n));
        // Facts state that these numbers divide the lengths, so larger ones are not tried.
        let (queries, rows, keys) = (number("QUERIES", queries, FEW_QUERIES), number("ROWS", rows, 16), number("KEYS", KEYS, 32));
        let constants = numbers.constants();
        let subgroups = |i: &str| line(format!("tile({i}: {rows}) => subgroup(x)"), "");
        let mut own = vec![self.decomposition(&keys, mask)];
        own.extend(self.tile(&queries));
        // The loop over blocks comes first, because all subgroups have its length, also if the number of keys depends on the row.
        own.push(line(format!("reorder({key}_o, {row}, {element})"), ""));
        own.push(line(format!("tile({row}: {rows}) => subgroup(x)"), format!("{} subgroups", queries.over(&rows))));
        own.push(line(format!("serial({key}_o)"), ""));
        own.extend(self.placements(&format!("{key}_o"), &format!("{key}_o"), "fragment"));
        for of in [value_of, key_of] {
            own.push(line(format!("promote({of} => {of}_s, at: {key}_o, to: shared, row_pad: 8)"), "all subgroups read them"));
        }
        own.push(line(format!("promote({query_of} => {query_of}_f, at: workgroup, to: fragment)"), "the same for all blocks"));
        let score = &self.score.name;
        own.push(line(
            format!("pipeline({key}_o, {value_of}_s, buffers: 1, prefetch: register, fetch: start early, store: after {score})"),
            "",
        ));
        own.push(line(
            format!("pipeline({key}_o, {key_of}_s, buffers: 1, prefetch: register, fetch: after {score} early, store: end)"),
            "",
        ));
        own.push(line(format!("fragment({row}, {element}, 16 x 16)"), ""));
        let mut blocks = vec![Block { stage: None, lines: own }];
        let mut add = |stage: &str, lines: Vec<Line>| blocks.push(Block::of(stage, lines));
        let text = |text: String| line(text, "");
        add(
            score,
            vec![
                subgroups(&i),
                text(format!("reorder({d}, {i}, {j})")),
                text(format!("mma({i}, {j}, {d}, 16 x 16 x 16)")),
                text(format!("unroll({d})")),
            ],
        );
        for (stage, of) in [(&largest, &self.largest), (&total, &self.total)] {
            let (i, j) = (name(of.parallel.last()), name(of.reduced.last()));
            add(stage, vec![subgroups(&i), text(format!("fragment({i}, {j}, 16 x 16, by: matrix)"))]);
        }
        for weight in &self.weights {
            let [i, j] = last_two(weight);
            add(&weight.name, vec![subgroups(&i), text(format!("fragment({i}, {j}, 16 x 16)"))]);
        }
        let product = text(format!("mma({row}, {element}, {key}, 16 x 16 x 16)"));
        add(
            &output,
            vec![subgroups(&row), text(format!("reorder({key}, {row}, {element})")), product, text(format!("unroll({key})"))],
        );
        Plan { blocks, constants }
    }

    /// Plans registers: an invocation has four rows, and all invocations of a vector read the same keys.
    fn in_registers(&self, machine: &Machine<'_>) -> Plan {
        let mut numbers = Draft::default();
        let mut number = |name: &str, n: i64| numbers.number((machine, &self.output), name, n, near(n, 2..=64));
        let (queries, rows, keys) =
            (number("QUERIES", 32), number("ROWS", 4), number("KEYS", if self.is_masked() { 2 } else { 4 }));
        let constants = numbers.constants();
        let [i, j] = last_two(&self.score);
        let d = name(self.score.reduced.last());
        let [row, element] = last_two(&self.output);
        let key = name(self.output.reduced.last());
        let [largest, total, output] = self.block();
        let text = |text: String| line(text, "");
        let mut own = vec![self.decomposition(&keys, false)];
        own.extend(self.tile(&queries));
        if self.is_masked() {
            own.push(line(format!("reorder({key}_o, {row}, {element})"), "all invocations have as many blocks"));
        }
        own.push(line(format!("tile({row}: {rows}) => thread(x)"), format!("{rows} queries an invocation")));
        own.push(text(format!("tile({element}: 4 => {element}_o)")));
        own.push(text(format!("reorder({key}_o, {element}_o, {row}, {element})")));
        own.push(text(format!("unroll({element}_o, {row})")));
        own.push(text(format!("vectorize({element}, 4)")));
        own.push(text(format!("serial({key}_o)")));
        own.extend(self.placements(&format!("{element}_o"), &format!("{key}_o"), "register"));
        own.push(line(
            format!("promote({} => {}_r, at: thread, to: register)", self.tensors[0], self.tensors[0]),
            "the same for all blocks",
        ));
        let mut blocks = vec![Block { stage: None, lines: own }];
        let mut add = |stage: &str, lines: Vec<Line>| blocks.push(Block::of(stage, lines));
        let split = text(format!("tile({d}: 4 => {d}_o)"));
        add(
            &self.score.name,
            vec![split, text(format!("reorder({d}_o, {j}, {i}, {d})")), text(format!("unroll({d}_o, {d}, {i}, {j})"))],
        );
        add(
            &output,
            vec![
                text(format!("reorder({key}, {row}, {element})")),
                text(format!("unroll({key}, {row})")),
                text(format!("vectorize({element}, 4)")),
            ],
        );
        for (stage, of) in [(&largest, &self.largest), (&total, &self.total)] {
            add(stage, vec![text(format!("unroll({}, {})", name(of.parallel.last()), name(of.reduced.last())))]);
        }
        for weight in &self.weights {
            let [i, j] = last_two(weight);
            add(&weight.name, vec![text(format!("unroll({i}, {j})"))]);
        }
        Plan { blocks, constants }
    }
}

fn line(text: impl Into<String>, why: impl Into<String>) -> Line {
    Line::new(text, why)
}

/// Returns the name of an axis.
fn name(side: Option<&Side>) -> String {
    side.map_or_else(String::new, |side| side.name.clone())
}

/// Returns the names of the last two parallel axes.
fn last_two(nest: &Nest) -> [String; 2] {
    let mut sides = nest.parallel.iter().rev();
    let last = name(sides.next());
    [name(sides.next()), last]
}
