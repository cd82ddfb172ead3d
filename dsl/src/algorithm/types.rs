//! The dtypes that users name.

use super::names::Symbol;
use super::{Checked, Checker};
use crate::diag::{Error, did_you_mean, list};
use crate::syntax::Name;
use tilewright_launch::DType;

/// The supported dtypes.
pub(super) const SUPPORTED: [DType; 5] = [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool];

/// Returns the dtype of a name that is not a generic.
pub(super) fn plain(name: &Name) -> Result<DType, Error> {
    match DType::from_name(&name.text) {
        Some(dtype) if SUPPORTED.contains(&dtype) => Ok(dtype),
        Some(dtype) => {
            let error = Error::new(name.span, format!("`{dtype}` is not supported yet"));
            Err(error.help(format!("there are {}", list(SUPPORTED))))
        }
        None => Err(unknown(name)),
    }
}

fn unknown(name: &Name) -> Error {
    let error = Error::new(name.span, format!("unknown dtype `{name}`"));
    let help = match name.as_str() {
        "f64" | "double" => "double precision is out of scope: few GPUs have it; use `f32`".into(),
        "usize" | "isize" | "i64" | "i16" | "int" => "indices and integers are `i32`".into(),
        "u64" | "u16" | "uint" => "unsigned integers are `u32`".into(),
        crate::syntax::kernel::DIM => {
            "`dim` is the type of an argument that is a size, `n: dim`; indices and integers are `i32`".into()
        }
        "float" => "use `f32`".into(),
        "half" => "use `f16`".into(),
        "image2d" | "Image" | "texture2d" | "Texture" => {
            "images are out of scope: use a tensor, and `x.clamp()[…]` for its edges".into()
        }
        _ => format!("there are {}", list(SUPPORTED)),
    };
    error.help(help).maybe_help(did_you_mean(&name.text, SUPPORTED.map(DType::name)))
}

impl Checker<'_> {
    /// Returns the dtype of a name: the choice of a generic, or the dtype of this name.
    pub(super) fn dtype(&mut self, name: &Name) -> Checked<DType> {
        match self.names.find(&name.text) {
            Some((_, Symbol::Dtype(dtype))) => return Ok(*dtype),
            Some((_, Symbol::Poisoned)) => return Err(super::Poisoned),
            Some((span, other)) => {
                let error = Error::new(name.span, format!("`{name}` is not a dtype"));
                let error = error.note_at(span, format!("it is {} here", other.what()));
                return self.fail(error);
            }
            None => {}
        }
        match plain(name) {
            Ok(dtype) => Ok(dtype),
            Err(error) => {
                let generics = self.names.those(|s| matches!(s, Symbol::Dtype(_)));
                let error = error.maybe_help(did_you_mean(&name.text, generics));
                self.fail(error)
            }
        }
    }
}

/// Returns the smallest dtype that keeps the range and the fraction of numbers of two dtypes. Returns `None` for `i32` and `u32`.
pub(super) fn common(a: DType, b: DType) -> Option<DType> {
    let is_one_of = |dtype: DType, others: &[DType]| others.contains(&dtype);
    let small = [DType::I8, DType::U8];
    Some(match (a, b) {
        _ if a == b => a,
        (a, b) if a.is_float() && b.is_float() => DType::F32,
        (float, int) | (int, float) if float.is_float() && int.is_int() => {
            if is_one_of(int, &small) {
                float
            } else {
                DType::F32
            }
        }
        (DType::I32, other) | (other, DType::I32) if is_one_of(other, &small) => DType::I32,
        (DType::U32, DType::U8) | (DType::U8, DType::U32) => DType::U32,
        (DType::I8, DType::U8) | (DType::U8, DType::I8) => DType::I32,
        _ => return None,
    })
}

/// Returns a dtype with its article, for example `` an `f32` ``.
pub(super) fn article(dtype: DType) -> String {
    let article = if dtype.name().starts_with(['f', 'i']) { "an" } else { "a" };
    format!("{article} `{dtype}`")
}
