//! Executes kernels. Each thread runs one workgroup at a time, and each operation in all lanes at once.
//!
//! Lanes that branch differently wait with the number of their next block. The lanes at the lowest block run first, so
//! that branches join as early as possible. Between barriers, the lanes of a workgroup run in lockstep, which no device
//! guarantees. Code that depends on this is still found, because memory records which invocation accessed an element since
//! which barrier.

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

/// The state of a thread that runs workgroups.
pub(crate) struct Worker<'a> {
    code: &'a Code,
    launch: &'a Prepared<'a>,
    /// The file.
    words: Vec<u32>,
    /// 1 for each active lane.
    mask: Vec<u32>,
    active: u32,
    /// The current block.
    at: u32,
    /// Waiting lanes, by block.
    waiting: Vec<(u32, Vec<u32>)>,
    /// Masks that are not in use.
    spare: Vec<Vec<u32>>,
    shared: Shared,
    shared_clock: Clock,
    global_clock: Clock,
    /// The offset of each lane in the current access.
    offsets: Vec<i64>,
    /// The workgroup's number, and its place in the grid.
    group: u64,
    place: [u32; 3],
    piece: u32,
    fast: bool,
    /// The number of instructions of the module that invocations have executed.
    pub(crate) executed: u64,
    /// The number of instructions that the current workgroup has executed. An instruction that several lanes execute
    /// together counts once.
    steps: u64,
    /// The value of `executed` at which the clock is read next.
    look: u64,
}

/// The number of instructions between reads of the clock, which take less than a millisecond.
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

    /// Returns the first active lane.
    fn first(&self) -> u32 {
        self.mask.iter().position(|m| *m != 0).unwrap_or(0) as u32
    }

    /// Returns a lane's `LocalInvocationId`.
    fn local(&self, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.code.local;
        [lane % x, lane / x % y, lane / (x * y)]
    }
}
