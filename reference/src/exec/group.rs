//! Operations over the active lanes of each subgroup.

use super::Worker;
use crate::code::{Combine, Group, GroupOp, Spread};
use crate::half;

impl Worker<'_> {
    pub(super) fn across(&mut self, n: u32) {
        let group = self.code.groups[n as usize];
        let lanes = self.code.lanes;
        let size = self.launch.subgroup;
        for plane in 0..group.planes {
            let at = Group { dst: group.dst + plane * lanes, a: group.a + plane * lanes, ..group };
            for first in (0..lanes).step_by(size as usize) {
                self.in_subgroup(&at, first, (first + size).min(lanes));
            }
        }
    }

    /// The lanes from `first` on to before `end` are a subgroup.
    fn in_subgroup(&mut self, group: &Group, first: u32, end: u32) {
        let mask = std::mem::take(&mut self.mask);
        let active = || (first..end).filter(|lane| mask[*lane as usize] != 0);
        let word = |words: &[u32], slot: u32, lane: u32| words[(slot + lane) as usize];
        match group.op {
            GroupOp::Combine(combine, spread) => self.combine(group, combine, spread, &mut active()),
            GroupOp::Elect => {
                let one = active().next();
                active().for_each(|lane| self.words[(group.dst + lane) as usize] = u32::from(Some(lane) == one));
            }
            GroupOp::All | GroupOp::Any => {
                let mut tests = active().map(|lane| word(&self.words, group.a, lane) != 0);
                let result = u32::from(if group.op == GroupOp::All { tests.all(|t| t) } else { tests.any(|t| t) });
                active().for_each(|lane| self.words[(group.dst + lane) as usize] = result);
            }
            GroupOp::BroadcastFirst | GroupOp::Shuffle | GroupOp::ShuffleXor => {
                for lane in active() {
                    let from = match group.op {
                        GroupOp::Shuffle => first.wrapping_add(word(&self.words, group.b, lane)),
                        GroupOp::ShuffleXor => first + ((lane - first) ^ word(&self.words, group.b, lane)),
                        _ => active().next().unwrap_or(lane),
                    };
                    // What is read from a lane that is not there is undefined: it stays 0.
                    let value = if (first..end).contains(&from) { word(&self.words, group.a, from) } else { 0 };
                    self.words[(group.dst + lane) as usize] = value;
                }
            }
        }
        self.mask = mask;
    }

    fn combine(&mut self, group: &Group, combine: Combine, spread: Spread, active: &mut dyn Iterator<Item = u32>) {
        let mut sum = identity(combine);
        let mut members = Vec::new();
        for lane in active {
            let before = sum;
            sum = apply(combine, sum, self.words[(group.a + lane) as usize]);
            if group.half {
                sum = half::round(f32::from_bits(sum)).to_bits();
            }
            members.push(lane);
            self.words[(group.dst + lane) as usize] = if spread == Spread::Exclusive { before } else { sum };
        }
        if spread == Spread::Reduce {
            members.into_iter().for_each(|lane| self.words[(group.dst + lane) as usize] = sum);
        }
    }
}

fn identity(combine: Combine) -> u32 {
    match combine {
        Combine::IAdd | Combine::Or | Combine::Xor | Combine::UMax => 0,
        Combine::FAdd => (-0.0f32).to_bits(),
        Combine::IMul | Combine::LogicalAnd => 1,
        Combine::FMul => 1f32.to_bits(),
        Combine::SMin => i32::MAX as u32,
        Combine::SMax => i32::MIN as u32,
        Combine::UMin | Combine::And => u32::MAX,
        Combine::FMin => f32::INFINITY.to_bits(),
        Combine::FMax => f32::NEG_INFINITY.to_bits(),
    }
}

fn apply(combine: Combine, a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match combine {
        Combine::IAdd => a.wrapping_add(b),
        Combine::FAdd => (x + y).to_bits(),
        Combine::IMul => a.wrapping_mul(b),
        Combine::FMul => (x * y).to_bits(),
        Combine::SMin => (a as i32).min(b as i32) as u32,
        Combine::UMin => a.min(b),
        Combine::FMin => x.min(y).to_bits(),
        Combine::SMax => (a as i32).max(b as i32) as u32,
        Combine::UMax => a.max(b),
        Combine::FMax => x.max(y).to_bits(),
        Combine::And | Combine::LogicalAnd => a & b,
        Combine::Or => a | b,
        Combine::Xor => a ^ b,
    }
}
