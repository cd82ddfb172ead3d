//! The arithmetic of a field, for the plain evaluation of an algorithm.

use tilewright::exact::{Element, Field, Format, Reason};
use tilewright_dsl::algorithm::evaluate::Arithmetic;
use tilewright_dsl::expr::{Binary, Compare, Const, Unary};
use tilewright_launch::DType;

/// Floats as elements of a field.
#[derive(Clone, Copy, Debug)]
pub struct Exact<'a>(pub &'a Field);

/// Returns the format of a float type.
pub(crate) fn format(dtype: DType) -> Format {
    match dtype {
        DType::F16 => Format::F16,
        DType::BF16 => Format::BF16,
        _ => Format::F32,
    }
}

impl Exact<'_> {
    /// Returns a decision. Notes in the field if it depends on an unknown value.
    fn decided(&self, operands: &[Element], decision: Option<bool>) -> bool {
        for operand in operands {
            if let Element::Unknown(reason) = operand {
                self.0.doubt(*reason);
            }
        }
        decision == Some(true)
    }
}

impl Arithmetic for Exact<'_> {
    type Float = Element;
    type Product = ();

    fn constant(&self, c: Const) -> Element {
        self.0.constant(format(c.dtype), c.bits)
    }

    fn of_int(&self, int: i64) -> Element {
        Element::of(int)
    }

    fn to_int(&self, _: Element, _: DType) -> i64 {
        self.0.doubt(Reason::ToInteger);
        0
    }

    fn rounded(&self, x: Element, _: DType) -> Element {
        x
    }

    fn to_bits(&self, _: Element, _: DType) -> i64 {
        self.0.doubt(Reason::BitsOfFloat);
        0
    }

    fn of_bits(&self, _: u32, _: DType) -> Element {
        Element::Unknown(Reason::FloatOfBits)
    }

    fn unary(&self, op: Unary, x: Element, _: DType) -> Element {
        match op {
            Unary::Neg => x.negated(),
            Unary::Abs => self.0.abs(x),
            Unary::Sign => self.0.sign(x),
            Unary::Fract => x.minus(self.0.function("trunc", &[x])),
            Unary::Sqrt => self.0.sqrt(x),
            Unary::InverseSqrt => self.0.inverse_sqrt(x),
            Unary::Exp => self.0.exp(x),
            Unary::Exp2 => self.0.exp2(x),
            _ => self.0.function(op.name(), &[x]),
        }
    }

    fn binary(&self, op: Binary, x: Element, y: Element, _: DType) -> Element {
        match op {
            Binary::Add => x.plus(y),
            Binary::Sub => x.minus(y),
            Binary::Mul => x.times(y),
            Binary::Div => x.over(y),
            Binary::Min => self.0.min(x, y),
            Binary::Max => self.0.max(x, y),
            Binary::Pow => self.0.function("powf", &[x, y]),
            Binary::Atan2 => self.0.function("atan2", &[x, y]),
            Binary::Rem => self.0.function("rem", &[x, y]),
            Binary::RemEuclid => self.0.function("rem_euclid", &[x, y]),
            Binary::DivEuclid => self.0.function("div_euclid", &[x, y]),
            Binary::CopySign => self.0.function("copysign", &[x, y]),
            _ => Element::Unknown(Reason::BitsOfFloat),
        }
    }

    fn compare(&self, op: Compare, x: Element, y: Element) -> bool {
        let less = |a, b| self.0.is_less(a, b);
        let decision = match op {
            Compare::Eq => self.0.are_equal(x, y),
            Compare::Ne => self.0.are_equal(x, y).map(|equal| !equal),
            Compare::Lt => less(x, y),
            Compare::Gt => less(y, x),
            Compare::Le => less(x, y).map(|less| less || x == y),
            Compare::Ge => less(y, x).map(|less| less || x == y),
        };
        self.decided(&[x, y], decision)
    }

    fn is_nan(&self, x: Element) -> bool {
        self.decided(&[x], Some(false))
    }

    fn is_nonzero(&self, x: Element) -> bool {
        self.decided(&[x], self.0.are_equal(x, Element::ZERO).map(|zero| !zero))
    }

    fn multiply(&self, (): &mut (), _: Element) {}

    fn in_any_order(&self, (): &(), whole: Element, _: DType) -> Element {
        whole
    }
}
