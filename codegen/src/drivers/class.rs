//! Classes of floats: which values may be NaN although a driver's compiler takes them for numbers.

use crate::Resolver;
use crate::hash::Map;
use crate::values::{Kind, Op, ValueId, Values};
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{BufferId, Compute, Monoid};

/// The NaN class of each float value, and of each buffer's elements.
#[derive(Default)]
pub struct Classes {
    of: Map<ValueId, Class>,
    held: Map<BufferId, Class>,
}

/// The facts known about a float. A bool is suspect if it is computed from comparisons of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// True if it may be NaN.
    pub nan: bool,
    /// True if no compiler can know a range of it.
    free: bool,
}

impl Class {
    /// The class of values that are read from memory or passed by the launch.
    const UNKNOWN: Class = Class { nan: true, free: true };
    const SUSPECT: Class = Class { nan: true, free: false };
    const NUMBER: Class = Class { nan: false, free: false };

    /// True if it may be NaN although a compiler may know a range that ignores NaN.
    pub fn is_suspect(self) -> bool {
        self.nan && !self.free
    }

    /// The class of a value that is one of two. A range of one of them may be used as a range of the value.
    fn or(self, other: Class) -> Class {
        match (self.nan, other.nan) {
            (true, true) => Class { nan: true, free: self.free && other.free },
            (true, false) => self,
            (false, _) => other,
        }
    }
}

impl Classes {
    /// Returns the class of a value.
    pub fn class(&mut self, values: &Values, id: ValueId) -> Class {
        if let Some(known) = self.of.get(&id) {
            return *known;
        }
        let class = self.new_class(values, id);
        self.of.insert(id, class);
        class
    }

    fn new_class(&mut self, values: &Values, id: ValueId) -> Class {
        let node = values.node(id);
        if node.dtype == DType::Bool {
            return self.class_of_truth(values, id);
        }
        if !node.dtype.is_float() {
            return Class::NUMBER;
        }
        let (op, of) = match &node.kind {
            Kind::Const(c) if c.value().is_nan() => return Class::SUSPECT,
            Kind::Op(op, of) => (*op, of.clone()),
            Kind::Load(_) | Kind::Param(_) | Kind::Moment(_) => return Class::UNKNOWN,
            _ => return Class::NUMBER,
        };
        match op {
            Op::Unary(op) => {
                let of = self.class(values, of[0]);
                Class { nan: of.nan || makes_nan(op), free: of.free && is_onto(op) }
            }
            Op::Binary(Binary::Min | Binary::Max) => {
                let (a, b) = (self.class(values, of[0]), self.class(values, of[1]));
                Class { nan: a.nan && b.nan, free: a.free && b.free }
            }
            Op::Binary(op) => Class { nan: true, free: self.is_free(values, op, of[0], of[1]) },
            // If a factor is also the addend, a compiler may know a range of the result.
            Op::Fma => {
                let free = self.class(values, of[2]).free || self.is_free(values, Binary::Mul, of[0], of[1]);
                Class { nan: true, free: free && !of[..2].iter().any(|v| unsigned(values, *v) == unsigned(values, of[2])) }
            }
            Op::Select => self.class_of_choice(values, of[0], of[1], of[2]),
            Op::Cast(_) | Op::Narrow(_) | Op::Index => self.class(values, of[0]),
            Op::Splat(_) | Op::Extract(_) | Op::Part(_) => self.class(values, of[0]),
            Op::Join => of.iter().map(|v| self.class(values, *v)).reduce(Class::or).unwrap_or(Class::SUSPECT),
            Op::Compare(_) | Op::Dot { .. } => Class::NUMBER,
        }
    }

    /// True if the result of arithmetic can be any number, even if the range of one operand is known.
    fn is_free(&mut self, values: &Values, op: Binary, a: ValueId, b: ValueId) -> bool {
        // A square has a known range, and so has a square with one factor negated.
        let related = unsigned(values, a) == unsigned(values, b);
        match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => {
                !related && (self.class(values, a).free || self.class(values, b).free)
            }
            _ => false,
        }
    }

    fn class_of_choice(&mut self, values: &Values, cond: ValueId, yes: ValueId, no: ValueId) -> Class {
        let (a, b) = (self.class(values, yes), self.class(values, no));
        if let Kind::Op(Op::Unary(Unary::IsNan), of) = &values.node(cond).kind
            && of[0] == no
        {
            return Class { nan: a.nan, free: a.free && b.free };
        }
        match self.class(values, cond).is_suspect() {
            // A suspect condition may restrict the range. For example, `if x < 0 { -x } else { x }` is an absolute value.
            true => Class { nan: a.nan || b.nan, free: false },
            false => Class { nan: a.nan || b.nan, free: a.free || b.free },
        }
    }

    fn class_of_truth(&mut self, values: &Values, id: ValueId) -> Class {
        let Kind::Op(op, of) = &values.node(id).kind else { return Class::NUMBER };
        let (op, of) = (*op, of.clone());
        let suspect = match op {
            Op::Compare(_) | Op::Unary(Unary::IsNan) => values.dtype(of[0]).is_float(),
            _ => of.iter().any(|v| values.dtype(*v) == DType::Bool && self.class(values, *v).is_suspect()),
        };
        if suspect { Class::SUSPECT } else { Class::NUMBER }
    }

    /// Records the class of a value that is written to a buffer. A compiler forwards values through registers, and may do so through
    /// memory.
    pub fn write(&mut self, values: &Values, buffer: BufferId, value: ValueId) {
        if values.dtype(value).is_float() {
            let class = self.class(values, value);
            self.join_class(buffer, class);
        }
    }

    fn join_class(&mut self, buffer: BufferId, class: Class) {
        let before = self.held.get(&buffer).copied().unwrap_or(Class::NUMBER);
        self.held.insert(buffer, before.or(class));
    }

    /// Records the class of a value that was read from a written buffer.
    pub fn read(&mut self, buffer: BufferId, value: ValueId) {
        let class = self.held.get(&buffer).copied().unwrap_or(Class::UNKNOWN);
        self.of.insert(value, class);
    }

    /// Records the class of a reduction's state before the state is read in a loop. Sums, products, minima and maxima do not compare
    /// the state, so they are not recorded. Any other state that may be NaN is suspect from the beginning.
    pub fn note_states(&mut self, resolver: &Resolver<'_>, monoid: &Monoid, c: &Compute, items: &[ValueId]) {
        if monoid.operation(&resolver.program.exprs).is_some() {
            return;
        }
        let may_be_nan = items.iter().any(|item| self.class(&resolver.values, *item).nan);
        for to in c.dst.iter().filter(|_| may_be_nan) {
            self.join_class(to.buffer, Class::SUSPECT);
        }
    }
}

/// True if a function can return NaN for an argument that is not NaN.
fn makes_nan(op: Unary) -> bool {
    use Unary::*;
    !matches!(
        op,
        Neg | Abs | Sign | Floor | Ceil | Round | RoundTiesEven | Trunc | Exp | Exp2 | ExpM1 | Atan | Sinh | Cosh | Tanh | Asinh
    )
}

/// True if the results of a function include all numbers.
fn is_onto(op: Unary) -> bool {
    use Unary::*;
    matches!(op, Neg | Floor | Ceil | Round | RoundTiesEven | Trunc | Ln | Log2 | Log10 | Ln1p | Tan | Sinh | Asinh | Atanh)
}

/// Strips negations and absolute values from a value.
fn unsigned(values: &Values, id: ValueId) -> ValueId {
    match &values.node(id).kind {
        Kind::Op(Op::Unary(Unary::Neg | Unary::Abs), of) => unsigned(values, of[0]),
        _ => id,
    }
}
