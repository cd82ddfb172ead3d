//! Active lanes, and barriers.

use super::{Numbers, Result, Worker};
use crate::code::{Input, Order};
use crate::fault::FaultKind;
use crate::memory::clock::Clock;
use spirv::BuiltIn;

impl<N: Numbers> Worker<'_, N> {
    /// Starts a workgroup: all of its lanes are active, and no register is written.
    pub(super) fn begin(&mut self) {
        self.numbers.begin();
        self.mask.fill(1);
        self.active = self.code.lanes;
        self.at = 0;
        let waiting = self.waiting.drain(..).map(|(_, mask)| mask);
        self.spare.extend(waiting);
        self.shared_clock.begin();
        self.global_clock.begin();
        for range in &self.code.flags {
            self.words[range.clone()].fill(N::Word::default());
        }
        for n in 0..self.code.inputs.len() {
            self.input(self.code.inputs[n]);
        }
    }

    fn input(&mut self, input: Input) {
        let (lanes, size) = (self.code.lanes, self.launch.subgroup);
        let row = if input.lanes { lanes } else { 1 };
        for plane in 0..input.planes {
            let axis = plane as usize % 3;
            for lane in 0..row {
                let word = match input.builtin {
                    BuiltIn::WorkgroupId => self.place[axis],
                    BuiltIn::NumWorkgroups => self.launch.pieces[self.piece as usize].groups[axis],
                    BuiltIn::WorkgroupSize => self.code.local[axis],
                    BuiltIn::LocalInvocationId => self.local(lane)[axis],
                    BuiltIn::GlobalInvocationId => {
                        self.place[axis].wrapping_mul(self.code.local[axis]).wrapping_add(self.local(lane)[axis])
                    }
                    BuiltIn::LocalInvocationIndex => lane,
                    BuiltIn::SubgroupSize => size,
                    BuiltIn::NumSubgroups => lanes.div_ceil(size),
                    BuiltIn::SubgroupId => lane / size,
                    BuiltIn::SubgroupLocalInvocationId => lane % size,
                    // Kernels with any other built-in were refused when they were created.
                    _ => 0,
                };
                self.words[(input.slot + plane * row + lane) as usize] = N::word(word);
            }
        }
    }

    /// Moves all active lanes to a block.
    #[inline]
    pub(super) fn go(&mut self, to: u32) {
        if self.waiting.iter().all(|(block, _)| *block > to) {
            self.at = to;
            return;
        }
        let mask = std::mem::take(&mut self.mask);
        self.wait(to, mask);
        self.next();
    }

    /// Makes lanes wait at a block, together with those that already wait there.
    fn wait(&mut self, at: u32, mask: Vec<u32>) {
        match self.waiting.iter_mut().find(|(block, _)| *block == at) {
            Some((_, others)) => {
                others.iter_mut().zip(&mask).for_each(|(a, b)| *a |= b);
                self.spare.push(mask);
            }
            None => self.waiting.push((at, mask)),
        }
    }

    /// Activates the lanes at the lowest block. Returns false if no lanes are waiting.
    pub(super) fn next(&mut self) -> bool {
        let lowest = self.waiting.iter().enumerate().min_by_key(|(_, (block, _))| *block).map(|(n, _)| n);
        let Some(lowest) = lowest else { return false };
        let (at, mask) = self.waiting.swap_remove(lowest);
        let before = std::mem::replace(&mut self.mask, mask);
        if !before.is_empty() {
            self.spare.push(before);
        }
        self.active = self.mask.iter().sum();
        self.at = at;
        true
    }

    /// Moves lanes to one of two blocks.
    pub(super) fn divide(&mut self, condition: u32, yes: u32, no: u32) {
        let lanes = self.mask.len();
        let mut taken = self.spare.pop().unwrap_or_default();
        taken.clear();
        self.look(condition, true);
        let (numbers, conditions) = (&self.numbers, &self.words[condition as usize..condition as usize + lanes]);
        taken.extend(self.mask.iter().zip(conditions).map(|(m, c)| m & numbers.integer(*c)));
        let count: u32 = taken.iter().sum();
        if count == 0 || count == self.active {
            self.spare.push(taken);
            return self.go(if count == 0 { no } else { yes });
        }
        self.mask.iter_mut().zip(&taken).for_each(|(m, t)| *m &= !t);
        let rest = std::mem::take(&mut self.mask);
        self.wait(yes, taken);
        self.wait(no, rest);
        self.next();
    }

    pub(super) fn switch(&mut self, n: u32) {
        let code = self.code;
        let switch = &code.switches[n as usize];
        let target = |word: u32| switch.cases.iter().find(|(value, _)| *value == word).map_or(switch.default, |(_, to)| *to);
        self.look(switch.selector, switch.lanes);
        if !switch.lanes {
            return self.go(target(self.integer(switch.selector)));
        }
        let mut rest = std::mem::take(&mut self.mask);
        while let Some(first) = rest.iter().position(|m| *m != 0) {
            let to = target(self.integer(switch.selector + first as u32));
            let mut taken = self.spare.pop().unwrap_or_default();
            taken.clear();
            taken.resize(rest.len(), 0);
            for (lane, left) in rest.iter_mut().enumerate() {
                if *left != 0 && target(self.integer(switch.selector + lane as u32)) == to {
                    (*left, taken[lane]) = (0, 1);
                }
            }
            self.wait(to, taken);
        }
        self.spare.push(rest);
        self.next();
    }

    /// Checks that all invocations that must reach a barrier do so. Then orders their accesses.
    pub(super) fn barrier(&mut self, n: u32) -> Result {
        let barrier = self.code.barriers[n as usize];
        let (lanes, size) = (self.code.lanes, self.launch.subgroup);
        let team = if barrier.subgroup { size } else { lanes };
        let mut arrived = Vec::new();
        if self.active != lanes || barrier.subgroup {
            for (number, members) in (0..).zip(self.mask.chunks(team as usize)) {
                let reached: u32 = members.iter().sum();
                if reached == members.len() as u32 {
                    arrived.push(number);
                } else if reached > 0 {
                    let of = members.len() as u32;
                    let find = |wanted: u32| number * team + members.iter().position(|m| *m == wanted).unwrap_or(0) as u32;
                    let (one, absent) = (find(1), self.local(find(0)));
                    let kind = FaultKind::Barrier { absent, reached, of, subgroup: barrier.subgroup };
                    return self.fault(one, barrier.word, kind);
                }
            }
        }
        order(&mut self.shared_clock, barrier.shared, &arrived, lanes.div_ceil(size));
        order(&mut self.global_clock, barrier.global, &arrived, lanes.div_ceil(size));
        Ok(())
    }
}

/// Informs a clock of a barrier. `arrived` are the subgroups that have reached it. If it is empty, all have.
fn order(clock: &mut Clock, order: Order, arrived: &[u32], subgroups: u32) {
    match order {
        Order::Nobody => {}
        Order::Workgroup => clock.barrier(),
        Order::Subgroup if arrived.is_empty() => (0..subgroups).for_each(|s| clock.subgroup_barrier(s)),
        Order::Subgroup => arrived.iter().for_each(|s| clock.subgroup_barrier(*s)),
    }
}
