//! A dispatch: words made ready, and run over a grid on several threads.

use crate::code::{Code, Root};
use crate::exec::Worker;
use crate::fault::{Element, Fault, Object, Space};
use crate::lower::lower;
use crate::memory::device::{Memory, params_address};
use crate::memory::shadow::{MOST_GROUPS, Shadow};
use crate::module::read;
use crate::words::{Result, malformed, unknown};
use spirv::BuiltIn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tilewright_launch::{Addressing, Dispatch};

/// A dispatch's words, made ready to run.
#[derive(Debug)]
pub struct Kernel {
    code: Code,
    subgroup: u32,
    spilled: bool,
    addressing: Addressing,
    buffers: usize,
}

/// A run of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The dispatch's buffers, in order of binding.
    pub buffers: &'a [Buffer<'a>],
    /// The grid, usually in one piece. No two pieces share a hazard.
    pub pieces: &'a [Piece<'a>],
    /// Threads to run workgroups on, at most.
    pub threads: usize,
    /// Instructions that an invocation may run: [`BUDGET`], usually.
    pub budget: u64,
    /// When the run is given up; `None`: never.
    pub deadline: Option<Instant>,
}

/// More instructions than any invocation should need: one that runs as many has a loop without an end. Invocations of a
/// workgroup that go different ways count together.
pub const BUDGET: u64 = 1 << 30;

/// A tensor in a run. Where its words reach it by address, they are given [`address`](crate::address) of its number.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a> {
    /// Its memory.
    pub memory: &'a Memory,
    /// Where in it the tensor begins, in bytes.
    pub at: u64,
    /// How many bytes there are from its first to behind its last.
    pub bytes: u64,
    /// Where its elements lie among these, outermost dimension first; empty: everywhere.
    pub steps: &'a [Step],
    /// Its name.
    pub name: &'a str,
    /// Bytes of one of its elements.
    pub element: u32,
    /// Whether the dispatch says that it reads it.
    pub reads: bool,
    /// Whether the dispatch says that it writes it.
    pub writes: bool,
}

/// A dimension of a tensor's elements that leave gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Elements.
    pub count: u64,
    /// Bytes from one to the next.
    pub bytes: u64,
}

/// A grid of workgroups and its parameter block.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Workgroups in x, y, z.
    pub groups: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions that were run, counted in each invocation.
    pub instructions: u64,
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The kernel did what it must not.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A grid whose workgroups cannot be told apart.
    #[error("{groups} workgroups are more than the {limit} that the reference device runs")]
    TooLarge {
        /// The workgroups.
        groups: u64,
        /// How many can be.
        limit: u64,
    },
    /// The deadline has passed. What was written until then stays written.
    #[error("the run had not ended at its deadline")]
    Late,
    /// There is no memory to watch a buffer's elements.
    #[error("no memory is left to watch the elements of `{name}`")]
    OutOfMemory {
        /// The buffer.
        name: String,
    },
}

/// What a thread did: the instructions that it ran, and what ended it, with its workgroup's turn.
type Worked = (u64, Option<(u64, Stop)>);

/// Why a workgroup did not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Fault(Box<Fault>),
    /// The deadline has passed.
    Late,
}

impl From<Box<Fault>> for Stop {
    fn from(fault: Box<Fault>) -> Stop {
        Stop::Fault(fault)
    }
}

/// A run as its threads see it.
pub(crate) struct Prepared<'a> {
    pub(crate) buffers: Vec<Bound<'a>>,
    pub(crate) pieces: Vec<Grid>,
    pub(crate) subgroup: u32,
    pub(crate) budget: u64,
    pub(crate) deadline: Option<Instant>,
}

/// A piece of the grid.
pub(crate) struct Grid {
    pub(crate) groups: [u32; 3],
    /// The number of its first workgroup.
    first: u64,
    pub(crate) push: Vec<u32>,
    pub(crate) push_bytes: i64,
    /// The parameter block, if it lies in a buffer.
    pub(crate) block: Vec<u32>,
    pub(crate) block_bytes: i64,
}

/// A tensor in a run, with what is watched of it.
pub(crate) struct Bound<'a> {
    pub(crate) memory: &'a Memory,
    /// Where its first byte is in the memory. (What is said of its bytes counts from there.)
    pub(crate) start: usize,
    pub(crate) bytes: i64,
    /// Where its elements are, if not everywhere: outermost first, the widest step first.
    steps: Vec<Step>,
    pub(crate) object: Object,
    /// Bytes of an element.
    pub(crate) size: u32,
    /// Whether all of it was written before.
    pub(crate) complete: bool,
    /// Who accesses it, unless it is only read.
    pub(crate) shadow: Option<Shadow>,
}

impl Bound<'_> {
    /// Whether reads of it need no watching.
    pub(crate) fn is_plain(&self) -> bool {
        self.complete && self.shadow.is_none() && self.steps.is_empty()
    }

    /// Whether some bytes, of which the first is at a multiple of `align` in its memory, are elements of it.
    pub(crate) fn holds(&self, at: i64, extent: u32, align: u32) -> bool {
        self.is_within(at, extent) && self.is_aligned(at, align)
    }

    /// Whether some bytes are elements of it.
    pub(crate) fn is_within(&self, at: i64, extent: u32) -> bool {
        at >= 0 && at + i64::from(extent) <= self.bytes && (self.steps.is_empty() || self.are_elements(at as u64, extent))
    }

    fn is_aligned(&self, at: i64, align: u32) -> bool {
        (at + self.start as i64) & (i64::from(align) - 1) == 0
    }

    /// Whether bytes are none that lie between elements. A wider step of a view goes over all that its narrower ones reach.
    fn are_elements(&self, at: u64, extent: u32) -> bool {
        let within = |rest: u64, step: &Step| rest - (rest / step.bytes).min(step.count - 1) * step.bytes;
        let is_element = |byte: u64| self.steps.iter().fold(byte, within) < self.size.into();
        (0..u64::from(extent)).step_by(self.size.max(1) as usize).all(|n| is_element(at + n))
    }

    /// The element at a byte.
    pub(crate) fn element(&self, byte: i64) -> Element {
        Element { of: self.object.clone(), index: byte.div_euclid(i64::from(self.size.max(1))) }
    }
}

impl Prepared<'_> {
    /// Where the workgroup of a number is: its piece, and its place there.
    pub(crate) fn place(&self, group: u64) -> (u32, [u32; 3]) {
        let at = self.pieces.partition_point(|p| p.first <= group).saturating_sub(1);
        let Some(piece) = self.pieces.get(at) else { return (0, [0; 3]) };
        let (n, [x, y, _]) = (group - piece.first, piece.groups.map(|n| u64::from(n.max(1))));
        (at as u32, [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32])
    }

    /// A piece's number, where there are several.
    pub(crate) fn several(&self, piece: u32) -> Option<u32> {
        (self.pieces.len() > 1).then_some(piece)
    }
}

impl Kernel {
    /// Reads a dispatch's words, for subgroups of a size.
    pub fn new(dispatch: &Dispatch, subgroup: u32) -> Result<Kernel> {
        Kernel::specialized(dispatch, subgroup, &[])
    }

    /// Reads a dispatch's words with the values of its specialization constants, by `SpecId`. The others have their defaults.
    pub fn specialized(dispatch: &Dispatch, subgroup: u32, constants: &[u32]) -> Result<Kernel> {
        let module = read(&dispatch.words_with_lines(), constants, subgroup.max(1))?;
        let code = lower(&module, subgroup.max(1))?;
        if code.local != dispatch.local {
            return malformed(format!("its local size is {:?}, not {:?} as the launch program says", code.local, dispatch.local));
        }
        let bindings = dispatch.buffers.len() + usize::from(dispatch.spilled && dispatch.addressing == Addressing::Descriptor);
        let beyond = |root: &Root| matches!(root, Root::Binding(n) if *n as usize >= bindings);
        if let Some(Root::Binding(n)) = code.accesses.iter().map(|a| &a.root).find(|r| beyond(r)) {
            return malformed(format!("it uses the binding {n}, and the launch program has {bindings}"));
        }
        if let Some(input) = code.inputs.iter().find(|i| !is_known(i.builtin)) {
            return unknown(format!("the built-in {:?}", input.builtin));
        }
        let (spilled, addressing, buffers) = (dispatch.spilled, dispatch.addressing, dispatch.buffers.len());
        Ok(Kernel { code, subgroup: subgroup.max(1), spilled, addressing, buffers })
    }

    /// Runs it over a grid.
    pub fn run(&self, launch: &Launch<'_>) -> Result<Stats, RunError> {
        let prepared = self.prepare(launch)?;
        let groups = prepared.pieces.last().map_or(0, |p| p.first + count(p.groups));
        let next = AtomicU64::new(0);
        let threads = launch.threads.clamp(1, groups.clamp(1, 1 << 16) as usize);
        let work = || self.work(&prepared, groups, &next);
        let results: Vec<Worked> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut results = vec![work()];
            // A thread that panicked leaves its panic to the caller: it is a fault of this crate.
            results.extend(others.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))));
            results
        });
        let instructions = results.iter().map(|(n, _)| n).sum();
        // A fault that was found counts, even if others were not looked for.
        let stops = results.into_iter().filter_map(|(_, stop)| stop);
        match stops.min_by_key(|(turn, stop)| (matches!(stop, Stop::Late), *turn)) {
            None => Ok(Stats { instructions }),
            Some((_, Stop::Fault(fault))) => Err(RunError::Fault(fault)),
            Some((_, Stop::Late)) => Err(RunError::Late),
        }
    }

    /// Runs workgroups until there are no more, one commits a fault, or the deadline passes.
    fn work(&self, prepared: &Prepared<'_>, groups: u64, next: &AtomicU64) -> Worked {
        let mut worker = Worker::new(&self.code, prepared);
        let order = Order::of(groups);
        loop {
            let turn = next.fetch_add(1, Relaxed);
            if turn >= groups {
                return (worker.executed, None);
            }
            let group = order.at(turn);
            let (piece, place) = prepared.place(group);
            if let Err(stop) = worker.run(group, piece, place) {
                // No more are begun; those begun before end, and the fault of the first is the one that counts.
                next.fetch_max(groups, Relaxed);
                return (worker.executed, Some((turn, stop)));
            }
        }
    }

    fn prepare<'a>(&self, launch: &Launch<'a>) -> Result<Prepared<'a>, RunError> {
        let (subgroup, budget, deadline) = (self.subgroup, launch.budget, launch.deadline);
        let mut prepared = Prepared { buffers: Vec::new(), pieces: Vec::new(), subgroup, budget, deadline };
        let mut first = 0u64;
        for piece in launch.pieces {
            prepared.pieces.push(self.grid(piece, first));
            first = first.saturating_add(count(piece.groups));
        }
        if first > MOST_GROUPS {
            return Err(RunError::TooLarge { groups: first, limit: MOST_GROUPS });
        }
        for buffer in launch.buffers.iter().take(self.buffers) {
            prepared.buffers.push(bind(buffer, !self.code.atomics.is_empty())?);
        }
        Ok(prepared)
    }

    fn grid(&self, piece: &Piece<'_>, first: u64) -> Grid {
        let address = params_address().to_le_bytes();
        let (push, block): (&[u8], &[u8]) = match (self.spilled, self.addressing) {
            (false, _) => (piece.params, &[]),
            (true, Addressing::Address) => (&address, piece.params),
            (true, Addressing::Descriptor) => (&[], piece.params),
        };
        let bytes = |b: &[u8]| b.len() as i64;
        Grid {
            groups: piece.groups,
            first,
            push: words(push),
            push_bytes: bytes(push),
            block: words(block),
            block_bytes: bytes(block),
        }
    }
}

/// The order of workgroups: the first is the first, and then they come as no kernel would expect them. A device may run
/// them in any order, so what depends on it should show.
struct Order {
    groups: u64,
    step: u64,
}

impl Order {
    fn of(groups: u64) -> Order {
        // Near the golden section, so that neighbours are far apart; without a common divisor, so that all have a turn.
        let start = (groups * 5).div_ceil(8).max(1);
        Order { groups: groups.max(1), step: (start..).find(|step| gcd(*step, groups) == 1).unwrap_or(1) }
    }

    fn at(&self, turn: u64) -> u64 {
        turn * self.step % self.groups
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn bind<'a>(buffer: &Buffer<'a>, atomics: bool) -> Result<Bound<'a>, RunError> {
    let bytes = buffer.bytes.min(buffer.memory.bytes().saturating_sub(buffer.at));
    let size = buffer.element.max(1);
    let elements = bytes / u64::from(size);
    let out_of_memory = || RunError::OutOfMemory { name: buffer.name.to_owned() };
    let shadow = match buffer.writes {
        // What the words read without the launch program's knowledge is watched too.
        true => Some(Shadow::new(bytes.div_ceil(u64::from(size)), size, atomics).ok_or_else(out_of_memory)?),
        false => None,
    };
    let mut steps: Vec<Step> = buffer.steps.iter().filter(|s| s.count > 1 && s.bytes > 0).copied().collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.bytes));
    Ok(Bound {
        memory: buffer.memory,
        start: buffer.at as usize,
        steps,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        object: Object { space: Space::Tensor, name: buffer.name.to_owned(), elements, first: None },
        size,
        complete: buffer.steps.is_empty() && buffer.memory.is_complete(buffer.at, bytes),
        shadow,
    })
}

fn count(groups: [u32; 3]) -> u64 {
    groups.iter().fold(1u64, |n, g| n.saturating_mul((*g).into()))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |c: &[u8]| (0..).zip(c).fold(0, |w, (n, b)| w | u32::from(*b) << (8 * n));
    bytes.chunks(4).map(word).collect()
}

/// Whether a built-in's value is known here.
fn is_known(builtin: BuiltIn) -> bool {
    use BuiltIn::*;
    matches!(
        builtin,
        NumWorkgroups
            | WorkgroupSize
            | WorkgroupId
            | LocalInvocationId
            | GlobalInvocationId
            | LocalInvocationIndex
            | SubgroupSize
            | NumSubgroups
            | SubgroupId
            | SubgroupLocalInvocationId
    )
}
