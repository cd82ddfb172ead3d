//! Compiles kernels from text, and launches them on the device that the environment selects.

use crate::array::Array;
use std::sync::OnceLock;
use tilewright::{Device, Options};
use tilewright_check::Inputs;
use tilewright_differential::compile;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, shapes};
use tilewright_dsl::nest::Space;
use tilewright_dsl::profile::Profile;
use tilewright_prove::launch::launch;

/// The kernels of quantized tensors.
const QUANTIZED: &str = include_str!("../../schedules/src/kernels/quantized.rs");

fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let layers = std::env::var("TILEWRIGHT_VALIDATION").as_deref() != Ok("0");
    DEVICE.get_or_init(|| {
        Options::from_env().expect("the environment is right").validation(layers).cache(None).open().expect("a Vulkan device")
    })
}

/// Returns the text of a kernel of `schedules/src/kernels/quantized.rs`. The file's functions are before the kernel, instead of its imports.
pub fn published(name: &str) -> Result<String, String> {
    let found = QUANTIZED.split("kernel! {").skip(1).find(|text| text.contains(&format!("pub fn {name}<")));
    let kernel = in_braces(found.ok_or_else(|| format!("no kernel `{name}`"))?);
    let functions = QUANTIZED.split_once("functions! {").map_or("", |(_, text)| in_braces(text));
    let is_import = |line: &&str| line.trim_start().starts_with("use self::");
    let lines = kernel.lines().filter(|line| !is_import(line));
    Ok(functions.lines().chain(lines).collect::<Vec<_>>().join("\n"))
}

/// Returns the text before the brace that closes the one before the text.
fn in_braces(text: &str) -> &str {
    let mut depth = 1;
    let end = text.char_indices().find(|(_, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Runs a kernel. `header` is the kernel's name in the schedule's header, with its dtypes and parameters; `tensors` and `scalars` are in the
/// kernel's order.
pub fn run(kernel: &str, header: &str, dims: &[(&str, i64)], tensors: &[&Array], scalars: &[f64]) -> Result<Vec<Array>, String> {
    let schedule = format!("PLANNED: {header} for p {{}}");
    let made = compile::variant(kernel, &schedule, &Profile::mesa_lavapipe()).map_err(|e| format!("{}\n{kernel}", e.text))?;
    let algorithm = &made.algorithm;
    let mut inputs = Inputs::sized(algorithm, dims, scalars, 1 << 20)?;
    let named = algorithm.buffers.iter().filter(|(_, buffer)| matches!(buffer.space, Space::Input | Space::Update));
    for ((id, buffer), array) in named.zip(tensors) {
        if buffer.dtype != array.dtype || inputs.shapes[&id] != array.shape {
            return Err(format!("`{}` is {} {:?}\n{kernel}", buffer.name, array.dtype, array.shape));
        }
        inputs.given.tensors.insert(id, Tensor { shape: array.shape.clone(), values: array.values.clone() });
    }
    // SAFETY: the compiler made the program.
    let loaded = unsafe { device().load_programs(vec![made.program.clone()]) }.map_err(|e| e.to_string())?;
    let results = launch(&loaded, &made.program, algorithm, &inputs).map_err(|e| e.to_string())?;
    let shapes = shapes(algorithm, &Given { tensors: inputs.given.tensors.clone(), ..inputs.given.clone() })?;
    Ok(results
        .into_iter()
        .map(|(id, values)| Array { dtype: algorithm.buffers[id].dtype, shape: shapes[&id].clone(), values })
        .collect())
}
