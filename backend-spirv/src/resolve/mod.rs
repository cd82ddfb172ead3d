//! Resolution: what expressions mean where the emission stands, as [`values`], and what is known of these. Nothing here knows SPIR-V.
//!
//! The walk over the nest ([`crate::nest`]) says what loops bind and which predicates a compute has; a [`Resolver`] gives the values of
//! expressions under them, and [`crate::emit`] writes these as instructions. [`Resolver::wanted`] queues what must be emitted at once, in
//! order: reads of memory that is written, and the launch's parameters. `Emit::resolving` empties it, so whatever resolves goes through that.
//!
//! - [`scan`] finds what must be known before: uses of buffers, bound axes, what is reached in lanes;
//! - [`expr`] turns expressions and axes into values, [`predicate`] keeps them in range, and [`indices`] remembers what comes again;
//! - [`place`] says where an element lies, [`read`] which elements are read at a time, [`registers`] which registers an index names;
//! - [`invocations`] says where an invocation stands, [`teams`] with which others it shares a reduction;
//! - [`params`] names what the launch brings, and [`reach`] what of indices 32 bits must hold;
//! - [`confined`] says which computes must not run out of range, [`fuse`] which products become an `Fma`, and [`class`] and [`found`] what a
//!   driver's compiler may find out of a value.

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
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::diag::{Error, SpanId};
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::{Bounds, DType, Feature};
use tilewright_dsl::nest::{AxisId, Body, BufferId, Monoid, Pred, Program, StageId, print};
use tilewright_dsl::profile::Profile;
use values::{Kind, ValueId, Values};

/// What resolves the expressions of one dispatch.
pub(crate) struct Resolver<'p> {
    pub(crate) program: &'p Program,
    pub(crate) profile: &'p Profile,
    pub(crate) values: Values,
    /// The values of the axes that loops bind, and whether they tell invocations apart.
    pub(crate) bound: Vec<Option<Bound>>,
    /// The axes that are written out around here, and how often.
    pub(crate) unrolled: Vec<(AxisId, u32)>,
    /// The axes of the serial loops around.
    pub(crate) serial: Vec<AxisId>,
    /// The axis in lanes, and how many.
    pub(crate) lanes: Option<(AxisId, u32)>,
    /// The regions that are open: the function, and the loops and branches around.
    regions: Vec<Region>,
    /// How many regions there were.
    instances: u32,
    /// The compute at hand, by its place in the nest.
    pub(crate) compute: usize,
    /// Its predicates.
    preds: Vec<Pred>,
    /// What it has resolved.
    resolved: Map<(ExprId, u8), Resolved>,
    /// What was resolved outside of the combination at hand.
    outer: Map<(ExprId, u8), Resolved>,
    /// The state and the item that a combination names.
    state: Vec<ValueId>,
    item: Vec<ValueId>,
    pub(crate) grid: invocations::Grid,
    pub(crate) uses: scan::Uses,
    pub(crate) params: params::Params,
    pub(crate) reach: reach::Reach,
    indices: indices::Indices,
    /// Of loops' counters, those beside them that begin anew after some iterations.
    pub(crate) turns: Vec<Turn>,
    pub(crate) reads: read::Reads,
    /// Floats, and whether a compiler may find what they are.
    literals: Map<ValueId, bool>,
    confined: confined::Confined,
    /// What is to be written before anything else is, in order.
    pub(crate) wanted: Vec<Wanted>,
    /// The node to blame.
    pub(crate) span: SpanId,
}

/// What a resolved value needs of the emission at once.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// A parameter, which is used for the first time.
    Param(u32),
    /// A read of memory that is written: a moment's value, and the place in units of its width.
    Load { value: ValueId, buffer: BufferId, index: ValueId },
    /// A read of a register's variable, by its number.
    Register { value: ValueId, buffer: BufferId, at: i64 },
}

/// A counter beside a loop's, which begins anew after some iterations.
pub(crate) struct Turn {
    pub(crate) counter: ValueId,
    pub(crate) of: u32,
    pub(crate) value: ValueId,
}

/// An axis that a loop binds.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) value: ValueId,
    /// It is another one in each invocation, subgroup or lane of one.
    pub(crate) owner: bool,
}

/// An open loop or branch.
#[derive(Clone, Copy)]
struct Region {
    /// Unlike any other region's.
    instance: u32,
    /// It may not run at all.
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

    /// An error at the node at hand.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.span, message)
    }

    /// What should not have come here.
    pub(crate) fn defect(&self, message: impl Into<String>) -> Error {
        self.error(message).defect(&print::plan(self.program))
    }

    /// Sees to it that the profile has a feature.
    pub(crate) fn has(&self, feature: Feature, what: &str, help: &str) -> Result<()> {
        if self.profile.has(feature) {
            return Ok(());
        }
        let (feature, profile) = (feature.name(), &self.profile.name);
        let message = format!("{what} needs the feature `{feature}`, which the profile `{profile}` does not have");
        Err(self.error(message).help(help.to_string()))
    }

    /// Whether f16 is computed with as such. Without the feature it can only be loaded, stored and converted; between,
    /// it travels as the f32 of the same value.
    pub(crate) fn native_f16(&self) -> bool {
        self.profile.has(Feature::F16)
    }

    pub(crate) fn monoid(&self, stage: StageId) -> Result<&'p Monoid> {
        let program = self.program;
        match &program.stages[stage].body {
            Body::Reduce { monoid, .. } => Ok(monoid),
            Body::Map(_) => Err(self.defect("an update of a stage that reduces nothing")),
        }
    }
}

/// Where the emission stands.
impl Resolver<'_> {
    /// Begins anew, under predicates.
    pub(crate) fn begin(&mut self, preds: &[Pred]) {
        self.resolved.clear();
        preds.clone_into(&mut self.preds);
    }

    /// Takes a value for what an expression resolves to, until the next compute.
    pub(crate) fn presume(&mut self, id: ExprId, value: ValueId) {
        self.resolved.insert((id, View::ALL.key()), (value, 0));
    }

    /// Forgets what was resolved.
    pub(crate) fn forget(&mut self) {
        self.resolved.clear();
    }

    /// The value of a bound axis.
    fn bound(&self, axis: AxisId) -> Option<Bound> {
        self.bound[axis.index()]
    }

    /// Binds an axis; what it was bound to before.
    pub(crate) fn bind(&mut self, axis: AxisId, bound: Bound) -> Result<Option<Bound>> {
        if !self.is_looped(axis) {
            let name = &self.program.axes[axis].name;
            return Err(self.defect(format!("no one looked at the loop over `{name}`")));
        }
        self.note_axis(bound.value, axis);
        Ok(self.bound[axis.index()].replace(bound))
    }

    pub(crate) fn unbind(&mut self, axis: AxisId, before: Option<Bound>) {
        self.bound[axis.index()] = before;
    }

    /// The number of lanes around, or 1.
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

    /// A new loop's counter, or another number below an extent that only the code at hand knows.
    pub(crate) fn counter(&mut self, extent: ValueId) -> ValueId {
        self.instances += 1;
        let (level, instance) = (self.level(), self.instances);
        let Bounds(_, most) = self.values.node(extent).range.plus(Bounds::of(-1));
        let counter = self.values.add(Kind::Counter(instance), DType::I32, 1, level, Bounds(0, most.max(0)));
        self.note_counter(counter, extent);
        counter
    }

    /// An axis's extent where its loop stands.
    pub(crate) fn extent(&mut self, axis: AxisId) -> Result<ValueId> {
        self.begin(&[]);
        self.extent_in(axis, View::ALL)
    }

    /// The same, which must be a literal.
    pub(crate) fn literal_extent(&mut self, axis: AxisId, what: &str) -> Result<u32> {
        let extent = self.extent(axis)?;
        let name = &self.program.axes[axis].name;
        let error = || self.error(format!("the extent of `{name}` must be a literal: it is {what}"));
        self.values.as_int(extent).and_then(|n| u32::try_from(n).ok()).ok_or_else(error)
    }

    /// How often the enclosing unrolled loops replicate the code at hand.
    pub(crate) fn copies(&self) -> u64 {
        self.unrolled.iter().fold(1, |copies, (_, extent)| copies.saturating_mul((*extent).into()))
    }
}
