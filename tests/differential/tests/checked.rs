//! Kernels that check their own accesses on a Vulkan device must report the faults that the reference device reports. The faults are
//! planted into right modules, word by word.

#![allow(clippy::print_stdout, reason = "the counts are for a reader")]

use crate::planted::{planted, subjects, with_words};
use std::collections::BTreeMap;
use std::time::Duration;
use tilewright::{Checks, Device, DynKernel, Error, Options};
use tilewright_check::Inputs;
use tilewright_differential::compile::Variant;
use tilewright_dsl::launch::Program;
use tilewright_prove::launch::launch;
use tilewright_reference::{Fault, FaultKind, Space};

/// One of this many planted faults is tried, and one of this many that do no harm is run on Vulkan.
const EVERY: usize = 6;
const EVERY_HARMLESS: usize = 16;

/// Faults that can make a loop endless. The reference device stops at the first access out of bounds, but a driver runs on.
const ENDLESS: [&str; 2] = ["an index is added with another sign", "a branch is turned round"];

/// The fault that only causes races.
const BARRIER: &str = "a barrier is dropped";

/// The verdict of a device on a launch. If there are several faults, each device may report another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    /// An access out of bounds.
    Outside,
    /// A race in a shared array.
    Race,
    /// Any other, which only the reference device gives.
    Other,
}

impl Verdict {
    fn is_fault(self) -> bool {
        matches!(self, Verdict::Outside | Verdict::Race)
    }
}

fn verdict(program: &Program, variant: &Variant, inputs: &Inputs, device: &Device) -> Verdict {
    // SAFETY: the reference device checks each access, and on other devices the module does.
    let loaded: tilewright::Result<DynKernel> = unsafe { device.load_programs(vec![program.clone()]) };
    let Ok(kernel) = loaded else { return Verdict::Other };
    match launch(&kernel, program, &variant.algorithm, inputs) {
        Ok(_) | Err(Error::Unwritten { .. }) => Verdict::Right,
        Err(Error::Fault { fault, .. }) => of_fault(&fault),
        Err(_) => Verdict::Other,
    }
}

fn of_fault(fault: &Fault) -> Verdict {
    match &fault.kind {
        FaultKind::OutOfBounds { .. } => Verdict::Outside,
        FaultKind::Race { at, .. } if at.of.space == Space::Shared => Verdict::Race,
        _ => Verdict::Other,
    }
}

#[test]
fn checked_kernels_report_what_the_reference_device_reports() {
    let reference = Options::new().device("reference").timeout(Some(Duration::from_secs(1))).open().expect("the reference device");
    let options = Options::from_env().expect("the environment is right").cache(None).timeout(Some(Duration::from_secs(60)));
    let checked = options.checks(Checks::All).open().expect("a Vulkan device");
    let (mut counts, mut wrong): (BTreeMap<String, usize>, Vec<String>) = (BTreeMap::new(), Vec::new());
    for (variant, inputs, _) in subjects() {
        let program = &variant.program;
        // SAFETY: the compiler made the program.
        match unsafe { checked.load_programs(vec![program.clone()]) } {
            Err(Error::Unsupported { .. }) => continue,
            loaded => drop(loaded.expect("it loads")),
        }
        assert_eq!(verdict(program, &variant, &inputs, &checked), Verdict::Right, "`{}` is right", program.kernel);
        for (n, dispatch) in program.dispatches.iter().enumerate() {
            let words: Vec<u32> = dispatch.spirv.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            let barriers = planted(&words).into_iter().filter(|fault| fault.kind == BARRIER);
            let others = planted(&words).into_iter().filter(|fault| !ENDLESS.contains(&fault.kind)).step_by(EVERY);
            for fault in others.chain(barriers) {
                let program = with_words(program, n, &fault.words);
                let wanted = verdict(&program, &variant, &inputs, &reference);
                let count = counts.entry(format!("{wanted:?}")).or_default();
                *count += 1;
                if wanted == Verdict::Other || wanted == Verdict::Right && *count % EVERY_HARMLESS > 0 {
                    continue;
                }
                let got = verdict(&program, &variant, &inputs, &checked);
                // A module with an access out of bounds can have races, too.
                let is_like = got == wanted || fault.kind != BARRIER && got.is_fault() && wanted.is_fault();
                if !is_like {
                    wrong.push(format!("`{}`, dispatch {n}, {}: {got:?}, not {wanted:?}", program.kernel, fault.kind));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{counts:?}:\n{}", wrong.join("\n"));
    println!("{counts:?}");
    let enough = [("Right", 200), ("Outside", 10), ("Race", 8)];
    assert!(enough.iter().all(|(kind, least)| counts.get(*kind).is_some_and(|n| n >= least)), "{counts:?}");
}
