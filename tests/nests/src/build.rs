//! Helpers that build nests: a [`Builder`] for the declarations of a program, and free functions for its nodes.

use tilewright_dsl::arena::Id;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::{Binary, Const, Expr, ExprId, Outside, Read, Sides};
use tilewright_dsl::launch::{DType, Relation};
use tilewright_dsl::nest::{
    Access, Argument, Axis, AxisDef, AxisId, AxisKind, Block, Body, Buffer, BufferId, Compute, Condition, Dim, Dispatch, Exec,
    Fate, Level, Loop, Monoid, Node, NodeKind, Phase, Pred, Program, Scalar, Scope, Side, Slot, Space, Split, Stage, StageId, Tail,
};

/// Builds a program.
#[derive(Default)]
pub struct Builder {
    /// The program so far.
    pub p: Program,
}

/// Dims, arguments, buffers and stages.
impl Builder {
    /// Returns a builder of a program that has only a name.
    pub fn new(name: &str) -> Builder {
        Builder { p: Program { name: name.into(), ..Program::default() } }
    }

    /// Adds a dim. It is a literal if the size is known, and symbolic otherwise.
    pub fn dim(&mut self, name: &str, size: Option<i64>) -> ExprId {
        match size {
            Some(size) => self.p.exprs.int(size),
            None => self.declare(name, None),
        }
    }

    /// Adds a derived dim. It is a literal if its value folds to a literal.
    pub fn derived(&mut self, name: &str, value: ExprId) -> ExprId {
        match self.p.exprs.as_int(value) {
            Some(_) => value,
            None => self.declare(name, Some(value)),
        }
    }

    fn declare(&mut self, name: &str, derived: Option<ExprId>) -> ExprId {
        let dim = self.p.dims.push(Dim { name: name.into(), derived, span: SpanId::NONE });
        self.p.exprs.dim(dim)
    }

    /// States that a symbolic dim is a multiple of a number (`where OC % 32 == 0`). A literal needs no such fact.
    pub fn multiple(&mut self, dim: ExprId, of: i64) {
        let Expr::Dim(id) = self.p.exprs.get(dim) else { return };
        let text = format!("{} % {of} == 0", self.p.dims[*id].name);
        let of = self.p.exprs.int(of);
        let left = self.p.exprs.binary(Binary::FloorMod, dim, of);
        let right = self.p.exprs.int(0);
        self.p.checks.conditions.push(Condition { left, relation: Relation::Eq, right, text, span: SpanId::NONE, needed: false });
    }

    /// True if a size is a multiple of a number, because it is such a literal or because [`Builder::multiple`] stated it.
    pub fn is_multiple(&mut self, size: ExprId, of: i64) -> bool {
        if let Some(size) = self.p.exprs.as_int(size) {
            return size % of == 0;
        }
        let exprs = &self.p.exprs;
        let states = |c: &Condition| match exprs.get(c.left) {
            Expr::Binary(Binary::FloorMod, dim, stated) => *dim == size && exprs.as_int(*stated).is_some_and(|s| s % of == 0),
            _ => false,
        };
        of == 1 || self.p.checks.conditions.iter().any(states)
    }

    /// A scalar argument, as an expression.
    pub fn scalar(&mut self, name: &str, dtype: DType) -> ExprId {
        let id = self.p.scalars.push(Scalar { name: name.into(), dtype });
        self.p.arguments.push(Argument::Scalar(id));
        self.p.exprs.scalar(id, dtype)
    }

    /// A tensor that the caller passes.
    pub fn input(&mut self, name: &str, dtype: DType, shape: &[ExprId]) -> BufferId {
        let id = self.buffer(name, dtype, shape, Space::Input);
        self.p.arguments.push(Argument::Tensor(id));
        id
    }

    /// A tensor that is written.
    pub fn output(&mut self, name: &str, dtype: DType, shape: &[ExprId]) -> BufferId {
        let id = self.buffer(name, dtype, shape, Space::Output);
        self.p.outputs.push(id);
        id
    }

    /// A shared, register or fragment buffer of literal shape. No dimensions: one element.
    pub fn local(&mut self, name: &str, dtype: DType, shape: &[i64], space: Space) -> BufferId {
        let shape: Vec<ExprId> = shape.iter().map(|n| self.p.exprs.int(*n)).collect();
        self.buffer(name, dtype, &shape, space)
    }

    /// A buffer of any kind.
    pub fn buffer(&mut self, name: &str, dtype: DType, shape: &[ExprId], space: Space) -> BufferId {
        let (name, shape) = (name.into(), shape.to_vec());
        self.p.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span: SpanId::NONE })
    }

    /// The id of the stage that [`Builder::stage`] will add next: axes name it before it is there.
    pub fn next_stage(&self) -> StageId {
        StageId::new(self.p.stages.len())
    }

    /// Adds a stage on root axes, one for each dimension of its buffer.
    pub fn stage(&mut self, buffer: BufferId, axes: &[AxisId], body: Body) -> StageId {
        let name = self.p.buffers[buffer].name.clone();
        self.p.stages.push(Stage { name, buffer, axes: axes.to_vec(), body, also: Vec::new(), span: SpanId::NONE })
    }

    /// `sum(over) { item }`, with the result stored as it is.
    pub fn sum_of(&mut self, over: &[AxisId], item: ExprId) -> Body {
        let dtype = self.p.exprs.dtype(item);
        let result = self.p.exprs.add(Expr::State(0), dtype);
        let next = self.p.exprs.add(Expr::Item(0), dtype);
        let combine = vec![self.p.exprs.binary(Binary::Add, result, next)];
        let identity = vec![self.number(0.0, dtype)];
        let monoid = Monoid { name: "sum".into(), identity, combine };
        Body::Reduce { monoid, over: over.to_vec(), lift: vec![item], finish: result }
    }

    /// `max(over) { item }`, with the result stored as it is.
    pub fn max_of(&mut self, over: &[AxisId], item: ExprId) -> Body {
        let dtype = self.p.exprs.dtype(item);
        let result = self.p.exprs.add(Expr::State(0), dtype);
        let next = self.p.exprs.add(Expr::Item(0), dtype);
        let combine = vec![self.p.exprs.binary(Binary::Max, result, next)];
        let identity = vec![self.number(f64::NEG_INFINITY, dtype)];
        let monoid = Monoid { name: "max".into(), identity, combine };
        Body::Reduce { monoid, over: over.to_vec(), lift: vec![item], finish: result }
    }
}

/// Axes.
impl Builder {
    /// A parallel root axis of the next stage.
    pub fn parallel(&mut self, name: &str, extent: ExprId) -> AxisId {
        let def = AxisDef::Root(self.next_stage());
        self.axis(name, extent, AxisKind::Parallel, def)
    }

    /// A reduction root axis of the next stage.
    pub fn reduction(&mut self, name: &str, extent: ExprId) -> AxisId {
        let def = AxisDef::Root(self.next_stage());
        self.axis(name, extent, AxisKind::Reduction, def)
    }

    /// A dimension of a copy.
    pub fn made(&mut self, name: &str, extent: i64) -> AxisId {
        let extent = self.p.exprs.int(extent);
        self.made_up(name, extent)
    }

    /// A parallel axis that does not exist in the algorithm.
    pub fn made_up(&mut self, name: &str, extent: ExprId) -> AxisId {
        self.axis(name, extent, AxisKind::Parallel, AxisDef::Made)
    }

    fn axis(&mut self, name: &str, extent: ExprId, kind: AxisKind, def: AxisDef) -> AxisId {
        self.p.axes.push(Axis { name: name.into(), extent, kind, def, fate: Fate::Live, span: SpanId::NONE })
    }

    /// Splits an axis. The outermost part is named `outer`, and its extent is the axis's extent divided by the others. `inner` lists the
    /// other parts, outermost first. The split is exact if [`Builder::is_multiple`] shows it, and guarded otherwise.
    pub fn split(&mut self, of: AxisId, outer: &str, inner: &[(&str, i64)]) -> Vec<AxisId> {
        let (extent, kind) = (self.p.axes[of].extent, self.p.axes[of].kind);
        let product: i64 = inner.iter().map(|(_, n)| n).product();
        let exact = self.is_multiple(extent, product);
        let by = self.p.exprs.int(product);
        let left = match exact {
            true => self.p.exprs.binary(Binary::FloorDiv, extent, by),
            false => self.p.exprs.ceil_div(extent, by),
        };
        let mut parts = vec![self.axis(outer, left, kind, AxisDef::Part { of, part: 0 })];
        for (i, (name, n)) in inner.iter().enumerate() {
            let extent = self.p.exprs.int(*n);
            parts.push(self.axis(name, extent, kind, AxisDef::Part { of, part: i + 1 }));
        }
        self.consume(of, &parts, exact);
        parts
    }

    /// Splits an axis into parts that exist already, because a stage that is computed at a loop shares that loop's axis.
    pub fn consume(&mut self, of: AxisId, parts: &[AxisId], exact: bool) {
        let tail = if exact { Tail::Exact } else { Tail::Guard };
        self.p.axes[of].fate = Fate::Split(Split { parts: parts.to_vec(), exact, tail, span: SpanId::NONE });
    }

    /// Splits an axis in two for a stage that is computed at another stage's loop. The outer part is the axis of that loop.
    pub fn share(&mut self, of: AxisId, outer: AxisId, inner: &str, size: i64, exact: bool) -> AxisId {
        let (extent, kind) = (self.p.exprs.int(size), self.p.axes[of].kind);
        let part = self.axis(inner, extent, kind, AxisDef::Part { of, part: 1 });
        self.consume(of, &[outer, part], exact);
        part
    }

    /// Fuses axes, outermost first.
    pub fn fuse(&mut self, axes: &[AxisId], name: &str) -> AxisId {
        let mut extent = self.p.exprs.int(1);
        for axis in axes {
            let factor = self.p.axes[*axis].extent;
            extent = self.p.exprs.product(extent, factor);
        }
        let kind = self.p.axes[axes[0]].kind;
        let into = self.axis(name, extent, kind, AxisDef::Fused(axes.to_vec()));
        for (digit, axis) in axes.iter().enumerate() {
            self.p.axes[*axis].fate = Fate::Fused { into, digit, span: SpanId::NONE };
        }
        into
    }
}

/// Expressions.
impl Builder {
    /// An index literal.
    pub fn int(&mut self, value: i64) -> ExprId {
        self.p.exprs.int(value)
    }

    /// A literal of any type.
    pub fn number(&mut self, value: f64, dtype: DType) -> ExprId {
        self.p.exprs.constant(Const::number(value, dtype))
    }

    /// The value of an axis.
    pub fn at(&mut self, axis: AxisId) -> ExprId {
        self.p.exprs.axis(axis)
    }

    /// The values of some axes.
    pub fn all(&mut self, axes: &[AxisId]) -> Vec<ExprId> {
        axes.iter().map(|a| self.at(*a)).collect()
    }

    /// `a + b`.
    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.p.exprs.sum(a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.p.exprs.difference(a, b)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.p.exprs.product(a, b)
    }

    /// `axis * by + plus`, the index of a strided window.
    pub fn scaled(&mut self, axis: AxisId, by: i64, plus: ExprId) -> ExprId {
        let (axis, by) = (self.at(axis), self.int(by));
        let product = self.mul(axis, by);
        self.add(product, plus)
    }

    /// A read that is proved to be in bounds.
    pub fn read(&mut self, buffer: BufferId, index: &[ExprId]) -> ExprId {
        let dtype = self.p.buffers[buffer].dtype;
        self.p.exprs.read(buffer, dtype, index.iter().copied())
    }

    /// A read that returns 0 past the upper end of each dimension for which `above` is true.
    pub fn filled(&mut self, buffer: BufferId, index: &[ExprId], above: &[bool]) -> ExprId {
        let dtype = self.p.buffers[buffer].dtype;
        let fill = self.number(0.0, dtype);
        let sides: Sides = above.iter().map(|a| (false, *a)).collect();
        let outside = if above.contains(&true) { Outside::Fill(fill, sides) } else { Outside::Never };
        self.p.exprs.add(Expr::Read(Read { buffer, index: index.iter().copied().collect(), outside }), dtype)
    }
}

/// Matrices.
impl Builder {
    /// A buffer of fragments of 16 x 16.
    pub fn fragment(&mut self, name: &str, dtype: DType, shape: &[i64]) -> BufferId {
        self.local(name, dtype, shape, Space::Fragment { rows: 16, columns: 16, spread: false })
    }
}

/// A loop over the rows of matrices.
pub const ROWS: Exec = Exec::Matrix(Side::Rows);
/// A loop over the columns of matrices.
pub const COLUMNS: Exec = Exec::Matrix(Side::Columns);
/// A loop over the dimension that matrix products are summed over.
pub const DEPTH: Exec = Exec::Matrix(Side::Depth);

/// A compute without predicates.
pub fn compute(stage: StageId, phase: Phase, dst: Access, value: ExprId) -> Compute {
    Compute { stage, phase, dst: vec![dst], value: vec![value], finish: None, given: 0, preds: Vec::new() }
}

/// Adds predicates on the given axes whose split is not exact.
pub fn guarded(mut compute: Compute, axes: &[AxisId], program: &Program) -> Compute {
    let inexact = |a: &&AxisId| matches!(&program.axes[**a].fate, Fate::Split(split) if !split.exact);
    compute.preds.extend(axes.iter().filter(inexact).map(|a| Pred { axis: *a, tail: Tail::Guard }));
    compute
}

/// An access to an element of a buffer.
pub fn access(buffer: BufferId, index: &[ExprId]) -> Access {
    Access { buffer, index: index.to_vec() }
}

/// A node without a span in a source.
pub fn node(kind: NodeKind) -> Node {
    Node::new(kind, SpanId::NONE)
}

/// A compute as a block of its own.
pub fn leaf(compute: Compute) -> Block {
    vec![node(NodeKind::Compute(compute))]
}

/// Loops around a block, outermost first.
pub fn nest(loops: &[(AxisId, Exec)], body: Block) -> Block {
    let wrap = |body, (axis, exec): &(AxisId, Exec)| vec![node(NodeKind::Loop(Loop::new(*axis, *exec, body)))];
    loops.iter().rev().fold(body, wrap)
}

/// Scopes of buffers around a block.
pub fn alloc(buffers: &[BufferId], body: Block) -> Block {
    buffers.iter().rev().fold(body, |body, buffer| vec![node(NodeKind::Alloc { buffer: *buffer, body })])
}

/// A barrier of the workgroup.
pub fn barrier() -> Block {
    barrier_of(Scope::Workgroup)
}

/// A barrier of the given scope.
pub fn barrier_of(scope: Scope) -> Block {
    vec![node(NodeKind::Barrier { scope })]
}

/// Blocks one after another.
pub fn sequence<const N: usize>(blocks: [Block; N]) -> Block {
    blocks.into_iter().flatten().collect()
}

/// A dispatch.
pub fn dispatch(name: &str, local: [u32; 3], body: Block) -> Dispatch {
    Dispatch { name: name.into(), local, body }
}

/// Bound to a slot of the grid.
pub fn workgroup(slot: Slot) -> Exec {
    Exec::Bind(Level::Workgroup, slot)
}

/// Bound to a slot of the workgroup's invocations.
pub fn thread(slot: Slot) -> Exec {
    Exec::Bind(Level::Thread, slot)
}

/// Bound to a slot of the workgroup's subgroups.
pub fn subgroup(slot: Slot) -> Exec {
    Exec::Bind(Level::Subgroup, slot)
}
