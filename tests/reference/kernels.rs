//! Compiled kernels on the reference device: the compiler's output causes no fault, and the same without a barrier does.

use super::support::{load, numbers};
use super::{reference, unwritten};
use tilewright::Error;
use tilewright_dsl::launch::Program;
use tilewright_dsl::profile::Profile;
use tilewright_nests::SharedMatmul;

/// Returns a matrix product that uses tiles in shared memory.
fn product() -> Program {
    let profile = Profile::mesa_lavapipe();
    tilewright_spirv::compile(&SharedMatmul::symbolic().program(), &profile, "TILES")
        .unwrap_or_else(|e| panic!("{}", e.texts(&Default::default())))
}

/// Runs the product and checks its result.
fn run(program: Program, [m, n, k]: [usize; 3]) -> tilewright::Result<()> {
    let device = reference();
    let (a, b) = (numbers(m * k, 30), numbers(k * n, 31));
    let (da, db) = (device.upload([m, k], &a)?, device.upload([k, n], &b)?);
    let outputs = load(&device, vec![program])?.run([(&da).into(), (&db).into()])?;
    let got = outputs[0].download::<f32>()?;
    for (at, got) in got.iter().enumerate() {
        let (i, j) = (at / n, at % n);
        let terms = || (0..k).map(|x| f64::from(a[i * k + x]) * f64::from(b[x * n + j]));
        let (want, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
        assert!((f64::from(*got) - want).abs() <= size * 1e-6 + 1e-6, "[{i}, {j}] is {got}, should be {want}");
    }
    Ok(())
}

const NAME: u32 = 5;
const STORE: u32 = 62;
const ACCESS_CHAIN: u32 = 65;
const CONTROL_BARRIER: u32 = 224;

/// Returns the instructions of a module: opcode, first operand and place.
fn instructions(spirv: &[u8]) -> Vec<(u32, u32, std::ops::Range<usize>)> {
    let word = |at: usize| spirv.get(at..at + 4).and_then(|w| w.first_chunk()).map(|w| u32::from_le_bytes(*w));
    let mut list = Vec::new();
    let mut at = 20;
    while let Some(first) = word(at) {
        let end = at + 4 * (first >> 16) as usize;
        list.push((first & 0xffff, word(at + 4).unwrap_or(0), at..end));
        at = end;
    }
    list
}

/// Removes the `which`-th of a module's instructions that match. Returns whether there is one.
fn remove(spirv: &mut Vec<u8>, which: usize, is: impl Fn(u32, u32) -> bool) -> bool {
    let found = instructions(spirv).into_iter().filter(|(op, id, _)| is(*op, *id)).nth(which);
    found.map(|(.., place)| drop(spirv.drain(place))).is_some()
}

/// Returns the access chains into these variables.
fn chains_into(spirv: &[u8], variables: &[u32]) -> Vec<u32> {
    let word = |at: usize| spirv[at..at + 4].first_chunk().map_or(0, |w| u32::from_le_bytes(*w));
    let chains = instructions(spirv).into_iter().filter(|(op, ..)| *op == ACCESS_CHAIN);
    chains.filter(|(.., at)| variables.contains(&word(at.start + 12))).map(|(.., at)| word(at.start + 8)).collect()
}

/// Returns the ids whose names start with `name`.
fn named(spirv: &[u8], name: &str) -> Vec<u32> {
    let is = |place: &std::ops::Range<usize>| spirv[place.start + 8..].starts_with(name.as_bytes());
    instructions(spirv).into_iter().filter(|(op, _, place)| *op == NAME && is(place)).map(|(_, id, _)| id).collect()
}

#[test]
fn a_product_through_shared_memory() {
    for sizes in [[1, 1, 1], [17, 33, 5], [64, 64, 64], [70, 130, 37]] {
        run(product(), sizes).expect("it commits no fault");
    }
}

#[test]
fn each_of_its_barriers_is_needed() {
    let mut removed = 0;
    loop {
        let mut program = product();
        if !remove(&mut program.dispatches[0].spirv, removed, |op, _| op == CONTROL_BARRIER) {
            break;
        }
        let error = run(program, [70, 130, 37]).expect_err("a race");
        assert!(matches!(error, Error::Fault { .. }), "{error}");
        assert!(error.to_string().contains("the shared array"), "{error}");
        assert!(error.to_string().ends_with("too, with no barrier between the two"), "{error}");
        removed += 1;
    }
    assert!(removed >= 2, "there are barriers");
}

#[test]
fn buffers_have_their_names() {
    // Nothing stores to the tile any more.
    let mut program = product();
    let words = &mut program.dispatches[0].spirv;
    assert_eq!([named(words, "a_s").len(), named(words, "acc[").len()], [1, 4], "four vectors of four");
    let tile = named(words, "b_s");
    let chains = chains_into(words, &tile);
    while remove(words, 0, |op, id| op == STORE && chains.contains(&id)) {}
    assert_eq!(
        run(program, [70, 130, 37]).expect_err("it was never copied").to_string(),
        "`matmul/TILES`, dispatch `c`: invocation [0, 0, 0] of workgroup [0, 0, 0] reads the shared array `b_s`[0], which was \
         never written"
    );
    // The third row of registers is not initialized with zeros.
    let mut program = product();
    let words = &mut program.dispatches[0].spirv;
    let row = named(words, "acc[8]");
    assert!(remove(words, 0, |op, id| op == STORE && row.contains(&id)));
    assert_eq!(
        run(program, [70, 130, 37]).expect_err("it is not written").to_string(),
        "`matmul/TILES`, dispatch `c`: invocation [0, 0, 0] of workgroup [0, 0, 0] reads the register `acc`[8], which was never \
         written"
    );
    // A tensor's name comes from the launch program.
    let device = reference();
    let program = product();
    let kernel = load(&device, vec![program]).expect("loads");
    let a = unwritten(&device, 15).reshape([3, 5]).expect("as many elements");
    let b = device.upload([5, 2], &numbers(10, 9)).expect("uploads");
    assert_eq!(
        kernel.run([(&a).into(), (&b).into()]).expect_err("it has no contents").to_string(),
        "`matmul/TILES`, dispatch `c`: invocation [0, 0, 0] of workgroup [0, 0, 0] reads `a`[0], which was never written"
    );
}
