//! Schedules: their tree and text, the generator's model of a nest, and the directives that it writes.
//!
//! A schedule grows stage by stage, readers before the stages that they read, so that a stage can be placed in the nest of its
//! readers ([`flow`] knows them). Products of matrices mostly use matrix units, if the profile has them ([`mma`]); if their rows
//! are reduced, mostly the whole kernel does ([`rows`]). Other stages' directives are random, or come in phases as people write
//! them ([`phases`]). They are chosen from those that are probably legal on the current nest ([`nest`], [`places`],
//! [`directives`]). Then the remaining axes are mostly placed ([`complete`]), and copies and stages computed within the nest may
//! get a block ([`blocks`]). Some schedules are spoiled on purpose ([`illegal`]).

mod blocks;
mod clone;
mod complete;
mod decompose;
pub mod directives;
mod dot;
pub(crate) mod facts;
pub mod flow;
mod fragment;
mod illegal;
mod mma;
pub mod nest;
mod online;
mod owned;
mod pack;
mod phases;
pub mod places;
mod rows;
mod statements;
pub mod tree;

use crate::kernel::tree::{GenericKind, Kernel, Role, Stage};
use fastrand::Rng;
use flow::Flow;
pub(crate) use mma::Product;
use nest::Nest;
use std::collections::BTreeSet;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, Feature};
use tree::{Block, Directive, Schedule};

/// Generates a schedule for a kernel, whose dtype generic is `generic`.
pub fn generate(kernel: &Kernel, generic: DType, profile: &Profile, random: &mut Rng) -> Schedule {
    let mut schedule = Schedule { facts: facts::facts(kernel, random), ..Schedule::default() };
    for g in &kernel.generics {
        match &g.kind {
            GenericKind::Dtype(_) => schedule.bindings.push((g.name.clone(), generic.to_string())),
            GenericKind::Parameter { default, value } if default != value => {
                schedule.bindings.push((g.name.clone(), value.to_string()));
            }
            _ => {}
        }
    }
    let whole = kernel;
    // The planner writes the directives of a tenth. The choice leaves the other schedules as they are.
    if random.clone().u8(..10) == 0 {
        return finished(whole, schedule, random);
    }
    if random.u8(..100) < 90
        && let Some((blocks, facts)) = rows::schedule(kernel, generic, profile, schedule.facts.clone(), random)
    {
        (schedule.blocks, schedule.facts) = (blocks, facts);
        return finished(whole, schedule, random);
    }
    let mut kernel = kernel.clone();
    // Uses a copy of the random numbers, so that the other cases stay as they were.
    let cloned = if random.clone().u8(..100) < 30 { clone::clone(&mut kernel, random) } else { None };
    let decomposed = decompose::decompose(&mut kernel, &mut schedule.facts, random);
    let online = online::decompose(&mut kernel, &mut schedule.facts, random);
    let packs = pack::packs(&mut kernel, random);
    let (kernel, mut stored) = (&kernel, packs.stored);
    stored.extend(decomposed.iter().flat_map(|d| d.stored.iter().cloned()));
    let placed = decomposed.as_ref().and_then(|d| d.placed.as_ref());
    let inlined = |s: &&Stage| !stored.contains(&s.name) && placed != Some(&s.name);
    let pointwise = flow::pointwise(kernel).filter(inlined).filter(|_| random.u8(..100) < 45);
    let mut inlined: BTreeSet<String> = pointwise.map(|s| s.name.clone()).collect();
    let precomputed = match random.u8(..100) {
        0..60 => statements::precomputed(kernel, &Flow::new(kernel, &inlined, generic), &stored, random),
        _ => Vec::new(),
    };
    inlined.retain(|name| !precomputed.contains(name));
    stored.extend(precomputed.iter().cloned());
    let mut flow = Flow::new(kernel, &inlined, generic);
    flow.stored.retain(|(name, _)| !stored.contains(name));
    let mut maker = Maker { kernel, generic, profile, flow: &flow, stored, placed: BTreeSet::new(), schedule };
    for stage in kernel.stages.iter().rev() {
        maker.stage(stage, inlined.contains(&stage.name), random);
    }
    let mut schedule = maker.schedule;
    share_blocks(kernel, &mut schedule, random);
    decomposed.iter().for_each(|d| d.name_results(&mut schedule.blocks));
    let decomposed = decomposed.into_iter().map(|d| d.directive).chain(online);
    let rewrites = cloned
        .into_iter()
        .chain(decomposed)
        .chain(packs.directives)
        .chain(precomputed.iter().map(|name| directives::of("precompute", name)));
    let rewrites = rewrites.map(|d| Block { stages: Vec::new(), directives: vec![d] });
    schedule.blocks.splice(0..0, rewrites);
    finished(whole, schedule, random)
}

/// Adds statements about the whole schedule, or an error.
fn finished(kernel: &Kernel, mut schedule: Schedule, random: &mut Rng) -> Schedule {
    statements::add(kernel, &mut schedule, random);
    count_down(&mut schedule, random);
    if random.u8(..100) < 12 {
        illegal::spoil(&mut schedule, random);
    }
    schedule
}

/// Sometimes counts workgroups downwards.
fn count_down(schedule: &mut Schedule, random: &mut Rng) {
    let targets = schedule.blocks.iter_mut().flat_map(|b| &mut b.directives).filter_map(|d| d.target.as_mut());
    for target in targets.filter(|target| target.level == "workgroup") {
        for slot in &mut target.slots {
            *slot = match *slot {
                "x" if random.u8(..100) < 6 => "x down",
                "y" if random.u8(..100) < 6 => "y down",
                "z" if random.u8(..100) < 6 => "z down",
                other => other,
            };
        }
    }
}

/// A schedule in the making.
struct Maker<'a> {
    kernel: &'a Kernel,
    generic: DType,
    profile: &'a Profile,
    flow: &'a Flow,
    /// Stages that are placed by other directives: they are packed, or precomputed.
    stored: BTreeSet<String>,
    /// Stages that are computed within others.
    placed: BTreeSet<String>,
    schedule: Schedule,
}

impl Maker<'_> {
    /// Places a stage, and gives it its directives.
    fn stage(&mut self, stage: &Stage, inlined: bool, random: &mut Rng) {
        if self.placed.contains(&stage.name) {
            return;
        }
        let pointwise = stage.reduction().is_none();
        if stage.role == Role::Intermediate && !self.stored.contains(&stage.name) {
            match (inlined, pointwise) {
                (true, _) if random.u8(..100) < 40 => self.place("inline", stage),
                (false, true) => self.place("root", stage),
                (false, false) if random.u8(..100) < 15 => self.place("root", stage),
                _ => {}
            }
        }
        // An inlined stage does not have a nest.
        if inlined && random.u8(..100) < 98 {
            return;
        }
        let share = if self.kernel.stages.len() == 1 { 4 } else { 20 };
        if random.u8(..100) < share {
            return;
        }
        if random.u8(..100) < 70 && self.joins(stage, random) {
            return;
        }
        if random.u8(..100) < 85 && (self.product(stage, random).is_some() || self.fragment(stage, random).is_some()) {
            return;
        }
        let mut nest = Nest::new(self.kernel, stage, &self.schedule.facts, self.profile, self.flow, self.generic);
        let careful = random.u8(..100) < 94;
        let directives = match owned::blocks(&mut nest, stage, random) {
            Some(made) => made.into_iter().chain(complete::complete(&mut nest, random)).collect(),
            None => directives_of(&mut nest, careful, random),
        };
        let results = self.kernel.stages.iter().filter(|s| s.role != Role::Intermediate).count();
        let outside = results == 1 && stage.role != Role::Intermediate && random.u8(..100) < 85;
        let stages = if outside { Vec::new() } else { vec![stage.name.clone()] };
        self.schedule.blocks.push(Block { stages, directives });
        self.within(&nest, random);
        for mut part in std::mem::take(&mut nest.parts) {
            if random.u8(..100) < 88 {
                let directives = directives_of(&mut part, careful, random);
                self.schedule.blocks.push(Block { stages: vec![part.stage.clone()], directives });
                self.within(&part, random);
            }
        }
    }

    /// Puts a stage into the block of another that reads the same tensors in the same loops, if there is one.
    fn joins(&mut self, stage: &Stage, random: &mut Rng) -> bool {
        let tensors = |name: &str| self.flow.reads(name).into_iter().map(|seen| seen.tensor).collect::<BTreeSet<_>>();
        let find = |name: &str| self.kernel.stages.iter().find(|s| s.name == name);
        let is_twin = |other: &Stage| is_alike(stage, other) && tensors(&other.name) == tensors(&stage.name);
        let of_one = |block: &Block| match block.stages.as_slice() {
            [name] => find(name).is_some_and(is_twin) && block.directives.iter().all(|d| is_of_any(d, name)),
            _ => false,
        };
        let Some(block) = self.schedule.blocks.iter_mut().find(|block| of_one(block)) else { return false };
        let at = random.usize(..=block.stages.len());
        block.stages.insert(at, stage.name.clone());
        true
    }

    /// Generates the directives of a product on matrix units, or by dot products.
    fn product(&mut self, stage: &Stage, random: &mut Rng) -> Option<()> {
        let product = Product::of(self.kernel, stage, self.generic)?;
        // Sums of integers are also accumulated in f32, without matrix units. Uses a copy of the random numbers, so that the rest of the case
        // stays the same as before.
        if stage.ty.dtype(self.generic).is_int() && random.clone().u8(..100) < 40 {
            return None;
        }
        let facts = self.schedule.facts.clone();
        let share = if self.profile.has(Feature::IntegerDotProduct) { 50 } else { 3 };
        let (blocks, facts) = match product.is_of_words() && random.u8(..100) < share {
            true => dot::schedule(self.kernel, stage, &product, facts, random)?,
            false => mma::schedule(self.kernel, stage, &product, self.profile, facts, random)?,
        };
        self.schedule.blocks.extend(blocks);
        self.schedule.facts = facts;
        Some(())
    }

    /// Generates the directives of a stage that reads a product on matrix units, and of that product.
    fn fragment(&mut self, host: &Stage, random: &mut Rng) -> Option<()> {
        let read = |stage: &&Stage| {
            let is_free =
                stage.role == Role::Intermediate && !self.stored.contains(&stage.name) && !self.placed.contains(&stage.name);
            is_free && self.flow.readers(&stage.name) == [host.name.as_str()]
        };
        let found = self.kernel.stages.iter().filter(read).find_map(|s| Some((s, Product::of(self.kernel, s, self.generic)?)));
        let (stage, product) = found.filter(|_| host.reduction().is_none())?;
        let facts = self.schedule.facts.clone();
        let (blocks, facts) = fragment::schedule(self.kernel, host, stage, &product, self.profile, facts, random)?;
        self.schedule.blocks.extend(blocks);
        self.schedule.facts = facts;
        self.placed.insert(stage.name.clone());
        Some(())
    }

    /// Adds a directive outside of blocks, at a random place among them.
    fn place(&mut self, name: &'static str, stage: &Stage) {
        let directive = directives::of(name, &stage.name);
        self.schedule.blocks.push(Block { stages: Vec::new(), directives: vec![directive] });
    }

    /// Generates the blocks of copies and stages within a nest.
    fn within(&mut self, nest: &Nest<'_>, random: &mut Rng) {
        for copied in &nest.copies {
            if random.u8(..100) < 30 {
                self.schedule.blocks.extend(blocks::of_copy(nest, copied, random));
            }
        }
        for hosted in &nest.hosted {
            if hosted.part.is_some() {
                if random.bool() {
                    self.schedule.blocks.extend(blocks::of_part(nest, hosted, random));
                }
                continue;
            }
            self.placed.insert(hosted.name.clone());
            let Some(stage) = self.kernel.stages.iter().find(|s| s.name == hosted.name) else { continue };
            if random.u8(..100) < 50 {
                let facts = self.schedule.facts.clone();
                self.schedule.blocks.extend(blocks::of_hosted(self.kernel, stage, (nest, hosted), &facts, self.generic, random));
            }
        }
    }
}

/// Generates a stage's directives.
fn directives_of(nest: &mut Nest<'_>, careful: bool, random: &mut Rng) -> Vec<Directive> {
    let mut made = directives::first(nest, random);
    if random.u8(..100) < 55 {
        made.extend(phases::phases(nest, random));
    } else {
        let count = random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8]).unwrap_or(3);
        for _ in 0..count {
            made.extend(directives::propose(nest, random));
        }
    }
    // The planner completes some. The choice leaves the other schedules as they are.
    match careful {
        true if random.clone().u8(..16) == 0 => made.push(Directive::new("default", [])),
        true => made.extend(complete::complete(nest, random)),
        false => {}
    }
    made
}

/// Returns true if two stages have the same loops.
fn is_alike(a: &Stage, b: &Stage) -> bool {
    let ranges = |stage: &Stage| stage.reduction().map(|(_, ranges)| ranges.to_vec());
    a.axes == b.axes && a.shape == b.shape && ranges(a) == ranges(b)
}

/// Returns true if a directive of a stage's block makes sense for another stage: it neither copies its result nor computes an
/// intermediate that only one of them can host.
fn is_of_any(directive: &Directive, stage: &str) -> bool {
    let named = |name: &str| directive.arguments.first() == Some(&tree::Argument::Name(name.to_owned()));
    match directive.name {
        "promote" => !named(stage),
        "compute_at" => named(&format!("{stage}_part")),
        "scatter" => false,
        _ => true,
    }
}

/// Sometimes gives two stages with the same axes one block.
fn share_blocks(kernel: &Kernel, schedule: &mut Schedule, random: &mut Rng) {
    let find = |name: &str| kernel.stages.iter().find(|s| s.name == name);
    if schedule.blocks.len() < 2 || random.u8(..100) >= 30 {
        return;
    }
    let names = |b: &Block| b.stages.first().and_then(|n| find(n)).cloned();
    let (Some(first), Some(second)) = (names(&schedule.blocks[0]), names(&schedule.blocks[1])) else { return };
    // Each stage needs its own copies.
    let own = |b: &Block| b.directives.iter().any(|d| ["promote", "compute_at", "rfactor", "scatter"].contains(&d.name));
    if is_alike(&first, &second) && !schedule.blocks[..2].iter().any(own) {
        let taken = schedule.blocks.remove(1);
        schedule.blocks[0].stages.extend(taken.stages);
    }
}
