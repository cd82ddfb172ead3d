//! Compiled kernels on the reference device: what the compiler makes commits no fault, and what it makes less a barrier does.

use super::reference;
use super::support::numbers;
use tilewright::Error;
use tilewright_dsl::launch::Program;
use tilewright_dsl::profile::Profile;
use tilewright_nests::SharedMatmul;

/// A matrix product through tiles in shared memory.
fn product() -> Program {
    let profile = Profile::mesa_lavapipe();
    tilewright_spirv::compile(&SharedMatmul::symbolic().program(), &profile, "TILES")
        .unwrap_or_else(|e| panic!("{}", e.texts(&Default::default())))
}

/// Runs it; whether it is right.
fn run(program: Program, [m, n, k]: [usize; 3]) -> tilewright::Result<()> {
    let device = reference();
    let (a, b) = (numbers(m * k, 30), numbers(k * n, 31));
    let (da, db) = (device.upload([m, k], &a)?, device.upload([k, n], &b)?);
    let outputs = device.load_programs(vec![program])?.run([(&da).into(), (&db).into()])?;
    let got = outputs[0].download::<f32>()?;
    for (at, got) in got.iter().enumerate() {
        let (i, j) = (at / n, at % n);
        let terms = || (0..k).map(|x| f64::from(a[i * k + x]) * f64::from(b[x * n + j]));
        let (want, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
        assert!((f64::from(*got) - want).abs() <= size * 1e-6 + 1e-6, "[{i}, {j}] is {got}, should be {want}");
    }
    Ok(())
}

/// The words of a module without its `which`-th barrier.
fn without_barrier(spirv: &mut Vec<u8>, which: usize) -> bool {
    const CONTROL_BARRIER: u32 = 224;
    let mut at = 20;
    let mut seen = 0;
    while let Some(first) = spirv.get(at..at + 4).and_then(|w| w.first_chunk()).map(|w| u32::from_le_bytes(*w)) {
        let bytes = 4 * (first >> 16) as usize;
        if first & 0xffff == CONTROL_BARRIER {
            if seen == which {
                spirv.drain(at..at + bytes);
                return true;
            }
            seen += 1;
        }
        at += bytes;
    }
    false
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
        if !without_barrier(&mut program.dispatches[0].spirv, removed) {
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
