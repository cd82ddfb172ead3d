//! The inputs of an exact run. The bits of a float that the host writes are the name of a random element, so each float of the inputs
//! gets a name of its own.

use crate::arithmetic::format;
use std::collections::HashMap;
use tilewright::exact::{Element, Field, Format};
use tilewright_check::Inputs;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value};
use tilewright_dsl::nest::Program;
use tilewright_launch::DType;

/// The names that are in use, by format.
#[derive(Default)]
struct Names(HashMap<Format, u32>);

impl Names {
    /// Returns the next name, which is the bits of a finite number other than 0. A 16-bit format has about 63,000 names, which are then
    /// used again.
    fn next(&mut self, dtype: DType) -> u32 {
        let format = format(dtype);
        let (sign, infinity) = match format {
            Format::F32 => (1 << 31, f32::INFINITY.to_bits()),
            Format::F16 => (1 << 15, 0x7c00),
            Format::BF16 => (1 << 15, 0x7f80),
        };
        let count = self.0.entry(format).or_default();
        let name = *count % (2 * (infinity - 1));
        *count += 1;
        let (size, negative) = (1 + name / 2, name % 2 == 1);
        size | if negative { sign } else { 0 }
    }
}

/// Gives each float of some inputs a name of its own. Integers, bools and scalars stay as they are.
pub(crate) fn name(inputs: &mut Inputs, algorithm: &Program) {
    let mut names = Names::default();
    for (id, buffer) in algorithm.buffers.iter().filter(|(_, buffer)| buffer.dtype.is_float()) {
        for value in inputs.given.tensors.get_mut(&id).into_iter().flat_map(|tensor| &mut tensor.values) {
            *value = Value::float(buffer.dtype.from_bits(names.next(buffer.dtype)));
        }
    }
}

/// Returns the arguments in a field.
pub(crate) fn given(field: &Field, inputs: &Inputs, algorithm: &Program) -> Given<Element> {
    let of = |value: &Value, float: &dyn Fn(f64) -> Element| match value {
        Value::Float(f) => Value::Float(float(f.value)),
        Value::Int(i) => Value::Int(*i),
        Value::Bool(b) => Value::Bool(*b),
    };
    // A launch passes every scalar of a float type as an f32.
    let scalar = |number: f64| field.input(Format::F32, (number as f32).to_bits());
    let scalars = inputs.given.scalars.iter().map(|(id, value)| (*id, of(value, &scalar)));
    let tensors = inputs.given.tensors.iter().map(|(id, tensor)| {
        let dtype = algorithm.buffers[*id].dtype;
        let element = |number: f64| field.input(format(dtype), dtype.to_bits(number));
        let values = tensor.values.iter().map(|value| of(value, &element)).collect();
        (*id, Tensor { shape: tensor.shape.clone(), values })
    });
    Given { dims: inputs.given.dims.clone(), scalars: scalars.collect(), tensors: tensors.collect() }
}
