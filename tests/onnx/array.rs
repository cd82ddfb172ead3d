//! Tensors of models.

use crate::proto::Tensor;
use half::{bf16, f16};
use tilewright_dsl::algorithm::evaluate::Value;
use tilewright_launch::DType;

/// A dtype of ONNX that kernels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type(pub DType);

impl Type {
    /// Returns the dtype of a number of `TensorProto.DataType`, if kernels have it.
    pub fn of(number: i32) -> Option<Type> {
        Some(Type(match number {
            1 => DType::F32,
            2 => DType::U8,
            3 => DType::I8,
            4 => DType::U16,
            5 => DType::I16,
            6 => DType::I32,
            9 => DType::Bool,
            10 => DType::F16,
            12 => DType::U32,
            16 => DType::BF16,
            _ => return None,
        }))
    }

    /// True if it has fewer than 32 bits and is computed in 32.
    pub fn is_narrow(self) -> bool {
        self.0.is_narrow()
    }
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Array {
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub values: Vec<Value>,
}

impl Array {
    /// Returns an array of numbers that the dtype has.
    pub fn new(dtype: DType, shape: &[i64], numbers: impl IntoIterator<Item = f64>) -> Array {
        Array { dtype, shape: shape.to_vec(), values: numbers.into_iter().map(|n| Value::of(n, dtype)).collect() }
    }

    /// Reads a tensor, whose elements are little-endian bytes, or lists of numbers or bits.
    pub fn of(tensor: &Tensor) -> Result<Array, String> {
        let Type(dtype) = Type::of(tensor.data_type).ok_or_else(|| format!("type {}", tensor.data_type))?;
        // A bool of ONNX is a byte.
        let bytes = if dtype == DType::Bool { 1 } else { dtype.bytes() as usize };
        let number = |bits: u32| match dtype {
            DType::F32 => f32::from_bits(bits).into(),
            DType::F16 => f16::from_bits(bits as u16).into(),
            DType::BF16 => bf16::from_bits(bits as u16).into(),
            DType::I8 => (bits as i8).into(),
            DType::I16 => (bits as i16).into(),
            DType::I32 => (bits as i32).into(),
            _ => f64::from(bits),
        };
        let of_bytes = |raw: &[u8]| number(raw.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte)));
        let numbers: Vec<f64> = match () {
            () if !tensor.raw.is_empty() => tensor.raw.chunks_exact(bytes).map(of_bytes).collect(),
            () if !tensor.floats.is_empty() => tensor.floats.iter().map(|f| (*f).into()).collect(),
            () => tensor.ints.iter().map(|bits| number(*bits as u32)).collect(),
        };
        let array = Array::new(dtype, &tensor.dims, numbers);
        if array.values.len() as i64 != array.shape.iter().product::<i64>() {
            return Err(format!("{} elements for the shape {:?}", array.values.len(), array.shape));
        }
        Ok(array)
    }

    /// Returns the elements as numbers.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.number()).collect()
    }

    /// Returns the only element.
    pub fn one(&self) -> Result<f64, String> {
        match &self.values[..] {
            [one] => Ok(one.number()),
            values => Err(format!("{} elements instead of one", values.len())),
        }
    }

    /// Returns the same elements in another shape.
    pub fn reshaped(&self, shape: &[i64]) -> Array {
        Array { shape: shape.to_vec(), ..self.clone() }
    }

    /// Checks that all elements are equal. Floats may differ by two units in the last place, for the divisions of a device.
    pub fn must_equal(&self, wanted: &Array) -> Result<(), String> {
        if (self.dtype, &self.shape) != (wanted.dtype, &wanted.shape) {
            return Err(format!("{} {:?} instead of {} {:?}", self.dtype, self.shape, wanted.dtype, wanted.shape));
        }
        let room = if self.dtype.is_float() { 2f64.powi(-22) } else { 0.0 };
        let is_equal =
            |got: f64, wanted: f64| got == wanted || got.is_nan() && wanted.is_nan() || (got - wanted).abs() <= room * wanted.abs();
        let mut pairs = self.numbers().into_iter().zip(wanted.numbers());
        pairs
            .find(|(got, wanted)| !is_equal(*got, *wanted))
            .map_or(Ok(()), |(got, wanted)| Err(format!("{got} instead of {wanted}")))
    }
}
