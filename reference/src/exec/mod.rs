//! Running: one workgroup at a time on each thread, each operation in all of its lanes at once.
//!
//! Lanes that go different ways are put aside with the block they wait at; those at the lowest block run first, so that
//! ways meet again as early as they can. Between barriers the lanes of a workgroup go in step, which no device promises:
//! what depends on that is found not by luck of the order but by the memory, which remembers who accessed what since when.

mod access;
mod atomic;
mod control;
mod faults;
mod group;
mod lanes;
mod local;
mod maths;
mod matrix;
mod partial;
mod product;
mod tensor;

use crate::code::{Code, End, Op};
use crate::fault::{Fault, FaultKind};
use crate::memory::clock::Clock;
use crate::memory::shared::Shared;
use crate::run::{Prepared, Stop};
use std::time::Instant;

/// What one thread needs to run workgroups.
pub(crate) struct Worker<'a> {
    code: &'a Code,
    launch: &'a Prepared<'a>,
    /// The file.
    words: Vec<u32>,
    /// 1 for each lane that runs.
    mask: Vec<u32>,
    active: u32,
    /// The block that runs.
    at: u32,
    /// Lanes that wait, by block.
    waiting: Vec<(u32, Vec<u32>)>,
    /// Masks that are not in use.
    spare: Vec<Vec<u32>>,
    shared: Shared,
    shared_clock: Clock,
    global_clock: Clock,
    /// Each lane's offset in the access at hand.
    offsets: Vec<i64>,
    /// The workgroup's number, and where it is.
    group: u64,
    place: [u32; 3],
    piece: u32,
    fast: bool,
    /// Instructions of the module that invocations ran.
    pub(crate) executed: u64,
    /// Those that the workgroup's ran so far; what several run together counts once.
    steps: u64,
    /// How many are executed when the clock is looked at next.
    look: u64,
}

/// Instructions between looks at the clock: less than a millisecond.
const LOOK: u64 = 1 << 18;

type Result<T = (), E = Box<Fault>> = std::result::Result<T, E>;

impl<'a> Worker<'a> {
    pub(crate) fn new(code: &'a Code, launch: &'a Prepared<'a>) -> Worker<'a> {
        let lanes = code.lanes;
        Worker {
            code,
            launch,
            words: code.image.clone(),
            mask: vec![1; lanes as usize],
            active: lanes,
            at: 0,
            waiting: Vec::new(),
            spare: Vec::new(),
            shared: Shared::new(code.shared, !code.atomics.is_empty()),
            shared_clock: Clock::new(lanes, launch.subgroup),
            global_clock: Clock::new(lanes, launch.subgroup),
            offsets: vec![0; lanes as usize],
            group: 0,
            place: [0; 3],
            piece: 0,
            fast: maths::has_fast(),
            executed: 0,
            steps: 0,
            look: 0,
        }
    }

    /// Runs a workgroup from beginning to end.
    pub(crate) fn run(&mut self, group: u64, piece: u32, place: [u32; 3]) -> Result<(), Stop> {
        (self.group, self.piece, self.place, self.steps) = (group, piece, place, 0);
        self.begin();
        loop {
            let block = self.code.blocks[self.at as usize];
            self.executed += u64::from(block.count) * u64::from(self.active);
            self.steps += u64::from(block.count);
            if self.steps > self.launch.budget {
                let kind = FaultKind::Endless { instructions: self.launch.budget };
                let word = self.code.blocks[self.at as usize].word;
                return Ok(self.fault(self.first(), word, kind)?);
            }
            if self.executed >= self.look {
                self.look = self.executed + LOOK;
                if self.launch.deadline.is_some_and(|end| Instant::now() >= end) {
                    return Err(Stop::Late);
                }
            }
            for n in block.first..block.last {
                self.op(self.code.ops[n as usize])?;
            }
            match block.end {
                End::Jump(to) => self.go(to),
                End::Branch { condition, yes, no } => {
                    let to = if self.words[condition as usize] != 0 { yes } else { no };
                    self.go(to);
                }
                End::Divide { condition, yes, no } => self.divide(condition, yes, no),
                End::Switch(n) => self.switch(n),
                End::Return => {
                    if !self.next() {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn op(&mut self, op: Op) -> Result {
        match op {
            Op::Unary { op, dst, a, len } => maths::unary(self.fast, &mut self.words, op, dst, a, len),
            Op::Binary { op, dst, a, b, len } => maths::binary(self.fast, &mut self.words, op, dst, [a, b], len),
            Op::Ternary { op, dst, a, b, c, len } => maths::ternary(self.fast, &mut self.words, op, dst, [a, b, c], len),
            Op::Copy { dst, src, len } => lanes::copy(&mut self.words, dst, src, len),
            Op::Broadcast { dst, src, planes } => lanes::broadcast(&mut self.words, dst, src, planes, self.code.lanes),
            Op::Masked { dst, src, planes } => lanes::masked(&mut self.words, &self.mask, dst, src, planes),
            Op::Checked(n) => return self.checked(n),
            Op::CheckWritten(n) => return self.check_written(n),
            Op::Load(n) => return self.load(n),
            Op::Store(n) => return self.store(n),
            Op::Atomic(n) => return self.atomic(n),
            Op::Group(n) => return self.across(n),
            Op::Barrier(n) => return self.barrier(n),
            Op::Matrix(n) => return self.matrix(n),
            Op::Undefined(n) => {
                let (what, word) = &self.code.undefined[n as usize];
                return self.fault(self.first(), *word, FaultKind::Undefined { what: what.clone() });
            }
        }
        Ok(())
    }

    /// The first lane that runs.
    fn first(&self) -> u32 {
        self.mask.iter().position(|m| *m != 0).unwrap_or(0) as u32
    }

    /// A lane's `LocalInvocationId`.
    fn local(&self, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.code.local;
        [lane % x, lane / x % y, lane / (x * y)]
    }
}
