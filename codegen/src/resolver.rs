//! The resolver of one dispatch: the point that the walk over the nest has reached, and the values that were found there.

use crate::expr::{Resolved, View};
use crate::hash::Map;
use crate::invocations::Grid;
use crate::scan::Uses;
use crate::values::{Kind, ValueId, Values};
use crate::{Result, confined, indices, params, reach, read};
use std::fmt;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::diag::{Error, SpanId};
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::{Bounds, DType, Feature};
use tilewright_dsl::nest::{AxisId, Body, BufferId, Compute, Dispatch, Monoid, Pred, Program, StageId, print};
use tilewright_dsl::profile::Profile;

/// Resolves the expressions of one dispatch.
pub struct Resolver<'p> {
    /// The program.
    pub program: &'p Program,
    /// The profile that it is compiled for.
    pub profile: &'p Profile,
    /// The values that were found so far.
    pub values: Values,
    /// The values of the axes that loops bind, and whether they differ between invocations.
    pub(crate) bound: Vec<Option<BoundAxis>>,
    /// The axes of the enclosing unrolled loops, with their extents.
    pub(crate) unrolled: Vec<(AxisId, u32)>,
    /// The axes of the enclosing serial loops.
    pub(crate) serial: Vec<AxisId>,
    /// The axis in lanes, and the number of lanes.
    pub(crate) lanes: Option<(AxisId, u32)>,
    /// True if the lanes are the factors of a dot product.
    pub(crate) in_dot: bool,
    /// The open regions: the function, and the enclosing loops and branches.
    pub(crate) regions: Vec<Region>,
    /// The number of regions that were ever opened.
    pub(crate) instances: u32,
    /// The current compute, by its place in the nest.
    pub(crate) compute: usize,
    /// The predicates of the current compute.
    pub(crate) preds: Vec<Pred>,
    /// The values that the current compute has resolved.
    pub(crate) resolved: Map<(ExprId, u8), Resolved>,
    /// The values that were resolved outside of the current combination.
    pub(crate) outer: Map<(ExprId, u8), Resolved>,
    /// The state and the item that a combination names.
    pub(crate) state: Vec<ValueId>,
    pub(crate) item: Vec<ValueId>,
    /// The axes that are bound to workgroups and invocations.
    pub grid: Grid,
    /// The uses of buffers.
    pub uses: Uses,
    pub(crate) params: params::Params,
    pub(crate) reach: reach::Reach,
    pub(crate) indices: indices::Indices,
    /// For counters of loops, the second counters that start again after some iterations.
    pub(crate) turns: Vec<Turn>,
    pub(crate) reads: read::Reads,
    /// Floats, and whether a compiler may know their values.
    pub(crate) literals: Map<ValueId, bool>,
    pub(crate) confined: confined::Confined,
    /// The values that must be emitted before anything else, in order.
    pub(crate) wanted: Vec<Wanted>,
    /// The node that errors refer to.
    pub span: SpanId,
}

/// A resolved value that must be emitted at once.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// A parameter that is used for the first time.
    Param(u32),
    /// A read of memory that is written: the value at this moment, and the index in units of its width.
    Load {
        /// The value.
        value: ValueId,
        /// The buffer that is read.
        buffer: BufferId,
        /// The index.
        index: ValueId,
    },
    /// A read of a register's variable, by the variable's number.
    Register {
        /// The value.
        value: ValueId,
        /// The buffer that is read.
        buffer: BufferId,
        /// The variable's number.
        at: i64,
    },
}

/// A second counter of a loop, which starts again after some iterations.
pub(crate) struct Turn {
    pub(crate) counter: ValueId,
    pub(crate) of: u32,
    pub(crate) value: ValueId,
}

/// An axis that a loop binds.
#[derive(Clone, Copy)]
pub struct BoundAxis {
    /// The value of the axis.
    pub value: ValueId,
    /// True if the value differs between invocations, subgroups or lanes.
    pub owner: bool,
}

/// An open loop or branch.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    /// A number that no other region has.
    pub(crate) instance: u32,
    /// True if it may not run at all.
    pub(crate) skippable: bool,
}

impl<'p> Resolver<'p> {
    /// Returns the resolver of a dispatch, which is scanned for what must be known beforehand.
    pub fn new(program: &'p Program, profile: &'p Profile, dispatch: &Dispatch) -> Result<Resolver<'p>> {
        let mut resolver = Resolver {
            program,
            profile,
            values: Values::default(),
            bound: vec![None; program.axes.len()],
            unrolled: Vec::new(),
            serial: Vec::new(),
            lanes: None,
            in_dot: false,
            regions: vec![Region { instance: 0, skippable: false }],
            instances: 0,
            compute: 0,
            preds: Vec::new(),
            resolved: Map::default(),
            outer: Map::default(),
            state: Vec::new(),
            item: Vec::new(),
            grid: Grid { local: dispatch.local, ..Grid::default() },
            uses: Uses::default(),
            params: params::Params::new(program),
            reach: reach::Reach::default(),
            indices: indices::Indices::default(),
            turns: Vec::new(),
            reads: read::Reads::default(),
            literals: Map::default(),
            confined: confined::Confined::default(),
            wanted: Vec::new(),
            span: dispatch.body.first().map_or(SpanId::NONE, |node| node.span),
        };
        resolver.scan(dispatch)?;
        Ok(resolver)
    }

    /// Returns an error at the current node.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.span, message)
    }

    /// Returns an error for a state that the backend should never see.
    pub(crate) fn defect(&self, message: impl Into<String>) -> Error {
        self.error(message).defect(&print::plan(self.program))
    }

    /// True if f16 arithmetic is native. Without the feature, f16 can only be loaded, stored and converted. In between, it is held as an
    /// f32 of the same value.
    pub fn native_f16(&self) -> bool {
        self.profile.has(Feature::F16)
    }

    /// Returns the monoid of a reduction.
    pub fn monoid(&self, stage: StageId) -> Result<&'p Monoid> {
        let program = self.program;
        match &program.stages[stage].body {
            Body::Reduce { monoid, .. } => Ok(monoid),
            Body::Map(_) => Err(self.defect("an update of a stage that is not a reduction")),
        }
    }
}

/// Checks that a profile has a feature. An error is at a span.
pub fn check_feature(profile: &Profile, span: SpanId, feature: Feature, what: &str, help: impl fmt::Display) -> Result<()> {
    if profile.has(feature) {
        return Ok(());
    }
    let (feature, profile) = (feature.name(), &profile.name);
    let message = format!("{what} needs the feature `{feature}`, which the profile `{profile}` does not have");
    Err(Error::new(span, message).help(help.to_string()))
}

/// The current point of the emission.
impl Resolver<'_> {
    /// Starts a compute with these predicates, and forgets resolved values.
    pub fn begin(&mut self, preds: &[Pred]) {
        self.resolved.clear();
        preds.clone_into(&mut self.preds);
    }

    /// Starts a compute, and forgets resolved values.
    pub fn begin_compute(&mut self, compute: &Compute) {
        self.begin(&compute.preds);
        self.compute = std::ptr::from_ref(compute) as usize;
    }

    /// Presumes a value for an expression, until the next compute.
    pub fn presume(&mut self, id: ExprId, value: ValueId) {
        self.resolved.insert((id, View::ALL.key()), (value, 0));
    }

    /// Forgets the resolved values.
    pub fn forget(&mut self) {
        self.resolved.clear();
    }

    /// Returns the value of a bound axis.
    pub(crate) fn bound(&self, axis: AxisId) -> Option<BoundAxis> {
        self.bound[axis.index()]
    }

    /// Binds an axis, and returns its previous binding.
    pub fn bind(&mut self, axis: AxisId, bound: BoundAxis) -> Result<Option<BoundAxis>> {
        if !self.is_looped(axis) {
            let name = &self.program.axes[axis].name;
            return Err(self.defect(format!("the loop over `{name}` was not scanned")));
        }
        self.note_axis(bound.value, axis);
        Ok(self.bound[axis.index()].replace(bound))
    }

    /// Restores the previous binding of an axis.
    pub fn unbind(&mut self, axis: AxisId, before: Option<BoundAxis>) {
        self.bound[axis.index()] = before;
    }

    /// Enters an unrolled loop. The caller binds its axis for each iteration.
    pub fn enter_unrolled(&mut self, axis: AxisId, extent: u32) {
        self.unrolled.push((axis, extent));
    }

    /// Leaves the innermost unrolled loop.
    pub fn leave_unrolled(&mut self) {
        self.unrolled.pop();
    }

    /// Enters a serial loop.
    pub fn enter_serial(&mut self, axis: AxisId) {
        self.serial.push(axis);
    }

    /// Leaves the innermost serial loop.
    pub fn leave_serial(&mut self) {
        self.serial.pop();
    }

    /// Records that the counter of a loop has a second counter that starts again after `of` iterations.
    pub fn note_turn(&mut self, counter: ValueId, of: u32, value: ValueId) {
        self.turns.push(Turn { counter, of, value });
    }

    /// Enters a loop in lanes.
    pub fn enter_lanes(&mut self, axis: AxisId, lanes: u32) {
        self.lanes = Some((axis, lanes));
    }

    /// Enters a dot product. Its factors are lanes of the expressions that they multiply.
    pub fn enter_dot(&mut self, axis: AxisId, factors: u32) {
        self.enter_lanes(axis, factors);
        self.in_dot = true;
    }

    /// Leaves the loop in lanes, or the dot product.
    pub fn leave_lanes(&mut self) {
        (self.lanes, self.in_dot) = (None, false);
    }

    /// Returns the values that must be written at once, in order, and empties the queue.
    pub fn take_wanted(&mut self) -> Vec<Wanted> {
        std::mem::take(&mut self.wanted)
    }

    /// Returns the number of lanes here, or 1.
    pub fn lane_count(&self) -> u32 {
        self.lanes.map_or(1, |(_, lanes)| lanes)
    }

    /// Returns the number of open loops and branches.
    pub(crate) fn level(&self) -> u32 {
        self.regions.len() as u32 - 1
    }

    /// Opens a region.
    pub fn open(&mut self, skippable: bool) {
        self.instances += 1;
        self.regions.push(Region { instance: self.instances, skippable });
    }

    /// Closes the innermost region.
    pub fn close(&mut self) {
        self.regions.pop();
    }

    /// Returns the counter of a new loop, or another number below an extent whose value only the current code knows.
    pub fn counter(&mut self, extent: ValueId) -> ValueId {
        self.instances += 1;
        let (level, instance) = (self.level(), self.instances);
        let Bounds(_, most) = self.values.node(extent).range.plus(Bounds::of(-1));
        let counter = self.values.add(Kind::Counter(instance), DType::I32, 1, level, Bounds(0, most.max(0)));
        self.note_counter(counter, extent);
        counter
    }

    /// Returns the extent of an axis at the place of its loop.
    pub fn extent(&mut self, axis: AxisId) -> Result<ValueId> {
        self.begin(&[]);
        self.extent_in(axis, View::ALL)
    }

    /// Returns the extent of an axis, which must be a literal.
    pub fn literal_extent(&mut self, axis: AxisId, what: &str) -> Result<u32> {
        let extent = self.extent(axis)?;
        let name = &self.program.axes[axis].name;
        let error = || self.error(format!("the extent of `{name}` must be a literal: it is {what}"));
        self.values.as_int(extent).and_then(|n| u32::try_from(n).ok()).ok_or_else(error)
    }

    /// Returns how many copies of the current code the enclosing unrolled loops make.
    pub fn copies(&self) -> u64 {
        self.unrolled.iter().fold(1, |copies, (_, extent)| copies.saturating_mul((*extent).into()))
    }
}
