//! Products: matrices, batches of them, convolutions with many channels, and the products of attention.
//!
//! The axes of the result are rows (only one factor depends on them), columns (only the other one does), and batches (all other
//! axes). Each element that is loaded serves several products: in the fragments of matrix units ([`matrices`]), in words of bytes ([`dots`]), in registers that
//! are filled from shared memory ([`shared`]), or in registers alone ([`registers`]).

mod dots;
mod matrices;
mod regimes;
mod registers;
mod shared;
mod slices;
mod split;

use super::draft::Draft;
use super::form::{Nest, Side, Touch, points, tail};
use super::machine::Machine;
use super::number::Number;
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{Body, BufferId, Program};

/// The roles of a product's axes.
pub(super) struct Product<'n> {
    nest: &'n Nest,
    /// The axes of neither rows nor columns, outermost.
    batch: &'n [Side],
    rows: &'n [Side],
    columns: &'n [Side],
    /// The factor that depends on rows.
    left: &'n Touch,
    /// The factor that depends on columns.
    right: &'n Touch,
    /// True if each item is the product of one element of each factor, so that items out of bounds are 0.
    plain: bool,
    /// True if the length of the reduction depends on the row or the column.
    ragged: bool,
    /// The items of a piece, if the reduction is split into pieces.
    piece: Option<i64>,
}

/// Returns the roles of the axes, if the stage is a product of two factors.
pub(super) fn of<'n>(nest: &'n Nest, program: &Program) -> Option<Product<'n>> {
    nest.monoid.as_ref()?;
    let reduced: Vec<usize> = (0..nest.reduced.len()).map(|n| nest.reduced_at(n)).collect();
    let factors: Vec<&Touch> = nest.reads.iter().filter(|read| reduced.iter().any(|n| read.uses(*n))).collect();
    let [one, other] = factors.as_slice() else { return None };
    let uses = |axis: usize| [one.uses(axis), other.uses(axis)];
    let last = nest.parallel.len().checked_sub(1)?;
    let columns = (0..=last).rev().take_while(|n| uses(*n) == uses(last)).last()?;
    let before = columns.checked_sub(1)?;
    let rows = (0..columns).rev().take_while(|n| uses(*n) == uses(before)).last()?;
    let apart = uses(last)[0] != uses(last)[1] && uses(before)[0] != uses(before)[1] && uses(last) != uses(before);
    if !apart || nest.parallel.iter().any(|side| side.ragged) {
        return None;
    }
    let (left, right) = if one.uses(last) { (*other, *one) } else { (*one, *other) };
    Some(Product {
        nest,
        batch: &nest.parallel[..rows],
        rows: &nest.parallel[rows..columns],
        columns: &nest.parallel[columns..],
        left,
        right,
        plain: is_plain(program, nest),
        ragged: nest.reduced.iter().any(|side| side.ragged),
        piece: None,
    })
}

/// True if the item of a reduction is the product of two elements, possibly converted.
fn is_plain(program: &Program, nest: &Nest) -> bool {
    let Body::Reduce { lift, .. } = &program.stages[nest.stage].body else { return false };
    let element = |mut e: ExprId| {
        while let Expr::Cast(_, inner) = program.exprs.get(e) {
            e = *inner;
        }
        matches!(program.exprs.get(e), Expr::Read(_))
    };
    match lift.as_slice() {
        [item] => matches!(program.exprs.get(*item), Expr::Binary(Binary::Mul, a, b) if element(*a) && element(*b)),
        _ => false,
    }
}

/// Returns the plans of a product, the best first. The next one is taken if a plan is refused.
pub(super) fn plans(product: Product<'_>, machine: &Machine<'_>) -> Vec<Draft> {
    let program = machine.program;
    let piece = split::piece(&product, program);
    let mut found = Vec::new();
    for product in [Product { piece, ..product }, Product { piece: None, ..product }] {
        let all = [
            slices::plan(&product, machine),
            matrices::plan(&product, machine),
            dots::plan(&product, machine),
            shared::plan(&product, machine),
            registers::plan(&product, machine, " round_up"),
            registers::plan(&product, machine, ""),
        ];
        let split = |draft| if product.piece.is_some() { split::plan(&product, machine, draft) } else { draft };
        found.extend(all.into_iter().flatten().map(split));
        if piece.is_none() {
            break;
        }
    }
    found
}

/// The loops over the items of a reduction.
struct Items {
    /// The axis of the items within a step.
    axis: String,
    /// The loop of steps.
    step: String,
}

/// The axis of the pieces of a reduction.
const PIECE_AXIS: &str = "piece";

/// The channels from which on each step covers channels of one position of a window.
const CHANNELS: i64 = 16;

impl Product<'_> {
    /// True if columns are one axis, and one axis is reduced.
    pub(super) fn has_one_of_each(&self) -> bool {
        self.columns.len() == 1 && self.nest.reduced.len() == 1
    }

    /// Returns the buffers of both factors.
    pub(super) fn factors(&self) -> [BufferId; 2] {
        [self.left.buffer, self.right.buffer]
    }

    /// Fuses rows and columns. Returns their names.
    fn fused(&self, draft: &mut Draft) -> (String, String) {
        let mut one = |sides: &[Side], into: &str| match sides {
            [one] => one.name.clone(),
            all => {
                draft.line(format!("fuse({} => {into})", Nest::names(all)), "");
                into.to_owned()
            }
        };
        (one(self.rows, "rows"), one(self.columns, "columns"))
    }

    /// Tiles the result over workgroups.
    fn tiled(&self, row: (&str, &Number), column: (&str, &Number), exact: bool, draft: &mut Draft) {
        let word = if exact { "" } else { " round_up" };
        let piece = self.piece.is_some().then(|| format!("{PIECE_AXIS}: 1"));
        let ones = piece.into_iter().chain(self.batch.iter().map(|side| format!("{}: 1", side.name)));
        let tiles: Vec<String> =
            ones.chain([format!("{}: {}{word}", row.0, row.1), format!("{}: {}{word}", column.0, column.1)]).collect();
        let slots: Vec<&str> =
            (tiles.len() > 2).then_some("z").into_iter().cycle().take(tiles.len() - 2).chain(["y", "x"]).collect();
        draft.line(
            format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")),
            format!("{} x {} results", row.1, column.1),
        );
    }

    /// Tiles the reduction into steps of `depth` items, outside of rows and columns. `inner` is the order of the loops in a step.
    fn steps(&self, depth: &Number, inner: &dyn Fn(&str) -> String, draft: &mut Draft) -> Option<Items> {
        let (channel, window) = self.nest.reduced.split_last()?;
        let by_channel = window.is_empty() || channel.least >= CHANNELS || self.ragged;
        let axis = if by_channel { channel.name.clone() } else { "items".to_owned() };
        if !by_channel {
            draft.first(
                format!("fuse({} => items)", Nest::names(&self.nest.reduced)),
                "steps cover several positions of the window",
            );
        }
        let exact = by_channel && channel.divisor >= depth.value;
        let items = if by_channel { channel.exact } else { points(&self.nest.reduced) };
        let tail = if exact || !self.plain || self.ragged { tail(items, depth.value, "") } else { " round_up" };
        draft.first(format!("tile({axis}: {depth}{tail} => {axis}_o)"), format!("{depth} items a step"));
        self.split(&format!("{axis}_o"), depth, by_channel, draft);
        let outer: Vec<&str> = if by_channel { window.iter().map(|side| side.name.as_str()).collect() } else { Vec::new() };
        let loops = outer.iter().map(|name| format!("{name}, ")).collect::<String>();
        draft.line(format!("reorder({loops}{axis}_o, {})", inner(&axis)), "");
        let step = if outer.is_empty() {
            format!("{axis}_o")
        } else {
            draft.line(format!("fuse({loops}{axis}_o => steps)"), "");
            "steps".to_owned()
        };
        Some(Items { axis, step })
    }

    /// Splits a loop of steps into pieces, if the reduction is split.
    fn split(&self, step: &str, depth: &Number, by_channel: bool, draft: &mut Draft) {
        let Some(piece) = self.piece else { return };
        let window = if by_channel { self.nest.reduced.split_last().map_or(&[][..], |(_, window)| window) } else { &[] };
        let taps = split::taps(window).unwrap_or(1);
        let whole = piece / taps >= depth.value;
        let steps = if whole { Number::from(piece / taps).over(depth) } else { 1.into() };
        draft.first(
            format!("tile({step}: {steps} => {PIECE_AXIS})"),
            format!("sums of at most {} products", steps.value.saturating_mul(depth.value).saturating_mul(taps)),
        );
    }

    /// Returns the name of the stage whose nest the directives shape.
    fn stage(&self) -> String {
        if self.piece.is_some() { format!("{}_part", self.nest.name) } else { self.nest.name.clone() }
    }

    /// Returns the argument of a promotion that makes elements out of bounds harmless.
    fn fill(&self) -> &'static str {
        match (self.plain && !self.ragged, self.left.dtype.is_float()) {
            (false, _) => "",
            (true, true) => ", fill: 0.0",
            (true, false) => ", fill: 0",
        }
    }

    /// True if tiles of these sizes provably cover rows, columns and the reduction without a tail.
    fn is_exact(&self, height: i64, width: i64, depth: i64) -> bool {
        let whole = |sides: &[Side], n: i64| matches!(sides, [one] if one.divisor % n == 0);
        whole(self.rows, height) && whole(self.columns, width) && self.nest.reduced.last().is_some_and(|k| k.divisor % depth == 0)
    }
}
