//! Executes kernels. Each thread runs one workgroup at a time, and each operation in all lanes at once.
//!
//! Lanes that branch differently wait with the number of their next block. The lanes at the lowest block run first, so
//! that branches join as early as possible. Between barriers, the lanes of a workgroup run in lockstep, which no device
//! guarantees. Code that depends on this is still found, because memory records which invocation accessed an element since
//! which barrier.

mod access;
mod atomic;
mod control;
mod exact;
mod faults;
mod group;
mod lanes;
mod local;
mod maths;
mod matrix;
mod numbers;
mod partial;
mod product;
mod tensor;

pub(crate) use exact::{Cell, Exact};
pub(crate) use numbers::{Numbers, Rounded};

use crate::code::{Call, Code, End, Op};
use crate::fault::{Fault, FaultKind};
use crate::memory::clock::Clock;
use crate::memory::shared::Shared;
use crate::run::{Prepared, Stop};
use std::time::Instant;

/// The state of a thread that runs workgroups.
pub(crate) struct Worker<'a, N: Numbers> {
    numbers: N,
    code: &'a Code,
    launch: &'a Prepared<'a>,
    /// The file.
    words: Vec<N::Word>,
    /// 1 for each active lane.
    mask: Vec<u32>,
    active: u32,
    /// The current block.
    at: u32,
    /// Waiting lanes, by block.
    waiting: Vec<(u32, Vec<u32>)>,
    /// Masks that are not in use.
    spare: Vec<Vec<u32>>,
    shared: Shared<N::Word>,
    shared_clock: Clock,
    global_clock: Clock,
    /// The offset of each lane in the current access.
    offsets: Vec<i64>,
    /// The workgroup's number, and its place in the grid.
    group: u64,
    place: [u32; 3],
    piece: u32,
    /// True for each block that an invocation ran.
    pub(crate) ran: Vec<bool>,
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

impl<'a, N: Numbers> Worker<'a, N> {
    pub(crate) fn new(code: &'a Code, launch: &'a Prepared<'a>, numbers: N) -> Worker<'a, N> {
        let lanes = code.lanes;
        Worker {
            words: numbers.image(code),
            numbers,
            code,
            launch,
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
            ran: vec![false; code.blocks.len()],
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
            self.ran[self.at as usize] = true;
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
            self.ops(block.first, block.last)?;
            match block.end {
                End::Jump(to) => self.go(to),
                End::Branch { condition, yes, no } => {
                    self.look(condition, false);
                    let to = if self.integer(condition) != 0 { yes } else { no };
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

    /// Runs the operations of a block.
    #[inline]
    fn ops(&mut self, first: u32, last: u32) -> Result {
        let mut n = first;
        while n < last {
            let op = self.code.ops[n as usize];
            n += 1;
            match op {
                Op::Call(call) => n += self.call(call),
                op => self.op(op)?,
            }
        }
        Ok(())
    }

    /// Computes a function of the module, unless its instructions are to be run. Returns the number of operations to skip.
    fn call(&mut self, n: u32) -> u32 {
        let Call { name, dst, operands, len, count } = &self.code.calls[n as usize];
        if self.numbers.function(&mut self.words, name, *dst, operands, *len) { *count } else { 0 }
    }

    fn op(&mut self, op: Op) -> Result {
        match op {
            Op::Unary { op, dst, a, len } => self.numbers.unary(&mut self.words, op, dst, a, len),
            Op::Binary { op, dst, a, b, len } => self.numbers.binary(&mut self.words, op, dst, [a, b], len),
            Op::Ternary { op, dst, a, b, c, len } => self.numbers.ternary(&mut self.words, op, dst, [a, b, c], len),
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
            // Its instructions follow.
            Op::Call(_) => {}
            Op::Undefined(n) => {
                let (what, word) = &self.code.undefined[n as usize];
                return self.fault(self.first(), *word, FaultKind::Undefined { what: what.clone() });
            }
        }
        Ok(())
    }

    /// Returns an integer of the file.
    #[inline(always)]
    fn integer(&self, at: u32) -> u32 {
        self.numbers.integer(self.words[at as usize])
    }

    /// Informs the number system of a decision by words: a row of lanes, or one word.
    #[inline(always)]
    fn look(&self, at: u32, lanes: bool) {
        if N::IS_EXACT {
            let row = if lanes { self.code.lanes } else { 1 };
            let active = |lane: &u32| !lanes || self.mask[*lane as usize] != 0;
            (0..row).filter(active).for_each(|lane| self.numbers.look(self.words[(at + lane) as usize]));
        }
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
