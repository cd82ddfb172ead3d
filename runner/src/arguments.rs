//! Arguments for a program: its shapes for given dims, and tensors of random numbers.

use std::collections::HashMap;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tilewright::Scalar as Number;
use tilewright::{AnyTensor, Argument, DType, Device, DynKernel, Result, bf16, f16};
use tilewright_launch::{Argument as Position, Program, Role, Size, Tensor};

/// Sizes by name.
pub type Sizes = Vec<(String, i64)>;

/// The dims of a launch: the program's, and their values.
pub struct Dims<'a> {
    program: &'a Program,
    values: Vec<i64>,
}

impl<'a> Dims<'a> {
    /// Returns the dims of a program. `known` returns the symbolic ones. Strides are the strides of dense tensors.
    ///
    /// # Errors
    /// Returns the name of a dim without a value.
    pub fn new(program: &'a Program, known: &dyn Fn(&str) -> Option<i64>) -> Result<Dims<'a>, String> {
        let mut values = Vec::new();
        for (n, dim) in program.dims.iter().enumerate() {
            let said = || known(&dim.name).or_else(|| program.facts.iter().find_map(|fact| fact.condition.equates(n)));
            // Only other strides depend on a stride, so it is 0 until they are set.
            let value = match &dim.derived {
                Some(size) => size.eval(&values),
                None if program.is_stride(n) => Some(0),
                None => said(),
            };
            values.push(value.ok_or_else(|| format!("the value of the dim {} is missing", dim.name))?);
        }
        let mut dims = Dims { program, values };
        program.tensors.iter().for_each(|tensor| dims.without_gaps(tensor));
        Ok(dims)
    }

    /// Sets the free strides of a tensor to a dense tensor's strides.
    fn without_gaps(&mut self, tensor: &Tensor) {
        let mut inner = Some(1i64);
        for (stride, extent) in tensor.strides.as_deref().unwrap_or_default().iter().zip(&tensor.shape).rev() {
            if let (Some(dim), Some(inner)) = (self.program.free_stride(stride), inner) {
                self.values[dim] = inner;
            }
            let step = stride.eval(&self.values).zip(extent.eval(&self.values));
            inner = step.and_then(|(stride, extent)| stride.checked_mul(extent.max(1)));
        }
    }

    /// Returns a dim or parameter by its name.
    pub fn get(&self, name: &str) -> Option<i64> {
        let dim = self.program.dims.iter().position(|d| d.name == name).and_then(|i| self.values.get(i));
        let parameter = || self.program.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        dim.copied().or_else(parameter)
    }

    /// Returns the values of all dims, in the program's order.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Returns a tensor's shape.
    ///
    /// # Errors
    /// Returns an error if a size is negative or does not fit.
    pub fn shape(&self, tensor: &Tensor) -> Result<Vec<usize>, String> {
        let size = |s: &Size| s.eval(&self.values).and_then(|n| usize::try_from(n).ok());
        let shape: Option<Vec<usize>> = tensor.shape.iter().map(size).collect();
        shape.ok_or_else(|| format!("cannot compute the shape of `{}` for these dims", tensor.name))
    }

    /// Returns the bytes that a launch must move: every input and output once, and every update twice. A prepared input does not count
    /// unless a dispatch also reads it directly.
    ///
    /// # Errors
    /// Returns an error if a tensor has no shape.
    pub fn bytes(&self) -> Result<f64, String> {
        let mut sum = 0.0;
        for (n, tensor) in (0..).zip(&self.program.tensors) {
            let is_prepared = self.program.preparations.iter().any(|p| p.input == n);
            let is_read = || self.program.dispatches.iter().any(|d| d.buffers.iter().any(|b| b.tensor == n));
            let times = match tensor.role {
                Role::Input if is_prepared && !is_read() => 0.0,
                Role::Input | Role::Output | Role::Prepared => 1.0,
                Role::Update => 2.0,
                Role::Temporary => 0.0,
            };
            if times > 0.0 {
                let elements: f64 = self.shape(tensor)?.iter().map(|n| *n as f64).product();
                sum += times * elements * f64::from(tensor.dtype.bytes());
            }
        }
        Ok(sum)
    }
}

/// Random inputs, which several sets of arguments share as long as the sizes are the same.
#[derive(Default)]
pub struct Pool {
    tensors: HashMap<(String, DType, Vec<usize>, u64), Arc<AnyTensor>>,
}

impl Pool {
    fn get(&mut self, device: &Device, tensor: &Tensor, shape: &[usize], seed: u64) -> Result<Arc<AnyTensor>> {
        let key = (tensor.name.clone(), tensor.dtype, shape.to_vec(), seed);
        if let Some(found) = self.tensors.get(&key) {
            return Ok(found.clone());
        }
        let made = Arc::new(random(device, tensor, shape, seed)?);
        self.tensors.insert(key, made.clone());
        Ok(made)
    }

    /// Forgets all tensors.
    pub fn clear(&mut self) {
        self.tensors.clear();
    }
}

/// The tensors of a launch.
pub struct Set {
    arguments: Vec<Owned>,
    outputs: Vec<AnyTensor>,
}

enum Owned {
    Input(Arc<AnyTensor>),
    Update(AnyTensor),
    Scalar(Number),
    Size(usize),
}

impl Set {
    /// Makes random inputs, and outputs to write. Inputs are packed or prepared here if the kernel takes them so, before any launch is
    /// timed.
    ///
    /// # Errors
    /// Returns an error of the device, or an error if these dims do not allow a launch.
    pub fn new(kernel: &DynKernel, dims: &Dims<'_>, pool: &mut Pool, seed: u64) -> Result<Set, Box<dyn Error>> {
        let (device, program) = (kernel.device(), dims.program);
        let mut arguments = Vec::new();
        for position in &program.arguments {
            arguments.push(match position {
                Position::Scalar(i) => Owned::Scalar(scalar(program, *i)?),
                Position::Dim(i) => {
                    let value = dims.values.get(*i as usize).and_then(|n| usize::try_from(*n).ok());
                    Owned::Size(value.ok_or("the value of a dim that is an argument is missing")?)
                }
                Position::Tensor(i) => {
                    let tensor = &program.tensors[*i as usize];
                    let shape = dims.shape(tensor)?;
                    let is_prepared = program.preparations.iter().any(|p| p.input == *i);
                    match tensor.role {
                        Role::Update => Owned::Update(random(device, tensor, &shape, seed)?),
                        _ if is_prepared => {
                            Owned::Input(kernel.prepare(&tensor.name, &*pool.get(device, tensor, &shape, seed)?)?.into())
                        }
                        _ if tensor.layout.is_some() => {
                            Owned::Input(kernel.pack(&tensor.name, &*pool.get(device, tensor, &shape, seed)?)?.into())
                        }
                        _ => Owned::Input(pool.get(device, tensor, &shape, seed)?),
                    }
                }
            });
        }
        let mut set = Set { arguments, outputs: Vec::new() };
        let outputs: Vec<&Tensor> = program.tensors.iter().filter(|t| t.role == Role::Output).collect();
        set.outputs = match outputs.iter().any(|t| t.layout.is_some()) {
            true => kernel.run(set.both().0)?,
            false => {
                let zeros = |t: &&Tensor| Ok::<_, Box<dyn Error>>(device.zeros_any(t.dtype, dims.shape(t)?)?);
                outputs.iter().map(zeros).collect::<Result<_, _>>()?
            }
        };
        Ok(set)
    }

    /// Returns the arguments and the outputs, in the form that a launch takes.
    pub fn both(&mut self) -> (Vec<Argument<'_>>, &mut [AnyTensor]) {
        let argument = |owned| match owned {
            &mut Owned::Input(ref tensor) => Argument::from(&**tensor),
            Owned::Update(tensor) => Argument::from(tensor),
            Owned::Scalar(number) => Argument::from(*number),
            Owned::Size(size) => Argument::from(*size),
        };
        (self.arguments.iter_mut().map(argument).collect(), &mut self.outputs)
    }
}

fn scalar(program: &Program, of: u32) -> Result<Number, String> {
    let Some(wanted) = program.scalars.get(of as usize) else { return Err(format!("scalar {of} does not exist")) };
    let number = program.sample(of).ok_or_else(|| format!("no value of `{}` was found that satisfies the facts", wanted.name))?;
    Ok(match wanted.dtype {
        DType::F16 => f16::from_f64(number).into(),
        DType::BF16 => bf16::from_f64(number).into(),
        DType::I32 => (number as i32).into(),
        DType::U32 => (number as u32).into(),
        DType::I16 => (number as i16).into(),
        DType::U16 => (number as u16).into(),
        DType::I8 => (number as i8).into(),
        DType::U8 => (number as u8).into(),
        DType::I64 => (number as i64).into(),
        DType::Bool => (number != 0.0).into(),
        DType::F32 => (number as f32).into(),
    })
}

/// Returns floats from -1 to 1, or small whole numbers.
fn random(device: &Device, tensor: &Tensor, shape: &[usize], seed: u64) -> Result<AnyTensor> {
    // The device refuses sizes that do not fit in its memory before a list of that length is made here.
    let count = device.zeros_any(tensor.dtype, shape)?.len();
    let mut hasher = DefaultHasher::new();
    (&tensor.name, seed).hash(&mut hasher);
    let mut rng = fastrand::Rng::with_seed(hasher.finish());
    macro_rules! upload {
        ($make:expr) => {{
            let make = $make;
            device.upload(shape, &(0..count).map(|_| make(&mut rng)).collect::<Vec<_>>())?.into_any()
        }};
    }
    type R = fastrand::Rng;
    let float = |r: &mut R| r.f32() * 2.0 - 1.0;
    Ok(match tensor.dtype {
        DType::F16 => upload!(|r: &mut R| f16::from_f32(float(r))),
        DType::BF16 => upload!(|r: &mut R| bf16::from_f32(float(r))),
        DType::I32 => upload!(|r: &mut R| r.i32(0..8)),
        DType::U32 => upload!(|r: &mut R| r.u32(0..8)),
        DType::I16 => upload!(|r: &mut R| r.i16(-4..4)),
        DType::U16 => upload!(|r: &mut R| r.u16(0..8)),
        DType::I8 => upload!(|r: &mut R| r.i8(-4..4)),
        DType::U8 => upload!(|r: &mut R| r.u8(0..8)),
        DType::I64 => upload!(|r: &mut R| r.i64(0..8)),
        DType::Bool => upload!(|r: &mut R| r.bool()),
        DType::F32 => upload!(float),
    })
}
