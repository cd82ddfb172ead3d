//! Values: what expressions mean at one point of the emission, hash-consed.
//!
//! An expression of the nest names axes; a value names loop counters, literals of unrolled iterations, lanes and
//! built-ins. Equal values have equal ids, so whatever two unrolled copies share is one value. Each knows the *level*
//! of the region (loop or function) that it must be computed in: the deepest one of its parts. It is written there,
//! once, when it is first needed ([`crate::emit`]). Integer sums are polynomials ([`poly`]), so that indices are equal
//! if they are equal as such.
//!
//! A value that depends on the lane is a vector ([`Node::width`]).

pub(crate) mod poly;
mod range;

use crate::hash::{Map, Places, hash};
use poly::{Arithmetic, ByLane, Sum};
use smallvec::SmallVec;
use std::rc::Rc;
use tilewright_dsl::expr::{Binary, Compare, Const, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::BufferId;

/// A value of a [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ValueId(u32);

impl ValueId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) dtype: DType,
    /// Components: 1, or the lanes of the loop that it depends on.
    pub(crate) width: u32,
    /// Of the region that it is computed in.
    pub(crate) level: u32,
    /// Of an `i32`: the least and the greatest it can be.
    pub(crate) range: (i64, i64),
    /// Whether it is made of what is read or given, or of what nothing is known of: that arithmetic wraps, and that of indices does not
    /// ([`range`]).
    pub(crate) data: bool,
}

/// Components of an operation.
pub(crate) type Operands = SmallVec<[ValueId; 3]>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Const(Const),
    /// Several terms, or one with a factor or a constant.
    Sum(Rc<Sum>),
    /// 0, 1, … by component.
    Lane(u32),
    /// A coordinate of an invocation.
    Coordinate(Coordinate),
    /// A serial loop's counter.
    Counter(u32),
    /// A parameter of the launch.
    Param(u32),
    Op(Op, Operands),
    Load(Load),
    /// Something computed at a certain moment: a read of memory that is written, or a collected state.
    Moment(u32),
}

/// Where an invocation stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Coordinate {
    Workgroup(u8),
    Local(u8),
    LocalIndex,
    Subgroup,
    SubgroupLane,
}

/// An operation on values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Unary(Unary),
    Binary(Binary),
    Compare(Compare),
    Select,
    Cast(DType),
    /// `a * b + c`, fused where the device does.
    Fma,
    /// The value in every lane.
    Splat(u32),
    /// One component.
    Extract(u32),
    /// Four components of more: these.
    Part(u32),
    /// A vector of scalars, or of vectors of four.
    Join,
}

/// A load from memory that the dispatch does not write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Load {
    pub(crate) buffer: BufferId,
    /// Elements at a time: 1, 2, 4 or, of two bytes, 8.
    pub(crate) count: u32,
    /// In units of `count`.
    pub(crate) index: ValueId,
    /// The region that it may not leave, because that may not run.
    pub(crate) region: u32,
}

/// The values of a dispatch.
#[derive(Default)]
pub(crate) struct Values {
    nodes: Vec<Node>,
    /// Of `nodes`, by kind and dtype.
    places: Places,
    /// Sums, differences and products that were asked for.
    combined: Map<(Arithmetic, ValueId, ValueId), ValueId>,
    /// How vectors depend on the lane.
    by_lane: Map<ValueId, ByLane>,
    moments: u32,
}

/// The range of an `i32` of which nothing is known.
pub(crate) const ANY: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
/// The range of a dim.
pub(crate) const SIZE: (i64, i64) = (0, i32::MAX as i64);

impl Values {
    pub(crate) fn node(&self, id: ValueId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn dtype(&self, id: ValueId) -> DType {
        self.node(id).dtype
    }

    pub(crate) fn width(&self, id: ValueId) -> u32 {
        self.node(id).width
    }

    /// Finds a value, or adds it. The range counts only for one that is new.
    pub(crate) fn add(&mut self, kind: Kind, dtype: DType, width: u32, level: u32, range: (i64, i64)) -> ValueId {
        let hash = hash(&(&kind, dtype));
        if let Some(known) = self.placed(hash, &kind, dtype) {
            return known;
        }
        let id = ValueId(self.nodes.len() as u32);
        let data = match &kind {
            Kind::Load(_) | Kind::Moment(_) => true,
            Kind::Param(_) => range == ANY,
            Kind::Op(..) | Kind::Sum(_) if dtype == DType::I32 && range == ANY => true,
            Kind::Op(_, operands) => operands.iter().any(|v| self.node(*v).data),
            Kind::Sum(sum) => sum.terms.iter().flat_map(|term| &term.factors).any(|v| self.node(*v).data),
            Kind::Const(_) | Kind::Lane(_) | Kind::Coordinate(_) | Kind::Counter(_) => false,
        };
        self.nodes.push(Node { kind, dtype, width, level, range, data });
        self.places.push(hash);
        id
    }

    fn placed(&self, hash: u32, kind: &Kind, dtype: DType) -> Option<ValueId> {
        let is = |n: usize| self.nodes[n].dtype == dtype && self.nodes[n].kind == *kind;
        self.places.find(hash, is).map(|n| ValueId(n as u32))
    }

    /// A value that is there already.
    pub(crate) fn find(&self, kind: &Kind, dtype: DType) -> Option<ValueId> {
        self.placed(hash(&(kind, dtype)), kind, dtype)
    }

    /// A new value that equals no other.
    pub(crate) fn moment(&mut self, dtype: DType, width: u32, level: u32) -> ValueId {
        self.moments += 1;
        self.add(Kind::Moment(self.moments), dtype, width, level, ANY)
    }

    pub(crate) fn constant(&mut self, c: Const) -> ValueId {
        let value = i64::from(c.bits as i32);
        self.add(Kind::Const(c), c.dtype, 1, 0, (value, value))
    }

    pub(crate) fn int(&mut self, value: i64) -> ValueId {
        // Index arithmetic wraps at 32 bits, as the device's does.
        self.constant(Const::index(value as i32))
    }

    pub(crate) fn boolean(&mut self, value: bool) -> ValueId {
        self.constant(Const { dtype: DType::Bool, bits: u32::from(value) })
    }

    /// The lane of a vector.
    pub(crate) fn lane(&mut self, width: u32) -> ValueId {
        self.add(Kind::Lane(width), DType::I32, width, 0, (0, i64::from(width) - 1))
    }

    /// Parameter number `n`, a size.
    pub(crate) fn size(&mut self, n: u32) -> ValueId {
        self.add(Kind::Param(n), DType::I32, 1, 0, SIZE)
    }

    /// Parameter number `n`, a scalar argument.
    pub(crate) fn scalar_param(&mut self, n: u32, dtype: DType) -> ValueId {
        self.add(Kind::Param(n), dtype, 1, 0, ANY)
    }

    /// The value of an index literal.
    pub(crate) fn as_int(&self, id: ValueId) -> Option<i64> {
        match self.node(id).kind {
            Kind::Const(c) if c.dtype == DType::I32 => Some(i64::from(c.bits as i32)),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self, id: ValueId) -> Option<bool> {
        match self.node(id).kind {
            Kind::Const(c) if c.dtype == DType::Bool => Some(c.bits != 0),
            _ => None,
        }
    }

    /// An operation as it is; the operands have one width.
    pub(crate) fn op(&mut self, op: Op, operands: Operands) -> ValueId {
        let first = operands[0];
        let dtype = match op {
            Op::Compare(_) | Op::Unary(Unary::IsNan) => DType::Bool,
            Op::Cast(to) => to,
            Op::Select => self.dtype(operands[1]),
            _ => self.dtype(first),
        };
        let width = match op {
            Op::Splat(width) => width,
            Op::Extract(_) => 1,
            Op::Part(_) => 4,
            Op::Join => operands.iter().map(|v| self.width(*v)).sum(),
            _ => self.width(first),
        };
        let level = operands.iter().map(|v| self.node(*v).level).max().unwrap_or(0);
        let range = if dtype == DType::I32 { self.op_range(op, &operands) } else { ANY };
        self.add(Kind::Op(op, operands), dtype, width, level, range)
    }

    /// The value in as many components; it has one, or that many.
    pub(crate) fn widen(&mut self, id: ValueId, width: u32) -> ValueId {
        if self.width(id) == width {
            return id;
        }
        self.op(Op::Splat(width), smallvec::smallvec![id])
    }

    /// An operation on operands of which some may be the same in all lanes.
    pub(crate) fn apply(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        let width = operands.iter().map(|v| self.width(*v)).max().unwrap_or(1);
        let operands = operands.iter().map(|v| self.widen(*v, width)).collect();
        self.op(op, operands)
    }

    /// One component of a vector, or the value itself.
    pub(crate) fn extract(&mut self, id: ValueId, lane: u32) -> ValueId {
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

    /// Four components of a vector of more, or the value itself.
    pub(crate) fn part(&mut self, id: ValueId, n: u32) -> ValueId {
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

    /// A choice.
    pub(crate) fn select(&mut self, cond: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.as_bool(cond) {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => self.apply(Op::Select, &[cond, yes, no]),
        }
    }

    /// Both of two bools.
    pub(crate) fn and(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(true), _) => b,
            (_, Some(true)) => a,
            (Some(false), _) => a,
            (_, Some(false)) => b,
            _ if a == b => a,
            _ => self.apply(Op::Binary(Binary::And), &[a, b]),
        }
    }

    /// Whether a value is made of another.
    pub(crate) fn depends(&self, id: ValueId, on: ValueId) -> bool {
        let (mut open, mut seen) = (vec![id], Map::default());
        while let Some(id) = open.pop() {
            if id == on {
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
