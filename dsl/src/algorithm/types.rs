//! The dtypes that users name.

use super::names::Symbol;
use super::{Checked, Checker};
use crate::diag::{Error, did_you_mean, list};
use crate::syntax::Name;
use crate::syntax::kernel::{Generic, GenericKind};
use tilewright_launch::DType;

/// Returns the dtype of a name that is not a generic.
pub(crate) fn plain(name: &Name) -> Result<DType, Error> {
    match DType::from_name(&name.text) {
        Some(dtype) => Ok(dtype),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &Name) -> Error {
    let error = Error::new(name.span, format!("unknown dtype `{name}`"));
    let help = match name.as_str() {
        "f64" | "double" => "double precision is out of scope: few GPUs have it; use `f32`".into(),
        "usize" | "isize" | "int" => "indices and integers are `i32`".into(),
        "u64" | "uint" => "unsigned integers are `u32`".into(),
        crate::syntax::kernel::DIM => {
            "`dim` is the type of an argument that is a size, `n: dim`; indices and integers are `i32`".into()
        }
        "float" => "use `f32`".into(),
        "byte" | "uchar" | "uint8" => "use `u8`".into(),
        "char" | "int8" => "use `i8`".into(),
        "short" | "int16" => "use `i16`".into(),
        "ushort" | "uint16" => "use `u16`".into(),
        "half" => "use `f16`".into(),
        "bfloat16" | "bfloat" => "use `bf16`".into(),
        "image2d" | "Image" | "texture2d" | "Texture" => {
            "images are out of scope: use a tensor, and `x.clamp()[…]` for its edges".into()
        }
        _ => did_you_mean(&name.text, DType::ALL.map(DType::name)).unwrap_or_else(|| format!("there are {}", list(DType::ALL))),
    };
    error.help(help)
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
                let of_kernel = |g: &Generic| g.name.text == name.text && matches!(g.kind, GenericKind::Dtype(_));
                let is_of_kernel = self.kernel.generics.iter().any(of_kernel);
                let error = error.maybe_help(is_of_kernel.then(|| {
                    format!("a function does not see the kernel's generics: declare its own, `fn f<{name}: f32 | f16>(…)`")
                }));
                self.fail(error)
            }
        }
    }
}

/// Returns the smallest dtype that has the numbers of two dtypes. For a float and an integer that no float has, this is `f32`. Returns
/// `None` for signed integers and `u32`, and for bools.
pub(super) fn common(a: DType, b: DType) -> Option<DType> {
    let has_both = |of: &DType| of.has_all_of(a) && of.has_all_of(b) && (of.is_float() == (a.is_float() || b.is_float()));
    let both = DType::ALL.into_iter().filter(has_both).min_by_key(|of| of.bytes());
    both.or((a.is_float() && b.is_int() || a.is_int() && b.is_float()).then_some(DType::F32))
}

/// Returns a dtype with its article, for example `` an `f32` ``.
pub(super) fn article(dtype: DType) -> String {
    let article = if dtype.name().starts_with(['f', 'i']) { "an" } else { "a" };
    format!("{article} `{dtype}`")
}
