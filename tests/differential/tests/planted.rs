//! Faults that are planted into right modules, word by word, as a wrong emitter would write them. Exact arithmetic must refute each that
//! changes a value. A fault changes a value if random floats show it by far, so this decision does not depend on exact arithmetic.
//!
//! One of twelve faults is planted. `TILEWRIGHT_PLANTED=1` plants all of them, 3,400, in a few minutes.

#![allow(clippy::print_stdout, reason = "the table is for a reader")]

use std::collections::BTreeMap;
use std::time::Duration;
use tilewright::exact::Rational;
use tilewright::{Device, Error, Options};
use tilewright_check::{Fill, Inputs, wanted};
use tilewright_differential::compile::{self, Variant};
use tilewright_differential::mutants::{SHARED, Sizes};
use tilewright_dsl::launch;
use tilewright_dsl::profile::Profile;
use tilewright_prove::launch::{inputs, launch as launched};
use tilewright_prove::{Outcome, Subject, run, run_with};

/// Kernels with a rectifier, a transform with rational constants, and an online state, each with a schedule and sizes.
const MORE: [(&str, &str, Sizes); 3] = [
    (
        "fn dense<M, N, K>(a: f32[M, K], b: f32[K, N], c: f32[N]) -> y: f32[M, N] {
            y[i, j] = (sum(k in 0..K) { a[i, k] * b[k, j] } * 0.5 + c[j]).max(0.0);
        }",
        "V: dense for p {
            tile(i: 4, j: 8) => workgroup(y, x);
            distribute(i, j => thread(y, x));
            split(k, [_, 4] => k_o, k);
            unroll(k);
        }",
        &[("M", 7), ("N", 13), ("K", 9)],
    ),
    (
        "fn conv<H, W, C, F>(x: f32[H, W, C], w: f32[3, 3, C, F]) -> y: f32[H - 2, W - 2, F] where H >= 3, W >= 3 {
            y[i, j, f] = sum(a in 0..3, b in 0..3, c in 0..C) { x[i + a, j + b, c] * w[a, b, c, f] };
        }",
        "V: conv for p where C <= 16 { decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-4); }",
        &[("H", 11), ("W", 8), ("C", 3), ("F", 2)],
    ),
    (
        "fn softmax<M, N>(x: f32[M, N]) -> y: f32[M, N] {
            let largest[i]: f32[M] = max(j in 0..N) { x[i, j] };
            let total[i]: f32[M] = sum(j in 0..N) { (x[i, j] - largest[i]).exp() };
            y[i, j] = (x[i, j] - largest[i]).exp() / total[i];
        }",
        "V: softmax for p { decompose_online(largest, total); }",
        &[("M", 5), ("N", 37)],
    ),
];

/// The numbers of the instructions that faults replace.
mod op {
    pub(super) const NOP: u32 = 0;
    pub(super) const EXT_INST: u32 = 12;
    pub(super) const CONSTANT: u32 = 43;
    pub(super) const STORE: u32 = 62;
    pub(super) const COPY_OBJECT: u32 = 83;
    pub(super) const I_ADD: u32 = 128;
    pub(super) const F_ADD: u32 = 129;
    pub(super) const I_SUB: u32 = 130;
    pub(super) const F_SUB: u32 = 131;
    pub(super) const I_MUL: u32 = 132;
    pub(super) const F_MUL: u32 = 133;
    pub(super) const F_DIV: u32 = 136;
    pub(super) const SELECT: u32 = 169;
    pub(super) const CONTROL_BARRIER: u32 = 224;
    pub(super) const BRANCH_CONDITIONAL: u32 = 250;
    pub(super) const FLOAT: u32 = 22;
    pub(super) const EXP: u32 = 27;
    pub(super) const EXP2: u32 = 29;
    pub(super) const FMA: u32 = 50;
    pub(super) const N_MIN: u32 = 79;
    pub(super) const N_MAX: u32 = 80;
}

/// A module with one fault.
pub(super) struct Planted {
    pub(super) kind: &'static str,
    pub(super) words: Vec<u32>,
}

/// Returns all faults of a module, each by itself.
pub(super) fn planted(words: &[u32]) -> Vec<Planted> {
    let mut all = Vec::new();
    let mut floats = Vec::new();
    let mut at = 5;
    while at < words.len() {
        let (count, code) = ((words[at] >> 16) as usize, words[at] & 0xffff);
        let inst = &words[at..at + count];
        if code == op::FLOAT {
            floats.push(inst[1]);
        }
        let mut plant = |kind, new: &[u32]| {
            let mut words = words.to_vec();
            words[at..at + count].copy_from_slice(new);
            all.push(Planted { kind, words });
        };
        let other = |code: u32| [&[(count as u32) << 16 | code], &inst[1..]].concat();
        let swapped = |a: usize, b: usize| {
            let mut new = inst.to_vec();
            new.swap(a, b);
            new
        };
        // The operand takes the place of the result; the words that are left over do nothing.
        let operand = |from: usize| {
            let copy = [4 << 16 | op::COPY_OBJECT, inst[1], inst[2], inst[from]];
            [&copy[..], &vec![1 << 16 | op::NOP; count - 4]].concat()
        };
        match code {
            op::F_ADD => plant("a sum becomes a difference", &other(op::F_SUB)),
            op::F_SUB => {
                plant("a difference becomes a sum", &other(op::F_ADD));
                plant("a difference is turned round", &swapped(3, 4));
            }
            op::F_MUL => {
                plant("a product becomes a sum", &other(op::F_ADD));
                plant("a factor is dropped", &operand(3));
                plant("the other factor is dropped", &operand(4));
            }
            op::F_DIV => plant("a quotient becomes a product", &other(op::F_MUL)),
            op::I_ADD => plant("an index is added with another sign", &other(op::I_SUB)),
            op::I_MUL => plant("a stride is added", &other(op::I_ADD)),
            op::SELECT => plant("a selection is turned round", &swapped(4, 5)),
            op::STORE => plant("a store is dropped", &vec![1 << 16 | op::NOP; count]),
            op::CONTROL_BARRIER => plant("a barrier is dropped", &vec![1 << 16 | op::NOP; count]),
            op::BRANCH_CONDITIONAL => plant("a branch is turned round", &swapped(2, 3)),
            op::CONSTANT if floats.contains(&inst[1]) => {
                plant("a constant is one step too large", &[inst[0], inst[1], inst[2], inst[3] + 1]);
            }
            op::CONSTANT if count == 4 => {
                plant("an integer is one too large", &[inst[0], inst[1], inst[2], inst[3].wrapping_add(1)])
            }
            op::EXT_INST => match inst[4] {
                op::FMA => {
                    plant("a product is not accumulated", &operand(7));
                    plant("an accumulator is dropped", &swapped(6, 7));
                }
                op::N_MAX => {
                    plant("a maximum becomes a minimum", &[&inst[..4], &[op::N_MIN], &inst[5..]].concat());
                    plant("a maximum is dropped", &operand(5));
                }
                op::EXP => plant("an exponential has another base", &[&inst[..4], &[op::EXP2], &inst[5..]].concat()),
                _ => {}
            },
            _ => {}
        }
        at += count.max(1);
    }
    all
}

/// Returns a program in which one dispatch has other words.
pub(super) fn with_words(program: &launch::Program, dispatch: usize, words: &[u32]) -> launch::Program {
    let mut program = program.clone();
    program.dispatches[dispatch].spirv = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    program
}

/// Returns true if random floats show by far that a program computes other values, and `None` if it cannot be run, or runs too long.
fn changes_a_value(variant: &Variant, program: &launch::Program, inputs: &Inputs, device: &Device) -> Option<bool> {
    let wanted = wanted(&variant.algorithm, variant.decomposed.as_ref(), &inputs.given).expect("the evaluation");
    // SAFETY: the reference device checks each access.
    let kernel = unsafe { device.load_programs(vec![program.clone()]) }.ok()?;
    let results = match launched(&kernel, program, &variant.algorithm, inputs) {
        Ok(results) => results,
        Err(Error::Fault { .. } | Error::Unwritten { .. }) => return Some(true),
        Err(_) => return None,
    };
    let differs = |(id, values): &(_, Vec<_>)| {
        let wanted: &tilewright_dsl::algorithm::evaluate::Tensor = &wanted[id];
        wanted.values.iter().zip(values).any(|(wanted, got)| {
            let (wanted, got): (f64, f64) = (wanted.number(), tilewright_dsl::algorithm::evaluate::Value::number(*got));
            let apart = (wanted - got).abs();
            apart.is_nan() || apart > 1e-2 * wanted.abs().max(1e-2)
        })
    };
    Some(results.iter().any(differs))
}

/// Runs a program in up to three fields, until one refutes it. A choice can be right by chance in one of them.
fn judged(variant: &Variant, program: &launch::Program, inputs: &Inputs) -> Outcome {
    let subject = subject(variant, program);
    let mut last = Outcome::Equal;
    for seed in 1..=3 {
        match run_with(&subject, inputs.clone(), seed).expect("the evaluation").outcome {
            refuted @ (Outcome::Different { .. } | Outcome::Fault(_)) => return refuted,
            Outcome::Equal => {}
            not_shown @ Outcome::NotShown(_) => last = not_shown,
        }
    }
    last
}

fn subject<'a>(variant: &'a Variant, program: &'a launch::Program) -> Subject<'a> {
    Subject::new(program, &variant.algorithm, vec![&variant.nest])
}

/// A pair of a kernel and a schedule, compiled, and its inputs.
pub(super) fn subjects() -> impl Iterator<Item = (Variant, Inputs, Sizes)> {
    SHARED.iter().chain(&MORE).map(|(kernel, schedule, sizes)| {
        let profile = if schedule.contains("mma(") { Profile::mesa_lavapipe_26() } else { Profile::mesa_lavapipe() };
        let variant = compile::variant(kernel, schedule, &profile).unwrap_or_else(|refusal| panic!("{}", refusal.text));
        let random = &mut fastrand::Rng::with_seed(3);
        let inputs = inputs(&variant.algorithm, sizes, &[], &|_| Fill::Small, random).expect("shapes");
        (variant, inputs, *sizes)
    })
}

#[test]
fn every_fault_that_changes_a_value_is_refuted() {
    let options = Options::new().device("reference").timeout(Some(Duration::from_secs(1)));
    let device = options.open().expect("the reference device");
    let every =
        std::env::var("TILEWRIGHT_PLANTED").map_or(12, |every| every.parse().expect("TILEWRIGHT_PLANTED is a whole number"));
    let mut table: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut missed = Vec::new();
    for (variant, inputs, _) in subjects() {
        assert_eq!(judged(&variant, &variant.program, &inputs), Outcome::Equal, "{} is right", variant.program.kernel);
        for (n, dispatch) in variant.program.dispatches.iter().enumerate() {
            let words: Vec<u32> = dispatch.spirv.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            for fault in planted(&words).into_iter().step_by(every) {
                let program = with_words(&variant.program, n, &fault.words);
                let Some(changes) = changes_a_value(&variant, &program, &inputs, &device) else { continue };
                let row = table.entry(fault.kind).or_default();
                match (judged(&variant, &program, &inputs), changes) {
                    (Outcome::Different { .. } | Outcome::Fault(_), changes) => row[if changes { 0 } else { 2 }] += 1,
                    (Outcome::NotShown(_), true) => row[1] += 1,
                    (Outcome::NotShown(_), false) => {}
                    (Outcome::Equal, false) => {}
                    (Outcome::Equal, true) => missed.push(format!("{}, dispatch {n}: {}", variant.program.kernel, fault.kind)),
                }
            }
        }
    }
    for (kind, [refuted, not_shown, only_exact]) in &table {
        println!("{kind:40} {refuted:4} refuted, {not_shown:2} not shown, {only_exact:3} refuted although floats show them hardly");
    }
    assert!(missed.is_empty(), "{} change a value and are taken for equal:\n{}", missed.len(), missed.join("\n"));
    let [refuted, not_shown] = [0, 1].map(|column| table.values().map(|row| row[column]).sum::<usize>());
    assert!(refuted >= 200 && not_shown * 100 < refuted, "{refuted} faults are refuted, {not_shown} are not shown");
}

/// A constant of a transform that is wrong in the word or in the table of rationals.
#[test]
fn a_wrong_constant_of_a_transform_is_refuted() {
    let (variant, _, sizes) = subjects().find(|(variant, ..)| variant.algorithm.name == "conv").expect("the convolution");
    let dims = sizes.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let right = subject(&variant, &variant.program);
    assert!(right.rationals.len() >= 2, "F(4, 3) has rational constants: {:?}", right.rationals);
    assert_eq!(run(&right, &dims, 1).expect("it runs").outcome, Outcome::Equal);
    for at in 0..right.rationals.len() {
        let rational = right.rationals[at];
        // One more unit in a small numerator is not the number that the bits are rounded from.
        let mut table = subject(&variant, &variant.program);
        table.rationals[at] = Rational { numerator: rational.numerator + 1, ..rational };
        run(&table, &dims, 1).expect_err("the constant is not this number");
        // Without the table, the constant is the rounded number.
        let mut table = subject(&variant, &variant.program);
        table.rationals.remove(at);
        let outcome = run(&table, &dims, 1).expect("it runs").outcome;
        assert!(matches!(outcome, Outcome::Different { .. }), "{rational:?}: {outcome:?}");
    }
}
