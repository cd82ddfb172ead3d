//! Kernels: dispatches that are translated once, and run over a grid on several threads.

use crate::code::{Block, Code, Root};
use crate::exec::{Exact, Numbers, Rounded, Worker};
use crate::fault::{Element, Fault, Object, Space};
use crate::field::{Covered, Field, ModuleName, module_name};
use crate::lower::lower;
use crate::memory::device::{Memory, params_address};
use crate::memory::shadow::{MOST_GROUPS, Shadow};
use crate::module::read;
use crate::words::{Result, malformed, unknown};
use spirv::BuiltIn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tilewright_launch::{Addressing, Dispatch};

/// The module of a dispatch, translated so that it can run.
#[derive(Debug)]
pub struct Kernel {
    code: Code,
    subgroup: u32,
    spilled: bool,
    addressing: Addressing,
    buffers: usize,
    module: ModuleName,
}

/// A run of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The buffers of the dispatch, in order of binding.
    pub buffers: &'a [Buffer<'a>],
    /// The grid, usually in one piece. Two pieces must not have a hazard between them.
    pub pieces: &'a [Piece<'a>],
    /// The maximal number of threads to run workgroups on.
    pub threads: usize,
    /// The number of instructions that an invocation may execute, usually [`BUDGET`].
    pub budget: u64,
    /// The time at which the run is given up. `None`: never.
    pub deadline: Option<Instant>,
}

/// More instructions than any invocation should need. An invocation that executes this many has an endless loop. Invocations
/// of a workgroup that branch differently count together.
pub const BUDGET: u64 = 1 << 30;

/// A tensor in a run. If a module accesses it by address, the module is given the [`address`](crate::address) of its number.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a> {
    /// Its memory.
    pub memory: &'a Memory,
    /// The offset of the tensor in the memory, in bytes.
    pub at: u64,
    /// The number of bytes from its first element to the end of its last one.
    pub bytes: u64,
    /// The layout of its elements in these bytes, outermost dimension first. It is empty if the elements are contiguous.
    pub steps: &'a [StridedDim],
    /// Its name.
    pub name: &'a str,
    /// The bytes of an element.
    pub element: u32,
    /// True if the dispatch declares that it reads it.
    pub reads: bool,
    /// True if the dispatch declares that it writes it.
    pub writes: bool,
}

/// A dimension of a tensor whose elements have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StridedDim {
    /// The number of elements.
    pub count: u64,
    /// The bytes from an element to the next.
    pub bytes: u64,
}

/// A grid of workgroups and its parameter block.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The number of workgroups in x, y, z.
    pub groups: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
}

/// The statistics of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of instructions that were executed, counted in each invocation.
    pub instructions: u64,
}

/// The reason why a run did not complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The kernel committed a fault.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// The grid has more workgroups than can be distinguished.
    #[error("{groups} workgroups are more than the {limit} that the reference device runs")]
    TooLarge {
        /// The number of workgroups.
        groups: u64,
        /// The largest number that is supported.
        limit: u64,
    },
    /// The deadline has passed. Writes that were executed before stay.
    #[error("the run did not end before its deadline")]
    Late,
    /// There is not enough memory to track accesses to a buffer's elements.
    #[error("there is not enough memory to track the elements of `{name}`")]
    OutOfMemory {
        /// The buffer.
        name: String,
    },
}

/// The result of a thread.
struct Worked {
    /// The number of instructions that it executed.
    executed: u64,
    /// True for each block that it ran.
    ran: Vec<bool>,
    /// The reason why it stopped, with the turn of its workgroup.
    stop: Option<(u64, Stop)>,
}

/// The reason why a workgroup did not complete.
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
    pub(crate) buffers: Vec<BoundTensor<'a>>,
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
    /// The parameter block, if it is in a buffer.
    pub(crate) block: Vec<u32>,
    pub(crate) block_bytes: i64,
}

/// A tensor in a run, with the record of its accesses.
pub(crate) struct BoundTensor<'a> {
    pub(crate) memory: &'a Memory,
    /// The offset of its first byte in the memory. All other offsets count from there.
    pub(crate) start: usize,
    pub(crate) bytes: i64,
    /// The layout of its elements if there are gaps, with the widest step first.
    steps: Vec<StridedDim>,
    pub(crate) object: Object,
    /// The bytes of an element.
    pub(crate) size: u32,
    /// True if all of it was written before the run.
    pub(crate) complete: bool,
    /// The record of accesses, unless it is only read.
    pub(crate) shadow: Option<Shadow>,
}

impl BoundTensor<'_> {
    /// True if reads of it need not be checked.
    pub(crate) fn is_plain(&self) -> bool {
        self.complete && self.shadow.is_none() && self.steps.is_empty()
    }

    /// True if some bytes are elements of it, and the first byte is at a multiple of `align` in its memory.
    pub(crate) fn holds(&self, at: i64, extent: u32, align: u32) -> bool {
        self.is_within(at, extent) && self.is_aligned(at, align)
    }

    /// True if some bytes are elements of it.
    pub(crate) fn is_within(&self, at: i64, extent: u32) -> bool {
        at >= 0 && at + i64::from(extent) <= self.bytes && (self.steps.is_empty() || self.are_elements(at as u64, extent))
    }

    fn is_aligned(&self, at: i64, align: u32) -> bool {
        (at + self.start as i64) & (i64::from(align) - 1) == 0
    }

    /// True if none of the bytes is in a gap between elements. A wider step of a view covers all elements that its narrower
    /// steps reach.
    fn are_elements(&self, at: u64, extent: u32) -> bool {
        let within = |rest: u64, step: &StridedDim| rest - (rest / step.bytes).min(step.count - 1) * step.bytes;
        let is_element = |byte: u64| self.steps.iter().fold(byte, within) < self.size.into();
        (0..u64::from(extent)).step_by(self.size.max(1) as usize).all(|n| is_element(at + n))
    }

    /// Returns the element at a byte.
    pub(crate) fn element(&self, byte: i64) -> Element {
        Element { of: self.object.clone(), index: byte.div_euclid(i64::from(self.size.max(1))) }
    }
}

impl Prepared<'_> {
    /// Returns the piece of the workgroup with a number, and its place in the piece.
    pub(crate) fn place(&self, group: u64) -> (u32, [u32; 3]) {
        let at = self.pieces.partition_point(|p| p.first <= group).saturating_sub(1);
        let Some(piece) = self.pieces.get(at) else { return (0, [0; 3]) };
        let (n, [x, y, _]) = (group - piece.first, piece.groups.map(|n| u64::from(n.max(1))));
        (at as u32, [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32])
    }

    /// Returns the number of a piece, if there are several.
    pub(crate) fn several(&self, piece: u32) -> Option<u32> {
        (self.pieces.len() > 1).then_some(piece)
    }
}

impl Kernel {
    /// Translates the module of a dispatch, for subgroups of a size.
    pub fn new(dispatch: &Dispatch, subgroup: u32) -> Result<Kernel> {
        Kernel::specialized(dispatch, subgroup, &[])
    }

    /// Translates the module of a dispatch with the values of its specialization constants, by `SpecId`. The others have
    /// their defaults.
    pub fn specialized(dispatch: &Dispatch, subgroup: u32, constants: &[u32]) -> Result<Kernel> {
        let module = read(&dispatch.words_with_lines(), constants, subgroup.max(1))?;
        let code = lower(&module, subgroup.max(1))?;
        if code.local != dispatch.local {
            return malformed(format!("its local size is {:?}, not {:?} as in the launch program", code.local, dispatch.local));
        }
        let bindings = dispatch.buffers.len() + usize::from(dispatch.spilled && dispatch.addressing == Addressing::Descriptor);
        let beyond = |root: &Root| matches!(root, Root::Binding(n) if *n as usize >= bindings);
        if let Some(Root::Binding(n)) = code.accesses.iter().map(|a| &a.root).find(|r| beyond(r)) {
            return malformed(format!("it uses the binding {n}, but the launch program has {bindings} bindings"));
        }
        if let Some(input) = code.inputs.iter().find(|i| !is_known(i.builtin)) {
            return unknown(format!("the built-in {:?}", input.builtin));
        }
        let (spilled, addressing, buffers) = (dispatch.spilled, dispatch.addressing, dispatch.buffers.len());
        Ok(Kernel { code, subgroup: subgroup.max(1), spilled, addressing, buffers, module: module_name(dispatch) })
    }

    /// Runs it over a grid.
    pub fn run(&self, launch: &Launch<'_>) -> Result<Stats, RunError> {
        let numbers = Rounded::new();
        self.run_with(launch, &|| numbers).map(|(stats, _)| stats)
    }

    /// Runs it over a grid in exact arithmetic, and notes the blocks that ran in the field. The memory must be [exact](Memory::exact).
    pub fn run_exactly(&self, launch: &Launch<'_>, field: &Field) -> Result<Stats, RunError> {
        let (stats, ran) = self.run_with(launch, &|| Exact::new(field))?;
        let block = |(block, ran): (&Block, bool)| Covered { word: block.word, place: self.code.lines.place(block.word), ran };
        field.cover(&self.module, &self.code.blocks.iter().zip(ran).map(block).collect::<Vec<_>>(), stats.instructions);
        Ok(stats)
    }

    /// Runs it over a grid in a number system. Returns for each block whether an invocation ran it, too.
    fn run_with<N: Numbers>(&self, launch: &Launch<'_>, numbers: &(dyn Fn() -> N + Sync)) -> Result<(Stats, Vec<bool>), RunError> {
        let prepared = self.prepare(launch)?;
        let groups = prepared.pieces.last().map_or(0, |p| p.first + count(p.groups));
        let next = AtomicU64::new(0);
        let threads = launch.threads.clamp(1, groups.clamp(1, 1 << 16) as usize);
        let work = || self.work(&prepared, groups, &next, numbers());
        let results: Vec<Worked> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut results = vec![work()];
            // The panic of a thread is propagated to the caller, because it is a bug of this crate.
            results.extend(others.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))));
            results
        });
        let instructions = results.iter().map(|worked| worked.executed).sum();
        let mut ran = vec![false; self.code.blocks.len()];
        results.iter().for_each(|worked| ran.iter_mut().zip(&worked.ran).for_each(|(all, ran)| *all |= ran));
        // If a fault was found, it is reported even if other workgroups did not complete.
        let stops = results.into_iter().filter_map(|worked| worked.stop);
        match stops.min_by_key(|(turn, stop)| (matches!(stop, Stop::Late), *turn)) {
            None => Ok((Stats { instructions }, ran)),
            Some((_, Stop::Fault(fault))) => Err(RunError::Fault(fault)),
            Some((_, Stop::Late)) => Err(RunError::Late),
        }
    }

    /// Runs workgroups until there are no more, one commits a fault, or the deadline passes.
    fn work<N: Numbers>(&self, prepared: &Prepared<'_>, groups: u64, next: &AtomicU64, numbers: N) -> Worked {
        let mut worker = Worker::new(&self.code, prepared, numbers);
        let order = Order::of(groups);
        loop {
            let turn = next.fetch_add(1, Relaxed);
            if turn >= groups {
                return Worked { executed: worker.executed, ran: worker.ran, stop: None };
            }
            let group = order.at(turn);
            let (piece, place) = prepared.place(group);
            if let Err(stop) = worker.run(group, piece, place) {
                // No more workgroups are started. Workgroups that have started still complete, so that the fault of the earliest
                // one is reported.
                next.fetch_max(groups, Relaxed);
                return Worked { executed: worker.executed, ran: worker.ran, stop: Some((turn, stop)) };
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

/// The order of workgroups. It begins with the first workgroup, and continues in an order that kernels do not expect. A
/// device may run workgroups in any order, so that dependence on the order should become visible.
struct Order {
    groups: u64,
    step: u64,
}

impl Order {
    fn of(groups: u64) -> Order {
        // The step is near the golden section, so that neighbours are far apart in time. It is coprime to the
        // number of workgroups, so that each has a turn.
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

fn bind<'a>(buffer: &Buffer<'a>, atomics: bool) -> Result<BoundTensor<'a>, RunError> {
    let bytes = buffer.bytes.min(buffer.memory.bytes().saturating_sub(buffer.at));
    let size = buffer.element.max(1);
    let elements = bytes / u64::from(size);
    let out_of_memory = || RunError::OutOfMemory { name: buffer.name.to_owned() };
    let shadow = match buffer.writes {
        // A buffer that is written is also tracked for reads, even if the launch program does not declare that the module
        // reads it.
        true => Some(Shadow::new(bytes.div_ceil(u64::from(size)), size, atomics).ok_or_else(out_of_memory)?),
        false => None,
    };
    let mut steps: Vec<StridedDim> = buffer.steps.iter().filter(|s| s.count > 1 && s.bytes > 0).copied().collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.bytes));
    Ok(BoundTensor {
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

/// True if this device supports a built-in.
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
