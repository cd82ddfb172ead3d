//! The inputs of a launch: dims, scalars, and random tensors.

use fastrand::Rng;
use std::collections::HashMap;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, shapes};
use tilewright_dsl::nest::{BufferId, DimId, Program, Space};
use tilewright_launch::{DType, Numbers};

/// The kinds of an input's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Floats in -1..1, integers in -100..=100 as far as their type has them.
    Small,
    /// Integers of all bits, and floats with NaN, infinities and both zeros among them.
    Wild,
    /// Whole numbers in `0..n`: indices.
    Below(i64),
    /// Floats in 1/2..2, for divisors and operands of logarithms.
    Positive,
}

/// The inputs of a launch.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Dims, scalars, tensors.
    pub given: Given,
    /// The shapes of all tensors.
    pub shapes: HashMap<BufferId, Vec<i64>>,
}

impl Inputs {
    /// Returns the inputs for sizes, without the tensors' elements. `scalars` are in the kernel's order, and are rounded to their types.
    ///
    /// # Errors
    /// If a tensor cannot have these sizes, or has more than `most` elements.
    pub fn sized(algorithm: &Program, dims: &[(&str, i64)], scalars: &[f64], most: i64) -> Result<Inputs, String> {
        let mut given = dims.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
        for ((id, scalar), value) in algorithm.scalars.iter().zip(scalars) {
            given.scalars.insert(id, nearest(scalar.dtype, *value));
        }
        let shapes = shapes(algorithm, &given)?;
        let name = |id: &BufferId| &algorithm.buffers[*id].name;
        if let Some((id, shape)) = shapes.iter().find(|(_, shape)| shape.iter().any(|n| *n < 0)) {
            return Err(format!("`{}` has the shape {shape:?}", name(id)));
        }
        let is_large = |shape: &[i64]| elements(shape).is_none_or(|count| count > most);
        if let Some((id, _)) = shapes.iter().find(|(_, shape)| is_large(shape)) {
            return Err(format!("`{}` has more than {most} elements", name(id)));
        }
        Ok(Inputs { given, shapes })
    }

    /// Adds random elements to all tensors of the caller. `fill` returns the fill of a tensor.
    #[must_use]
    pub fn filled(mut self, algorithm: &Program, fill: &dyn Fn(&str) -> Fill, random: &mut Rng) -> Inputs {
        for (id, buffer) in algorithm.buffers.iter().filter(|(_, b)| matches!(b.space, Space::Input | Space::Update)) {
            let shape = self.shapes.get(&id).cloned().unwrap_or_default();
            let count = elements(&shape).unwrap_or(0);
            let values = (0..count).map(|_| value(buffer.dtype, fill(&buffer.name), random)).collect();
            self.given.tensors.insert(id, Tensor { shape, values });
        }
        self
    }

    /// Returns the value of a dim that is an argument. A dim that a fact equates with a literal is not given.
    pub fn dim(&self, algorithm: &Program, id: DimId) -> Option<i64> {
        let literal = || algorithm.exprs.as_int(algorithm.dims[id].derived?);
        self.given.dims.get(&id).copied().or_else(literal)
    }
}

fn elements(shape: &[i64]) -> Option<i64> {
    shape.iter().try_fold(1i64, |n, size| n.checked_mul(*size))
}

/// Returns the value of a type that is nearest to a number.
fn nearest(dtype: DType, number: f64) -> Value {
    Value::of(dtype.from_bits(dtype.to_bits(number)), dtype)
}

/// Returns a random value that is exact in its dtype.
fn value(dtype: DType, fill: Fill, random: &mut Rng) -> Value {
    match dtype.numbers() {
        Numbers::Bool => Value::Bool(random.bool()),
        Numbers::Int { .. } if dtype == DType::I64 && (fill == Fill::Wild || random.u8(..8) == 0) => Value::Int(far(random)),
        Numbers::Int { least, greatest } => Value::Int(match fill {
            Fill::Below(n) => random.i64(0..n.max(1)),
            Fill::Wild => dtype.wrapped(wild([least, greatest], random)),
            Fill::Small | Fill::Positive => random.i64(least.max(-100)..=greatest.min(100)),
        }),
        Numbers::Float(_) => nearest(dtype, float(fill, random)),
    }
}

/// Returns an integer of all bits, or an end of the range, or a number near 0.
fn wild([least, greatest]: [i64; 2], random: &mut Rng) -> i64 {
    let picked = if least < 0 {
        let any = random.i32(..).into();
        random.choice([any, least, greatest, 0, -1, 3])
    } else {
        let any = random.u32(..).into();
        random.choice([any, greatest, 0, 5])
    };
    picked.unwrap_or(0)
}

/// Returns an integer of 64 bits, most often one that does not fit in 32 bits although its low word is a small number.
fn far(random: &mut Rng) -> i64 {
    let near = random.i64(-4..12);
    let base = random.choice([1 << 32, -(1 << 32), 1 << 31, -(1 << 31), 1 << 62, i64::MIN, i64::MAX - 12, 0]).unwrap_or(0);
    base.wrapping_add(near)
}

fn float(fill: Fill, random: &mut Rng) -> f64 {
    const ODD: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -2.5];
    match fill {
        Fill::Below(n) => random.i64(0..n.max(1)) as f64,
        Fill::Wild if random.u8(..4) == 0 => random.choice(ODD).unwrap_or(0.0),
        Fill::Positive => random.f64() * 1.5 + 0.5,
        Fill::Small | Fill::Wild => random.f64() * 2.0 - 1.0,
    }
}
