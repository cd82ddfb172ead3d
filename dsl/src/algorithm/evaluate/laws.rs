//! Tests of the laws that a reduction needs: its combiner is associative and commutative, and its identity is neutral.
//!
//! The states are items, and combinations of items, whose reads have random values: few small numbers, so that ties are frequent, the ends of
//! integer types, and NaN where it is possible. Floats agree if they differ by no more than a device's rounding errors. A test finds a broken
//! law with high probability, and proves nothing.

use super::column::Column;
use super::values::Batch;
use super::{Bounded, Given, Machine, Value};
use crate::arena::Id;
use crate::expr::{Const, Expr, ExprId};
use crate::nest::{AxisId, DimId, Monoid, Program, Space};
use std::collections::HashMap;
use std::rc::Rc;
use tilewright_launch::DType;

/// The number of cases that are tested.
const CASES: usize = 192;

/// The number of items of each case.
const ITEMS: usize = 5;

/// The values of an axis are below this number, which 3 does not divide.
const POSITIONS: u64 = 8;

/// The sizes of all dims in the cases. The second is tried if the first contradicts the kernel's shapes.
const SIZES: [i64; 2] = [64, 1024];

/// The floats of the cases: few, so that some are equal, and with few bits, so that sums and products of them are exact.
const FLOATS: [f64; 12] = [-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 3.0, 7.0];

/// One of this many values is NaN, or at an end of its integer type.
const RARE: u64 = 16;

/// A law that does not hold.
pub struct Broken {
    /// The law.
    pub what: &'static str,
    /// An example, in one or several sentences.
    pub cases: Vec<String>,
    /// A way to mend the combiner or the identity.
    pub help: &'static str,
}

/// The components of a state in each case.
type States = Vec<Rc<Column<Value>>>;

/// Tests the combiner of a reduction. Returns false if no case can be evaluated.
///
/// # Errors
/// A law that does not hold.
pub fn laws(program: &Program, monoid: &Monoid, over: &[AxisId], lift: &[ExprId]) -> Result<bool, Broken> {
    let Some(given) = SIZES.iter().map(|size| given(program, *size)).find(|given| machine(program, given).is_some()) else {
        return Ok(false);
    };
    let Some(machine) = machine(program, &given) else { return Ok(false) };
    let mut sampler = Sampler { program, over, seed: 0, common: HashMap::new() };
    let Some(items) = sampler.items(&machine, lift) else { return Ok(false) };
    match (Laws { machine: &machine, monoid }).test(&items) {
        Ok(()) => Ok(true),
        Err(Some(broken)) => Err(broken),
        Err(None) => Ok(false),
    }
}

/// Returns an evaluation in which all sizes are known. `None` if the sizes contradict the kernel's shapes.
fn machine<'a>(program: &'a Program, given: &'a Given) -> Option<Machine<'a, Bounded>> {
    let mut machine = Machine::new(&Bounded, program, given, HashMap::new());
    machine.size().ok()?;
    Some(machine)
}

/// Returns a size for all dims, and scalars that satisfy the kernel's facts.
fn given(program: &Program, size: i64) -> Given {
    let dims = program.dims.iter().filter(|(_, dim)| dim.derived.is_none()).map(|(id, _): (DimId, _)| (id, size)).collect();
    let scalars = program.scalars.iter().map(|(id, scalar)| {
        let bounds: Vec<_> = program.checks.bounds.iter().filter(|bound| bound.scalar == id).collect();
        let first = if scalar.dtype.is_float() { 2.5 } else { 3.0 };
        let numbers =
            [first, 1.0, 0.0, -1.0].into_iter().chain(bounds.iter().flat_map(|b| [b.value, b.value + 1.0, b.value - 1.0]));
        let number = numbers.into_iter().find(|n| bounds.iter().all(|bound| bound.relation.holds(*n, bound.value)));
        (id, Value::of(number.unwrap_or(first), scalar.dtype))
    });
    Given { dims, scalars: scalars.collect(), ..Given::default() }
}

/// The tests of a monoid. An error is a broken law, or `None` if the combiner cannot be evaluated.
struct Laws<'m> {
    machine: &'m Machine<'m, Bounded>,
    monoid: &'m Monoid,
}

type Tested<T> = Result<T, Option<Broken>>;

impl Laws<'_> {
    fn test(&self, items: &[States]) -> Tested<()> {
        let none = self.evaluated(&self.monoid.identity, &Vec::new(), &Vec::new())?;
        // A reduction begins with the identity, so an item that it absorbs is not a state, such as NaN in a maximum.
        let states = items.iter().map(|item| self.combine(&none, item)).collect::<Tested<Vec<_>>>()?;
        let ([a, b, c, d, e], [_, item, ..]) = (&states[..], items) else { return Ok(()) };
        self.orders(a, b, c)?;
        let (two, others) = (self.combine(a, d)?, self.combine(b, e)?);
        self.orders(&two, &others, c)?;
        for state in [&none, a, &two] {
            self.neutral(&none, state)?;
        }
        self.parts(a, item, b)
    }

    /// Tests that an item changes a state as the state of this item alone does.
    fn parts(&self, state: &States, item: &States, alone: &States) -> Tested<()> {
        let (whole, part) = (self.combine(state, item)?, self.combine(state, alone)?);
        let Some(n) = differ(&whole, &part) else { return Ok(()) };
        let [state, item, alone] = [state, item, alone].map(|state| shown(state, n));
        let cases = vec![
            format!("{state} and the item {item} give {}", shown(&whole, n)),
            format!("the identity and {item} give {alone}, and {state} and {alone} give {}", shown(&part, n)),
        ];
        Err(Some(Broken { what: "the combiner is not associative", cases, help: NEUTRAL }))
    }

    /// Tests that the identity is neutral for a state.
    fn neutral(&self, none: &States, state: &States) -> Tested<()> {
        let what = "the identity of this reduction is not neutral";
        for (combined, text) in
            [(self.combine(none, state)?, "identity, then state"), (self.combine(state, none)?, "state, then identity")]
        {
            if let Some(n) = differ(&combined, state) {
                let case = format!("{text}: {} and {} give {}", shown(none, n), shown(state, n), shown(&combined, n));
                return Err(Some(Broken { what, cases: vec![case], help: NEUTRAL }));
            }
        }
        Ok(())
    }

    /// Tests that states can be combined in any order and in parts.
    fn orders(&self, a: &States, b: &States, c: &States) -> Tested<()> {
        let (ab, ba) = (self.combine(a, b)?, self.combine(b, a)?);
        if let Some(n) = differ(&ab, &ba) {
            let case = |x, y, xy| format!("{} and {} give {}", shown(x, n), shown(y, n), shown(xy, n));
            let cases = vec![case(a, b, &ab), case(b, a, &ba)];
            let nan = [a, b].iter().any(|state| has_nan(state, n));
            let help = if nan {
                WITHOUT_NAN
            } else {
                "the order of the operands must not matter: of equal values, for example, choose the one with the lower position"
            };
            return Err(Some(Broken { what: "the combiner is not commutative", cases, help }));
        }
        let (first, last) = (self.combine(&ab, c)?, self.combine(a, &self.combine(b, c)?)?);
        let Some(n) = differ(&first, &last) else { return Ok(()) };
        let [x, y, z] = [a, b, c].map(|state| shown(state, n));
        let cases = vec![
            format!("{x} and {y}, and then {z}, give {}", shown(&first, n)),
            format!("{x}, and then {y} and {z} together, give {}", shown(&last, n)),
        ];
        let nan = [a, b, c].iter().any(|state| has_nan(state, n));
        let help = if nan {
            WITHOUT_NAN
        } else {
            "keep the parts of the result in the state, such as a sum and a count, and divide after the reduction"
        };
        Err(Some(Broken { what: "the combiner is not associative", cases, help }))
    }

    fn combine(&self, first: &States, second: &States) -> Tested<States> {
        self.evaluated(&self.monoid.combine, first, second)
    }

    fn evaluated(&self, parts: &[ExprId], state: &States, item: &States) -> Tested<States> {
        let mut batch = Batch::new(CASES, self.machine.program.axes.len());
        (batch.state, batch.item) = (state.clone(), item.clone());
        parts.iter().map(|part| self.machine.values(*part, &mut batch).map_err(|_| None)).collect()
    }
}

const NEUTRAL: &str =
    "a state combined with the identity, on either side, is the state: 0 for a sum, and the lowest number for a maximum";

const WITHOUT_NAN: &str = "leave out NaN, by `reduce(…) where !x[k].is_nan() { … }`, or state `finite(x)` in the kernel's `where`";

/// Returns a case in which two states differ by more than rounding errors. Cases without NaN come first.
fn differ(left: &States, right: &States) -> Option<usize> {
    let differs = |n: &usize| left.iter().zip(right).any(|(l, r)| !agree(l.at(*n), r.at(*n)));
    let found: Vec<usize> = (0..CASES).filter(differs).collect();
    found.iter().find(|n| !has_nan(left, **n) && !has_nan(right, **n)).or(found.first()).copied()
}

fn agree(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            let (error, differ) = (a.error + b.error, a.value.is_nan() != b.value.is_nan());
            !differ && (a.value.is_nan() || a.value == b.value || !error.is_finite() || (a.value - b.value).abs() <= error)
        }
        _ => a == b,
    }
}

fn has_nan(state: &States, case: usize) -> bool {
    state.iter().any(|component| component.at(case).number().is_nan())
}

/// Returns a state of a case as text.
fn shown(state: &States, case: usize) -> String {
    let text = |value: Value| match value {
        Value::Float(f) => format!("{:?}", f.value as f32),
        Value::Int(i) => i.to_string(),
        Value::Bool(b) => b.to_string(),
    };
    let components: Vec<String> = state.iter().map(|component| text(component.at(case))).collect();
    if let [one] = &components[..] { format!("`{one}`") } else { format!("`({})`", components.join(", ")) }
}

/// Returns the value of an axis for an item of a case. `number` is the axis's number among the `of` axes of the reduction. In each case, one of
/// these axes tells all items apart, and the others have some values twice.
fn position(start: u64, number: Option<usize>, of: usize, case: usize, item: usize) -> i64 {
    let offset = match number {
        None => 0,
        Some(number) if case % of.max(1) == number => 3 * item,
        Some(_) => item / 2,
    };
    ((start + offset as u64) % POSITIONS) as i64
}

/// Makes the items of the cases. A case has items of different points of the reduction.
struct Sampler<'a> {
    program: &'a Program,
    over: &'a [AxisId],
    /// The state of the generator of random numbers.
    seed: u64,
    /// The values of the reads that all items of a case share.
    common: HashMap<ExprId, Rc<Column<Value>>>,
}

impl Sampler<'_> {
    fn items(&mut self, machine: &Machine<'_, Bounded>, lift: &[ExprId]) -> Option<Vec<States>> {
        let starts: Vec<(AxisId, Vec<u64>)> =
            self.program.axes.ids().map(|axis| (axis, (0..CASES).map(|_| self.random() % POSITIONS).collect())).collect();
        let mut all = Vec::new();
        for n in 0..ITEMS {
            let mut batch = Batch::new(CASES, self.program.axes.len());
            for (axis, starts) in &starts {
                let number = self.over.iter().position(|other| other == axis);
                let positions = starts.iter().enumerate().map(|(case, start)| position(*start, number, self.over.len(), case, n));
                batch.axes[axis.index()] = Some(Rc::new(Column::Each(positions.collect())));
            }
            let mut item = Vec::new();
            for part in lift {
                let replaced = self.with_values(*part, &mut batch.item);
                item.push(machine.data(replaced, &mut batch).ok()?);
            }
            all.push(item);
        }
        Some(all)
    }

    /// Replaces the reads of an item by components of `values`, which it adds.
    fn with_values(&mut self, part: ExprId, values: &mut States) -> ExprId {
        let exprs = &self.program.exprs;
        exprs.replace(part, &mut |exprs, id| {
            let Expr::Read(read) = exprs.get(id) else { return None };
            let is_common = !exprs.uses_axis(id, &mut |axis| self.over.contains(&axis));
            let column = match self.common.get(&id) {
                Some(column) => column.clone(),
                None => {
                    let buffer = &self.program.buffers[read.buffer];
                    let is_finite = self.program.checks.finite.contains(&read.buffer);
                    let values: Vec<Value> = (0..CASES).map(|_| self.value(&buffer.space, buffer.dtype, is_finite)).collect();
                    let column = Rc::new(Column::Each(values));
                    if is_common {
                        self.common.insert(id, column.clone());
                    }
                    column
                }
            };
            values.push(column);
            Some(exprs.add(Expr::Item(values.len() as u32 - 1), exprs.dtype(id)))
        })
    }

    /// Returns a random element of a buffer.
    fn value(&mut self, space: &Space, dtype: DType, is_finite: bool) -> Value {
        if let Space::Constant(values) = space
            && let Some(value) = values.get(self.random() as usize % values.len().max(1))
        {
            return Value::of(Const::value(*value), dtype);
        }
        let (random, is_rare) = (self.random() as usize, self.random().is_multiple_of(RARE));
        let number = match dtype.int_range() {
            Some((least, greatest)) if is_rare => [least, greatest][random % 2] as f64,
            Some((least, _)) => (random % 10) as f64 + (least as f64).max(-4.0),
            None if dtype.is_float() && is_rare && !is_finite => f64::NAN,
            None if dtype.is_float() => FLOATS[random % FLOATS.len()],
            None => (random % 2) as f64,
        };
        Value::of(number, dtype)
    }

    /// Returns the next random number (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> 8
    }
}
