//! Checks the results of a variant: compares a launch at small sizes with the plain evaluation, element by element, within the bound that
//! the arithmetic gives.

use crate::cost;
use crate::sizes::{Sizes, symbolic};
use crate::variant::Compiled;
use fastrand::Rng;
use tilewright_check::{Compared, Fill, Inputs, Wrong, compare, wanted};
use tilewright_codegen::cost::Cost;
use tilewright_dsl::algorithm::evaluate::{Tensor, Value};
use tilewright_dsl::lower::launch::scalar_index;
use tilewright_dsl::nest::{self, Argument, Buffer, BufferId, Scalar, ScalarId, Space};
use tilewright_launch::{DType, Program};
use tilewright_runner::message::{self, Array};

/// The most operations and elements of a check. The limit is low, because the plain evaluation computes them one by one.
const MOST: f64 = 2e6;

/// The limit if a launch takes no smaller sizes.
const MOST_OF_FEW: f64 = 4e7;

/// The number of sizes that are tried.
const TRIES: usize = 6000;

/// Odd sizes, which leave partial tiles.
const ODD: [i64; 16] = [1, 3, 5, 7, 9, 11, 13, 17, 19, 23, 29, 31, 37, 41, 53, 67];

/// Sizes that facts may require.
const EVEN: [i64; 14] = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024];

/// Returns small sizes at which a launch takes a version: odd ones, as far as its facts allow them. `asked` are sizes that it takes.
pub(crate) fn small_sizes(compiled: &Compiled, version: usize, asked: &Sizes) -> Option<Sizes> {
    let (program, costs) = compiled.versions.get(version)?;
    let names = symbolic(program);
    let mut rng = Rng::with_seed(names.len() as u64);
    let mut best: Option<(usize, f64, Sizes)> = None;
    for n in 0..TRIES {
        // First all sizes are odd. Then some are values that facts may require, and some are the asked sizes, in case facts fix those.
        let mut pick = |name: &str| match rng.u8(..8) {
            _ if n < TRIES / 6 => ODD[rng.usize(..ODD.len())],
            0..3 => ODD[rng.usize(..ODD.len())],
            3..7 => EVEN[rng.usize(..EVEN.len())],
            _ => asked.get(name).unwrap_or(1),
        };
        let sizes = Sizes(names.iter().map(|name| ((*name).to_owned(), pick(name))).collect());
        let Some(work) = work(costs, program, &sizes).filter(|work| *work <= MOST) else { continue };
        let odd = sizes.0.iter().filter(|(_, value)| value % 2 == 1 && *value > 1).count();
        // Prefers more odd sizes, then more work, because a size of one tile does not detect errors between two tiles.
        if best.as_ref().is_none_or(|(o, w, _)| (odd, work) > (*o, *w)) && compiled.taken(&sizes) == Ok(version) {
            best = Some((odd, work, sizes));
        }
    }
    best.map(|(_, _, sizes)| sizes).or_else(|| {
        let sizes = shrunk(compiled, version, &names, asked)?;
        work(costs, program, &sizes).filter(|work| *work <= MOST_OF_FEW).map(|_| sizes)
    })
}

/// Returns the asked sizes, each made as small as a launch takes it while the others stay. None is 0, because then there would be no
/// elements to check.
fn shrunk(compiled: &Compiled, version: usize, names: &[&str], asked: &Sizes) -> Option<Sizes> {
    let mut sizes = Sizes(names.iter().map(|name| Some(((*name).to_owned(), asked.get(name)?.max(1)))).collect::<Option<_>>()?);
    for at in 0..names.len() {
        let whole = sizes.0[at].1;
        for value in ODD.into_iter().chain(EVEN).filter(|value| *value < whole) {
            sizes.0[at].1 = value;
            if compiled.taken(&sizes) == Ok(version) {
                break;
            }
            sizes.0[at].1 = whole;
        }
    }
    (compiled.taken(&sizes) == Ok(version)).then_some(sizes)
}

/// Returns the operations and elements of a launch.
fn work(costs: &[Cost], program: &Program, sizes: &Sizes) -> Option<f64> {
    Some(cost::totals(costs, program, sizes)?.flops + elements(program, sizes)?)
}

/// Returns the elements of all tensors of a launch.
fn elements(program: &Program, sizes: &Sizes) -> Option<f64> {
    let dims = sizes.dims(program).ok()?;
    let count = |t| Some(dims.shape(t).ok()?.iter().map(|n| *n as f64).product::<f64>());
    program.tensors.iter().map(count).sum()
}

/// A launch, and its expected results.
pub(crate) struct Case {
    pub(crate) arguments: Vec<message::Value>,
    pub(crate) outputs: Vec<Vec<u64>>,
    /// The expected outputs, then the updates: each buffer and its values.
    wanted: Vec<(Buffer, Tensor)>,
}

impl Case {
    /// Returns a case at given sizes. If the schedule decomposes, results may deviate as much as the decomposed algorithm's results.
    pub(crate) fn new(
        algorithm: &nest::Program,
        decomposed: Option<&nest::Program>,
        (program, sizes): (&Program, &Sizes),
        seed: u64,
    ) -> Result<Case, String> {
        let dims: Vec<(&str, i64)> = sizes.0.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let scalar = |(id, scalar): (ScalarId, &Scalar)| {
            let sample = program.sample(scalar_index(algorithm, id));
            sample.ok_or_else(|| format!("no value of `{}` was found that satisfies the facts", scalar.name))
        };
        let scalars = algorithm.scalars.iter().map(scalar).collect::<Result<Vec<f64>, _>>()?;
        let inputs = Inputs::sized(algorithm, &dims, &scalars, MOST_OF_FEW as i64)?;
        let inputs = inputs.filled(algorithm, &|_| Fill::Small, &mut Rng::with_seed(seed));
        let mut wanted = wanted(algorithm, decomposed, &inputs.given)?;
        let arguments = algorithm.arguments.iter().map(|argument| value(algorithm, &inputs, argument));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let shape = |id| inputs.shapes.get(id).into_iter().flatten().map(|n: &i64| n.unsigned_abs()).collect();
        let outputs = algorithm.outputs.iter().map(shape).collect();
        let updates = algorithm.arguments.iter().filter_map(|argument| match argument {
            Argument::Tensor(id) if algorithm.buffers[*id].space == Space::Update => Some(id),
            _ => None,
        });
        let of = |id: &BufferId| Some((algorithm.buffers[*id].clone(), wanted.remove(id)?));
        let wanted = algorithm.outputs.iter().chain(updates).map(of).collect::<Option<Vec<_>>>();
        Ok(Case { arguments, outputs, wanted: wanted.ok_or("the evaluation lacks a result")? })
    }

    /// Compares the results of a launch with the expected ones.
    pub(crate) fn compare(&self, results: &[Array]) -> Result<(), String> {
        if results.len() != self.wanted.len() {
            return Err(format!("{} results instead of {}", results.len(), self.wanted.len()));
        }
        for ((buffer, wanted), got) in self.wanted.iter().zip(results) {
            let values = values(got)?;
            let shape: Vec<i64> = got.shape.iter().map(|n| i64::try_from(*n).unwrap_or(-1)).collect();
            let is_other = shape != wanted.shape || got.dtype != buffer.dtype;
            let other =
                || format!("`{}` is {} of shape {shape:?}, not {} of {:?}", buffer.name, got.dtype, buffer.dtype, wanted.shape);
            match compare(buffer.dtype, wanted, &values) {
                _ if is_other => return Err(other()),
                Err(Wrong::Count { .. }) => return Err(other()),
                Err(Wrong::Element { at, wanted, got }) => return Err(wrong(&buffer.name, &shape, at, wanted, got)),
                Ok(Compared { different, .. }) if different > 0 && different == values.len() => {
                    return Err(format!("no element of `{}` has a bound of its error, so no element was compared", buffer.name));
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns an argument of the kernel as a runner takes it.
fn value(algorithm: &nest::Program, inputs: &Inputs, argument: &Argument) -> Result<message::Value, String> {
    let given = &inputs.given;
    Ok(match argument {
        Argument::Tensor(id) => message::Value::Tensor(array(algorithm.buffers[*id].dtype, &given.tensors[id])),
        Argument::Scalar(id) => {
            let tensor = Tensor { shape: Vec::new(), values: vec![given.scalars[id]] };
            message::Value::Scalar(array(algorithm.scalars[*id].dtype, &tensor))
        }
        Argument::Dim(id) => {
            let size = inputs.dim(algorithm, *id).and_then(|n| u64::try_from(n).ok());
            message::Value::Size(size.ok_or_else(|| format!("the value of `{}` is missing", algorithm.dims[*id].name))?)
        }
    })
}

fn wrong(name: &str, shape: &[i64], at: usize, wanted: Value, got: Value) -> String {
    let mut rest = at as i64;
    let mut index: Vec<i64> = Vec::new();
    for size in shape.iter().rev() {
        index.push(rest % size.max(&1));
        rest /= size.max(&1);
    }
    index.reverse();
    let bound = if let Value::Float(f) = wanted { format!(" (within {:e})", f.error) } else { String::new() };
    format!("`{name}`{index:?} is {}, not {}{bound}", got.number(), wanted.number())
}

fn array(dtype: DType, tensor: &Tensor) -> Array {
    let bits = tensor.values.iter().map(|value| match dtype {
        DType::I64 => value.int().cast_unsigned(),
        _ => dtype.to_bits(value.number()).into(),
    });
    let bytes = bits.flat_map(|bits| bits.to_le_bytes().into_iter().take(Array::bytes_of(dtype))).collect();
    Array { dtype, shape: tensor.shape.iter().map(|n| n.unsigned_abs()).collect(), bytes }
}

fn values(array: &Array) -> Result<Vec<Value>, String> {
    array.checked_shape()?;
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    let value = |bytes: &[u8]| match array.dtype {
        DType::I64 => Value::Int(bits(bytes).cast_signed()),
        dtype => Value::of(dtype.from_bits(bits(bytes) as u32), dtype),
    };
    Ok(array.bytes.chunks_exact(Array::bytes_of(array.dtype)).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_dsl::diag::Spans;
    use tilewright_dsl::syntax;

    /// Returns a kernel's algorithm.
    fn algorithm(kernel: &str) -> nest::Program {
        let mut spans = Spans::new();
        let tokens = kernel.parse().expect("tokens");
        let kernel = syntax::kernel::parse(tokens, &mut spans).into_result().map_err(|e| e.texts(&spans)).expect("a kernel");
        let schedule = "V: k for p {}".parse().expect("tokens");
        let schedule = syntax::parse(schedule, &mut spans, syntax::schedule::Schedule::parse).into_result().expect("a schedule");
        let bindings = tilewright_dsl::schedule::head::bindings(&kernel, &schedule).expect("a head");
        tilewright_dsl::algorithm::check(&kernel, &bindings).map_err(|e| e.texts(&spans)).expect("an algorithm")
    }

    #[test]
    fn a_result_that_is_off_by_more_than_rounding_is_found() {
        let program = algorithm(
            "fn k<N>(x: f32[N], n: dim, y: &mut i32[N]) -> (s: f32[], b: bool[n]) {
                s[] = sum(i in 0..N) { x[i] };
                y[i] = y[i] + 1;
                b[i] = i > 1;
            }",
        );
        let sizes = Sizes(vec![("N".into(), 5), ("n".into(), 3)]);
        let launched = tilewright_dsl::lower::launch::frame(&program, &tilewright_dsl::profile::Profile::vulkan_1_1(), "V")
            .expect("a program");
        let case = Case::new(&program, None, (&launched, &sizes), 7).expect("a case");
        assert_eq!((case.arguments.len(), &case.outputs), (3, &vec![vec![], vec![3]]));
        let right: Vec<Array> = case.wanted.iter().map(|(buffer, tensor)| array(buffer.dtype, tensor)).collect();
        assert_eq!(case.compare(&right), Ok(()));

        let sum = f32::from_le_bytes(*right[0].bytes.first_chunk().expect("four bytes"));
        let with = |n: usize, bytes: Vec<u8>| {
            let mut results = right.clone();
            results[n].bytes = bytes;
            case.compare(&results)
        };
        assert_eq!(with(0, f32::to_le_bytes(sum + f32::EPSILON * sum.abs()).into()), Ok(()));
        let wrong = with(0, f32::to_le_bytes(sum + 1e-3).into()).expect_err("off");
        assert!(wrong.starts_with("`s`[] is ") && wrong.contains("(within "), "{wrong}");
        assert!(with(0, f32::to_le_bytes(f32::NAN).into()).is_err());
        assert_eq!(with(1, vec![0, 0, 0]), Err("`b`[2] is 0, not 1".into()));
        let mut y = right[2].bytes.clone();
        y[4] ^= 1;
        assert!(with(2, y).expect_err("off").starts_with("`y`[1] is "));
        assert!(with(2, vec![0; 3]).expect_err("short").contains("has 3 bytes"));
        assert_eq!(case.compare(&right[..2]), Err("2 results instead of 3".into()));
    }
}
