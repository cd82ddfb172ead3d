//! Arguments for a program: its shapes for given dims, and tensors of random numbers.

use tilewright::Scalar as Number;
use tilewright::{AnyTensor, Argument, DType, Device, DynKernel, Result, bf16, f16};
use tilewright_launch::{Argument as Position, Program, Role, Tensor};

/// The dims of a launch: the program's, and their values.
pub struct Dims<'a> {
    program: &'a Program,
    values: Vec<i64>,
}

impl<'a> Dims<'a> {
    /// The dims of a program whose symbolic ones are given by `known`.
    pub fn new(program: &'a Program, known: &dyn Fn(&str) -> Option<i64>) -> Result<Dims<'a>, String> {
        let mut values = Vec::new();
        for dim in &program.dims {
            let value = dim.derived.as_ref().map_or_else(|| known(&dim.name), |size| size.eval(&values));
            let value = value.ok_or_else(|| format!("the dim {} has no value", dim.name))?;
            values.push(value);
        }
        Ok(Dims { program, values })
    }

    /// A dim or parameter by its name.
    pub fn get(&self, name: &str) -> Option<i64> {
        let dim = self.program.dims.iter().position(|d| d.name == name).and_then(|i| self.values.get(i));
        let parameter = || self.program.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        dim.copied().or_else(parameter)
    }

    /// A tensor's shape.
    pub fn shape(&self, tensor: &Tensor) -> Result<Vec<usize>, String> {
        let size = |s: &tilewright_launch::Size| s.eval(&self.values).and_then(|n| usize::try_from(n).ok());
        let shape: Option<Vec<usize>> = tensor.shape.iter().map(size).collect();
        shape.ok_or_else(|| format!("these dims give `{}` no shape", tensor.name))
    }

    /// The bytes that a launch must move: every input and output once, an update twice. An input of which something was prepared is not
    /// read itself, but where a dispatch does.
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
            let elements: f64 = self.shape(tensor)?.iter().map(|n| *n as f64).product();
            sum += times * elements * f64::from(tensor.dtype.bytes());
        }
        Ok(sum)
    }
}

/// The tensors of a launch.
pub struct Set {
    arguments: Vec<Owned>,
    outputs: Vec<AnyTensor>,
}

enum Owned {
    Input(AnyTensor),
    Update(AnyTensor),
    Scalar(Number),
    Size(usize),
}

impl Set {
    /// Random inputs, and outputs to be written. What the kernel wants prepared is prepared here, before any launch is timed.
    pub fn new(kernel: &DynKernel, dims: &Dims<'_>) -> Result<Set, Box<dyn std::error::Error>> {
        let (device, program) = (kernel.device(), dims.program);
        let (mut arguments, mut outputs) = (Vec::new(), Vec::new());
        for position in &program.arguments {
            arguments.push(match position {
                Position::Scalar(i) => Owned::Scalar(one(program.scalars[*i as usize].dtype)),
                Position::Dim(i) => {
                    let value = dims.values.get(*i as usize).and_then(|n| usize::try_from(*n).ok());
                    Owned::Size(value.ok_or("a dim that is an argument has no value")?)
                }
                Position::Tensor(i) => {
                    let tensor = &program.tensors[*i as usize];
                    let random = random(device, tensor.dtype, &dims.shape(tensor)?)?;
                    match tensor.role {
                        Role::Update => Owned::Update(random),
                        _ if program.preparations.iter().any(|p| p.input == *i) => {
                            Owned::Input(kernel.prepare(&tensor.name, &random)?)
                        }
                        _ => Owned::Input(random),
                    }
                }
            });
        }
        for tensor in program.tensors.iter().filter(|t| t.role == Role::Output) {
            outputs.push(device.zeros_any(tensor.dtype, dims.shape(tensor)?)?);
        }
        Ok(Set { arguments, outputs })
    }

    /// The arguments and the outputs, as a launch takes them.
    pub fn both(&mut self) -> (Vec<Argument<'_>>, &mut [AnyTensor]) {
        let argument = |owned| match owned {
            &mut Owned::Input(ref tensor) => Argument::from(tensor),
            Owned::Update(tensor) => Argument::from(tensor),
            Owned::Scalar(number) => Argument::from(*number),
            Owned::Size(size) => Argument::from(*size),
        };
        (self.arguments.iter_mut().map(argument).collect(), &mut self.outputs)
    }
}

fn one(dtype: DType) -> Number {
    match dtype {
        DType::F16 => f16::ONE.into(),
        DType::BF16 => bf16::ONE.into(),
        DType::I32 => 1i32.into(),
        DType::U32 => 1u32.into(),
        DType::I8 => 1i8.into(),
        DType::U8 => 1u8.into(),
        DType::Bool => true.into(),
        _ => 1f32.into(),
    }
}

/// Floats from -1 to 1, small whole numbers.
fn random(device: &Device, dtype: DType, shape: &[usize]) -> Result<AnyTensor> {
    // Sizes for which there is no memory are the device's to refuse, before there is a list of them here.
    let count = device.zeros_any(dtype, shape)?.len();
    let float = |_| fastrand::f32() * 2.0 - 1.0;
    let small = |_| fastrand::u8(0..8);
    macro_rules! upload {
        ($make:expr) => {
            device.upload(shape, &(0..count).map($make).collect::<Vec<_>>())?.into_any()
        };
    }
    Ok(match dtype {
        DType::F16 => upload!(|i| f16::from_f32(float(i))),
        DType::BF16 => upload!(|i| bf16::from_f32(float(i))),
        DType::I32 => upload!(|i| i32::from(small(i))),
        DType::U32 => upload!(|i| u32::from(small(i))),
        DType::I8 => upload!(|_| fastrand::i8(-4..4)),
        DType::U8 => upload!(small),
        DType::Bool => upload!(|_| fastrand::bool()),
        _ => upload!(float),
    })
}
