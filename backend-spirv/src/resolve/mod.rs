//! Resolution: evaluates expressions at the current point of the emission, as [`values`], and derives facts about these. It does not depend
//! on SPIR-V.
//!
//! The walk over the nest ([`crate::nest`]) determines which axes loops bind and which predicates a compute has. A [`Resolver`] returns the
//! values of expressions under them, and [`crate::emit`] writes these values as instructions. [`Resolver::wanted`] queues values that must
//! be emitted at once, in order: reads of memory that is written, and the launch's parameters. `Emit::resolving` empties the queue, so
//! every resolution is done inside it.
//!
//! - [`scan`] finds the facts that must be known beforehand: uses of buffers, bound axes, and the buffers that lanes access;
//! - [`expr`] turns expressions and axes into values, [`predicate`] keeps them in range, and [`indices`] remembers repeated ones;
//! - [`place`] computes the index of an element, [`read`] the elements that are read at a time, and [`registers`] the registers that an
//!   index names;
//! - [`invocations`] computes the coordinates of an invocation, and [`teams`] the invocations with which it shares a reduction;
//! - [`params`] names the launch's parameters, and [`reach`] the bounds of indices that must fit 32 bits;
//! - [`confined`] determines which computes must not run out of range, [`fuse`] which products become an `Fma`, and [`class`] and [`found`]
//!   what a driver's compiler may know about a value.

pub(crate) mod class;
mod confined;
mod expr;
mod found;
pub(crate) mod fuse;
mod indices;
mod invocations;
mod params;
mod place;
mod predicate;
mod reach;
mod read;
mod registers;
mod scan;
pub(crate) mod steps;
pub(crate) mod teams;
pub(crate) mod values;

pub(crate) use expr::View;
pub(crate) use params::Param;
pub(crate) use registers::{Elements, is_whole};
pub(crate) use steps::Steps;

use crate::Result;
use crate::hash::Map;
use expr::Resolved;
use std::fmt;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::diag::{Error, SpanId};
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::{Bounds, DType, Feature};
use tilewright_dsl::nest::{AxisId, Body, BufferId, Monoid, Pred, Program, StageId, print};
use tilewright_dsl::profile::Profile;
use values::{Kind, ValueId, Values};

/// Resolves the expressions of one dispatch.
pub(crate) struct Resolver<'p> {
    pub(crate) program: &'p Program,
    pub(crate) profile: &'p Profile,
    pub(crate) values: Values,
    /// The values of the axes that loops bind, and whether they differ between invocations.
    pub(crate) bound: Vec<Option<BoundAxis>>,
    /// The axes of the enclosing unrolled loops, with their extents.
    pub(crate) unrolled: Vec<(AxisId, u32)>,
    /// The axes of the enclosing serial loops.
    pub(crate) serial: Vec<AxisId>,
    /// The axis in lanes, and the number of lanes.
    pub(crate) lanes: Option<(AxisId, u32)>,
    /// The open regions: the function, and the enclosing loops and branches.
    regions: Vec<Region>,
    /// The number of regions that were ever opened.
    instances: u32,
    /// The current compute, by its place in the nest.
    pub(crate) compute: usize,
    /// The predicates of the current compute.
    preds: Vec<Pred>,
    /// The values that the current compute has resolved.
    resolved: Map<(ExprId, u8), Resolved>,
    /// The values that were resolved outside of the current combination.
    outer: Map<(ExprId, u8), Resolved>,
    /// The state and the item that a combination names.
    state: Vec<ValueId>,
    item: Vec<ValueId>,
    pub(crate) grid: invocations::Grid,
    pub(crate) uses: scan::Uses,
    pub(crate) params: params::Params,
    pub(crate) reach: reach::Reach,
    indices: indices::Indices,
    /// For counters of loops, the second counters that start again after some iterations.
    pub(crate) turns: Vec<Turn>,
    pub(crate) reads: read::Reads,
    /// Floats, and whether a compiler may know their values.
    literals: Map<ValueId, bool>,
    confined: confined::Confined,
    /// The values that must be emitted before anything else, in order.
    pub(crate) wanted: Vec<Wanted>,
    /// The node that errors refer to.
    pub(crate) span: SpanId,
}

/// A resolved value that must be emitted at once.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// A parameter that is used for the first time.
    Param(u32),
    /// A read of memory that is written: the value at this moment, and the index in units of its width.
    Load { value: ValueId, buffer: BufferId, index: ValueId },
    /// A read of a register's variable, by the variable's number.
    Register { value: ValueId, buffer: BufferId, at: i64 },
}

/// A second counter of a loop, which starts again after some iterations.
pub(crate) struct Turn {
    pub(crate) counter: ValueId,
    pub(crate) of: u32,
    pub(crate) value: ValueId,
}

/// An axis that a loop binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundAxis {
    pub(crate) value: ValueId,
    /// True if the value differs between invocations, subgroups or lanes.
    pub(crate) owner: bool,
}

/// An open loop or branch.
#[derive(Clone, Copy)]
struct Region {
    /// A number that no other region has.
    instance: u32,
    /// True if it may not run at all.
    skippable: bool,
}

impl<'p> Resolver<'p> {
    pub(crate) fn new(program: &'p Program, profile: &'p Profile, local: [u32; 3]) -> Resolver<'p> {
        Resolver {
            program,
            profile,
            values: Values::default(),
            bound: vec![None; program.axes.len()],
            unrolled: Vec::new(),
            serial: Vec::new(),
            lanes: None,
            regions: vec![Region { instance: 0, skippable: false }],
            instances: 0,
            compute: 0,
            preds: Vec::new(),
            resolved: Map::default(),
            outer: Map::default(),
            state: Vec::new(),
            item: Vec::new(),
            grid: invocations::Grid { local, ..Default::default() },
            uses: scan::Uses::default(),
            params: params::Params::new(program),
            reach: reach::Reach::default(),
            indices: indices::Indices::default(),
            turns: Vec::new(),
            reads: read::Reads::default(),
            literals: Map::default(),
            confined: confined::Confined::default(),
            wanted: Vec::new(),
            span: SpanId::NONE,
        }
    }

    /// Returns an error at the current node.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.span, message)
    }

    /// Returns an error for a state that the backend should never see.
    pub(crate) fn defect(&self, message: impl Into<String>) -> Error {
        self.error(message).defect(&print::plan(self.program))
    }

    /// Checks that the profile has a feature.
    pub(crate) fn has(&self, feature: Feature, what: &str, help: impl fmt::Display) -> Result<()> {
        if self.profile.has(feature) {
            return Ok(());
        }
        let (feature, profile) = (feature.name(), &self.profile.name);
        let message = format!("{what} needs the feature `{feature}`, which the profile `{profile}` does not have");
        Err(self.error(message).help(help.to_string()))
    }

    /// True if f16 arithmetic is native. Without the feature, f16 can only be loaded, stored and converted. In between, it is held as an
    /// f32 of the same value.
    pub(crate) fn native_f16(&self) -> bool {
        self.profile.has(Feature::F16)
    }

    pub(crate) fn monoid(&self, stage: StageId) -> Result<&'p Monoid> {
        let program = self.program;
        match &program.stages[stage].body {
            Body::Reduce { monoid, .. } => Ok(monoid),
            Body::Map(_) => Err(self.defect("an update of a stage that is not a reduction")),
        }
    }
}

/// The current point of the emission.
impl Resolver<'_> {
    /// Starts a compute with these predicates, and forgets resolved values.
    pub(crate) fn begin(&mut self, preds: &[Pred]) {
        self.resolved.clear();
        preds.clone_into(&mut self.preds);
    }

    /// Presumes a value for an expression, until the next compute.
    pub(crate) fn presume(&mut self, id: ExprId, value: ValueId) {
        self.resolved.insert((id, View::ALL.key()), (value, 0));
    }

    /// Forgets the resolved values.
    pub(crate) fn forget(&mut self) {
        self.resolved.clear();
    }

    /// Returns the value of a bound axis.
    fn bound(&self, axis: AxisId) -> Option<BoundAxis> {
        self.bound[axis.index()]
    }

    /// Binds an axis, and returns its previous binding.
    pub(crate) fn bind(&mut self, axis: AxisId, bound: BoundAxis) -> Result<Option<BoundAxis>> {
        if !self.is_looped(axis) {
            let name = &self.program.axes[axis].name;
            return Err(self.defect(format!("the loop over `{name}` was not scanned")));
        }
        self.note_axis(bound.value, axis);
        Ok(self.bound[axis.index()].replace(bound))
    }

    pub(crate) fn unbind(&mut self, axis: AxisId, before: Option<BoundAxis>) {
        self.bound[axis.index()] = before;
    }

    /// The number of lanes here, or 1.
    pub(crate) fn lane_count(&self) -> u32 {
        self.lanes.map_or(1, |(_, lanes)| lanes)
    }

    pub(crate) fn level(&self) -> u32 {
        self.regions.len() as u32 - 1
    }

    /// Opens a region.
    pub(crate) fn open(&mut self, skippable: bool) {
        self.instances += 1;
        self.regions.push(Region { instance: self.instances, skippable });
    }

    /// Closes the innermost region.
    pub(crate) fn close(&mut self) {
        self.regions.pop();
    }

    /// Returns the counter of a new loop, or another number below an extent whose value only the current code knows.
    pub(crate) fn counter(&mut self, extent: ValueId) -> ValueId {
        self.instances += 1;
        let (level, instance) = (self.level(), self.instances);
        let Bounds(_, most) = self.values.node(extent).range.plus(Bounds::of(-1));
        let counter = self.values.add(Kind::Counter(instance), DType::I32, 1, level, Bounds(0, most.max(0)));
        self.note_counter(counter, extent);
        counter
    }

    /// Returns the extent of an axis at the place of its loop.
    pub(crate) fn extent(&mut self, axis: AxisId) -> Result<ValueId> {
        self.begin(&[]);
        self.extent_in(axis, View::ALL)
    }

    /// Returns the extent of an axis, which must be a literal.
    pub(crate) fn literal_extent(&mut self, axis: AxisId, what: &str) -> Result<u32> {
        let extent = self.extent(axis)?;
        let name = &self.program.axes[axis].name;
        let error = || self.error(format!("the extent of `{name}` must be a literal: it is {what}"));
        self.values.as_int(extent).and_then(|n| u32::try_from(n).ok()).ok_or_else(error)
    }

    /// Returns how many copies of the current code the enclosing unrolled loops make.
    pub(crate) fn copies(&self) -> u64 {
        self.unrolled.iter().fold(1, |copies, (_, extent)| copies.saturating_mul((*extent).into()))
    }
}
