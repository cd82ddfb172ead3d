//! Decides which intermediates are computed with their readers, which are stored, and which are inlined.

use super::regions::{Costs, Regions};
use super::work::{Survey, is_short, items, uses};
use super::{COLUMNS, Group, THREADS_X};
use crate::expr::Read;
use crate::nest::{AxisId, Body, BufferId, Program, Stage, StageId};
use crate::plan::form::{Nest, Step, Touch};
use crate::plan::pointwise::transposed;
use crate::profile::Profile;
use std::collections::{BTreeSet, HashSet};

/// The neighbours of a block along the axis before the last, in the order in which they are tried.
const ROWS: [i64; 3] = [4, 2, 1];

/// The costs of a GPU. At 3.4 TB/s, 8 bytes take as long as 70 operations of an invocation. About half of that time is hidden.
const GPU: Costs = Costs { load: 8, stored: 40, registers: 160 };

/// The costs of a CPU, which loads vectors element by element.
const CPU: Costs = Costs { load: 28, stored: 80, registers: 256 };

/// The intermediates that are not inlined.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// The groups that compute some of them.
    groups: Vec<Group>,
    /// The intermediates that have a dispatch of their own.
    stored: Vec<StageId>,
}

impl Chosen {
    /// Returns the intermediates that have a dispatch of their own.
    pub(in crate::plan) fn stored(&self) -> &[StageId] {
        &self.stored
    }

    /// Returns the intermediates that are computed with their readers.
    pub(in crate::plan) fn placed(&self) -> impl Iterator<Item = StageId> + '_ {
        self.groups.iter().flat_map(|group| group.members.iter().copied())
    }

    /// Returns the group of a stage that stores its value.
    pub(in crate::plan) fn of(&self, host: StageId) -> Option<&Group> {
        self.groups.iter().find(|group| group.host == host)
    }
}

/// The stages that the planner may place.
pub(in crate::plan) struct Stages<'s> {
    /// True if a schedule leaves a stage's directives to the planner.
    pub(in crate::plan) is_open: &'s dyn Fn(StageId) -> bool,
    /// True if a schedule places an intermediate.
    pub(in crate::plan) is_placed: &'s dyn Fn(StageId) -> bool,
    /// Returns a program in which all pointwise intermediates are inlined, except the given ones.
    pub(in crate::plan) with: &'s dyn Fn(&[StageId]) -> Program,
}

/// Chooses among the stages of a program.
pub(in crate::plan) struct Choice<'c> {
    /// The program as written.
    pub(in crate::plan) program: &'c Program,
    /// The stages that may be placed.
    pub(in crate::plan) stages: Stages<'c>,
    /// The device.
    pub(in crate::plan) profile: &'c Profile,
    /// True if rows of unknown length are assumed to be long.
    pub(in crate::plan) any_length: bool,
}

impl Choice<'_> {
    /// Decides for each pointwise intermediate. The ones that no group computes are stored if inlining them costs more. Otherwise they are
    /// inlined one at a time, because that changes the reads of the others.
    pub(in crate::plan) fn chosen(&self) -> Chosen {
        let mut stored: Vec<StageId> = Vec::new();
        let mut shared = self.shared();
        loop {
            let kept: Vec<StageId> = shared.iter().chain(&stored).copied().collect();
            let kept = (self.stages.with)(&kept);
            let survey = Survey::of(&kept);
            let groups = self.groups(&survey, &shared);
            let members: HashSet<StageId> = groups.iter().flat_map(|group| group.members.iter().copied()).collect();
            let lost: Vec<StageId> = shared.iter().copied().filter(|stage| !members.contains(stage)).collect();
            let Some(last) = lost.last().copied().filter(|_| !groups.is_empty()) else {
                return Chosen { groups, stored };
            };
            let costly: Vec<StageId> = lost.into_iter().filter(|stage| self.is_costly(&survey, *stage, &groups)).collect();
            let judged = if costly.is_empty() { &[last] } else { costly.as_slice() };
            shared.retain(|stage| !judged.contains(stage));
            stored.extend(costly);
        }
    }

    /// True if inlining a stage into a block costs more than storing it. A stage that no block reads is judged as any other one.
    fn is_costly(&self, survey: &Survey<'_>, stage: StageId, groups: &[Group]) -> bool {
        let is_grouped = |reader: &&StageId| groups.iter().any(|group| group.host == **reader || group.members.contains(*reader));
        let places = survey.readers(stage).iter().filter(is_grouped).map(|reader| survey.places(*reader, stage)).max();
        let work = survey.work(stage, &BTreeSet::new());
        let Costs { load, stored, .. } = self.costs();
        places.is_some_and(|places| (places - 1) * work.arithmetic + load * (work.far - 1) > stored)
    }

    fn costs(&self) -> Costs {
        if self.profile.cpu { CPU } else { GPU }
    }

    /// Returns the pointwise intermediates that are more than a read, and whose elements are used several times.
    fn shared(&self) -> BTreeSet<StageId> {
        let program = self.program;
        let is_map = |stage: StageId| matches!(program.stages[stage].body, Body::Map(_)) && program.stages[stage].also.is_empty();
        let is_free = |stage: StageId| !program.is_result(stage) && (self.stages.is_open)(stage) && !(self.stages.is_placed)(stage);
        let open = program.stages.ids().filter(|stage| is_map(*stage) && is_free(*stage));
        let (mut shared, mut kept) = (BTreeSet::new(), program.stages.ids().collect::<Vec<_>>());
        let mut current = program.clone();
        for stage in open {
            let survey = Survey::of(&current);
            if survey.is_used_again(stage) && survey.work(stage, &BTreeSet::new()).parts() > 2 {
                shared.insert(stage);
            } else {
                kept.retain(|other| *other != stage);
                current = (self.stages.with)(&kept);
            }
        }
        shared
    }

    /// Forms the groups of a program in which the stages `shared` are not inlined, from the last result on.
    fn groups(&self, survey: &Survey<'_>, shared: &BTreeSet<StageId>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for host in survey.program.stages.ids().rev() {
            let is_member = groups.iter().any(|group| group.members.contains(&host));
            if !is_member && let Some(group) = self.group(survey, host, shared) {
                groups.push(group);
            }
        }
        groups
    }

    /// Forms the group of a stage, with the tallest block that fits.
    fn group(&self, survey: &Survey<'_>, host: StageId, shared: &BTreeSet<StageId>) -> Option<Group> {
        let program = survey.program;
        let stage = &program.stages[host];
        let is_read = program.is_result(host) || !survey.readers(host).is_empty();
        if !is_read || !(self.stages.is_open)(host) || items(program, stage).is_none() {
            return None;
        }
        let nest = Nest::of(program, host);
        let last = nest.parallel.last()?;
        let is_long = self.any_length && last.exact.is_none() || last.least >= long(self.profile);
        let is_stencil = nest.monoid.is_none() || (slides(&nest) && !self.profile.cpu);
        // The invocations of a CPU loop over rows.
        let has_rows =
            !self.profile.cpu || nest.parallel.len() > 1 && !is_short(program, nest.parallel[nest.parallel.len() - 2].axis);
        if !is_long || !is_stencil || !has_rows || nest.parallel.iter().any(|side| side.ragged) || transposed(&nest).is_some() {
            return None;
        }
        ROWS.iter().find_map(|rows| self.with_block(survey, &nest, block(survey, stage, &nest, *rows), shared))
    }

    /// Forms the group of a stage with the given block, if its elements fit in registers.
    fn with_block(&self, survey: &Survey<'_>, nest: &Nest, block: Vec<i64>, shared: &BTreeSet<StageId>) -> Option<Group> {
        let (program, host) = (survey.program, nest.stage);
        let mut regions = Regions::of(survey, host, &block, self.costs());
        // A window that is computed for each item of another one is planned with it.
        let producers = program.stages.ids().filter(|stage| *stage < host && nest.monoid.is_none());
        for stage in producers.rev().filter(|stage| shared.contains(stage) || self.is_window(program, *stage)) {
            regions.add(stage, shared);
        }
        let copies = regions.copies();
        let members: Vec<StageId> = regions.stages().filter(|stage| *stage != host).collect();
        let is_worth_it = regions.slides() || members.iter().any(|member| shared.contains(member));
        if !is_worth_it || !regions.fits(&copies, shared) {
            return None;
        }
        let copies: Vec<BufferId> = copies.into_iter().map(|(buffer, _)| buffer).collect();
        let is_narrow = copies.iter().any(|buffer| program.buffers[*buffer].dtype.bytes() < 4);
        let borders = if is_narrow { regions.borders() } else { BTreeSet::new() };
        Some(Group { host, members, block, copies, borders })
    }

    /// True if a stage is a reduction of few items that the planner may place.
    fn is_window(&self, program: &Program, stage: StageId) -> bool {
        let of = &program.stages[stage];
        let is_free =
            !program.is_result(stage) && of.also.is_empty() && !(self.stages.is_placed)(stage) && (self.stages.is_open)(stage);
        matches!(of.body, Body::Reduce { .. }) && is_free && items(program, of).is_some()
    }
}

/// Returns the length from which on rows are long.
pub(super) fn long(profile: &Profile) -> i64 {
    if profile.cpu { profile.subgroup.map_or(8, i64::from) * COLUMNS } else { THREADS_X }
}

/// True if a window moves along the last axis, and its other reads are the same for all elements.
fn slides(nest: &Nest) -> bool {
    let axes = 0..nest.parallel.len();
    let is_idle = |read: &Touch| axes.clone().all(|axis| !read.uses(axis));
    let moves = |read: &Touch| axes.end.checked_sub(1).is_some_and(|last| read.steps[last] == Step::Next);
    nest.all_reads().all(|read| is_idle(read) || moves(read))
}

/// Returns the elements of a block along each axis of a stage. A short axis is whole if an element of another tensor serves all of its values.
fn block(survey: &Survey<'_>, stage: &Stage, nest: &Nest, rows: i64) -> Vec<i64> {
    let program = survey.program;
    let [.., last] = nest.parallel.as_slice() else { return Vec::new() };
    let before = nest.parallel.len().checked_sub(2).map(|n| &nest.parallel[n]);
    let is_idle = |axis: AxisId| {
        let serves_all = |read: &Read| program.buffers[read.buffer].space.is_global() && !uses(program, read, axis);
        is_short(program, axis) && survey.reads(nest.stage).iter().any(serves_all)
    };
    let size = |axis: &AxisId| match () {
        () if *axis == last.axis => COLUMNS,
        () if is_idle(*axis) => program.exprs.as_int(program.axes[*axis].extent).unwrap_or(1),
        () if before.is_some_and(|side| side.axis == *axis) => rows,
        () => 1,
    };
    stage.axes.iter().map(size).collect()
}
