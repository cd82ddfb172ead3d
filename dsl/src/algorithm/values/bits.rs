//! The bits of floats: `x.to_bits()` and `f32::from_bits(x)`. A bf16 has the upper half of the bits of the same number in f32.

use crate::algorithm::types::article;
use crate::algorithm::{Checked, Checker};
use crate::diag::Error;
use crate::expr::{Binary, Const, ExprId, Exprs, Unary};
use crate::syntax::Name;
use crate::syntax::expr::Expr;
use tilewright_launch::DType;

/// The number of low bits of an f32 that a bf16 does not have.
const LOWER: u32 = 16;

/// Returns the bits of a float.
pub(super) fn of_float(exprs: &Exprs, x: ExprId) -> ExprId {
    if exprs.dtype(x) != DType::BF16 {
        return exprs.unary(Unary::ToBits, x);
    }
    let bits = exprs.unary(Unary::ToBits, exprs.cast(DType::F32, x));
    exprs.cast(DType::U16, exprs.binary(Binary::Shr, bits, lower(exprs)))
}

/// Returns the float of a type with these bits.
fn float(exprs: &Exprs, dtype: DType, bits: ExprId) -> ExprId {
    if dtype != DType::BF16 {
        return exprs.unary(Unary::FromBits, bits);
    }
    let wide = exprs.binary(Binary::Shl, exprs.cast(DType::U32, bits), lower(exprs));
    exprs.cast(DType::BF16, exprs.unary(Unary::FromBits, wide))
}

fn lower(exprs: &Exprs) -> ExprId {
    exprs.constant(Const { dtype: DType::U32, bits: LOWER })
}

impl Checker<'_> {
    /// Checks `of::from_bits(args)`.
    pub(in crate::algorithm) fn float_of_bits(&mut self, of: &Name, args: &[Expr]) -> Checked<ExprId> {
        let dtype = self.dtype(of)?;
        if !dtype.is_float() {
            let error = Error::new(of.span, format!("there is no `from_bits` of {}", article(dtype)));
            return self.fail(error.help("it needs a float type, for example `f32::from_bits(x)`"));
        }
        let [arg] = args else {
            return self.fail(Error::new(of.span, format!("`{of}::from_bits` takes one argument, not {}", args.len())));
        };
        let wanted = if dtype == DType::F32 { DType::U32 } else { DType::U16 };
        let bits = self.value(arg, Some(wanted))?;
        let found = self.program.exprs.dtype(bits);
        if found != wanted {
            let error = Error::new(arg.span, format!("`{of}::from_bits` takes {}, not {}", article(wanted), article(found)));
            return self.fail(error.maybe_help(found.is_int().then(|| format!("write `{} as {wanted}`", arg.short_operand()))));
        }
        Ok(float(&self.program.exprs, dtype, bits))
    }
}
