//! The meaning of a kernel, computed directly. Floats are values of an [`Arithmetic`]: usually f64 values with a bound on a device's error
//! ([`Float`]). Integers are exactly as the language defines them: indices without a width, and data with the width of its type. The
//! evaluation walks the algorithm's expressions point by point. It does not use nests, so that it can check their results.

mod arithmetic;
mod float;

pub use arithmetic::{Arithmetic, Bounded};
pub use float::Float;

use crate::arena::Id;
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Outside, Read, Unary};
use crate::nest::{AxisId, Body, BufferId, DimId, Monoid, Program, ScalarId, Space, Stage, StageId};
use crate::table::Map;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use tilewright_launch::{DType, Numbers};

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
    fn int(&self) -> i64 {
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

struct Machine<'a, A: Arithmetic> {
    arithmetic: &'a A,
    program: &'a Program,
    given: &'a Given<A::Float>,
    /// The values of the dims, and the tensors, by their indices, because a lookup by hash would take most of the time.
    dims: Vec<Option<i64>>,
    tensors: Vec<Option<Tensor<A::Float>>>,
    /// The values of the axes of the current point, by the axes' indices.
    axes: Vec<Option<i64>>,
    /// The values of large parts of the current expression, which may be shared: those with more than [`FEW`] parts.
    known: Map<ExprId, Value<A::Float>>,
    /// The number of nested parts that are being computed.
    open: u32,
}

/// The most parts of an expression that is computed again, because that is faster than a lookup.
const FEW: u32 = 16;

/// The values of a point: usually one, or the few components of a reduction.
type Values<F> = SmallVec<[Value<F>; 2]>;

/// The components of a reduction's state and item, for expressions that name them.
#[derive(Clone, Copy)]
struct Tuple<'a, F> {
    state: &'a [Value<F>],
    item: &'a [Value<F>],
}

impl<F> Default for Tuple<'_, F> {
    fn default() -> Self {
        Tuple { state: &[], item: &[] }
    }
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
        let (dims, axes) = (vec![None; program.dims.len()], vec![None; program.axes.len()]);
        let mut tensors = tensors;
        let tensors = program.buffers.ids().map(|id| tensors.remove(&id)).collect();
        Machine { arithmetic, program, given, dims, tensors, axes, known: Map::default(), open: 0 }
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
        let buffers = stage.buffers();
        let mut values = vec![Vec::new(); buffers.len()];
        // If the tensor is empty, the points are not visited, because the other axes may have billions of points.
        if !shape.contains(&0) {
            self.points(&stage.axes, &mut |machine| {
                for (values, value) in values.iter_mut().zip(machine.point(stage)?) {
                    values.push(value);
                }
                Ok(())
            })?;
        }
        for (buffer, values) in buffers.into_iter().zip(values) {
            self.tensors[buffer.index()] = Some(Tensor { shape: shape.clone(), values });
        }
        Ok(())
    }

    /// Returns the values that a stage stores at a point: its own value, and the values of the other components of a reduction.
    fn point(&mut self, stage: &Stage) -> Result<Values<A::Float>, Fault> {
        match &stage.body {
            Body::Map(value) => Ok(smallvec![self.data(*value, Tuple::default())?]),
            Body::Reduce { monoid, over, lift, finish } => {
                let mut state = Values::new();
                for identity in &monoid.identity {
                    state.push(self.value(*identity, Tuple::default())?);
                }
                let mut products: Vec<Option<A::Product>> =
                    (0..state.len()).map(|n| self.is_product(monoid, n).then(A::Product::default)).collect();
                self.points(over, &mut |machine| {
                    let mut items = Values::new();
                    for part in lift {
                        items.push(machine.data(*part, Tuple::default())?);
                    }
                    for (product, item) in products.iter_mut().zip(&items) {
                        if let (Some(product), Value::Float(item)) = (product, item) {
                            machine.arithmetic.multiply(product, *item);
                        }
                    }
                    state = machine.combine(monoid, &state, &items)?;
                    Ok(())
                })?;
                for ((product, state), combine) in products.iter().zip(&mut state).zip(&monoid.combine) {
                    if let (Some(product), Value::Float(whole)) = (product, state) {
                        *whole = self.arithmetic.in_any_order(product, *whole, self.program.exprs.dtype(*combine));
                    }
                }
                let stored = [*finish].into_iter().chain(stage.also.iter().map(|(_, value)| *value));
                stored.map(|value| self.data(value, Tuple { state: &state, item: &[] })).collect()
            }
        }
    }

    /// True if a component of a reduction's state is the product of its items.
    fn is_product(&self, monoid: &Monoid, component: usize) -> bool {
        let exprs = &self.program.exprs;
        let is = |e: ExprId| match *exprs.get(e) {
            Expr::State(n) | Expr::Item(n) => n as usize == component,
            _ => false,
        };
        let of = monoid.combine.get(component).map(|e| exprs.get(*e));
        matches!(of, Some(Expr::Binary(Binary::Mul, a, b)) if a != b && is(*a) && is(*b))
    }

    fn combine(&mut self, monoid: &Monoid, state: &[Value<A::Float>], item: &[Value<A::Float>]) -> Result<Values<A::Float>, Fault> {
        if let ([state], [item], Some((op, dtype))) = (state, item, monoid.operation(&self.program.exprs)) {
            return Ok(smallvec![self.binary(op, *state, *item, dtype)]);
        }
        let mut new = Values::new();
        for part in &monoid.combine {
            new.push(self.value(*part, Tuple { state, item })?);
        }
        Ok(new)
    }

    /// Calls `f` at every point of the axes, row-major. Extents may depend on earlier axes.
    fn points(&mut self, axes: &[AxisId], f: &mut dyn FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let Some((axis, rest)) = axes.split_first() else { return f(self) };
        for value in 0..self.index(self.program.axes[*axis].extent)? {
            self.axes[axis.index()] = Some(value);
            self.points(rest, f)?;
        }
        self.axes[axis.index()] = None;
        Ok(())
    }

    /// Returns the value of an integer outside a reduction's combination.
    fn index(&mut self, id: ExprId) -> Result<i64, Fault> {
        self.int(id, Tuple::default())
    }

    /// Returns the value of an integer. Small indices have a path of their own, because most parts of an expression are indices.
    fn int(&mut self, id: ExprId, tuple: Tuple<'_, A::Float>) -> Result<i64, Fault> {
        let exprs = &self.program.exprs;
        if exprs.is_index(id) && exprs.size(id) <= FEW {
            match exprs.get(id) {
                Expr::Axis(axis) => return self.axis(*axis),
                Expr::Dim(dim) => return self.dim(*dim),
                Expr::Unary(..) | Expr::Binary(..) => return self.exact(id, tuple),
                _ => {}
            }
        }
        Ok(self.value(id, tuple)?.int())
    }

    fn axis(&self, axis: AxisId) -> Result<i64, Fault> {
        let name = || format!("axis `{}` is not bound here", self.program.axes[axis].name);
        Ok(self.axes[axis.index()].ok_or_else(name)?)
    }

    fn dim(&self, dim: DimId) -> Result<i64, Fault> {
        let name = || format!("the value of dim `{}` is missing here", self.program.dims[dim].name);
        Ok(self.dims[dim.index()].ok_or_else(name)?)
    }

    /// Returns a value as data: an index wraps to its type.
    fn data(&mut self, id: ExprId, tuple: Tuple<'_, A::Float>) -> Result<Value<A::Float>, Fault> {
        let value = self.value(id, tuple)?;
        Ok(if self.program.exprs.is_index(id) { wrap(value.int(), DType::I32) } else { value })
    }

    fn value(&mut self, id: ExprId, tuple: Tuple<'_, A::Float>) -> Result<Value<A::Float>, Fault> {
        if self.program.exprs.size(id) <= FEW {
            return self.new_value(id, tuple);
        }
        if self.open == 0 {
            self.known.clear();
        }
        if let Some(known) = self.known.get(&id) {
            return Ok(*known);
        }
        self.open += 1;
        let value = self.new_value(id, tuple);
        self.open -= 1;
        if let Ok(value) = &value {
            self.known.insert(id, *value);
        }
        value
    }

    fn new_value(&mut self, id: ExprId, tuple: Tuple<'_, A::Float>) -> Result<Value<A::Float>, Fault> {
        let (program, dtype) = (self.program, self.program.exprs.dtype(id));
        if program.exprs.is_index(id)
            && let Expr::Unary(..) | Expr::Binary(..) = program.exprs.get(id)
        {
            return self.exact(id, tuple).map(Value::Int);
        }
        let missing = || "the tuple does not have this component".to_owned();
        Ok(match program.exprs.get(id) {
            Expr::Const(c) => self.constant(*c),
            Expr::Axis(axis) => Value::Int(self.axis(*axis)?),
            Expr::Dim(dim) => Value::Int(self.dim(*dim)?),
            Expr::Scalar(s) => {
                *self.given.scalars.get(s).ok_or_else(|| format!("scalar `{}` is not given", program.scalars[*s].name))?
            }
            Expr::State(n) => *tuple.state.get(*n as usize).ok_or_else(missing)?,
            Expr::Item(n) => *tuple.item.get(*n as usize).ok_or_else(missing)?,
            Expr::Read(read) => self.read(read, tuple)?,
            Expr::Unary(op, a) => {
                let a = self.data(*a, tuple)?;
                self.unary(*op, a, dtype)
            }
            // An index becomes data if it is an operand of arithmetic on data, but not if it is compared with data.
            Expr::Binary(op @ (Binary::Min | Binary::Max | Binary::Div | Binary::Rem), a, b) => {
                let (a, b) = (self.value(*a, tuple)?, self.value(*b, tuple)?);
                self.binary(*op, a, b, dtype)
            }
            // The second operand is not evaluated if it does not matter, because its reads may then be out of bounds.
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) if dtype == DType::Bool => {
                let first = self.value(*a, tuple)?;
                if first.truth() == (*op == Binary::Or) { first } else { self.value(*b, tuple)? }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.data(*a, tuple)?, self.data(*b, tuple)?);
                self.binary(*op, a, b, dtype)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.value(*a, tuple)?, self.value(*b, tuple)?);
                Value::Bool(self.compare(*op, a, b))
            }
            Expr::Select(c, a, b) => {
                let chosen = if self.value(*c, tuple)?.truth() { a } else { b };
                if program.exprs.is_index(id) { self.value(*chosen, tuple)? } else { self.data(*chosen, tuple)? }
            }
            Expr::Cast(to, a) => {
                let a = self.value(*a, tuple)?;
                self.cast(a, *to)
            }
            // The product is rounded twice. This is never more precise than rounding once, so the bound holds for both.
            Expr::MulAdd(a, b, c) => {
                let (a, b, c) = (self.value(*a, tuple)?, self.value(*b, tuple)?, self.value(*c, tuple)?);
                let product = self.binary(Binary::Mul, a, b, dtype);
                self.binary(Binary::Add, product, c, dtype)
            }
        })
    }

    /// Computes arithmetic on indices.
    fn exact(&mut self, id: ExprId, tuple: Tuple<'_, A::Float>) -> Result<i64, Fault> {
        let program = self.program;
        let value = match program.exprs.get(id) {
            Expr::Unary(op, a) => op.of_int(self.int(*a, tuple)?),
            Expr::Binary(op, a, b) => match (self.int(*a, tuple)?, self.int(*b, tuple)?) {
                (_, 0) if matches!(op, Binary::FloorDiv | Binary::FloorMod) => Some(0),
                (a, b) => op.exact(a, b),
            },
            _ => None,
        };
        value.ok_or_else(|| "an index does not fit in 64 bits".to_owned().into())
    }

    fn read(&mut self, read: &Read, tuple: Tuple<'_, A::Float>) -> Result<Value<A::Float>, Fault> {
        let mut index: SmallVec<[i64; 4]> = SmallVec::new();
        for i in &read.index {
            index.push(self.int(*i, tuple)?);
        }
        let name = || &self.program.buffers[read.buffer].name;
        let Some(tensor) = &self.tensors[read.buffer.index()] else { return Err(format!("`{}` is not given", name()).into()) };
        for (d, (i, extent)) in index.iter_mut().zip(&tensor.shape).enumerate() {
            if (0..*extent).contains(i) {
                continue;
            }
            let allowed = |sides: &crate::expr::Sides| sides.get(d).is_some_and(|(low, high)| if *i < 0 { *low } else { *high });
            match &read.outside {
                Outside::Clamp(sides) if allowed(sides) => *i = (*i).clamp(0, (extent - 1).max(0)),
                Outside::Fill(fill, sides) if allowed(sides) => return self.value(*fill, tuple),
                _ => return Err(format!("`{}` is read at {i} in dimension {d}, whose extent is {extent}", name()).into()),
            }
        }
        let flat = index.iter().zip(&tensor.shape).fold(0, |flat, (i, extent)| flat * extent + i);
        let value = usize::try_from(flat).ok().and_then(|flat| tensor.values.get(flat));
        value.copied().ok_or_else(|| format!("index {index:?} of `{}` is out of bounds", name()).into())
    }
}

/// Wraps an integer to its type.
fn wrap<F>(value: i64, dtype: DType) -> Value<F> {
    Value::Int(dtype.wrapped(value))
}

/// Operations on values of all types.
impl<A: Arithmetic> Machine<'_, A> {
    fn constant(&self, c: Const) -> Value<A::Float> {
        match c.dtype.numbers() {
            Numbers::Float(_) => Value::Float(self.arithmetic.constant(c)),
            Numbers::Int { .. } => Value::Int(c.value() as i64),
            Numbers::Bool => Value::Bool(c.value() != 0.0),
        }
    }

    fn unary(&self, op: Unary, a: Value<A::Float>, dtype: DType) -> Value<A::Float> {
        match a {
            Value::Bool(b) => Value::Bool(!b),
            Value::Int(_) if op == Unary::IsNan => Value::Bool(false),
            Value::Int(bits) if op == Unary::FromBits => Value::Float(self.arithmetic.of_bits(bits as u32, dtype)),
            Value::Int(i) => wrap(op.of_int(i).unwrap_or_default(), dtype),
            Value::Float(f) if op == Unary::IsNan => Value::Bool(self.arithmetic.is_nan(f)),
            Value::Float(f) if op == Unary::ToBits => Value::Int(self.arithmetic.to_bits(f, Unary::FromBits.result(dtype))),
            Value::Float(f) => Value::Float(self.arithmetic.unary(op, f, dtype)),
        }
    }

    fn binary(&self, op: Binary, a: Value<A::Float>, b: Value<A::Float>, dtype: DType) -> Value<A::Float> {
        match (a, b) {
            (Value::Float(x), Value::Float(y)) => Value::Float(self.arithmetic.binary(op, x, y, dtype)),
            (Value::Bool(x), Value::Bool(y)) => Value::Bool(match op {
                Binary::And | Binary::Min => x && y,
                Binary::Or | Binary::Max => x || y,
                _ => x != y,
            }),
            // The cast and the wrapping keep the low bits, which the exact result and the device's result share.
            _ => wrap(op.of_ints(a.int(), b.int()).unwrap_or_default() as i64, dtype),
        }
    }

    fn compare(&self, op: Compare, a: Value<A::Float>, b: Value<A::Float>) -> bool {
        match (a, b) {
            (Value::Float(x), Value::Float(y)) => self.arithmetic.compare(op, x, y),
            _ => op.holds(a.int(), b.int()),
        }
    }

    /// Converts as Rust's `as` does.
    fn cast(&self, a: Value<A::Float>, to: DType) -> Value<A::Float> {
        match (to.numbers(), a) {
            (Numbers::Bool, Value::Float(f)) => Value::Bool(self.arithmetic.is_nonzero(f)),
            (Numbers::Bool, a) => Value::Bool(a.truth()),
            (Numbers::Float(_), Value::Float(f)) => Value::Float(self.arithmetic.rounded(f, to)),
            (Numbers::Float(_), a) => Value::Float(self.arithmetic.rounded(self.arithmetic.of_int(a.int()), to)),
            (Numbers::Int { .. }, Value::Float(f)) => Value::Int(self.arithmetic.to_int(f, to)),
            (Numbers::Int { .. }, a) => wrap(a.int(), to),
        }
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
