//! One run of a schedule at given sizes, in one field.

use crate::arithmetic::Exact;
use crate::launch::{Placed, inputs};
use crate::proof::Subject;
use crate::{Dims, named, names};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tilewright::exact::{Covered, Element, Field, ModuleName};
use tilewright::{Device, Error};
use tilewright_check::{Fill, Inputs};
use tilewright_dsl::algorithm::evaluate::{Tensor, Value, evaluate_in};
use tilewright_dsl::lower::launch::scalar_index;
use tilewright_dsl::nest::{Program, Space};
use tilewright_launch::DType;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The comparison of its results.
    pub outcome: Outcome,
    /// The bound of the degrees of all results.
    pub degree: u32,
    /// The number of instructions that were executed, counted in each invocation.
    pub executed: u64,
    /// True if a decision depended on two numbers, or the kernel has integers as arguments. The run then shows one path.
    pub chose: bool,
    /// The blocks of each dispatch that ran.
    pub covered: BTreeMap<ModuleName, Vec<Covered>>,
}

/// The comparison of a run's results with the algorithm's.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// All results are equal.
    Equal,
    /// An element is another one. It is the first one.
    Different {
        /// The result.
        tensor: String,
        /// The position of the element.
        index: Vec<i64>,
        /// The element of the algorithm.
        wanted: String,
        /// The element that the module computed.
        got: String,
    },
    /// Some results depend on unknown values, for these reasons.
    NotShown(BTreeSet<String>),
    /// The module committed a fault.
    Fault(String),
}

/// Runs a schedule at given sizes, with random integers, in a field that is drawn by a seed.
///
/// # Errors
/// If the kernel cannot have these sizes.
pub fn run(subject: &Subject<'_>, dims: &Dims, seed: u64) -> Result<Case, String> {
    let scalars = scalars(subject)?;
    let random = &mut Rng::with_seed(seed);
    run_with(subject, inputs(subject.algorithm, &named(dims), &scalars, &|_| Fill::Small, random)?, seed)
}

/// Returns values of the scalars that satisfy the facts. No two floats among them are equal, and none is 0, unless the facts leave no other
/// value: each is the name of an element, so a module that confuses equal ones would not be refuted.
fn scalars(subject: &Subject<'_>) -> Result<Vec<f64>, String> {
    let Subject { program, algorithm, .. } = subject;
    let mut taken: Vec<f64> = Vec::new();
    for (id, scalar) in algorithm.scalars.iter() {
        let n = scalar_index(algorithm, id);
        let sample =
            program.sample(n).ok_or_else(|| format!("no value of `{}` was found that satisfies the facts", scalar.name))?;
        let admitted = |value: &f64| program.facts.iter().all(|fact| fact.condition.holds_of_scalar(n, *value));
        let beside = (0..64).map(|step| sample + f64::from(step) / 64.0).chain((1..64).map(|step| sample - f64::from(step) / 64.0));
        let rounded = beside.map(|value| scalar.dtype.from_bits(scalar.dtype.to_bits(value)));
        let other = rounded.filter(|value| *value != 0.0 && !taken.contains(value)).find(admitted);
        taken.push(other.filter(|_| scalar.dtype.is_float()).unwrap_or(sample));
    }
    Ok(taken)
}

/// Runs a schedule on given inputs, in a field that is drawn by a seed. Floats of tensors are replaced by random elements.
///
/// # Errors
/// If the kernel does not have a value on these inputs.
pub fn run_with(subject: &Subject<'_>, mut inputs: Inputs, seed: u64) -> Result<Case, String> {
    let Subject { program, algorithm, .. } = subject;
    let passed: Vec<f32> = inputs.given.scalars.values().map(|scalar| scalar.number() as f32).collect();
    let field = Arc::new(Field::new(seed, &subject.rationals, &passed)?);
    names::name(&mut inputs, algorithm);
    let wanted = evaluate_in(&Exact(&field), algorithm, &names::given(&field, &inputs, algorithm))?;
    let device = Device::exact(field.clone());
    // SAFETY: the compiler made the program, and the reference device checks each access.
    let launched = unsafe { device.load_programs(vec![(*program).clone()]) }.and_then(|kernel| {
        let mut placed = Placed::new(&kernel, program, algorithm, &inputs)?;
        placed.run()?;
        placed.elements()
    });
    let outcome = match launched {
        // An index that is not known may be any index, so its faults show nothing.
        Err(error @ (Error::Fault { .. } | Error::Unwritten { .. } | Error::Words { .. })) => {
            doubted(Outcome::Fault(error.to_string()), &field)
        }
        Err(error) => Outcome::NotShown([format!("the launch is refused: {error}")].into()),
        Ok((_, false)) => Outcome::Fault("an element is written that lies around a view".to_owned()),
        Ok((results, true)) => {
            let mut outcome = Outcome::Equal;
            for (id, got) in results {
                let buffer = &algorithm.buffers[id];
                let wanted = wanted.get(&id).ok_or("the evaluation lacks a result")?;
                got.iter().chain(&wanted.values).for_each(|value| {
                    if let Value::Float(element) = value {
                        field.note(element)
                    }
                });
                outcome = worse(outcome, compare(&buffer.name, buffer.dtype, wanted, &got));
            }
            doubted(outcome, &field)
        }
    };
    let chose = field.chose() || takes_integers(algorithm);
    Ok(Case { outcome, degree: field.degree(), executed: field.executed(), chose, covered: field.covered() })
}

/// True if a kernel has arguments other than floats. They are random numbers, so a run tests some of them.
fn takes_integers(algorithm: &Program) -> bool {
    let is_given = |space: &Space| matches!(space, Space::Input | Space::Update);
    let mut tensors = algorithm.buffers.values().filter(|buffer| is_given(&buffer.space)).map(|buffer| buffer.dtype);
    tensors.any(|dtype| !dtype.is_float()) || algorithm.scalars.values().any(|scalar| !scalar.dtype.is_float())
}

/// Returns the first outcome that is not equality, and all reasons if both are not shown.
fn worse(first: Outcome, second: Outcome) -> Outcome {
    match (first, second) {
        (Outcome::Equal, second) => second,
        (Outcome::NotShown(mut reasons), Outcome::NotShown(more)) => {
            reasons.extend(more);
            Outcome::NotShown(reasons)
        }
        (Outcome::NotShown(_), second @ (Outcome::Different { .. } | Outcome::Fault(_))) => second,
        (first, _) => first,
    }
}

/// Returns the outcome of a run in which decisions may have depended on unknown values.
fn doubted(outcome: Outcome, field: &Field) -> Outcome {
    let problems = field.problems();
    if problems.is_empty() {
        return outcome;
    }
    let mut reasons: BTreeSet<String> = problems.iter().map(ToString::to_string).collect();
    if let Outcome::NotShown(more) = outcome {
        reasons.extend(more);
    }
    Outcome::NotShown(reasons)
}

/// Compares a result, element by element.
fn compare(name: &str, dtype: DType, wanted: &Tensor<Element>, got: &[Value<Element>]) -> Outcome {
    let mut reasons = BTreeSet::new();
    for (at, (wanted_value, got)) in wanted.values.iter().zip(got).enumerate() {
        let unknown = [wanted_value, got].into_iter().find_map(|value| match value {
            Value::Float(Element::Unknown(reason)) => Some(*reason),
            _ => None,
        });
        if let Some(reason) = unknown {
            reasons.insert(reason.to_string());
            continue;
        }
        if wanted_value != got {
            let (index, [wanted, got]) = (index(&wanted.shape, at), [wanted_value, got].map(|value| text(value, dtype)));
            return Outcome::Different { tensor: name.to_owned(), index, wanted, got };
        }
    }
    if wanted.values.len() != got.len() {
        return Outcome::Fault(format!("`{name}` has {} elements instead of {}", got.len(), wanted.values.len()));
    }
    if reasons.is_empty() { Outcome::Equal } else { Outcome::NotShown(reasons) }
}

fn text(value: &Value<Element>, dtype: DType) -> String {
    match value {
        Value::Float(element) => element.to_string(),
        Value::Int(i) => format!("{i} ({dtype})"),
        Value::Bool(b) => b.to_string(),
    }
}

/// Returns the index of an element of a row-major tensor.
fn index(shape: &[i64], at: usize) -> Vec<i64> {
    let mut rest = at as i64;
    let mut index: Vec<i64> = shape.iter().rev().map(|extent| (rest % extent.max(&1), rest /= extent.max(&1)).0).collect();
    index.reverse();
    index
}
