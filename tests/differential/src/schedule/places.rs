//! Places of a nest at which something is copied or computed, and what varies under them.

use super::flow::Seen;
use super::nest::{Exec, Extent, Memory, Nest};
use super::tree::Directive;
use fastrand::Rng;

/// Copies of the innermost body, at most, that registers make by having their loops unrolled.
const COPIES: i64 = 64;
/// Registers of a copy, at most.
const REGISTERS: i64 = 64;

/// A place.
#[derive(Clone, Debug)]
pub struct Place {
    /// What `at` says.
    pub at: String,
    /// How many loops are around it, invocations' left out.
    pub depth: usize,
}

/// A copy that was promoted.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Its name.
    pub name: String,
    /// Its axes and their extents, as far as they are known.
    pub axes: Option<Vec<(String, i64)>>,
    /// Where it lives.
    pub memory: Memory,
    /// The place's depth.
    pub depth: usize,
    /// Whether it is a result's.
    pub result: bool,
    /// Whether elements at a time are said.
    pub vector: bool,
    /// Whether a pipeline makes it.
    pub pipelined: bool,
}

/// A stage that is computed at a loop.
#[derive(Clone, Debug)]
pub struct Hosted {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub memory: Memory,
    /// The place's depth.
    pub depth: usize,
    /// The extents of its parallel axes, if they are known.
    pub extents: Option<Vec<i64>>,
    /// The host's axes that what it reads depends on.
    pub roots: u32,
    /// Whether all of it is in the host's reduction.
    pub in_reduction: bool,
    /// Of partial results: the axes.
    pub part: Option<Vec<OwnAxis>>,
}

/// An axis of a stage that is computed at a loop.
#[derive(Clone, Debug)]
pub struct OwnAxis {
    /// Its name.
    pub name: String,
    /// How long it is in a dispatch of its own.
    pub extent: Extent,
    /// Whether it is a reduction's.
    pub reduction: bool,
}

/// What a copy or a stage at a place comes to.
pub struct Room {
    /// The axes that vary under the place and that are named, outermost first.
    pub used: Vec<usize>,
    /// Elements.
    pub elements: i64,
}

impl Nest<'_> {
    /// The axes that are left of it, those of the result first.
    pub fn root_extents(self) -> Vec<OwnAxis> {
        let live = self.axes.into_iter().filter(|a| a.live);
        let mut axes: Vec<OwnAxis> = live.map(|a| OwnAxis { name: a.name, extent: a.extent, reduction: a.reduction }).collect();
        axes.sort_by_key(|a| a.reduction);
        axes
    }

    /// The loops that count no invocations.
    fn loops(&self) -> Vec<usize> {
        self.path.iter().copied().filter(|a| !self.axes[*a].exec.is_invocation()).collect()
    }

    /// The places there are, the innermost last.
    pub fn places(&self, memory: Memory) -> Vec<Place> {
        let loops = self.loops();
        let workgroups = loops.iter().take_while(|a| self.axes[**a].exec == Exec::Workgroup).count();
        let mut places = vec![Place { at: "workgroup".into(), depth: workgroups }];
        for (level, found) in [("thread", Exec::Thread("")), ("subgroup", Exec::Subgroup(""))] {
            let is = |a: &usize| std::mem::discriminant(&self.axes[*a].exec) == std::mem::discriminant(&found);
            if let (Some(last), Memory::Register) = (self.path.iter().rposition(is), memory) {
                let around = self.path[..last].iter().filter(|a| !self.axes[**a].exec.is_invocation()).count();
                places.extend([Place { at: level.into(), depth: around }, Place { at: level.into(), depth: around }]);
            }
        }
        for (n, axis) in loops.iter().enumerate() {
            if matches!(self.axes[*axis].exec, Exec::Plain | Exec::Unrolled) {
                places.push(Place { at: self.axes[*axis].name.clone(), depth: n + 1 });
            }
        }
        places
    }

    /// Whether a loop of the reduction is around a place.
    pub fn in_reduction(&self, place: &Place) -> bool {
        self.loops()[..place.depth].iter().any(|a| self.axes[*a].reduction)
    }

    /// What varies under a place, of the axes that are made of `roots`. `None`: too much, or nobody knows how much.
    pub fn room(&self, place: &Place, memory: Memory, roots: u32, bytes: i64) -> Option<Room> {
        let around = &self.loops()[..place.depth];
        let inside = |a: &&usize| match self.axes[**a].exec.is_invocation() {
            true => memory == Memory::Shared,
            false => !around.contains(a),
        };
        let used: Vec<usize> = self.path.iter().filter(inside).copied().filter(|a| self.axes[*a].roots & roots != 0).collect();
        let mut elements = 1i64;
        for axis in &used {
            elements = elements.saturating_mul(self.axes[*axis].extent.most()?);
        }
        // Halos, padding and alignment come on top.
        let fits = match memory {
            Memory::Shared => elements.saturating_mul(bytes * 2) <= self.shared,
            Memory::Register => elements <= REGISTERS && self.copies(self.to_unroll(&used)?) <= COPIES,
        };
        fits.then_some(Room { used, elements })
    }

    /// Copies of the body that unrolling these of the axes makes, if it can be done.
    fn to_unroll(&self, used: &[usize]) -> Option<i64> {
        let plain = used.iter().filter(|a| self.axes[**a].exec == Exec::Plain);
        plain.map(|a| self.axes[*a].extent.most()).try_fold(1i64, |n, most| Some(n.saturating_mul(most?)))
    }

    /// Notes that something lives at a place: what is around it stays as it is, and what counts registers is unrolled.
    pub fn take(&mut self, place: &Place, memory: Memory, room: &Room, bytes: i64) {
        if memory == Memory::Shared {
            self.shared -= room.elements * bytes * 2;
        } else {
            self.unroll(&room.used);
        }
        for axis in self.loops()[..place.depth].to_vec() {
            self.axes[axis].fixed = true;
        }
        for axis in self.path.clone() {
            if memory == Memory::Register && self.axes[axis].exec.is_invocation() {
                self.axes[axis].fixed = true;
            }
        }
    }

    /// Has the plain ones of some axes unrolled next.
    fn unroll(&mut self, axes: &[usize]) {
        let plain: Vec<usize> = axes.iter().copied().filter(|a| self.axes[*a].exec == Exec::Plain).collect();
        for axis in &plain {
            self.axes[*axis].exec = Exec::Unrolled;
        }
        if !plain.is_empty() {
            let names: Vec<String> = plain.iter().map(|a| self.axes[*a].name.clone()).collect();
            self.next.push(Directive::new("unroll", names));
        }
    }

    /// The reads that are at hand at a place, those of data apart.
    pub fn at_hand(&self, place: &Place) -> Vec<Seen> {
        let inside = self.in_reduction(place);
        self.reads.iter().filter(|s| s.depth <= place.depth && !s.by_data && (s.in_reduction || !inside)).cloned().collect()
    }
}

/// One of the memories that there is room in.
pub fn memory(nest: &Nest<'_>, random: &mut Rng) -> Memory {
    if nest.shared >= 64 && random.bool() { Memory::Shared } else { Memory::Register }
}

impl Memory {
    /// Its word.
    pub fn word(self) -> String {
        match self {
            Memory::Shared => "shared".into(),
            Memory::Register => "register".into(),
        }
    }
}
