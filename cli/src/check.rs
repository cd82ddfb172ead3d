//! Checks the results of a variant: compares a launch at small sizes with the plain evaluation, element by element, within the bound that
//! the arithmetic gives.

use crate::cost;
use crate::sizes::{Sizes, symbolic};
use crate::variant::Compiled;
use fastrand::Rng;
use std::collections::HashMap;
use tilewright_codegen::cost::Cost;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate, shapes};
use tilewright_dsl::lower::launch::scalar_index;
use tilewright_dsl::nest::{self, Argument, Buffer, BufferId, Space};
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, Numbers, Program};
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
pub(crate) fn small_sizes(compiled: &Compiled, version: usize, asked: &Sizes, profile: &Profile) -> Option<Sizes> {
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
        let Some(work) = work(costs, program, &sizes, profile).filter(|work| *work <= MOST) else { continue };
        let odd = sizes.0.iter().filter(|(_, value)| value % 2 == 1 && *value > 1).count();
        // Prefers more odd sizes, then more work, because a size of one tile does not detect errors between two tiles.
        if best.as_ref().is_none_or(|(o, w, _)| (odd, work) > (*o, *w)) && compiled.taken(&sizes) == Ok(version) {
            best = Some((odd, work, sizes));
        }
    }
    best.map(|(_, _, sizes)| sizes).or_else(|| {
        let sizes = shrunk(compiled, version, &names, asked)?;
        work(costs, program, &sizes, profile).filter(|work| *work <= MOST_OF_FEW).map(|_| sizes)
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
fn work(costs: &[Cost], program: &Program, sizes: &Sizes, profile: &Profile) -> Option<f64> {
    Some(cost::totals(costs, program, sizes, profile)?.flops + elements(program, sizes)?)
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
        let mut rng = Rng::with_seed(seed);
        let mut given = sizes.0.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
        for (id, scalar) in algorithm.scalars.iter() {
            let number = program.sample(scalar_index(algorithm, id));
            let number = number.ok_or_else(|| format!("no value of `{}` was found that satisfies the facts", scalar.name))?;
            given.scalars.insert(id, typed(scalar.dtype, number));
        }
        let shapes = shapes(algorithm, &given)?;
        let shape = |id: BufferId| shapes.get(&id).cloned().unwrap_or_default();
        for (id, buffer) in algorithm.buffers.iter().filter(|(_, b)| matches!(b.space, Space::Input | Space::Update)) {
            let shape = shape(id);
            let count =
                shape.iter().try_fold(1i64, |n, size| n.checked_mul(*size)).filter(|n| *n >= 0).ok_or("a shape is too large")?;
            let values = (0..count).map(|_| random(buffer.dtype, &mut rng)).collect();
            given.tensors.insert(id, Tensor { shape, values });
        }
        let mut wanted = wanted(algorithm, decomposed, &given)?;
        let mut arguments = Vec::new();
        let mut updates = Vec::new();
        for argument in &algorithm.arguments {
            arguments.push(match argument {
                Argument::Tensor(id) => {
                    let (buffer, tensor) = (&algorithm.buffers[*id], &given.tensors[id]);
                    if buffer.space == Space::Update {
                        updates.push(*id);
                    }
                    message::Value::Tensor(array(buffer.dtype, tensor))
                }
                Argument::Scalar(id) => {
                    let (dtype, value) = (algorithm.scalars[*id].dtype, given.scalars[id]);
                    message::Value::Scalar(array(dtype, &Tensor { shape: Vec::new(), values: vec![value] }))
                }
                Argument::Dim(id) => {
                    // A dim that a fact equates with a literal has no given size.
                    let literal = || algorithm.dims[*id].derived.and_then(|value| algorithm.exprs.as_int(value));
                    let size = given.dims.get(id).copied().or_else(literal).and_then(|n| u64::try_from(n).ok());
                    message::Value::Size(size.ok_or_else(|| format!("the value of `{}` is missing", algorithm.dims[*id].name))?)
                }
            });
        }
        let outputs = algorithm.outputs.iter().map(|id| shape(*id).iter().map(|n| n.unsigned_abs()).collect()).collect();
        let results = algorithm.outputs.iter().chain(&updates);
        let of = |id: &BufferId| Some((algorithm.buffers[*id].clone(), wanted.remove(id)?));
        let wanted = results.map(of).collect::<Option<Vec<_>>>().ok_or("the evaluation lacks a result")?;
        Ok(Case { arguments, outputs, wanted })
    }

    /// Compares the results of a launch with the expected ones.
    pub(crate) fn compare(&self, results: &[Array]) -> Result<(), String> {
        if results.len() != self.wanted.len() {
            return Err(format!("{} results instead of {}", results.len(), self.wanted.len()));
        }
        for ((buffer, wanted), got) in self.wanted.iter().zip(results) {
            let values = values(got)?;
            let shape: Vec<i64> = got.shape.iter().map(|n| i64::try_from(*n).unwrap_or(-1)).collect();
            if shape != wanted.shape || values.len() != wanted.values.len() || got.dtype != buffer.dtype {
                return Err(format!(
                    "`{}` is {} of shape {shape:?}, not {} of {:?}",
                    buffer.name, got.dtype, buffer.dtype, wanted.shape
                ));
            }
            let mut unknown = 0;
            for (at, (wanted, got)) in wanted.values.iter().zip(&values).enumerate() {
                match is_right(*wanted, *got, buffer.dtype) {
                    Some(true) => {}
                    Some(false) => return Err(wrong(&buffer.name, &shape, at, *wanted, *got)),
                    None => unknown += 1,
                }
            }
            if unknown > 0 && unknown == values.len() {
                return Err(format!("no element of `{}` has a bound of its error, so no element was compared", buffer.name));
            }
        }
        Ok(())
    }
}

/// Returns the expected results: the algorithm's values, with the error that the decomposed algorithm may add.
fn wanted(
    algorithm: &nest::Program,
    decomposed: Option<&nest::Program>,
    given: &Given,
) -> Result<HashMap<BufferId, Tensor>, String> {
    let mut wanted = evaluate(algorithm, given)?;
    let Some(decomposed) = decomposed else { return Ok(wanted) };
    // Strides are dims of the decomposed program, but no result depends on them.
    let mut given = given.clone();
    for (id, _) in decomposed.dims.iter().filter(|(_, dim)| dim.derived.is_none()) {
        given.dims.entry(id).or_insert(0);
    }
    let others = evaluate(decomposed, &given)?;
    for (id, tensor) in wanted.iter_mut() {
        if !matches!(algorithm.buffers[*id].space, Space::Output | Space::Update) {
            continue;
        }
        let other = others.get(id).ok_or("the decomposed algorithm lacks a result")?;
        for (value, other) in tensor.values.iter_mut().zip(&other.values) {
            let (Value::Float(value), Value::Float(other)) = (value, other) else { continue };
            if value.value.is_nan() {
                *value = *other;
            } else {
                value.error += other.error + (value.value - other.value).abs();
            }
        }
    }
    Ok(wanted)
}

/// True if an element is right. `None` if its error has no bound, as where the operand of a step function is near the step.
fn is_right(wanted: Value, got: Value, dtype: DType) -> Option<bool> {
    let (Value::Float(wanted), Value::Float(got)) = (wanted, got) else { return Some(wanted == got) };
    let wanted = wanted.rounded(dtype);
    if wanted.value == got.value || wanted.value.is_nan() && got.value.is_nan() {
        return Some(true);
    }
    wanted.error.is_finite().then(|| (wanted.value - got.value).abs() <= wanted.error)
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

/// Returns the value of a type that is nearest to a number.
fn typed(dtype: DType, number: f64) -> Value {
    Value::of(dtype.from_bits(dtype.to_bits(number)), dtype)
}

/// Returns a value that its dtype holds exactly: floats from -1 to 1, small integers.
fn random(dtype: DType, rng: &mut Rng) -> Value {
    let float = rng.f64() * 2.0 - 1.0;
    match dtype.numbers() {
        Numbers::Bool => Value::Bool(rng.bool()),
        Numbers::Float(_) => typed(dtype, float),
        Numbers::Int { least, greatest } => Value::Int(rng.i64(least.max(-100)..=greatest.min(100))),
    }
}

fn array(dtype: DType, tensor: &Tensor) -> Array {
    let bits = tensor.values.iter().map(|value| dtype.to_bits(value.number()));
    let bytes = bits.flat_map(|bits| bits.to_le_bytes().into_iter().take(Array::bytes_of(dtype))).collect();
    Array { dtype, shape: tensor.shape.iter().map(|n| n.unsigned_abs()).collect(), bytes }
}

fn values(array: &Array) -> Result<Vec<Value>, String> {
    array.checked_shape()?;
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
    let value = |bytes: &[u8]| Value::of(array.dtype.from_bits(bits(bytes)), array.dtype);
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
        let launched = tilewright_dsl::lower::launch::frame(&program, &Profile::vulkan_1_1(), "V").expect("a program");
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
