//! Runs the formulas on the host as the least precise devices that Vulkan allows would run them. Products and sums are fused or not,
//! subnormal numbers are kept or flushed, and `exp`, `exp2`, roots and quotients have the largest error that is allowed.

use smallvec::SmallVec;
use tilewright_codegen::formulas::{Formula, FormulaStep, Instruction, Part, function_of};
use tilewright_codegen::values::Op as ValueOp;
use tilewright_dsl::algorithm::evaluate::Float;
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::DType;

/// A device, with the freedoms that Vulkan leaves it.
#[derive(Clone, Copy, Debug)]
struct Device {
    fuses: bool,
    flushes: bool,
    /// The fraction of the allowed error by which results are off; `None`: a different fraction for each result.
    off: Option<f64>,
}

const DEVICES: [Device; 6] = [
    Device { fuses: true, flushes: false, off: Some(0.0) },
    Device { fuses: false, flushes: true, off: Some(0.0) },
    Device { fuses: true, flushes: true, off: Some(1.0) },
    Device { fuses: false, flushes: false, off: Some(-1.0) },
    Device { fuses: true, flushes: false, off: None },
    Device { fuses: false, flushes: true, off: None },
];

impl Device {
    fn flushed(self, word: u32) -> u32 {
        if self.flushes && f32::from_bits(word).is_subnormal() { word & 0x8000_0000 } else { word }
    }

    /// Returns a result that is off by up to `ulp` units in the last place.
    fn inexact(self, exact: f64, ulp: f64, seed: u32) -> f32 {
        let noise =
            f64::from(seed.wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b)) / f64::from(u32::MAX) * 2.0 - 1.0;
        (exact * (1.0 + self.off.unwrap_or(noise) * ulp * f64::from(f32::EPSILON))) as f32
    }

    fn run(self, formula: &Formula, result: Part, operands: &[u32]) -> f32 {
        let mut words: Vec<u32> = Vec::with_capacity(formula.steps.len());
        for step in &formula.steps {
            let word = match step {
                FormulaStep::Parameter => operands[words.len()],
                FormulaStep::Literal(_, bits) => *bits,
                FormulaStep::Compute(dtype, instruction, of) => {
                    let of: SmallVec<[u32; 3]> = of.iter().map(|part| words[part.index()]).collect();
                    let is_select = matches!(instruction, Instruction::Select | Instruction::Bitcast);
                    match (*dtype == DType::F32 || matches!(instruction, Instruction::Less)) && !is_select {
                        true => {
                            let of: SmallVec<[u32; 3]> = match instruction {
                                Instruction::FromInt => of,
                                _ => of.iter().map(|word| self.flushed(*word)).collect(),
                            };
                            let word = self.float(*instruction, &of);
                            if *dtype == DType::F32 { self.flushed(word) } else { word }
                        }
                        false => word_of(*instruction, &of),
                    }
                }
            };
            words.push(word);
        }
        f32::from_bits(words[result.index()])
    }

    fn float(self, instruction: Instruction, of: &[u32]) -> u32 {
        let x = |n: usize| f32::from_bits(of[n]);
        let wide = |n: usize| f64::from(x(n));
        let seed = of[0] ^ of.get(1).copied().unwrap_or(0).rotate_left(7);
        let result = match instruction {
            Instruction::Add => x(0) + x(1),
            Instruction::Sub => x(0) - x(1),
            Instruction::Mul => x(0) * x(1),
            Instruction::Div => self.inexact(wide(0) / wide(1), 2.5, seed),
            Instruction::Neg => return of[0] ^ 0x8000_0000,
            Instruction::FromInt => of[0] as i32 as f32,
            Instruction::Less => return u32::from(x(0) < x(1)),
            Instruction::MulAdd if self.fuses => x(0).mul_add(x(1), x(2)),
            Instruction::MulAdd => {
                let product = f32::from_bits(self.flushed((x(0) * x(1)).to_bits()));
                product + x(2)
            }
            Instruction::Min => x(0).min(x(1)),
            Instruction::Max => x(0).max(x(1)),
            Instruction::Floor => x(0).floor(),
            Instruction::Trunc => x(0).trunc(),
            Instruction::Exp => self.inexact(wide(0).exp(), 3.0 + 2.0 * wide(0).abs(), seed),
            Instruction::Exp2 => self.inexact(wide(0).exp2(), 3.0 + 2.0 * wide(0).abs(), seed),
            Instruction::InverseSqrt => self.inexact(1.0 / wide(0).sqrt(), 2.0, seed),
            other => panic!("{other:?}"),
        };
        result.to_bits()
    }
}

fn word_of(instruction: Instruction, of: &[u32]) -> u32 {
    let (a, b) = (of[0], of.get(1).copied().unwrap_or(0));
    match instruction {
        Instruction::Bitcast => a,
        Instruction::BitAnd | Instruction::Both => a & b,
        Instruction::BitOr | Instruction::Either => a | b,
        Instruction::BitXor => a ^ b,
        Instruction::IntAdd => a.wrapping_add(b),
        Instruction::IntSub => a.wrapping_sub(b),
        Instruction::ShiftLeft => a << b,
        Instruction::ShiftRight => ((a as i32) >> b) as u32,
        Instruction::ToInt => {
            let value = f32::from_bits(a);
            assert!(value.abs() < 2e9, "the integer of {value} is not defined");
            value as i32 as u32
        }
        Instruction::IntEqual | Instruction::Agree => u32::from(a == b),
        Instruction::IntGreater => u32::from(a > b),
        Instruction::Not => 1 - a,
        Instruction::Select => {
            if a != 0 {
                b
            } else {
                of[2]
            }
        }
        op => panic!("{op:?}"),
    }
}

/// Operands of one function: over the whole range, and near the boundaries between formulas.
fn operands() -> Vec<f32> {
    let special = [0.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE, 1e-40, 1e-45, 1.0, 0.5, 2.0];
    let spread = (0..2500u32).map(|n| f32::from_bits(n * (0x7f80_0000 / 2500) + n % 977));
    let near = [
        0.015_625f32,
        0.25,
        0.5,
        0.6,
        0.90625,
        1.0,
        1.57,
        std::f32::consts::PI,
        8.0,
        10.0,
        88.7,
        89.4,
        100.0,
        4096.0,
        8192.0,
        8_388_608.0,
    ];
    let near = near.into_iter().flat_map(|x| (0..80u32).map(move |n| f32::from_bits(x.to_bits() - 40 + n)));
    let even = (0..1500).map(|n| n as f32 * 0.008);
    let all: Vec<f32> = special.into_iter().chain(spread).chain(near).chain(even).collect();
    all.iter().flat_map(|x| [*x, -x]).collect()
}

/// Compares a function with its value in f64, on every device. If the device may flush an operand, the value at 0 is accepted too.
fn check(op: ValueOp, operands: impl Iterator<Item = [f32; 2]>) {
    let function = function_of(op).expect("a function");
    let (formula, result) = function.formula();
    let at = |x: [f32; 2]| {
        let [a, b] = x.map(|x| Float::exact(x.into()));
        match op {
            ValueOp::Unary(op) => a.unary(op, DType::F32),
            ValueOp::Binary(op) => a.binary(op, b, DType::F32),
            _ => panic!("{op:?}"),
        }
    };
    for x in operands {
        let wanted = at(x);
        let flushed = x.map(|x| if x.is_subnormal() { 0.0f32.copysign(x) } else { x });
        for device in DEVICES {
            let got = f64::from(device.run(&formula, result, &x.map(f32::to_bits)));
            let fits = |w: Float| {
                let same = w.value == got || w.value.is_nan() && got.is_nan();
                w.error == f64::INFINITY || same || (w.value - got).abs() <= w.error
            };
            let is_right = fits(wanted) || x != flushed && fits(at(flushed));
            let (name, value, error) = (function.name, wanted.value, wanted.error);
            assert!(is_right, "{name} of {x:?} on {device:?}: {got:e}, which should be {value:e} within {error:e}");
        }
    }
}

#[test]
fn functions_of_one() {
    use Unary::*;
    for op in [Round, ExpM1, Ln, Log2, Log10, Ln1p, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf] {
        check(ValueOp::Unary(op), operands().into_iter().map(|x| [x, 0.0]));
    }
}

/// Pairs of special values, and pairs at random.
fn pairs() -> Vec<[f32; 2]> {
    let sizes =
        [0.0, 1.0, f32::INFINITY, f32::NAN, 2.0, 3.0, 0.5, 1.5, 1e-40, 1e-30, 1e30, f32::MAX, 16_777_216.0, 0.999_999_94, 7.0];
    let all: Vec<f32> = sizes.into_iter().flat_map(|x: f32| [x, -x]).collect();
    let special = all.iter().flat_map(|a| all.iter().map(|b| [*a, *b]));
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits(state.rotate_left(9))
    };
    let wild = (0..2000).map(|_| [next(), next()]);
    let wild: Vec<[f32; 2]> = wild.collect();
    let mut unit = || (next().to_bits() >> 8) as f32 / 16_777_216.0;
    let tame = (0..3000).map(|_| [unit() * 4.0, unit() * 200.0 - 100.0]);
    special.chain(wild).chain(tame).collect()
}

#[test]
fn functions_of_two() {
    for op in [Binary::Pow, Binary::Atan2, Binary::Rem, Binary::RemEuclid, Binary::DivEuclid] {
        check(ValueOp::Binary(op), pairs().into_iter());
    }
}

/// Powers of ten have exact logarithms.
#[test]
fn logarithms_of_powers_of_ten() {
    let (formula, result) = function_of(ValueOp::Unary(Unary::Log10)).expect("a function").formula();
    for device in DEVICES {
        for n in 0..=10i16 {
            let got = device.run(&formula, result, &[10f32.powi(n.into()).to_bits()]);
            assert_eq!(got.to_bits(), f32::from(n).to_bits(), "the logarithm of 1e{n} on {device:?}");
        }
    }
}

/// The quotients of numbers and their products with integers, which are exact.
#[test]
fn quotients_of_multiples() {
    let formulas = [Binary::DivEuclid, Binary::RemEuclid].map(|op| function_of(ValueOp::Binary(op)).expect("a function").formula());
    for device in DEVICES {
        for n in (1..1 << 12).chain([(1 << 20) - 1]) {
            for y in [3.0f32, 0.1, 7e-20, 1e25] {
                // The upper bits of a divisor, so that its product is exact.
                let y = f32::from_bits(y.to_bits() & 0xffff_f000);
                let x = y * n as f32;
                for (x, y) in
                    [(x, y), (-x, y), (x, -y), (-x, -y)].into_iter().filter(|_| f64::from(y) * f64::from(n) == f64::from(x))
                {
                    let [quotient, rest] = [0, 1].map(|k| device.run(&formulas[k].0, formulas[k].1, &[x.to_bits(), y.to_bits()]));
                    assert_eq!((quotient, rest.abs()), (x / y, 0.0), "{x:e} and {y:e} on {device:?}");
                }
            }
        }
    }
}
