//! Runs a variant on a device with given inputs and poisoned outputs, and returns results in the evaluation's form. A tensor that
//! a schedule says is strided is given as a view with gaps, and the elements around the view must not change.

use crate::views::{Whole, place};
use fastrand::Rng;
use half::{bf16, f16};
use std::collections::HashMap;
use tilewright::exact::Element;
use tilewright::{AnyTensor, Argument, DType, Device, DynKernel, Error, Result, Scalar};
use tilewright_check::{Fill, Inputs};
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, shapes};
use tilewright_dsl::launch::{self, Numbers};
use tilewright_dsl::nest::{self, BufferId, Program, Space};

/// The most elements of a tensor, because each element is made and compared one by one.
pub(crate) const MOST_ELEMENTS: i64 = 1 << 24;

/// Generates random inputs for sizes. `scalars` are in the kernel's order; `fill` returns the fill of a tensor.
///
/// # Errors
/// If tensors cannot have these sizes.
pub fn inputs(
    algorithm: &Program,
    dims: &[(&str, i64)],
    scalars: &[f64],
    fill: &dyn Fn(&str) -> Fill,
    random: &mut Rng,
) -> Result<Inputs, String> {
    Ok(Inputs::sized(algorithm, dims, scalars, MOST_ELEMENTS)?.filled(algorithm, fill, random))
}

/// Runs a program, and returns the results by buffer. Tensors that are packed by their types are packed before and unpacked
/// afterwards.
///
/// # Errors
/// The device's errors.
pub fn launch(
    kernel: &DynKernel,
    program: &launch::Program,
    algorithm: &Program,
    inputs: &Inputs,
) -> Result<Vec<(BufferId, Vec<Value>)>> {
    let mut placed = Placed::new(kernel, program, algorithm, inputs)?;
    placed.run()?;
    placed.results()
}

/// The arguments of a launch on a device, with poisoned outputs.
pub struct Placed<'a> {
    kernel: &'a DynKernel,
    algorithm: &'a Program,
    inputs: &'a Inputs,
    reads: HashMap<BufferId, AnyTensor>,
    updates: HashMap<BufferId, AnyTensor>,
    outputs: Vec<AnyTensor>,
    /// True if the program packs outputs by their types. It then makes them itself.
    packs: bool,
    wholes: Vec<Whole>,
}

impl<'a> Placed<'a> {
    /// Uploads inputs, and packs those that are packed by their types.
    ///
    /// # Errors
    /// The device's errors.
    pub fn new(kernel: &'a DynKernel, program: &launch::Program, algorithm: &'a Program, inputs: &'a Inputs) -> Result<Placed<'a>> {
        let device = kernel.device();
        let (mut reads, mut updates, mut wholes) = (HashMap::new(), HashMap::new(), Vec::new());
        for (id, tensor) in &inputs.given.tensors {
            let buffer = &algorithm.buffers[*id];
            let uploaded = place(device, program, &buffer.name, buffer.dtype, tensor, &mut wholes)?;
            let packed = program.tensors.iter().any(|t| t.name == buffer.name && t.layout.is_some());
            let is = |n: u32| program.tensors.get(n as usize).is_some_and(|t| t.name == buffer.name);
            let uploaded = match program.preparations.iter().any(|p| is(p.input)) {
                true => kernel.prepare(&buffer.name, &uploaded)?,
                false if packed => kernel.pack(&buffer.name, &uploaded)?,
                false => uploaded,
            };
            let tensors = if buffer.space == Space::Update { &mut updates } else { &mut reads };
            tensors.insert(*id, uploaded);
        }
        let packs = program.tensors.iter().any(|t| t.role == launch::Role::Output && t.layout.is_some());
        let mut outputs = Vec::new();
        if !packs {
            for id in &algorithm.outputs {
                let buffer = &algorithm.buffers[*id];
                let tensor = poison(buffer.dtype, &inputs.shapes[id]);
                outputs.push(place(device, program, &buffer.name, buffer.dtype, &tensor, &mut wholes)?);
            }
        }
        Ok(Placed { kernel, algorithm, inputs, reads, updates, outputs, packs, wholes })
    }

    /// Launches the kernel, and waits until it ends.
    ///
    /// # Errors
    /// The device's errors.
    pub fn run(&mut self) -> Result<()> {
        let mut slots: HashMap<BufferId, &mut AnyTensor> = self.updates.iter_mut().map(|(id, t)| (*id, t)).collect();
        let mut args = Vec::new();
        for argument in &self.algorithm.arguments {
            args.push(match argument {
                nest::Argument::Tensor(id) => match slots.remove(id) {
                    Some(update) => Argument::Update(update),
                    None => Argument::Read(&self.reads[id]),
                },
                nest::Argument::Scalar(id) => {
                    Argument::Scalar(scalar(self.inputs.given.scalars[id], self.algorithm.scalars[*id].dtype))
                }
                nest::Argument::Dim(id) => {
                    let size = self.inputs.dim(self.algorithm, *id);
                    Argument::Size(size.and_then(|n| usize::try_from(n).ok()).unwrap_or_default())
                }
            });
        }
        if self.packs {
            self.outputs = unpacked(self.kernel, self.algorithm, self.kernel.run(args)?)?;
            return Ok(());
        }
        self.kernel.run_into(args, self.outputs.iter_mut())
    }

    /// Downloads the results, and checks that no launch has changed elements around a view.
    ///
    /// # Errors
    /// The device's errors.
    pub fn results(self) -> Result<Vec<(BufferId, Vec<Value>)>> {
        let results = self.algorithm.outputs.iter().copied().zip(self.outputs).chain(self.updates);
        let dtype = |id: BufferId| self.algorithm.buffers[id].dtype;
        let results = results.map(|(id, tensor)| Ok((id, download(dtype(id), &tensor)?))).collect();
        self.wholes.into_iter().try_for_each(Whole::check)?;
        results
    }

    /// Reads the results on a device of exact arithmetic: the values of each, and true if no launch is known to have changed elements around a
    /// view.
    ///
    /// # Errors
    /// The device's errors.
    pub fn elements(self) -> Result<(Elements, bool)> {
        let results = self.algorithm.outputs.iter().copied().zip(self.outputs).chain(self.updates);
        let dtype = |id: BufferId| self.algorithm.buffers[id].dtype;
        let results = results.map(|(id, tensor)| Ok((id, elements(dtype(id), &tensor)?))).collect::<Result<_>>()?;
        let intact = self.wholes.into_iter().map(Whole::left_intact_as_known).collect::<Result<Vec<_>>>()?;
        Ok((results, !intact.contains(&false)))
    }
}

/// The results of a launch in exact arithmetic.
pub type Elements = Vec<(BufferId, Vec<Value<Element>>)>;

/// Reads a tensor on a device of exact arithmetic. An integer that is not known is a float.
fn elements(dtype: DType, tensor: &AnyTensor) -> Result<Vec<Value<Element>>> {
    let elements = tensor.elements()?.into_iter();
    if dtype.is_float() {
        return Ok(elements.map(Value::Float).collect());
    }
    let known = |(element, value)| match (element, value) {
        (Element::Unknown(reason), _) => Value::Float(Element::Unknown(reason)),
        (_, Value::Bool(b)) => Value::Bool(b),
        (_, value) => Value::Int(value.int()),
    };
    Ok(elements.zip(download(dtype, tensor)?).map(known).collect())
}

/// Unpacks packed results on the device and on the host, and checks that both agree.
fn unpacked(kernel: &DynKernel, algorithm: &Program, outputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
    let one = |(id, output): (&BufferId, AnyTensor)| {
        let buffer = &algorithm.buffers[*id];
        if output.layout().is_none() {
            return Ok(output);
        }
        let unpacked = kernel.unpack(&buffer.name, &output)?;
        let texts = |t: &AnyTensor| Ok::<_, Error>(download(buffer.dtype, t)?.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>());
        let (mut host, mut device) = (texts(&output)?, texts(&unpacked)?);
        // In exact arithmetic, elements that are not known do not have bits.
        if let (Ok(packed), Ok(elements)) = (output.elements(), unpacked.elements()) {
            let is_known = |n: &usize| ![packed[*n], elements[*n]].iter().any(|e| matches!(e, Element::Unknown(_)));
            let known = |texts: &[String]| (0..texts.len()).filter(is_known).map(|n| texts[n].clone()).collect();
            (host, device) = (known(&host), known(&device));
        }
        assert_eq!(host, device, "the host unpacks `{}` otherwise than the device", buffer.name);
        Ok::<_, Error>(unpacked)
    };
    algorithm.outputs.iter().zip(outputs).map(one).collect()
}

/// Returns poisoned tensors of these sizes for all arguments, which must not be scalars.
///
/// # Errors
/// If tensors cannot have these sizes.
pub fn arguments(device: &Device, algorithm: &Program, dims: &[(&str, i64)]) -> Result<Vec<AnyTensor>> {
    let given = dims.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
    let malformed = |reason| Error::Malformed { variant: algorithm.name.clone(), reason };
    let shapes = shapes(algorithm, &given).map_err(malformed)?;
    let tensors = algorithm.arguments.iter().filter_map(|argument| match argument {
        nest::Argument::Tensor(id) => Some(poisoned(device, algorithm.buffers[*id].dtype, &shapes[id])),
        nest::Argument::Scalar(_) | nest::Argument::Dim(_) => None,
    });
    tensors.collect()
}

/// Returns the values of all dims of a program, in its order; strides are 0. `None` if a dim does not have a value.
pub fn dim_values(program: &launch::Program, dims: &[(&str, i64)]) -> Option<Vec<i64>> {
    let mut values: Vec<i64> = Vec::new();
    for (n, dim) in program.dims.iter().enumerate() {
        let given = dims.iter().find(|(name, _)| *name == dim.name).map(|(_, value)| *value);
        // Strides are known only from the tensors.
        let stride = program.is_stride(n).then_some(0);
        values.push(given.or(stride).or_else(|| dim.derived.as_ref()?.eval(&values))?);
    }
    Some(values)
}

/// Returns true if a program's facts hold for sizes; `None` if a dim does not have a value.
pub fn admits(program: &launch::Program, dims: &[(&str, i64)]) -> Option<bool> {
    let values = dim_values(program, dims)?;
    Some(program.facts.iter().all(|fact| fact.condition.holds_of_sizes(&values)))
}

fn scalar(value: Value, dtype: DType) -> Scalar {
    match dtype {
        DType::F32 => Scalar::from(value.number() as f32),
        DType::F16 => Scalar::from(f16::from_f64(value.number())),
        DType::I32 => Scalar::from(value.number() as i32),
        DType::U32 => Scalar::from(value.number() as u32),
        DType::BF16 => Scalar::from(bf16::from_f64(value.number())),
        DType::I16 => Scalar::from(value.number() as i16),
        DType::U16 => Scalar::from(value.number() as u16),
        DType::I8 => Scalar::from(value.number() as i8),
        DType::U8 => Scalar::from(value.number() as u8),
        DType::I64 => Scalar::from(value.int()),
        DType::Bool => Scalar::from(value == Value::Bool(true)),
    }
}

pub(crate) fn usizes(shape: &[i64]) -> Vec<usize> {
    shape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect()
}

pub(crate) fn upload(device: &Device, dtype: DType, tensor: &Tensor) -> Result<AnyTensor> {
    let shape = usizes(&tensor.shape);
    let numbers = || tensor.values.iter().map(|v| v.number());
    Ok(match dtype {
        DType::F32 => device.upload(&shape, &numbers().map(|v| v as f32).collect::<Vec<_>>())?.into_any(),
        DType::F16 => device.upload(&shape, &numbers().map(f16::from_f64).collect::<Vec<_>>())?.into_any(),
        DType::I32 => device.upload(&shape, &numbers().map(|v| v as i32).collect::<Vec<_>>())?.into_any(),
        DType::U32 => device.upload(&shape, &numbers().map(|v| v as u32).collect::<Vec<_>>())?.into_any(),
        DType::BF16 => device.upload(&shape, &numbers().map(bf16::from_f64).collect::<Vec<_>>())?.into_any(),
        DType::I16 => device.upload(&shape, &numbers().map(|v| v as i16).collect::<Vec<_>>())?.into_any(),
        DType::U16 => device.upload(&shape, &numbers().map(|v| v as u16).collect::<Vec<_>>())?.into_any(),
        DType::I8 => device.upload(&shape, &numbers().map(|v| v as i8).collect::<Vec<_>>())?.into_any(),
        DType::U8 => device.upload(&shape, &numbers().map(|v| v as u8).collect::<Vec<_>>())?.into_any(),
        DType::I64 => device.upload(&shape, &tensor.values.iter().map(Value::int).collect::<Vec<_>>())?.into_any(),
        DType::Bool => device.upload(&shape, &numbers().map(|v| v != 0.0).collect::<Vec<_>>())?.into_any(),
    })
}

/// Overwrites the elements of a tensor.
pub(crate) fn write(tensor: &mut AnyTensor, dtype: DType, values: &[Value]) -> Result<()> {
    let numbers = || values.iter().map(|v| v.number());
    match dtype {
        DType::F32 => tensor.write(&numbers().map(|v| v as f32).collect::<Vec<_>>()),
        DType::F16 => tensor.write(&numbers().map(f16::from_f64).collect::<Vec<_>>()),
        DType::I32 => tensor.write(&numbers().map(|v| v as i32).collect::<Vec<_>>()),
        DType::U32 => tensor.write(&numbers().map(|v| v as u32).collect::<Vec<_>>()),
        DType::BF16 => tensor.write(&numbers().map(bf16::from_f64).collect::<Vec<_>>()),
        DType::I16 => tensor.write(&numbers().map(|v| v as i16).collect::<Vec<_>>()),
        DType::U16 => tensor.write(&numbers().map(|v| v as u16).collect::<Vec<_>>()),
        DType::I8 => tensor.write(&numbers().map(|v| v as i8).collect::<Vec<_>>()),
        DType::U8 => tensor.write(&numbers().map(|v| v as u8).collect::<Vec<_>>()),
        DType::I64 => tensor.write(&values.iter().map(Value::int).collect::<Vec<_>>()),
        DType::Bool => tensor.write(&numbers().map(|v| v != 0.0).collect::<Vec<_>>()),
    }
}

/// Returns a tensor filled with values that no kernel computes.
fn poisoned(device: &Device, dtype: DType, shape: &[i64]) -> Result<AnyTensor> {
    upload(device, dtype, &poison(dtype, shape))
}

/// Returns values that no kernel computes.
pub(crate) fn poison(dtype: DType, shape: &[i64]) -> Tensor {
    let count = usizes(shape).iter().product::<usize>();
    let values = match dtype.numbers() {
        Numbers::Float(_) => vec![Value::float(-12345.0); count],
        Numbers::Bool => (0..count).map(|_| Value::Bool(fastrand::bool())).collect(),
        Numbers::Int { .. } => vec![Value::Int(123_456_789); count],
    };
    Tensor { shape: shape.to_vec(), values }
}

pub(crate) fn download(dtype: DType, tensor: &AnyTensor) -> Result<Vec<Value>> {
    Ok(match dtype {
        DType::F32 => tensor.download::<f32>()?.into_iter().map(|v| Value::float(v.into())).collect(),
        DType::F16 => tensor.download::<f16>()?.into_iter().map(|v| Value::float(v.into())).collect(),
        DType::I32 => tensor.download::<i32>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::U32 => tensor.download::<u32>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::BF16 => tensor.download::<bf16>()?.into_iter().map(|v| Value::float(v.into())).collect(),
        DType::I16 => tensor.download::<i16>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::U16 => tensor.download::<u16>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::I8 => tensor.download::<i8>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::U8 => tensor.download::<u8>()?.into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::I64 => tensor.download::<i64>()?.into_iter().map(Value::Int).collect(),
        DType::Bool => tensor.download::<bool>()?.into_iter().map(Value::Bool).collect(),
    })
}
