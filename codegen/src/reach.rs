//! Checks that indices fit 32 bits. Indices are exact integers, and a device computes their low 32 bits.
//!
//! The low bits suffice for sums, products and stores, and for the index of an element, which is proved to be in its buffer. A
//! quotient, a comparison, a minimum or a conversion to a float needs the exact integer. If [`Values`] cannot derive a range within
//! 32 bits, the launch computes bounds of the integer from its sizes (`hull`), and is refused if the bounds do not fit 32 bits.
//!
//! [`Values`]: crate::values::Values

use crate::Resolver;
use crate::Result;
use crate::hash::Map;
use crate::values::{Coordinate, Kind, Op, ValueId};
use std::cell::Cell;
use tilewright_dsl::diag::Error;
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::{DType, Interval, Limit, MOST, REACH, Size};
use tilewright_dsl::nest::{AxisDef, AxisId};

/// The bounds of values that were computed so far, as sizes.
type Hulls = Map<ValueId, Option<Interval>>;

/// The maximal number of parts of an index that an error shows.
const SHOWN: u32 = 40;

/// The facts known about the indices of a dispatch.
#[derive(Default)]
pub(crate) struct Reach {
    /// The workgroups in x, y and z.
    grid: [Option<Size>; 3],
    /// The extents of loop counters.
    extents: Map<ValueId, ValueId>,
    /// The axes that values are known by.
    names: Map<ValueId, AxisId>,
    /// Values that were already checked.
    asked: Map<ValueId, ()>,
    /// The conditions that the launch checks.
    limits: Vec<Limit>,
}

impl Resolver<'_> {
    /// Records the numbers of workgroups that are launched, in x, y and z.
    pub fn launched_as(&mut self, grid: [Size; 3]) {
        self.reach.grid = grid.map(Some);
    }

    /// Returns the conditions that the launch must check, because indices must fit 32 bits.
    pub fn into_limits(self) -> Vec<Limit> {
        self.reach.limits
    }

    /// Records that a value is a counter below an extent.
    pub(crate) fn note_counter(&mut self, counter: ValueId, extent: ValueId) {
        self.reach.extents.insert(counter, extent);
    }

    /// Records that a value is the value of an axis.
    pub(crate) fn note_axis(&mut self, value: ValueId, axis: AxisId) {
        let root = matches!(self.program.axes[axis].def, AxisDef::Root(_));
        if root || !self.reach.names.contains_key(&value) {
            self.reach.names.insert(value, axis);
        }
    }

    /// Ensures that a value fits 32 bits at every launch.
    pub fn must_fit(&mut self, value: ValueId) -> Result<()> {
        if self.values.dtype(value) != DType::I32 || self.values.fits(value) || !self.reach.asked.insert(value, ()) {
            return Ok(());
        }
        let Some(Interval { least, most }) = self.hull(value, &mut Hulls::default()) else { return Err(self.beyond_reach(value)) };
        let known = self.reach.limits.iter().any(|l| l.least == least && l.most == most);
        let implied = least.bounds().0 >= REACH.0 && self.is_implied(&most);
        if !known && !implied {
            let what = format!("`{}`", self.shown(value, 0, &Cell::new(SHOWN)));
            self.reach.limits.push(Limit { what, least, most });
        }
        Ok(())
    }

    /// True if a size fits because the dispatch writes at most [`MOST`] elements. A dispatch that writes no elements is not run.
    fn is_implied(&self, most: &Size) -> bool {
        let written = self.uses.global.iter().filter(|(_, usage)| usage.writes);
        let counts = written.filter_map(|(buffer, _)| {
            let shape = self.program.buffers[*buffer].shape.iter();
            shape.map(|extent| self.launch_size(*extent)).reduce(|a, b| Some(a?.times(b?))).flatten()
        });
        let slack = REACH.1 - MOST;
        most.bounds().is_within(REACH) || counts.into_iter().any(|count| most.exceeds_by_at_most(&count, slack))
    }

    fn beyond_reach(&self, value: ValueId) -> Error {
        let what = match self.is_lost(value) {
            true => "a number in an index here does not fit 64 bits".to_owned(),
            false => {
                format!(
                    "`{}` may not fit 32 bits, and the launch cannot check whether it does",
                    self.shown(value, 0, &Cell::new(SHOWN))
                )
            }
        };
        self.error(what)
            .note(
                "quotients, comparisons, minima, maxima and conversions need the exact value of an index, and indices have 32 bits",
            )
            .help("use a smaller index, or convert it to data, whose arithmetic wraps: `(…) as i32`")
    }

    /// True if a number in a value exceeded 64 bits. Its remaining bits would not mean anything to the user.
    fn is_lost(&self, value: ValueId) -> bool {
        let mut open = vec![value];
        let mut seen: Map<ValueId, ()> = Map::default();
        while let Some(value) = open.pop() {
            if !seen.insert(value, ()) {
                continue;
            }
            let node = self.values.node(value);
            match &node.kind {
                // Data wraps.
                _ if node.data => {}
                Kind::Sum(sum) if sum.lost => return true,
                Kind::Sum(sum) => open.extend(sum.terms.iter().flat_map(|term| term.factors.iter().copied())),
                Kind::Op(_, operands) => open.extend(operands.iter().copied()),
                _ => {}
            }
        }
        false
    }

    /// Returns the bounds of a value as sizes, by the rules of [`Interval`], for example
    /// [`PRODUCT_MAGNITUDE`](tilewright_dsl::expr::rules::PRODUCT_MAGNITUDE) and
    /// [`PRODUCT_MAGNITUDE_LOW`](tilewright_dsl::expr::rules::PRODUCT_MAGNITUDE_LOW). Returns `None` if the launch cannot compute them, or
    /// if they are too long.
    fn hull(&self, id: ValueId, done: &mut Hulls) -> Option<Interval> {
        if let Some(known) = done.get(&id) {
            return known.clone();
        }
        let hull = self.new_hull(id, done).and_then(Interval::if_short).or_else(|| self.reached(id));
        done.insert(id, hull.clone());
        hull
    }

    fn new_hull(&self, id: ValueId, done: &mut Hulls) -> Option<Interval> {
        let node = self.values.node(id);
        if node.data {
            return Some(Interval { least: Size::Const(node.range.0), most: Size::Const(node.range.1) });
        }
        Some(match &node.kind {
            Kind::Const(_) | Kind::Lane(_) => self.numbers(id),
            Kind::Param(n) => Interval::of(self.size_of(*n)?.clone()),
            Kind::Counter(_) => match self.reach.extents.get(&id) {
                Some(extent) => Interval::below(self.hull(*extent, done)?.most),
                None => self.reached(id)?,
            },
            Kind::Coordinate(Coordinate::Workgroup(dim) | Coordinate::GridWorkgroup(dim)) => {
                Interval::below(self.reach.grid[usize::from(*dim)].clone()?)
            }
            Kind::Sum(sum) if sum.lost => return None,
            Kind::Sum(sum) => {
                let mut total = Interval::of(Size::Const(sum.constant));
                for term in &sum.terms {
                    let mut factors = term.factors.iter();
                    let mut product = self.hull(*factors.next()?, done)?;
                    for factor in factors {
                        product = product.times(self.hull(*factor, done)?).if_short()?;
                    }
                    total = total.plus(product.scaled(term.by)).if_short()?;
                }
                total
            }
            Kind::Op(op, operands) => {
                let mut of = |n: usize| operands.get(n).and_then(|v| self.hull(*v, done));
                match op {
                    Op::Splat(_) | Op::Extract(_) | Op::Part(_) => of(0)?,
                    Op::Join => {
                        let all: Option<Vec<Interval>> = operands.iter().map(|v| self.hull(*v, done)).collect();
                        all?.into_iter().reduce(Interval::either)?
                    }
                    Op::Select => of(1)?.either(of(2)?),
                    Op::Binary(Binary::Min) => of(0)?.least(of(1)?),
                    Op::Binary(Binary::Max) => of(0)?.most(of(1)?),
                    Op::Binary(Binary::Mul) => of(0)?.times(of(1)?),
                    Op::Binary(Binary::FloorDiv) => of(0)?.over(of(1)?),
                    Op::Binary(Binary::FloorMod) => of(0)?.modulo(of(1)?),
                    Op::Unary(Unary::Neg) => of(0)?.scaled(-1),
                    Op::Unary(Unary::Abs) => of(0)?.clone().most(of(0)?.scaled(-1)).most(Interval::of(Size::Const(0))),
                    _ => self.reached(id)?,
                }
            }
            _ => self.reached(id)?,
        })
    }

    /// The range of a value that is known at compile time.
    fn numbers(&self, id: ValueId) -> Interval {
        let range = self.values.node(id).range;
        Interval { least: Size::Const(range.0), most: Size::Const(range.1) }
    }

    /// The range of a value that is known at compile time, if it fits 32 bits.
    fn reached(&self, id: ValueId) -> Option<Interval> {
        self.values.node(id).range.is_within(REACH).then(|| self.numbers(id))
    }

    /// Returns a value as users write it, with at most `left` parts. `tight` is the precedence around it (0: none, 1: sums, 2:
    /// products).
    fn shown(&self, id: ValueId, tight: u8, left: &Cell<u32>) -> String {
        let Some(rest) = left.get().checked_sub(1) else { return "…".into() };
        left.set(rest);
        if let Some(axis) = self.reach.names.get(&id)
            && self.values.as_int(id).is_none()
        {
            return self.program.axes[*axis].name.clone();
        }
        let node = self.values.node(id);
        let call = |name: &str, operands: &[ValueId]| {
            let operands: Vec<String> = operands.iter().map(|v| self.shown(*v, 0, left)).collect();
            format!("{name}({})", operands.join(", "))
        };
        let infix = |symbol: &str, operands: &[ValueId], own: u8| {
            let sides: Vec<String> = operands.iter().enumerate().map(|(n, v)| self.shown(*v, own + n.min(1) as u8, left)).collect();
            let text = sides.join(symbol);
            if own < tight { format!("({text})") } else { text }
        };
        match &node.kind {
            Kind::Const(c) => (c.bits as i32).to_string(),
            Kind::Param(n) => match self.size_of(*n) {
                Some(size) => {
                    let name = |d: u32| self.program.dims.values().nth(d as usize).map_or("?".into(), |dim| dim.name.clone());
                    let text = size.display(&name).to_string();
                    if tight > 0 && text.contains(' ') { format!("({text})") } else { text }
                }
                None => "…".into(),
            },
            Kind::Coordinate(Coordinate::Workgroup(dim) | Coordinate::GridWorkgroup(dim)) => {
                format!("workgroup.{}", ["x", "y", "z"].get(usize::from(*dim)).unwrap_or(&"?"))
            }
            Kind::Sum(sum) => {
                let mut text = String::new();
                let mut add = |negative: bool, part: String| {
                    let sign = match (text.is_empty(), negative) {
                        (true, false) => "",
                        (true, true) => "-",
                        (false, false) => " + ",
                        (false, true) => " - ",
                    };
                    text.push_str(sign);
                    text.push_str(&part);
                };
                for term in &sum.terms {
                    let by = (term.by.unsigned_abs() != 1).then(|| term.by.unsigned_abs().to_string());
                    let factors = term.factors.iter().map(|v| self.shown(*v, 2, left));
                    add(term.by < 0, by.into_iter().chain(factors).collect::<Vec<_>>().join(" * "));
                }
                if sum.constant != 0 || sum.terms.is_empty() {
                    add(sum.constant < 0, sum.constant.unsigned_abs().to_string());
                }
                let product = sum.terms.len() == 1 && sum.constant == 0;
                if tight > u8::from(product) { format!("({text})") } else { text }
            }
            Kind::Op(op, operands) => match op {
                Op::Binary(Binary::FloorDiv | Binary::Div) => infix(" / ", operands, 1),
                Op::Binary(Binary::FloorMod | Binary::Rem) => infix(" % ", operands, 1),
                Op::Binary(Binary::Mul) => infix(" * ", operands, 1),
                Op::Binary(Binary::Min) => call("min", operands),
                Op::Binary(Binary::Max) => call("max", operands),
                Op::Unary(Unary::Abs) => call("abs", operands),
                Op::Select => call("select", operands),
                Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Index | Op::Cast(_) => self.shown(operands[0], tight, left),
                _ => "…".into(),
            },
            _ => "…".into(),
        }
    }
}
