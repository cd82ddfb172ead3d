//! Compiles a kernel and a schedule from text, as the macros do, runs the variant on the device with the validation
//! layers on, and compares every element with the plain evaluation of the algorithm, within the bound that the arithmetic
//! gives. Every module goes through `spirv-val` first; outputs are poisoned before the launch.

use half::f16;
use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tilewright::{AnyTensor, Argument, DType, Device, DynKernel, Options, Scalar};
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate, shapes};
use tilewright_dsl::diag::{Errors, Spans};
use tilewright_dsl::launch;
use tilewright_dsl::nest::{self, BufferId, Program, Space};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::head;
use tilewright_dsl::schedule::tune::{self, Choice};
use tilewright_dsl::syntax::{self, Kernel, schedule::Schedule};
use tilewright_dsl::variant::compile;

/// The devices of all tests: the one that the environment picks, with the validation layers on, and the reference device,
/// which reports what hardware hides. `TILEWRIGHT_VALIDATION=0` says that layers are to be off, for machines whose layers are
/// older than the driver.
pub fn devices() -> &'static [Device; 2] {
    static DEVICES: OnceLock<[Device; 2]> = OnceLock::new();
    let layers = std::env::var("TILEWRIGHT_VALIDATION").as_deref() != Ok("0");
    DEVICES.get_or_init(|| {
        let vulkan = Options::from_env().validation(layers).cache(None).open().expect("a Vulkan device");
        [vulkan, Options::new().device("reference").open().expect("the reference device")]
    })
}

/// A variant, and the algorithm that it must agree with.
pub struct Variant {
    pub program: launch::Program,
    algorithm: Program,
    /// Loaded on each device, once: a driver compiles for longer than a launch takes.
    loaded: OnceLock<Vec<DynKernel>>,
}

/// What lavapipe guarantees, with buffers by address, and the least that Vulkan does, with descriptors.
pub fn profiles() -> [Profile; 2] {
    let mut addresses = Profile::vulkan_1_1();
    addresses.name = "test".into();
    addresses.invocations = 256;
    addresses.local = [256, 256, 64];
    addresses.features = [launch::Feature::Address, launch::Feature::Storage16, launch::Feature::F16].into();
    let mut descriptors = addresses.clone();
    descriptors.features.remove(&launch::Feature::Address);
    [addresses, descriptors]
}

/// Compiles `kernel` under a schedule's text, from its name on: `V: matmul for p { … }`.
pub fn variant(kernel: &str, schedule: &str, profile: &Profile) -> Variant {
    try_variant(kernel, schedule, profile).unwrap_or_else(|errors| panic!("{errors}\n{schedule}"))
}

/// The same; what is wrong as text.
pub fn try_variant(kernel: &str, schedule: &str, profile: &Profile) -> Result<Variant, String> {
    let mut spans = Spans::new();
    let tokens = |text: &str| text.parse().map_err(|e| format!("{e}"));
    let kernel = syntax::kernel::parse(tokens(kernel)?, &mut spans).into_result().map_err(|e| e.texts(&spans))?;
    let schedule = syntax::parse(tokens(schedule)?, &mut spans, Schedule::parse).into_result().map_err(|e| e.texts(&spans))?;
    let bindings = head::bindings(&kernel, &schedule).map_err(|e| e.texts(&spans))?;
    let algorithm = tilewright_dsl::algorithm::check(&kernel, &bindings).map_err(|e| e.texts(&spans))?;
    of_choice(&kernel, &schedule, profile, &Choice::default(), algorithm).map_err(|e| e.texts(&spans))
}

fn of_choice(
    kernel: &Kernel,
    schedule: &Schedule,
    profile: &Profile,
    choice: &Choice,
    algorithm: Program,
) -> Result<Variant, Errors> {
    let made = compile(kernel, schedule, profile, choice, tilewright_spirv::compile)?;
    let versions = made.program.clone().into_versions().expect("versions");
    for dispatch in versions.iter().flat_map(|p| &p.dispatches) {
        validate(&dispatch.spirv, &made.nest);
    }
    Ok(Variant { program: made.program, algorithm, loaded: OnceLock::new() })
}

/// Every choice of a schedule's tuned constants, compiled, or why not.
pub fn choices(kernel: &str, schedule: &str, profile: &Profile) -> Vec<(String, Result<Variant, String>)> {
    let mut spans = Spans::new();
    let tokens = |text: &str| text.parse().expect("tokens");
    let kernel = syntax::kernel::parse(tokens(kernel), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(tokens(schedule), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let bindings = head::bindings(&kernel, &schedule).expect("bindings");
    let algorithm = tilewright_dsl::algorithm::check(&kernel, &bindings).expect("an algorithm");
    let one = |choice: &Choice| of_choice(&kernel, &schedule, profile, choice, algorithm.clone()).map_err(|e| e.texts(&spans));
    let all = tune::choices(&kernel, &schedule).map_err(|e| e.texts(&spans)).expect("choices");
    all.iter().map(|choice| (choice.to_string(), one(choice))).collect()
}

/// `spirv-val` accepts a module.
fn validate(words: &[u8], nest: &Program) {
    let tool =
        Command::new("spirv-val").args(["--target-env", "vulkan1.2", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut tool = tool.expect("spirv-val (Debian: apt install spirv-tools)");
    tool.stdin.take().expect("a pipe").write_all(words).expect("spirv-val reads");
    let output = tool.wait_with_output().expect("spirv-val ends");
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), nest::print::plan(nest));
}

/// What the inputs hold.
#[derive(Clone, Copy)]
pub enum Fill {
    /// Floats in -1..1, integers in -100..100 (or 0..100).
    Small,
    /// Integers of all bits, and floats with NaN, infinities and both zeros among them.
    Wild,
    /// Integers in `0..n`: indices.
    Below(i64),
}

impl Variant {
    /// Runs with fresh random inputs and compares every result. `scalars` are in the kernel's order.
    pub fn check(&self, dims: &[(&str, i64)], scalars: &[f64]) {
        self.check_filled(dims, scalars, &|_| Fill::Small);
    }

    /// The same with inputs that `fill` describes by name.
    pub fn check_filled(&self, dims: &[(&str, i64)], scalars: &[f64], fill: &dyn Fn(&str) -> Fill) {
        let algorithm = &self.algorithm;
        let mut given = dims.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
        for ((id, scalar), value) in algorithm.scalars.iter().zip(scalars) {
            given.scalars.insert(id, typed(*value, scalar.dtype));
        }
        let shapes = shapes(algorithm, &given).expect("shapes");
        for (id, buffer) in algorithm.buffers.iter().filter(|(_, b)| matches!(b.space, Space::Input | Space::Update)) {
            let count: i64 = shapes[&id].iter().product();
            let values = (0..count).map(|_| random(buffer.dtype, fill(&buffer.name))).collect();
            given.tensors.insert(id, Tensor { shape: shapes[&id].clone(), values });
        }
        let wanted = evaluate(algorithm, &given).expect("the evaluation");
        for (device, kernel) in devices().iter().zip(self.loaded()) {
            for (id, values) in self.launch(device, kernel, &given, &shapes) {
                compare(&algorithm.buffers[id], &wanted[&id], &values, dims);
            }
        }
    }

    /// Whether a launch at these dims would find the variant's facts to hold.
    pub fn admits(&self, dims: &[(&str, i64)]) -> bool {
        let mut values: Vec<i64> = Vec::new();
        for dim in &self.program.dims {
            let given = dims.iter().find(|(name, _)| *name == dim.name).map(|(_, value)| *value);
            let value = given.or_else(|| dim.derived.as_ref()?.eval(&values));
            values.push(value.expect("the dim has a value"));
        }
        let side = |size: &launch::Size| size.eval(&values).expect("a number");
        self.program.facts.iter().map(|f| &f.condition).all(|c| c.relation.holds(side(&c.left), side(&c.right)))
    }

    /// Why a launch at these dims is refused, on each device.
    pub fn refusals(&self, dims: &[(&str, i64)]) -> Vec<String> {
        self.on_each(dims, &|kernel, tensors| kernel.run(tensors.iter().map(Argument::Read)).expect_err("a refusal").to_string())
    }

    /// The version that a launch at these dims takes, on each device.
    pub fn taken(&self, dims: &[(&str, i64)]) -> Vec<String> {
        self.on_each(dims, &|kernel, tensors| kernel.variant_for(tensors.iter().map(Argument::Read)).expect("a version").to_owned())
    }

    /// What each device makes of the variant and of tensors for these dims. It has no scalars.
    fn on_each(&self, dims: &[(&str, i64)], ask: &dyn Fn(&DynKernel, &[AnyTensor]) -> String) -> Vec<String> {
        let algorithm = &self.algorithm;
        let given = dims.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
        let shapes = shapes(algorithm, &given).expect("shapes");
        let one = |(device, kernel): (&Device, &DynKernel)| {
            let tensor = |argument: &nest::Argument| match argument {
                nest::Argument::Tensor(id) => poisoned(device, algorithm.buffers[*id].dtype, &shapes[id]),
                nest::Argument::Scalar(_) => panic!("no scalars"),
            };
            let tensors: Vec<AnyTensor> = algorithm.arguments.iter().map(tensor).collect();
            ask(kernel, &tensors)
        };
        devices().iter().zip(self.loaded()).map(one).collect()
    }

    fn loaded(&self) -> &[DynKernel] {
        let load = |device: &Device| device.load_programs(vec![self.program.clone()]).expect("it loads");
        self.loaded.get_or_init(|| devices().iter().map(load).collect())
    }

    /// Runs the variant; packed results are unpacked on the device, and by the host, which agree.
    fn packed_outputs(&self, kernel: &DynKernel, args: Vec<Argument<'_>>) -> Vec<AnyTensor> {
        let one = |(id, output): (&BufferId, AnyTensor)| {
            let buffer = &self.algorithm.buffers[*id];
            if output.layout().is_none() {
                return output;
            }
            let unpacked = kernel.unpack(&buffer.name, &output).expect("it unpacks");
            let bits = |t: &AnyTensor| format!("{:?}", download(buffer.dtype, t));
            assert_eq!(bits(&output), bits(&unpacked));
            unpacked
        };
        self.algorithm.outputs.iter().zip(kernel.run(args).expect("it runs")).map(one).collect()
    }

    /// Runs the variant; the results by buffer.
    fn launch(
        &self,
        device: &Device,
        kernel: &DynKernel,
        given: &Given,
        shapes: &HashMap<BufferId, Vec<i64>>,
    ) -> Vec<(BufferId, Vec<Value>)> {
        let algorithm = &self.algorithm;
        let mut tensors: Vec<(BufferId, AnyTensor)> =
            given.tensors.iter().map(|(id, t)| (*id, upload(device, algorithm.buffers[*id].dtype, t))).collect();
        let mut outputs: Vec<AnyTensor> =
            algorithm.outputs.iter().map(|id| poisoned(device, algorithm.buffers[*id].dtype, &shapes[id])).collect();
        let mut updates: HashMap<BufferId, AnyTensor> = HashMap::new();
        tensors.retain_mut(|(id, tensor)| {
            let update = algorithm.buffers[*id].space == Space::Update;
            if update {
                updates.insert(*id, std::mem::replace(tensor, poisoned(device, DType::F32, &[0])));
            }
            !update
        });
        let given_as = |(id, tensor): (BufferId, AnyTensor)| {
            let name = &algorithm.buffers[id].name;
            let packed = self.program.tensors.iter().any(|t| t.name == *name && t.layout.is_some());
            (id, if packed { kernel.pack(name, &tensor).expect("it packs") } else { tensor })
        };
        let reads: HashMap<BufferId, AnyTensor> = tensors.into_iter().map(given_as).collect();
        let mut slots: HashMap<BufferId, &mut AnyTensor> = updates.iter_mut().map(|(id, t)| (*id, t)).collect();
        let args: Vec<Argument<'_>> = algorithm
            .arguments
            .iter()
            .map(|argument| match argument {
                nest::Argument::Tensor(id) => match slots.remove(id) {
                    Some(update) => Argument::Update(update),
                    None => Argument::Read(&reads[id]),
                },
                nest::Argument::Scalar(id) => Argument::Scalar(scalar(given.scalars[id], algorithm.scalars[*id].dtype)),
            })
            .collect();
        if self.program.tensors.iter().any(|t| t.role == launch::Role::Output && t.layout.is_some()) {
            outputs = self.packed_outputs(kernel, args);
        } else {
            kernel.run_into(args, outputs.iter_mut()).expect("it runs");
        }
        let results = algorithm.outputs.iter().copied().zip(outputs).chain(updates);
        results.map(|(id, tensor)| (id, download(algorithm.buffers[id].dtype, &tensor))).collect()
    }
}

fn typed(value: f64, dtype: DType) -> Value {
    match dtype {
        DType::Bool => Value::Bool(value != 0.0),
        d if d.is_float() => Value::float(value),
        _ => Value::Int(value as i64),
    }
}

/// A random value that its dtype holds exactly.
fn random(dtype: DType, fill: Fill) -> Value {
    const ODD: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -2.5];
    match (dtype, fill) {
        (DType::Bool, _) => Value::Bool(fastrand::bool()),
        (DType::I32 | DType::U32, Fill::Below(n)) => Value::Int(fastrand::i64(0..n.max(1))),
        (DType::I32, Fill::Wild) => {
            Value::Int(i64::from(fastrand::choice([fastrand::i32(..), i32::MIN, i32::MAX, 0, -1, 3]).unwrap_or(0)))
        }
        (DType::U32, Fill::Wild) => Value::Int(i64::from(fastrand::choice([fastrand::u32(..), u32::MAX, 0, 5]).unwrap_or(0))),
        (DType::I32, _) => Value::Int(fastrand::i64(-100..=100)),
        (DType::U32, _) => Value::Int(fastrand::i64(0..=100)),
        (_, Fill::Wild) if fastrand::u8(..4) == 0 => Value::float(fastrand::choice(ODD).unwrap_or(0.0)),
        (dtype, _) => {
            let value = fastrand::f64() * 2.0 - 1.0;
            Value::float(if dtype == DType::F16 { f16::from_f64(value).to_f64() } else { f64::from(value as f32) })
        }
    }
}

fn scalar(value: Value, dtype: DType) -> Scalar {
    match dtype {
        DType::F32 => Scalar::from(value.number() as f32),
        DType::F16 => Scalar::from(f16::from_f64(value.number())),
        DType::I32 => Scalar::from(value.number() as i32),
        DType::U32 => Scalar::from(value.number() as u32),
        _ => Scalar::from(value == Value::Bool(true)),
    }
}

fn usizes(shape: &[i64]) -> Vec<usize> {
    shape.iter().map(|n| usize::try_from(*n).expect("a shape")).collect()
}

fn upload(device: &Device, dtype: DType, tensor: &Tensor) -> AnyTensor {
    let shape = usizes(&tensor.shape);
    let numbers = || tensor.values.iter().map(|v| v.number());
    let uploaded = match dtype {
        DType::F32 => device.upload(&shape, &numbers().map(|v| v as f32).collect::<Vec<_>>()).map(|t| t.into_any()),
        DType::F16 => device.upload(&shape, &numbers().map(f16::from_f64).collect::<Vec<_>>()).map(|t| t.into_any()),
        DType::I32 => device.upload(&shape, &numbers().map(|v| v as i32).collect::<Vec<_>>()).map(|t| t.into_any()),
        DType::U32 => device.upload(&shape, &numbers().map(|v| v as u32).collect::<Vec<_>>()).map(|t| t.into_any()),
        _ => device.upload(&shape, &numbers().map(|v| v != 0.0).collect::<Vec<_>>()).map(|t| t.into_any()),
    };
    uploaded.expect("an upload")
}

/// A tensor full of what no kernel computes.
fn poisoned(device: &Device, dtype: DType, shape: &[i64]) -> AnyTensor {
    let count = usizes(shape).iter().product::<usize>();
    let values = match dtype {
        DType::F32 | DType::F16 => vec![Value::float(-12345.0); count],
        DType::Bool => (0..count).map(|_| Value::Bool(fastrand::bool())).collect(),
        _ => vec![Value::Int(123_456_789); count],
    };
    upload(device, dtype, &Tensor { shape: shape.to_vec(), values })
}

fn download(dtype: DType, tensor: &AnyTensor) -> Vec<Value> {
    match dtype {
        DType::F32 => tensor.download::<f32>().expect("a download").into_iter().map(|v| Value::float(v.into())).collect(),
        DType::F16 => tensor.download::<f16>().expect("a download").into_iter().map(|v| Value::float(v.into())).collect(),
        DType::I32 => tensor.download::<i32>().expect("a download").into_iter().map(|v| Value::Int(v.into())).collect(),
        DType::U32 => tensor.download::<u32>().expect("a download").into_iter().map(|v| Value::Int(v.into())).collect(),
        _ => tensor.download::<bool>().expect("a download").into_iter().map(Value::Bool).collect(),
    }
}

/// Every element is within its bound. Where a step function's operand is too near a jump there is no bound; such elements
/// are few.
fn compare(buffer: &nest::Buffer, wanted: &Tensor, got: &[Value], dims: &[(&str, i64)]) {
    assert_eq!(wanted.values.len(), got.len(), "`{}` at {dims:?}", buffer.name);
    let mut unknown = 0;
    for (i, (wanted, got)) in wanted.values.iter().zip(got).enumerate() {
        let right = match (wanted, got) {
            (Value::Float(w), Value::Float(g)) => {
                let w = w.rounded(buffer.dtype);
                unknown += usize::from(w.value.is_finite() && w.error.is_infinite());
                w.value.is_nan() && g.value.is_nan() || w.value == g.value || (w.value - g.value).abs() <= w.error
            }
            _ => wanted == got,
        };
        assert!(right, "`{}`[{i}] at {dims:?}: {got:?}, not {wanted:?}", buffer.name);
    }
    assert!(unknown * 3 <= got.len() + 3, "{unknown} of {} elements of `{}` at {dims:?} have no bound", got.len(), buffer.name);
}
