//! Values: the meaning of expressions at one point of the emission, hash-consed.
//!
//! An expression of the nest names axes. A value names loop counters, literals of unrolled iterations, lanes and
//! built-ins. Equal values have equal ids, so that unrolled copies share their common values. Each value has the *level*
//! of the region (loop or function) that it must be computed in, which is the deepest level of its operands. It is
//! written there once, when it is first needed by the backend. Integer sums are polynomials ([`poly`]), so that
//! indices have equal ids if they are equal as polynomials.
//!
//! An *index* is an exact integer. The device computes its low 32 bits. *Data* is just 32 bits. An operation that depends
//! on more than the low bits of an index (a comparison, a quotient) is correct only if the index fits 32 bits. This
//! follows from its [`range`], or the launch checks it ([`crate::Resolver::must_fit`]).
//!
//! A value that depends on the lane is a vector ([`Node::width`]). Its dtype is one that instructions compute with
//! ([`DType::computed`]): narrow dtypes exist in memory and in expressions only ([`narrow`](crate::narrow)).

pub mod poly;
mod range;

use crate::hash::{Map, Places, hash};
use poly::{Arithmetic, ByLane, Sum};
use smallvec::SmallVec;
use std::rc::Rc;
use tilewright_dsl::expr::{Binary, Compare, Const, Unary};
use tilewright_dsl::launch::{Bounds, DType, REACH};
use tilewright_dsl::nest::BufferId;

/// A value of a [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(u32);

impl ValueId {
    /// Returns the number of the value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value.
#[derive(Clone, Debug)]
pub struct Node {
    /// How it is computed.
    pub kind: Kind,
    /// Its type.
    pub dtype: DType,
    /// The number of components: 1, or the lanes of the loop that it depends on.
    pub width: u32,
    /// The level of the region that it is computed in.
    pub level: u32,
    /// The least and the greatest number that an `i32` or `u32` can be ([`range`]).
    pub range: Bounds,
    /// True for data, whose arithmetic wraps.
    pub(crate) data: bool,
}

/// The operands of an operation.
pub type Operands = SmallVec<[ValueId; 3]>;

/// The ways to compute a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A literal.
    Const(Const),
    /// A sum of several terms, or one term with a factor or a constant.
    Sum(Rc<Sum>),
    /// The numbers 0, 1, … by component.
    Lane(u32),
    /// A coordinate of an invocation.
    Coordinate(Coordinate),
    /// A serial loop's counter.
    Counter(u32),
    /// A parameter of the launch.
    Param(u32),
    /// An operation on other values.
    Op(Op, Operands),
    /// A load.
    Load(Load),
    /// A value that was computed at a certain moment: a read of memory that is written, or the result of an all-reduce.
    Moment(u32),
}

/// A coordinate of an invocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coordinate {
    /// The number of the workgroup in a dimension.
    Workgroup(u8),
    /// A workgroup of a grid that may be dispatched in several pieces. Each piece has the workgroup at which it begins.
    GridWorkgroup(u8),
    /// The number of the invocation in its workgroup, in a dimension.
    Local(u8),
    /// The number of the invocation in its workgroup, over all dimensions.
    LocalIndex,
    /// The number of the subgroup in its workgroup.
    Subgroup,
    /// The number of the invocation in its subgroup.
    SubgroupLane,
}

/// An operation on values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A function of one value.
    Unary(Unary),
    /// A function of two values.
    Binary(Binary),
    /// A comparison.
    Compare(Compare),
    /// The second value if the first is true, else the third.
    Select,
    /// A conversion to a dtype that instructions compute with.
    Cast(DType),
    /// The number of a narrow dtype: for an integer, the one with the same low bits, and for a float, the nearest one.
    Narrow(DType),
    /// Data as the integer with its 32 bits.
    Index,
    /// `a * b + c`, fused if the device fuses it.
    Fma,
    /// A scalar in every lane.
    Splat(u32),
    /// One component.
    Extract(u32),
    /// Four components of a longer vector, by number.
    Part(u32),
    /// A vector of scalars, or of vectors of four.
    Join,
    /// The sum of the four products of two vectors' components, each a number of its byte dtype.
    Dot {
        /// The dtypes of the factors.
        factors: [DType; 2],
        /// The dtype of the sum.
        sum: DType,
    },
}

impl Op {
    /// True if the result depends on more than the low 32 bits of an index: on its sign, or on higher bits.
    pub fn needs_all_bits(self) -> bool {
        use Binary::{Div, FloorDiv, FloorMod, Max, Min, Rem};
        match self {
            Op::Binary(op) => matches!(op, Div | Rem | FloorDiv | FloorMod | Min | Max),
            Op::Unary(op) => matches!(op, Unary::Abs | Unary::Sign),
            Op::Cast(to) => to.is_float(),
            Op::Compare(_) => true,
            Op::Narrow(_) | Op::Select | Op::Index | Op::Fma => false,
            Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Join | Op::Dot { .. } => false,
        }
    }

    /// True if the result is data whatever the operands are: casts, and operations on bits.
    fn makes_data(self) -> bool {
        use Binary::{And, MulHi, Or, Shl, Shr, Xor};
        matches!(
            self,
            Op::Cast(_)
                | Op::Narrow(_)
                | Op::Dot { .. }
                | Op::Unary(Unary::Not | Unary::ToBits)
                | Op::Binary(And | Or | Xor | Shl | Shr | MulHi)
        )
    }
}

/// A load from memory that the dispatch does not write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Load {
    /// The buffer.
    pub buffer: BufferId,
    /// The number of elements: 1, 2, 4, or as many more as 16 bytes have.
    pub count: u32,
    /// The index in units of `count` elements.
    pub index: ValueId,
    /// The region that the load must not be moved out of, because that region may not run.
    pub(crate) region: u32,
}

/// The values of a dispatch.
#[derive(Default)]
pub struct Values {
    nodes: Vec<Node>,
    /// An index of `nodes`, by kind and dtype.
    places: Places,
    /// The sums, differences and products that were requested.
    combined: Map<(Arithmetic, ValueId, ValueId), ValueId>,
    /// How vectors depend on the lane, once it is known.
    by_lane: Map<ValueId, ByLane>,
    moments: u32,
}

impl Values {
    /// Returns a value by its id.
    pub fn node(&self, id: ValueId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the type of a value.
    pub fn dtype(&self, id: ValueId) -> DType {
        self.node(id).dtype
    }

    /// Returns the number of components of a value.
    pub fn width(&self, id: ValueId) -> u32 {
        self.node(id).width
    }

    /// Finds a value, or adds it. The range is used only for a new value.
    pub(crate) fn add(&mut self, kind: Kind, dtype: DType, width: u32, level: u32, range: Bounds) -> ValueId {
        let data = match &kind {
            Kind::Load(_) | Kind::Moment(_) => true,
            Kind::Op(op, operands) => {
                // The condition is not part of the result.
                let of = if *op == Op::Select { &operands[1..] } else { &operands[..] };
                *op != Op::Index && (op.makes_data() || of.iter().any(|v| self.node(*v).data))
            }
            Kind::Sum(sum) => self.is_data(sum),
            Kind::Const(_) | Kind::Lane(_) | Kind::Coordinate(_) | Kind::Counter(_) | Kind::Param(_) => false,
        };
        self.add_as(data, kind, dtype, width, level, range)
    }

    fn add_as(&mut self, data: bool, kind: Kind, dtype: DType, width: u32, level: u32, range: Bounds) -> ValueId {
        let hash = hash(&(&kind, dtype));
        if let Some(known) = self.placed(hash, &kind, dtype) {
            return known;
        }
        let id = ValueId(self.nodes.len() as u32);
        self.nodes.push(Node { kind, dtype, width, level, range, data });
        self.places.push(hash);
        id
    }

    fn placed(&self, hash: u32, kind: &Kind, dtype: DType) -> Option<ValueId> {
        let is = |n: usize| self.nodes[n].dtype == dtype && self.nodes[n].kind == *kind;
        self.places.find(hash, is).map(|n| ValueId(n as u32))
    }

    /// Returns an existing value.
    pub(crate) fn find(&self, kind: &Kind, dtype: DType) -> Option<ValueId> {
        self.placed(hash(&(kind, dtype)), kind, dtype)
    }

    /// Returns a new value that is not equal to any other, for an element of a dtype.
    pub fn moment(&mut self, dtype: DType, width: u32, level: u32) -> ValueId {
        self.moments += 1;
        self.add(Kind::Moment(self.moments), dtype.computed(), width, level, crate::narrow::numbers(dtype))
    }

    /// Returns a new index that is distinct from all others. Only its range is known.
    pub fn unknown(&mut self, range: Bounds, level: u32) -> ValueId {
        self.moments += 1;
        self.add_as(false, Kind::Moment(self.moments), DType::I32, 1, level, range)
    }

    pub(crate) fn constant(&mut self, c: Const) -> ValueId {
        let c = crate::narrow::literal(c);
        self.add(Kind::Const(c), c.dtype, 1, 0, Bounds::of((c.bits as i32).into()))
    }

    /// Returns a literal index. An index that does not fit 32 bits is a sum without terms.
    pub fn int(&mut self, value: i64) -> ValueId {
        match i32::try_from(value) {
            Ok(value) => self.constant(Const::index(value)),
            Err(_) => {
                let sum = Sum { constant: value, ..Sum::default() };
                self.add(Kind::Sum(Rc::new(sum)), DType::I32, 1, 0, Bounds::of(value))
            }
        }
    }

    /// Returns a literal bool.
    pub fn boolean(&mut self, value: bool) -> ValueId {
        self.constant(Const { dtype: DType::Bool, bits: u32::from(value) })
    }

    /// Returns the lane numbers of a vector.
    pub fn lane(&mut self, width: u32) -> ValueId {
        self.add(Kind::Lane(width), DType::I32, width, 0, Bounds(0, i64::from(width) - 1))
    }

    /// Returns parameter number `n`, which is a size.
    pub(crate) fn size(&mut self, n: u32, range: Bounds) -> ValueId {
        self.add(Kind::Param(n), DType::I32, 1, 0, range)
    }

    /// Returns parameter number `n`, which is a scalar argument.
    pub(crate) fn scalar_param(&mut self, n: u32, dtype: DType, range: Bounds) -> ValueId {
        self.add_as(true, Kind::Param(n), dtype, 1, 0, range)
    }

    /// Returns a value as data: the low 32 bits of an index. A literal that fits 32 bits is both.
    pub(crate) fn as_data(&mut self, id: ValueId) -> ValueId {
        if self.node(id).data || self.dtype(id) != DType::I32 {
            return id;
        }
        match self.as_int(id) {
            Some(value) => self.int(i64::from(value as i32)),
            None => self.apply(Op::Cast(DType::I32), &[id]),
        }
    }

    /// Returns data as an index: the integer with its 32 bits.
    pub(crate) fn as_index(&mut self, id: ValueId) -> ValueId {
        let node = self.node(id);
        if !node.data {
            return id;
        }
        match &node.kind {
            // The sum does not wrap, so that it is also the sum of its parts as exact integers.
            Kind::Sum(sum) if !sum.lost => {
                let mut sum = Sum::clone(sum);
                for term in &mut sum.terms {
                    term.factors = term.factors.iter().map(|factor| self.as_index(*factor)).collect();
                    term.factors.sort_unstable();
                }
                sum.terms.sort_by(|a, b| (a.order, &a.factors).cmp(&(b.order, &b.factors)));
                self.sum(sum)
            }
            _ => self.apply(Op::Index, &[id]),
        }
    }

    /// Returns the value of an index literal.
    pub fn as_int(&self, id: ValueId) -> Option<i64> {
        match self.node(id).kind {
            Kind::Const(c) if c.dtype == DType::I32 => Some(i64::from(c.bits as i32)),
            Kind::Sum(ref sum) if sum.terms.is_empty() && !sum.lost => Some(sum.constant),
            _ => None,
        }
    }

    /// Returns the literal that a value equals in all lanes.
    pub fn literal(&self, id: ValueId) -> Option<Const> {
        match &self.node(id).kind {
            Kind::Const(c) => Some(*c),
            Kind::Op(Op::Splat(_), of) => self.literal(of[0]),
            _ => None,
        }
    }

    /// Returns the value of a literal bool.
    pub fn as_bool(&self, id: ValueId) -> Option<bool> {
        match self.node(id).kind {
            Kind::Const(c) if c.dtype == DType::Bool => Some(c.bits != 0),
            _ => None,
        }
    }

    /// Returns an operation without simplifying it. All operands must have one width.
    pub fn op(&mut self, op: Op, operands: Operands) -> ValueId {
        let first = operands[0];
        let dtype = match op {
            Op::Compare(_) => DType::Bool,
            Op::Cast(to) => to,
            Op::Dot { sum, .. } => sum,
            // An `f16` has its bits in an `i32`, and an `f32` has them in a `u32`.
            Op::Unary(Unary::FromBits) if self.dtype(first) == DType::I32 => Unary::FromBits.result(DType::U16),
            Op::Unary(op) => op.result(self.dtype(first)).computed(),
            Op::Select => self.dtype(operands[1]),
            _ => self.dtype(first),
        };
        let width = match op {
            Op::Splat(width) => width,
            Op::Extract(_) | Op::Dot { .. } => 1,
            Op::Part(_) => 4,
            Op::Join => operands.iter().map(|v| self.width(*v)).sum(),
            _ => self.width(first),
        };
        let level = operands.iter().map(|v| self.node(*v).level).max().unwrap_or(0);
        let range = self.op_range(op, &operands, dtype);
        self.add(Kind::Op(op, operands), dtype, width, level, range)
    }

    /// Returns a value with `width` components. The value must have one component or `width`.
    pub fn widen(&mut self, id: ValueId, width: u32) -> ValueId {
        if self.width(id) == width {
            return id;
        }
        self.op(Op::Splat(width), smallvec::smallvec![id])
    }

    /// Returns an operation. Comparisons of literals and operations on their bits are folded, and operands that are the same in all lanes
    /// are widened.
    pub fn apply(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        if let (Op::Compare(by), [a, b]) = (op, operands)
            && let Some((a, b)) = self.as_int(*a).zip(self.as_int(*b))
        {
            return self.boolean(by.holds(a, b));
        }
        if let (Op::Binary(by), [a, b]) = (op, operands)
            && let Some(known) = self.known_bits(by, *a, *b)
        {
            return known;
        }
        let width = operands.iter().map(|v| self.width(*v)).max().unwrap_or(1);
        let operands = operands.iter().map(|v| self.widen(*v, width)).collect();
        self.op(op, operands)
    }

    /// Returns the result of an operation on the bits of two literals, or of a shift by 0.
    fn known_bits(&mut self, op: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        use Binary::{And, Or, Shl, Shr, Xor};
        let by = self.as_int(b).filter(|_| matches!(op, And | Or | Shl | Shr | Xor))?;
        if by == 0 && matches!(op, Shl | Shr) && self.node(a).data {
            return Some(a);
        }
        let a = self.as_int(a).filter(|a| Bounds::of(*a).is_within(REACH))?;
        let bits = op.of_ints(a, by).filter(|_| Bounds::of(by).is_within(REACH))?;
        Some(self.int(i64::from(bits as i32)))
    }

    /// Returns one component of a vector, or the value itself if it has one component.
    pub fn extract(&mut self, id: ValueId, lane: u32) -> ValueId {
        let node = self.node(id);
        if node.width == 1 {
            return id;
        }
        match &node.kind {
            Kind::Op(Op::Splat(_), of) => of[0],
            Kind::Op(Op::Join, parts) if parts.len() as u32 == node.width => parts[lane as usize],
            Kind::Lane(_) => self.int(i64::from(lane)),
            _ => self.op(Op::Extract(lane), smallvec::smallvec![id]),
        }
    }

    /// Returns four components of a longer vector, or the value itself.
    pub fn part(&mut self, id: ValueId, n: u32) -> ValueId {
        let node = self.node(id);
        if node.width <= 4 {
            return id;
        }
        match &node.kind {
            Kind::Op(Op::Splat(_), of) => {
                let of = of[0];
                self.widen(of, 4)
            }
            Kind::Op(Op::Join, parts) if parts.len() as u32 * 4 == node.width => parts[n as usize],
            _ => self.op(Op::Part(n), smallvec::smallvec![id]),
        }
    }

    /// Selects one of two values. Equal values need no condition ([`CHOICE_OF_EQUAL`](tilewright_dsl::expr::rules::CHOICE_OF_EQUAL)).
    pub(crate) fn select(&mut self, cond: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.as_bool(cond) {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => self.apply(Op::Select, &[cond, yes, no]),
        }
    }

    /// Returns the conjunction of two bools.
    pub fn and(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(true), _) => b,
            (_, Some(true)) => a,
            (Some(false), _) => a,
            (_, Some(false)) => b,
            _ if a == b => a,
            _ => self.apply(Op::Binary(Binary::And), &[a, b]),
        }
    }

    /// True if a value depends on another.
    pub(crate) fn depends(&self, id: ValueId, on: ValueId) -> bool {
        self.made_of(id, |part| part == on)
    }

    /// True if a value may differ between the invocations of a workgroup, at a place that all of them reach.
    pub fn differs_in_workgroup(&self, id: ValueId) -> bool {
        self.made_of(id, |part| match self.node(part).kind {
            Kind::Coordinate(of) => !matches!(of, Coordinate::Workgroup(_) | Coordinate::GridWorkgroup(_)),
            Kind::Lane(_) | Kind::Load(_) | Kind::Moment(_) => true,
            _ => false,
        })
    }

    /// True if `is` holds for a value or any of its direct or indirect operands.
    fn made_of(&self, id: ValueId, is: impl Fn(ValueId) -> bool) -> bool {
        let (mut open, mut seen) = (vec![id], Map::default());
        while let Some(id) = open.pop() {
            if is(id) {
                return true;
            }
            if !seen.insert(id, ()) {
                continue;
            }
            match &self.node(id).kind {
                Kind::Sum(sum) => open.extend(sum.terms.iter().flat_map(|t| t.factors.iter().copied())),
                Kind::Op(_, of) => open.extend(of.iter().copied()),
                Kind::Load(load) => open.push(load.index),
                _ => {}
            }
        }
        false
    }
}
