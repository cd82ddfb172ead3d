//! The data that a kernel precomputed from a tensor.

use super::AnyTensor;
use crate::error::{Cause, Refusal};

/// The data that a kernel precomputed from an input, for each of its variants.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The kernel, by [`DynKernel::id`](crate::DynKernel::id).
    pub(crate) kernel: u64,
    /// The input's name.
    pub(crate) input: String,
    /// For each variant, the tensors that it reads, or the reason why they were not prepared.
    pub(crate) variants: Vec<std::result::Result<Vec<AnyTensor>, Refusal>>,
}

impl Prepared {
    /// Returns the tensors that a variant reads, or the reason why the variant cannot be taken.
    pub(crate) fn of_variant(&self, variant: usize) -> std::result::Result<&[AnyTensor], Refusal> {
        match self.variants.get(variant) {
            Some(Ok(tensors)) => Ok(tensors),
            Some(Err(reason)) => Err(Refusal::new(reason.cause, format!("`{}` is not prepared for it: {reason}", self.input))),
            None => Err(Refusal::new(Cause::Preparation, format!("`{}` is not prepared for it", self.input))),
        }
    }
}
