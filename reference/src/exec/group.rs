//! Operations over the active lanes of each subgroup.

use super::{Numbers, Result, Worker};
use crate::code::{Combine, From, Group, GroupOp, Spread};
use crate::fault::FaultKind;

/// The lanes of a subgroup, from `first` to before `end`, and the active lanes.
struct Team<'m> {
    first: u32,
    end: u32,
    mask: &'m [u32],
}

impl Team<'_> {
    fn runs(&self, lane: u32) -> bool {
        (self.first..self.end).contains(&lane) && self.mask[lane as usize] != 0
    }

    fn active(&self) -> impl Iterator<Item = u32> {
        (self.first..self.end).filter(|lane| self.mask[*lane as usize] != 0)
    }
}

impl<N: Numbers> Worker<'_, N> {
    pub(super) fn across(&mut self, n: u32) -> Result {
        let group = self.code.groups[n as usize];
        let lanes = self.code.lanes;
        let size = self.launch.subgroup;
        let mask = std::mem::take(&mut self.mask);
        let mut done = Ok(());
        'all: for plane in 0..group.planes {
            let at = Group { dst: group.dst + plane * lanes, a: group.a + plane * lanes, ..group };
            for first in (0..lanes).step_by(size as usize) {
                let team = Team { first, end: (first + size).min(lanes), mask: &mask };
                done = self.in_subgroup(&at, &team);
                if done.is_err() {
                    break 'all;
                }
            }
        }
        self.mask = mask;
        done
    }

    fn in_subgroup(&mut self, group: &Group, team: &Team<'_>) -> Result {
        match group.op {
            GroupOp::Combine(combine, spread) => self.combine(group, combine, spread, &mut team.active()),
            GroupOp::Clustered(combine, size) => {
                for first in (team.first..team.end).step_by(size as usize) {
                    let mut members = team.active().filter(|lane| (first..first.saturating_add(size)).contains(lane));
                    self.combine(group, combine, Spread::Reduce, &mut members);
                }
            }
            GroupOp::Elect => {
                let one = team.active().next();
                self.each(group, team, |_, lane| u32::from(Some(lane) == one));
            }
            GroupOp::All => self.vote(group, team, |votes| !votes.contains(&0)),
            GroupOp::Any => self.vote(group, team, |votes| votes.iter().any(|v| *v != 0)),
            GroupOp::AllEqual => {
                let words: Vec<N::Word> = team.active().map(|lane| self.words[(group.a + lane) as usize]).collect();
                let result = u32::from(words.windows(2).all(|w| w[0] == w[1]));
                self.each(group, team, |_, _| result);
            }
            GroupOp::BroadcastFirst => {
                let from = team.active().next().unwrap_or(team.first);
                let value = self.words[(group.a + from) as usize];
                self.each_word(group, team, |_, _| value);
            }
            GroupOp::Take(from) => return self.take(group, team, from),
            _ => self.ballot(group, team),
        }
        Ok(())
    }

    fn lane(&self, slot: u32, lane: u32) -> u32 {
        self.numbers.look(self.words[(slot + lane) as usize]);
        self.integer(slot + lane)
    }

    /// Computes an integer for each active lane.
    fn each(&mut self, group: &Group, team: &Team<'_>, f: impl Fn(&Self, u32) -> u32) {
        self.each_word(group, team, |worker, lane| N::word(f(worker, lane)));
    }

    /// Computes a word for each active lane.
    fn each_word(&mut self, group: &Group, team: &Team<'_>, f: impl Fn(&Self, u32) -> N::Word) {
        for lane in team.active() {
            let word = f(self, lane);
            self.words[(group.dst + lane) as usize] = word;
        }
    }

    fn vote(&mut self, group: &Group, team: &Team<'_>, f: impl Fn(&[u32]) -> bool) {
        let votes: Vec<u32> = team.active().map(|lane| self.lane(group.a, lane)).collect();
        let result = u32::from(f(&votes));
        self.each(group, team, |_, _| result);
    }

    /// Takes values from other lanes.
    fn take(&mut self, group: &Group, team: &Team<'_>, from: From) -> Result {
        if from == From::Broadcast
            && let Some(one) = team.active().next()
            && let Some(other) = team.active().find(|lane| self.lane(group.b, *lane) != self.lane(group.b, one))
        {
            let (a, b) = (self.lane(group.b, one), self.lane(group.b, other));
            let what =
                format!("a broadcast from lane {b}, although another invocation names lane {a} (OpGroupNonUniformBroadcast)");
            return self.fault(other, group.word, FaultKind::Undefined { what });
        }
        self.each_word(group, team, |worker, lane| {
            let (own, by) = (lane - team.first, worker.lane(group.b, lane));
            let from = match from {
                From::Broadcast | From::Shuffle => Some(by),
                From::Xor => Some(own ^ by),
                From::Up => own.checked_sub(by),
                From::Down => own.checked_add(by),
                From::Quad => (by < 4).then_some(own & !3 | by),
                From::QuadSwap => (by < 3).then_some(own ^ (by + 1)),
                From::Rotate(0) => Some(own.wrapping_add(by) & (worker.launch.subgroup - 1)),
                From::Rotate(size) => Some(own & !(size - 1) | own.wrapping_add(by) & (size - 1)),
            };
            // The lane is inactive, so the value is undefined. Taking it is not a fault, because sums that shuffle down
            // do so. The poison makes its use visible.
            let from = from.and_then(|from| team.first.checked_add(from)).filter(|from| team.runs(*from));
            from.map_or(worker.numbers.poison(group.poison), |from| worker.words[(group.a + from) as usize])
        });
        Ok(())
    }

    /// Computes with ballots: words of bits, one bit for each lane.
    fn ballot(&mut self, group: &Group, team: &Team<'_>) {
        let row = self.code.lanes;
        if group.op == GroupOp::Ballot {
            let yes = team.active().filter(|lane| self.lane(group.a, *lane) != 0);
            let bits = yes.fold(0u128, |bits, lane| bits | bit(lane - team.first));
            for word in 0..4 {
                let at = Group { dst: group.dst + word * row, ..*group };
                self.each(&at, team, |_, _| (bits >> (32 * word)) as u32);
            }
            return;
        }
        let there = (0..team.end - team.first).fold(0u128, |bits, lane| bits | bit(lane));
        self.each(group, team, |worker, lane| {
            let own = bit(lane - team.first);
            let all = (0..4).fold(0u128, |all, w| all | u128::from(worker.lane(group.a + w * row, lane)) << (32 * w));
            let below = own.wrapping_sub(1);
            match group.op {
                GroupOp::InverseBallot => u32::from(all & own != 0),
                GroupOp::BallotBit => u32::from(all & bit(worker.lane(group.b, lane)) != 0),
                GroupOp::BallotCount(Spread::Reduce) => (all & there).count_ones(),
                GroupOp::BallotCount(Spread::Inclusive) => (all & there & (below | own)).count_ones(),
                GroupOp::BallotCount(Spread::Exclusive) => (all & there & below).count_ones(),
                _ if all & there == 0 => group.poison,
                GroupOp::BallotFirst => (all & there).trailing_zeros(),
                _ => 127 - (all & there).leading_zeros(),
            }
        });
    }

    fn combine(&mut self, group: &Group, combine: Combine, spread: Spread, active: &mut dyn Iterator<Item = u32>) {
        let mut sum = self.numbers.identity(combine);
        let mut members = Vec::new();
        for lane in active {
            let before = sum;
            sum = self.numbers.combine(combine, sum, self.words[(group.a + lane) as usize]);
            if group.half {
                sum = self.numbers.halved(sum);
            }
            members.push(lane);
            self.words[(group.dst + lane) as usize] = if spread == Spread::Exclusive { before } else { sum };
        }
        if spread == Spread::Reduce {
            members.into_iter().for_each(|lane| self.words[(group.dst + lane) as usize] = sum);
        }
    }
}

/// Returns the bit of a lane in a ballot, which has 128 bits.
fn bit(lane: u32) -> u128 {
    1u128.checked_shl(lane).unwrap_or(0)
}

pub(super) fn identity(combine: Combine) -> u32 {
    match combine {
        Combine::IAdd | Combine::ISub | Combine::Or | Combine::Xor | Combine::UMax => 0,
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

/// Combines two values.
pub(super) fn apply(combine: Combine, a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match combine {
        Combine::IAdd => a.wrapping_add(b),
        Combine::ISub => a.wrapping_sub(b),
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
