//! SPIR-V modules and launch programs that are not as the compiler made them. The reference device refuses them, finds a fault, or
//! runs them. It does not panic, and it always terminates.

use super::programs::{WAYS, axpy, axpy_twice, bump, mark};
use super::support::load;
use super::{args, reference};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright::Argument;
use tilewright_launch::{Dispatch, Fact, ParamValue, Program, Role, Size, Tensor};
use tilewright_reference::checked::Checked;
use tilewright_reference::{Buffer, DecodeError, Kernel, Launch, Memory, Piece, address};
use tilewright_schedules::catalog;

/// The number of instructions that an invocation may run. It is enough for the unchanged programs here, and an infinite loop soon
/// exceeds it.
const BUDGET: u64 = 1 << 17;

/// The number of times that each dispatch and each launch program is damaged.
const SEEDS: u64 = 100;

/// Checks are added to one of this many damaged modules.
const CHECKED: u64 = 10;

#[test]
fn damaged_words_are_refused_or_faulty_or_run() {
    let parts = std::thread::available_parallelism().map_or(1, usize::from);
    let judged = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..parts).map(|part| scope.spawn(move || damaged_words(part, parts))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the assertions hold")).collect::<Vec<_>>()
    });
    let count: u64 = judged.iter().map(|(count, _)| count).sum();
    assert!(count > 40, "of these, sizes were found for {count}");
    let of = |outcome| judged.iter().filter_map(|(_, outcomes)| outcomes.get(&outcome)).sum::<u64>();
    // If everything were refused, this would test nothing.
    let at_least = |outcome, part| assert!(of(outcome) * part > SEEDS * count, "{judged:?}");
    at_least(Outcome::Ran, 20);
    at_least(Outcome::Faulty, 100);
}

/// Damages one of `parts` parts of the dispatches. Returns their number, and the number of damaged modules with each outcome.
fn damaged_words(part: usize, parts: usize) -> (u64, BTreeMap<Outcome, u64>) {
    let catalog = catalog::ALL.iter().flat_map(|entry| (entry.programs)().expect("they decode"));
    let own = WAYS.into_iter().map(axpy_twice).chain([mark([true, false])]);
    let programs = catalog.chain(own).skip(part).step_by(parts);
    let (mut count, mut outcomes) = (0, BTreeMap::new());
    for subject in programs.flat_map(|program| Subject::all(&program)) {
        assert_eq!(subject.run(&subject.words()), Outcome::Ran, "{}", subject.name);
        subject.check(&subject.words()).unwrap_or_else(|e| panic!("{}: checks cannot be added: {e}", subject.name));
        for seed in 0..SEEDS {
            let is_checked = seed % CHECKED == 0;
            assert!(!is_checked || subject.check_damaged(seed), "checks of {} panic, with seed {seed}", subject.name);
            let outcome = subject.run_damaged(seed).unwrap_or_else(|| panic!("{} panics, with seed {seed}", subject.name));
            *outcomes.entry(outcome).or_default() += 1;
        }
        count += 1;
    }
    (count, outcomes)
}

#[test]
fn damaged_programs_are_refused_or_faulty_or_run() {
    let device = reference();
    let (mut loaded, mut ran) = (0, 0);
    let whole: Vec<Program> = WAYS.into_iter().flat_map(|way| [axpy(way), bump(way)]).collect();
    for (n, program) in whole.iter().enumerate() {
        let bytes = program.encode().expect("it is flat");
        // The SPIR-V stays unchanged, because the other test covers damage to it, and an infinite loop would take long here.
        let words = &program.dispatches[0].spirv;
        let first = bytes.windows(words.len()).position(|w| w == words).expect("they are there");
        for seed in 0..8 * SEEDS {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut bytes = bytes.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(0..bytes.len() - words.len());
                let at = if at < first { at } else { at + words.len() };
                match rng.u8(0..4) {
                    0 => bytes[at] = rng.u8(..),
                    1 => bytes[at] = bytes[at].wrapping_add(1),
                    _ => bytes[at] ^= 1 << rng.u8(0..8),
                }
            }
            let done = catch_unwind(AssertUnwindSafe(|| {
                let Ok(kernel) = Program::decode(&bytes).map_err(drop).and_then(|p| load(&device, vec![p]).map_err(drop)) else {
                    return false;
                };
                loaded += 1;
                let x = device.upload([3], &[1.0f32, 2.0, 3.0]).expect("uploads").into_any();
                let mut y = device.zeros::<f32>([3]).expect("allocates").into_any();
                let done = match n % 2 {
                    0 => kernel.run(args(&x, &y, 2.0)),
                    _ => kernel.run([Argument::from(&x), (&mut y).into(), 2.0f32.into()]),
                };
                done.is_ok_and(|outputs| outputs.iter().all(|tensor| tensor.download::<f32>().is_ok()))
            }));
            ran += u64::from(done.unwrap_or_else(|_| panic!("program {n} panics, with seed {seed}")));
        }
    }
    assert!(loaded > 100 && ran > 100, "{loaded} were loaded, and {ran} ran");
}

/// A dispatch and its arguments, for small sizes.
struct Subject {
    name: String,
    dispatch: Dispatch,
    subgroup: u32,
    constants: Vec<u32>,
    buffers: Vec<Memory>,
    /// For each buffer, its size in bytes, the size of an element in bytes, and whether it is written.
    tensors: Vec<(u64, u32, bool)>,
    groups: [u32; 3],
    params: Vec<u8>,
}

/// The outcome of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Faulty,
    Ran,
}

impl Subject {
    /// Returns the dispatches of a program, at the first sizes that it takes, or none if no such sizes are found.
    fn all(program: &Program) -> Vec<Subject> {
        let tried = (0..SIZES.len() * SIZES.len()).map(|n| dims(program, n));
        let Some(dims) = tried.into_iter().find(|dims| admits(program, dims)) else { return Vec::new() };
        let eval = |size: &Size| size.eval(&dims).unwrap_or_default();
        let words = |size: &Size| eval(size) as i32 as u32;
        let bytes = |tensor: &Tensor| {
            let shape: Vec<usize> = tensor.shape.iter().map(|s| eval(s) as usize).collect();
            let laid = tensor.layout.as_ref().and_then(|l| l.memory(&shape)).unwrap_or(shape);
            laid.iter().product::<usize>() as u64 * u64::from(tensor.dtype.bytes())
        };
        let one = |dispatch: &Dispatch| {
            let used: Vec<_> = dispatch.buffers.iter().map(|u| (u, &program.tensors[u.tensor as usize])).collect();
            let buffers: Vec<Memory> = used.iter().map(|(_, t)| Memory::new(bytes(t).max(16)).expect("memory")).collect();
            for (memory, (used, tensor)) in buffers.iter().zip(&used) {
                // An earlier dispatch has written the results that this one reads.
                if tensor.role != Role::Output || !used.writes {
                    memory.clear(bytes(tensor));
                }
            }
            let mut params = vec![0; dispatch.param_bytes as usize];
            for param in &dispatch.params {
                let at = param.offset as usize;
                let value = match &param.value {
                    ParamValue::Address(t) => {
                        let n = dispatch.buffers.iter().position(|u| u.tensor == *t).expect("it is used");
                        address(n).to_le_bytes().to_vec()
                    }
                    ParamValue::Size(size) => words(size).to_le_bytes().to_vec(),
                    ParamValue::Scalar(_) => 1.0f32.to_le_bytes().to_vec(),
                    ParamValue::GroupBase(_) => vec![0; 4],
                };
                params[at..at + value.len()].copy_from_slice(&value);
            }
            Subject {
                name: format!("{}/{}/{}", program.kernel, program.variant, dispatch.name),
                subgroup: program.requires.subgroup.unwrap_or(16),
                constants: dispatch.constants.iter().map(words).collect(),
                tensors: used.iter().map(|(u, t)| (bytes(t), t.dtype.bytes(), u.writes)).collect(),
                groups: dispatch.grid.each_ref().map(|size| eval(size).clamp(0, 4) as u32),
                dispatch: dispatch.clone(),
                buffers,
                params,
            }
        };
        program.dispatches.iter().map(one).collect()
    }

    /// Returns the words of the SPIR-V module.
    fn words(&self) -> Vec<u32> {
        self.dispatch.spirv.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    }

    /// Runs these words instead.
    fn run(&self, words: &[u32]) -> Outcome {
        let spirv = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let dispatch = Dispatch { spirv, ..self.dispatch.clone() };
        let Ok(kernel) = Kernel::specialized(&dispatch, self.subgroup, &self.constants) else { return Outcome::Refused };
        let buffer = |(memory, (bytes, element, writes)): (_, &(u64, u32, bool))| Buffer {
            memory,
            at: 0,
            bytes: *bytes,
            steps: &[],
            name: "x",
            element: *element,
            reads: true,
            writes: *writes,
        };
        let buffers: Vec<Buffer<'_>> = self.buffers.iter().zip(&self.tensors).map(buffer).collect();
        let pieces = [Piece { groups: self.groups, params: &self.params }];
        match kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget: BUDGET, deadline: None }) {
            Ok(_) => Outcome::Ran,
            Err(_) => Outcome::Faulty,
        }
    }

    /// Adds checks to these words.
    fn check(&self, words: &[u32]) -> Result<Checked, DecodeError> {
        let spirv = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Checked::new(&Dispatch { spirv, ..self.dispatch.clone() }, self.subgroup, &self.constants, true)
    }

    /// Adds checks to damaged words. Returns false if this panics.
    fn check_damaged(&self, seed: u64) -> bool {
        let words = damaged(&self.words(), &mut fastrand::Rng::with_seed(seed));
        catch_unwind(AssertUnwindSafe(|| drop(self.check(&words)))).is_ok()
    }

    /// Runs damaged words. Returns `None` if this panics.
    fn run_damaged(&self, seed: u64) -> Option<Outcome> {
        let words = damaged(&self.words(), &mut fastrand::Rng::with_seed(seed));
        catch_unwind(AssertUnwindSafe(|| self.run(&words))).ok()
    }
}

/// The sizes that are tried, for all symbolic dims at once or in turn. Schedules need multiples of powers of two.
const SIZES: [i64; 9] = [4, 3, 8, 16, 32, 64, 128, 1024, 1];

/// Returns the `n`th values that are tried for a program's dims.
fn dims(program: &Program, n: usize) -> Vec<i64> {
    let mut dims = vec![0; program.dims.len()];
    for at in 0..dims.len() {
        dims[at] = match &program.dims[at].derived {
            Some(derived) => derived.eval(&dims).unwrap_or(-1),
            None => SIZES[(n + n / SIZES.len() * at) % SIZES.len()],
        };
        if let Some(value) = program.facts.iter().find_map(|fact| fact.condition.equates(at)) {
            dims[at] = value;
        }
    }
    dims
}

/// Returns true if a launch with these dims is accepted, and small.
fn admits(program: &Program, dims: &[i64]) -> bool {
    let holds = |fact: &Fact| fact.condition.holds_of_sizes(dims);
    let elements = |tensor: &Tensor| tensor.shape.iter().try_fold(1i64, |n, size| n.checked_mul(size.eval(dims)?));
    let small = |tensor| elements(tensor).is_some_and(|n| (0..1 << 16).contains(&n));
    dims.iter().all(|dim| *dim >= 0) && program.tensors.iter().all(small) && program.facts.iter().all(holds)
}

/// Returns words with some damage: changed bits and words, instructions that are missing, duplicated or moved, or an early end.
fn damaged(words: &[u32], rng: &mut fastrand::Rng) -> Vec<u32> {
    let mut words = words.to_vec();
    // Mostly once, because in heavily damaged words most of the damage is never reached.
    for _ in 0..[1, 1, 1, 2, 4][rng.usize(0..5)] {
        if words.len() < 7 {
            break;
        }
        let at = rng.usize(5..words.len());
        let other = words[rng.usize(5..words.len())];
        match rng.u8(0..16) {
            0..3 => words[at] ^= 1 << rng.u32(0..32),
            3 => words[at] = rng.u32(..),
            4 => words[at] = rng.u32(0..64),
            5 => words[at] = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX][rng.usize(0..5)],
            6 | 7 => words[at] = other,
            8 => words[at] = words[at].wrapping_add(1),
            9 => words[rng.usize(0..5)] = rng.u32(..) >> rng.u32(0..32),
            10 if rng.u8(0..4) == 0 => words.truncate(at.max(6)),
            // Ids with nearby numbers often have the same type.
            10..14 => words[at] = words[at].wrapping_add(rng.u32(0..17)).wrapping_sub(8),
            _ => moved(&mut words, rng),
        }
    }
    words
}

/// Removes an instruction, or replaces it with another, or inserts another beside it.
fn moved(words: &mut Vec<u32>, rng: &mut fastrand::Rng) {
    let (mut places, mut at) = (Vec::new(), 5);
    while at < words.len() {
        let end = at + (words[at] >> 16).max(1) as usize;
        places.push(at..end.min(words.len()));
        at = end;
    }
    if places.is_empty() {
        return;
    }
    let (a, b) = (places[rng.usize(0..places.len())].clone(), places[rng.usize(0..places.len())].clone());
    let other = words[b].to_vec();
    match rng.u8(0..3) {
        0 => drop(words.splice(a, [])),
        1 => drop(words.splice(a, other)),
        _ => drop(words.splice(a.start..a.start, other)),
    }
}
