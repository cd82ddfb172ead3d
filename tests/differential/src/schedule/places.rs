//! Places of a nest at which tensors are copied or stages computed, and the axes that vary under them.

use super::flow::Seen;
use super::nest::{Axis, Exec, Extent, Memory, Nest};
use super::tree::Directive;
use fastrand::Rng;

/// The most copies of the innermost body that registers cause because their loops are unrolled.
const COPIES: i64 = 64;
/// The most registers of a copy.
const REGISTERS: i64 = 64;

/// A place.
#[derive(Clone, Debug)]
pub struct Place {
    /// The value of `at`.
    pub at: String,
    /// The number of loops around it, without loops over invocations.
    pub depth: usize,
}

/// A copy that was promoted.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Its name.
    pub name: String,
    /// Its axes and their extents, as far as they are known.
    pub axes: Option<Vec<(String, i64)>>,
    /// Its memory.
    pub memory: Memory,
    /// The place's depth.
    pub depth: usize,
    /// True if it is a copy of a result.
    pub result: bool,
    /// True if a vector width is given.
    pub vector: bool,
    /// True if a pipeline makes it.
    pub pipelined: bool,
}

/// A stage that is computed at a loop.
#[derive(Clone, Debug)]
pub struct Hosted {
    /// Its name.
    pub name: String,
    /// Its memory.
    pub memory: Memory,
    /// The place's depth.
    pub depth: usize,
    /// The extents of its parallel axes, if they are known.
    pub extents: Option<Vec<i64>>,
    /// The host's axes that its reads depend on.
    pub roots: u32,
    /// True if all of it is in the host's reduction.
    pub in_reduction: bool,
    /// The axes, if it has partial results.
    pub part: Option<Vec<OwnAxis>>,
}

/// An axis of a stage that is computed at a loop.
#[derive(Clone, Debug)]
pub struct OwnAxis {
    /// Its name.
    pub name: String,
    /// Its extent in a separate dispatch.
    pub extent: Extent,
    /// True if it is a reduction's.
    pub reduction: bool,
    /// True if the reduction's operands choose its value.
    pub chosen: bool,
}

/// The size of a copy or a stage at a place.
pub struct Room {
    /// The axes that vary under the place and that are named, outermost first.
    pub used: Vec<usize>,
    /// Elements.
    pub elements: i64,
}

impl Nest<'_> {
    /// Returns its remaining axes, with the axes of the result first.
    pub fn root_extents(self) -> Vec<OwnAxis> {
        let live = self.axes.into_iter().filter(|a| a.live);
        let own = |a: Axis| {
            let chosen = self.chosen.contains(&a.name) && !a.reduction;
            OwnAxis { name: a.name, extent: a.extent, reduction: a.reduction, chosen }
        };
        let mut axes: Vec<OwnAxis> = live.map(own).collect();
        axes.sort_by_key(|a| a.reduction);
        axes
    }

    /// Returns the loops that are not over invocations.
    fn loops(&self) -> Vec<usize> {
        self.path.iter().copied().filter(|a| !self.axes[*a].exec.is_invocation()).collect()
    }

    /// Returns the places, the innermost last.
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

    /// Returns true if a loop of the reduction is around a place.
    pub fn in_reduction(&self, place: &Place) -> bool {
        self.loops()[..place.depth].iter().any(|a| self.axes[*a].reduction)
    }

    /// Returns the axes made of `roots` that vary under a place. `None` if they have too many elements, or an unknown number.
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
        // The factor 2 allows for halos, padding and alignment.
        let fits = match memory {
            Memory::Shared => elements.saturating_mul(bytes * 2) <= self.shared,
            Memory::Register => elements <= REGISTERS && self.copies(self.to_unroll(&used)?) <= COPIES,
        };
        fits.then_some(Room { used, elements })
    }

    /// Returns the number of copies of the body that unrolling these axes makes, if they can be unrolled.
    fn to_unroll(&self, used: &[usize]) -> Option<i64> {
        let plain = used.iter().filter(|a| self.axes[**a].exec == Exec::Plain);
        plain.map(|a| self.axes[*a].extent.most()).try_fold(1i64, |n, most| Some(n.saturating_mul(most?)))
    }

    /// Records that memory is used at a place: the loops around it stay unchanged, and axes that index registers are unrolled.
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

    /// Lets the next directive unroll the plain ones among some axes.
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

    /// Returns the reads that are available at a place, without those whose index depends on data.
    pub fn at_hand(&self, place: &Place) -> Vec<Seen> {
        let inside = self.in_reduction(place);
        self.reads.iter().filter(|s| s.depth <= place.depth && !s.by_data && (s.in_reduction || !inside)).cloned().collect()
    }
}

/// Chooses a memory that has room.
pub fn memory(nest: &Nest<'_>, random: &mut Rng) -> Memory {
    if nest.shared >= 64 && random.bool() { Memory::Shared } else { Memory::Register }
}

impl Memory {
    /// Returns its keyword.
    pub fn word(self) -> String {
        match self {
            Memory::Shared => "shared".into(),
            Memory::Register => "register".into(),
        }
    }
}
