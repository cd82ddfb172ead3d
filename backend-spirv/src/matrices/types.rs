//! The types of matrices that a dispatch uses, and the products that a device must multiply for them.

use super::Shape;
use crate::Result;
use crate::module::{Id, Type};
use crate::writer::Writer;
use spirv::{Capability, CooperativeMatrixUse as Use};
use tilewright_dsl::diag::{self, Error, SpanId};
use tilewright_dsl::launch::{DType, Feature, Matrices as Product};
use tilewright_dsl::profile::Profile;

/// The types and products of a dispatch. All of them are in the profile.
#[derive(Default)]
pub(crate) struct MatrixTypes {
    /// The directive that turns loops into sides.
    pub(super) made_at: SpanId,
    kinds: Vec<(DType, Use, [u32; 2])>,
    products: Vec<Product>,
}

impl MatrixTypes {
    /// Returns the type of matrices of a shape.
    pub(super) fn of(&mut self, w: &mut Writer<'_>, shape: Shape) -> Result<Id> {
        let what = "a product of matrices";
        w.need(Feature::CooperativeMatrix, what, "remove `mma`")?;
        w.need(Feature::MemoryModel, what, "remove `mma`")?;
        w.module.capability(Capability::CooperativeMatrixKHR);
        w.module.extension("SPV_KHR_cooperative_matrix");
        self.note_kind(w, shape)?;
        let of = element_type(w, shape.dtype)?;
        Ok(w.module.ty(Type::Matrix(of, [shape.rows.1, shape.columns.1, shape.role as u32])))
    }

    /// Records a type of matrices, which the device must support.
    fn note_kind(&mut self, w: &Writer<'_>, shape: Shape) -> Result<()> {
        let kind = (shape.dtype, shape.role, [shape.rows.1, shape.columns.1]);
        if self.kinds.contains(&kind) {
            return Ok(());
        }
        if !w.profile.matrices.iter().any(|row| has_kind(row, kind)) {
            let (name, [rows, columns]) = (&w.profile.name, kind.2);
            let error = Error::new(self.made_at, format!("`{name}` does not support matrices of {rows} x {columns} of {}", kind.0));
            let rows = w.profile.matrices.iter().map(ToString::to_string);
            return Err(error.note_at(w.function.span, "needed here").help(format!("it has {}", diag::list(rows))));
        }
        self.kinds.push(kind);
        Ok(())
    }

    /// Records a product of matrices, which the device must support.
    pub(super) fn note_product(&mut self, w: &Writer<'_>, row: Product) -> Result<()> {
        if !w.profile.matrices.contains(&row) {
            return Err(w.error(format!("`{}` cannot multiply matrices of {row}", w.profile.name)));
        }
        if !self.products.contains(&row) {
            self.products.push(row);
        }
        Ok(())
    }

    /// Returns the products that the device must support: those that are computed, and one of the profile's for each other type of
    /// matrices.
    pub(crate) fn needed_products(self, profile: &Profile) -> Vec<Product> {
        let mut products = self.products;
        for kind in self.kinds {
            if !products.iter().any(|row| has_kind(row, kind)) {
                products.extend(profile.matrices.iter().find(|row| has_kind(row, kind)));
            }
        }
        products
    }
}

/// Returns the type of a matrix's elements. Elements of a narrow integer type have its signedness.
fn element_type(w: &mut Writer<'_>, dtype: DType) -> Result<Id> {
    let need = |w: &mut Writer<'_>, feature: Feature| {
        w.need(feature, &format!("a matrix of `{dtype}`"), format_args!("take {}", Profile::that_have(feature)))
    };
    match dtype {
        DType::F32 | DType::I32 | DType::U32 | DType::Bool => {}
        DType::I64 => return Err(w.not_computed(dtype)),
        DType::F16 => need(w, Feature::F16)?,
        DType::I8 | DType::U8 | DType::I16 | DType::U16 => {
            need(w, if dtype.bytes() == 1 { Feature::I8 } else { Feature::I16 })?;
            w.narrow_integer(dtype);
            return Ok(w.module.ty(Type::Narrow { bits: dtype.bits(), signed: dtype.is_signed_int() }));
        }
        DType::BF16 => {
            need(w, Feature::MatrixBf16)?;
            need(w, Feature::I16)?;
            w.module.extension("SPV_KHR_bfloat16");
            w.module.capability(Capability::BFloat16TypeKHR);
            w.module.capability(Capability::BFloat16CooperativeMatrixKHR);
            return Ok(w.module.ty(Type::BFloat));
        }
    }
    w.scalar_type(dtype)
}

/// True if a product has matrices of a type.
fn has_kind(row: &Product, (dtype, role, sides): (DType, Use, [u32; 2])) -> bool {
    let [m, n, k] = row.shape;
    let [a, b] = row.factors;
    (dtype, sides)
        == match role {
            Use::MatrixAKHR => (a, [m, k]),
            Use::MatrixBKHR => (b, [k, n]),
            Use::MatrixAccumulatorKHR => (row.sum, [m, n]),
        }
}
