//! Schedules: their tree and text, what the generator believes of a nest, and the directives it writes.
//!
//! A schedule grows directive by directive, of those that are likely legal on the nest as it is then ([`nest`],
//! [`directives`]); then what is left over is placed ([`complete`]), mostly. Some are spoiled on purpose ([`illegal`]).

mod complete;
pub mod directives;
pub(crate) mod facts;
mod illegal;
pub mod nest;
pub mod tree;

use crate::kernel::tree::{GenericKind, Kernel, Role, Stage};
use fastrand::Rng;
use nest::Nest;
use tilewright_dsl::profile::Profile;
use tilewright_launch::DType;
use tree::{Block, Schedule};

/// Makes a schedule for a kernel, whose dtype generic is `generic`.
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
    let careful = random.u8(..100) < 94;
    let results = kernel.stages.iter().filter(|s| s.role != Role::Intermediate).count();
    for stage in &kernel.stages {
        // Pointwise intermediates have no nest.
        let planned = stage.role != Role::Intermediate || stage.reduction().is_some();
        if !planned && random.u8(..100) < 97 {
            continue;
        }
        let share = if kernel.stages.len() == 1 { 4 } else { 30 };
        if random.u8(..100) < share {
            continue;
        }
        let mut nest = Nest::new(kernel, stage, &schedule.facts, profile, generic);
        let directives = directives_of(&mut nest, careful, random);
        let outside = results == 1 && stage.role != Role::Intermediate && random.u8(..100) < 85;
        let stages = if outside { Vec::new() } else { vec![stage.name.clone()] };
        schedule.blocks.push(Block { stages, directives });
    }
    share_blocks(kernel, &mut schedule, random);
    if random.u8(..100) < 12 {
        illegal::spoil(&mut schedule, random);
    }
    schedule
}

/// A stage's directives.
fn directives_of(nest: &mut Nest<'_>, careful: bool, random: &mut Rng) -> Vec<tree::Directive> {
    let mut made = Vec::new();
    let count = random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8]).unwrap_or(3);
    for _ in 0..count {
        made.extend(directives::propose(nest, random));
    }
    if careful {
        made.extend(complete::complete(nest, random));
    }
    made
}

/// Sometimes two stages with the same axes have one block.
fn share_blocks(kernel: &Kernel, schedule: &mut Schedule, random: &mut Rng) {
    let find = |name: &str| kernel.stages.iter().find(|s| s.name == name);
    let alike = |a: &Stage, b: &Stage| a.axes == b.axes && a.shape == b.shape && a.reduction() == b.reduction();
    if schedule.blocks.len() < 2 || random.u8(..100) >= 30 {
        return;
    }
    let names = |b: &Block| b.stages.first().and_then(|n| find(n)).cloned();
    let (Some(first), Some(second)) = (names(&schedule.blocks[0]), names(&schedule.blocks[1])) else { return };
    if alike(&first, &second) {
        let taken = schedule.blocks.remove(1);
        schedule.blocks[0].stages.extend(taken.stages);
    }
}
