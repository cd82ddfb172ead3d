//! The meaning of a kernel, computed directly. Floats are values of an [`Arithmetic`]: usually f64 values with a bound on a device's error
//! ([`Float`]). Integers are exactly as the language defines them: indices without a width, and data with the width of its type. The
//! evaluation visits all points of the algorithm's stages ([`points`]), and computes the expressions at many points at once ([`values`]). It
//! does not use nests, so that it can check their results.

mod arithmetic;
mod column;
mod float;
mod laws;
mod points;
mod values;

pub use arithmetic::{Arithmetic, Bounded};
pub use float::Float;
pub use laws::{Broken, laws};

use crate::arena::Id;
use crate::expr::ExprId;
use crate::nest::{BufferId, DimId, Program, ScalarId, Space, StageId};
use std::collections::HashMap;
use tilewright_launch::{DType, Numbers};
use values::Batch;

/// A value of any dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<F = Float> {
    /// A value of f32, f16 or bf16.
    Float(F),
    /// A value of an integer type. Data is within the type's range.
    Int(i64),
    /// A bool.
    Bool(bool),
}

/// A tensor's elements, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<F = Float> {
    /// The extents.
    pub shape: Vec<i64>,
    /// The elements.
    pub values: Vec<Value<F>>,
}

/// The arguments of a launch.
#[derive(Clone, Debug)]
pub struct Given<F = Float> {
    /// The values of the symbolic dims. Derived dims are computed.
    pub dims: HashMap<DimId, i64>,
    /// The scalars.
    pub scalars: HashMap<ScalarId, Value<F>>,
    /// The inputs, and the tensors to be updated.
    pub tensors: HashMap<BufferId, Tensor<F>>,
}

impl<F> Default for Given<F> {
    fn default() -> Given<F> {
        Given { dims: HashMap::new(), scalars: HashMap::new(), tensors: HashMap::new() }
    }
}

impl Value {
    /// A float that a device represents exactly.
    pub fn float(value: f64) -> Value {
        Value::Float(Float::exact(value))
    }

    /// Returns a number that the type has as a value of this type.
    pub fn of(number: f64, dtype: DType) -> Value {
        match dtype.numbers() {
            Numbers::Float(_) => Value::float(number),
            Numbers::Int { .. } => Value::Int(number as i64),
            Numbers::Bool => Value::Bool(number != 0.0),
        }
    }

    /// Returns the value as a number, for every type.
    pub fn number(self) -> f64 {
        match self {
            Value::Float(f) => f.value,
            Value::Int(i) => i as f64,
            Value::Bool(b) => f64::from(u8::from(b)),
        }
    }
}

impl<F> Value<F> {
    /// Returns the integer. The types exclude that a float is taken for one.
    pub fn int(&self) -> i64 {
        match self {
            Value::Float(_) => 0,
            Value::Int(i) => *i,
            Value::Bool(b) => i64::from(*b),
        }
    }

    fn truth(&self) -> bool {
        !matches!(self, Value::Bool(false) | Value::Int(0))
    }
}

/// Returns the shapes of all buffers for these dims.
pub fn shapes(program: &Program, given: &Given) -> Result<HashMap<BufferId, Vec<i64>>, String> {
    let mut machine = Machine::new(&Bounded, program, given, HashMap::new());
    machine.size()?;
    program
        .buffers
        .iter()
        .map(|(id, b)| Ok((id, b.shape.iter().map(|e| machine.index(*e)).collect::<Result<_, Fault>>()?)))
        .collect()
}

/// Returns the values of indices of sizes, for these dims. Dims that are not given, such as strides, are 0.
pub fn indices(program: &Program, given: &Given, of: &[ExprId]) -> Result<Vec<i64>, String> {
    let mut given = given.clone();
    for (id, _) in program.dims.iter().filter(|(_, dim)| dim.derived.is_none()) {
        given.dims.entry(id).or_insert(0);
    }
    let mut machine = Machine::new(&Bounded, program, &given, HashMap::new());
    machine.size()?;
    of.iter().map(|index| Ok(machine.index(*index)?)).collect()
}

/// Computes every stage, and returns all tensors, including intermediates. An error is a fault of the kernel (for example, a
/// read out of bounds) or of the arguments.
pub fn evaluate(program: &Program, given: &Given) -> Result<HashMap<BufferId, Tensor>, String> {
    let mut machine = Machine::new(&Bounded, program, given, given.tensors.clone());
    machine.size()?;
    machine.needed()?;
    machine.stages()
}

/// Computes every stage as [`evaluate`] does, in another arithmetic. Conditions on scalars are not checked.
pub fn evaluate_in<A: Arithmetic>(
    arithmetic: &A,
    program: &Program,
    given: &Given<A::Float>,
) -> Result<HashMap<BufferId, Tensor<A::Float>>, String> {
    let mut machine = Machine::new(arithmetic, program, given, given.tensors.clone());
    machine.size()?;
    machine.stages()
}

impl<A: Arithmetic> Machine<'_, A> {
    /// Computes all stages, and returns all tensors.
    fn stages(mut self) -> Result<HashMap<BufferId, Tensor<A::Float>>, String> {
        let program = self.program;
        for (id, buffer) in program.buffers.iter() {
            let shape = buffer.shape.iter().map(|e| self.index(*e)).collect::<Result<Vec<_>, _>>()?;
            if let Space::Constant(values) = &buffer.space {
                let values = values.iter().map(|c| self.constant(*c)).collect();
                self.tensors[id.index()] = Some(Tensor { shape, values });
            } else if let Some(tensor) = &self.tensors[id.index()]
                && tensor.shape != shape
            {
                return Err(format!("`{}` has the shape {:?}, not {shape:?}", buffer.name, tensor.shape));
            }
        }
        let mut done = Vec::new();
        for stage in program.stages.ids() {
            self.stage(stage, &mut done)?;
        }
        for (buffer, tensor) in std::mem::take(&mut self.updated) {
            self.tensors[buffer.index()] = Some(tensor);
        }
        Ok(program.buffers.ids().zip(self.tensors).filter_map(|(id, tensor)| Some((id, tensor?))).collect())
    }
}

/// The reason why a value does not exist.
#[expect(clippy::box_collection, reason = "results of integers fit in two registers with one pointer")]
struct Fault(Box<String>);

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault(Box::new(text))
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> String {
        *fault.0
    }
}

/// An evaluation, with the values that it has computed.
struct Machine<'a, A: Arithmetic> {
    arithmetic: &'a A,
    program: &'a Program,
    given: &'a Given<A::Float>,
    /// The values of the dims, and the tensors, by their indices, because a lookup by hash would take most of the time.
    dims: Vec<Option<i64>>,
    tensors: Vec<Option<Tensor<A::Float>>>,
    /// The new values of arguments that are updated. All stages read the old ones.
    updated: Vec<(BufferId, Tensor<A::Float>)>,
}

/// Conditions on the arguments.
impl Machine<'_, Bounded> {
    /// Checks the conditions, limits and bounds that the kernel needs.
    fn needed(&mut self) -> Result<(), Fault> {
        for c in self.program.checks.conditions.iter().filter(|c| c.needed) {
            let (left, right) = (self.index(c.left)?, self.index(c.right)?);
            if !c.relation.holds(left, right) {
                return Err(format!("the kernel needs `{}`, which does not hold", c.text).into());
            }
        }
        let dims: Vec<i64> = self.dims.iter().map(|dim| dim.unwrap_or_default()).collect();
        if let Some(limit) = self.program.checks.limits.iter().find(|limit| !limit.holds(&dims)) {
            return Err(format!("the kernel needs {} to fit in 32 bits, which does not hold", limit.what).into());
        }
        for bound in self.program.checks.bounds.iter().filter(|bound| bound.needed) {
            let given = self.given.scalars.get(&bound.scalar).map(|given| given.number());
            if !given.is_some_and(|given| bound.relation.holds(given, bound.value)) {
                return Err(format!("the kernel needs `{}`, which does not hold", bound.text).into());
            }
        }
        Ok(())
    }
}

impl<'a, A: Arithmetic> Machine<'a, A> {
    fn new(
        arithmetic: &'a A,
        program: &'a Program,
        given: &'a Given<A::Float>,
        tensors: HashMap<BufferId, Tensor<A::Float>>,
    ) -> Machine<'a, A> {
        let mut tensors = tensors;
        let tensors = program.buffers.ids().map(|id| tensors.remove(&id)).collect();
        Machine { arithmetic, program, given, dims: vec![None; program.dims.len()], tensors, updated: Vec::new() }
    }

    /// Computes the values of all dims.
    fn size(&mut self) -> Result<(), Fault> {
        for (id, dim) in self.program.dims.iter() {
            let value = match dim.derived {
                Some(value) => self.index(value)?,
                None => *self.given.dims.get(&id).ok_or_else(|| format!("dim `{}` is not given", dim.name))?,
            };
            if value < 0 {
                return Err(format!("dim `{}` is {value}", dim.name).into());
            }
            self.dims[id.index()] = Some(value);
        }
        Ok(())
    }

    /// Computes a stage, after the stages that it reads.
    fn stage(&mut self, id: StageId, done: &mut Vec<StageId>) -> Result<(), Fault> {
        if done.contains(&id) {
            return Ok(());
        }
        done.push(id);
        let program = self.program;
        let stage = &program.stages[id];
        for read in stage.values().iter().flat_map(|v| program.exprs.reads(*v)) {
            if let Some(other) = program.definition(read.buffer) {
                self.stage(other, done)?;
            }
        }
        let shape = program.buffers[stage.buffer].shape.iter().map(|e| self.index(*e)).collect::<Result<Vec<_>, _>>()?;
        // If the tensor is empty, the points are not visited, because the other axes may have billions of points.
        let values = if shape.contains(&0) { vec![Vec::new(); stage.buffers().len()] } else { self.results(stage)? };
        for (buffer, values) in stage.buffers().into_iter().zip(values) {
            let tensor = Tensor { shape: shape.clone(), values };
            match program.buffers[buffer].space {
                Space::Update => self.updated.push((buffer, tensor)),
                _ => self.tensors[buffer.index()] = Some(tensor),
            }
        }
        Ok(())
    }

    /// Returns the value of an index without axes.
    fn index(&self, id: ExprId) -> Result<i64, Fault> {
        Ok(self.ints(id, &mut Batch::new(1, self.program.axes.len()))?.at(0))
    }
}

impl<F> Given<F> {
    /// Sets the value of a symbolic dim of a program, by its name.
    pub fn dim(mut self, program: &Program, name: &str, value: i64) -> Given<F> {
        if let Some(dim) = program.dims.ids().find(|d| program.dims[*d].name == name && program.dims[*d].derived.is_none()) {
            self.dims.insert(dim, value);
        }
        self
    }
}
