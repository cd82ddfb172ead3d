//! Data that a kernel precomputes from an input once, before its launches: [`DynKernel::prepare`].

use super::argument::Argument;
use super::load::DynKernel;
use crate::error::{Cause, Error, Refusal, Result};
use crate::tensor::AnyTensor;
use crate::tensor::prepared::Prepared;
use std::sync::OnceLock;
use tilewright_launch::Program;

impl Prepared {
    /// Returns true if this kernel prepared it from the input of this name.
    pub(crate) fn is_of(&self, kernel: &DynKernel, input: &str) -> bool {
        self.kernel == kernel.id() && self.input == input
    }
}

/// A kernel that prepares an input for a variant. It is loaded when it is first used.
pub(crate) struct Preparation {
    input: String,
    variant: usize,
    program: Program,
    kernel: OnceLock<DynKernel>,
}

impl Preparation {
    /// Returns the preparations of a variant.
    pub(crate) fn of(program: &Program, variant: usize) -> Vec<Preparation> {
        let one = |p: &tilewright_launch::Preparation| {
            let input = program.tensors.get(p.input as usize)?.name.clone();
            Some(Preparation { input, variant, program: p.program.clone(), kernel: OnceLock::new() })
        };
        program.preparations.iter().filter_map(one).collect()
    }

    /// Returns the input's name.
    pub(crate) fn input(&self) -> &str {
        &self.input
    }

    fn run(&self, kernel: &DynKernel, tensor: &AnyTensor) -> Result<Vec<AnyTensor>> {
        let loaded = match self.kernel.get() {
            Some(loaded) => loaded,
            None => {
                // SAFETY: the program is a part of one that was loaded under the same contract.
                let loaded = unsafe { DynKernel::load(kernel.device(), vec![self.program.clone()]) }?;
                self.kernel.get_or_init(|| loaded)
            }
        };
        loaded.run([Argument::Read(tensor)])
    }
}

impl DynKernel {
    /// Precomputes, once, the data that the kernel's variants need from an input. Launches of this kernel, and of no other, take
    /// the returned tensor for that input. It shares the memory of `tensor`, but the precomputed data does not follow later changes
    /// of it.
    pub fn prepare(&self, input: &str, tensor: &AnyTensor) -> Result<AnyTensor> {
        let wrong = |message: String| Error::Argument { kernel: self.name().to_owned(), message };
        let mut variants = Vec::new();
        for preparation in self.preparations().iter().filter(|p| p.input == input) {
            let made = match preparation.run(self, tensor) {
                Ok(tensors) => Ok(tensors),
                // Another variant may take these sizes.
                Err(Error::NoVariant { reasons, .. }) => Err(joined(reasons)),
                Err(Error::Needs { message, .. }) => Err(Refusal::new(Cause::Need, message)),
                Err(error) => return Err(error),
            };
            variants.resize_with(preparation.variant, || Err(Refusal::new(Cause::Preparation, "it does not prepare this input")));
            variants.push(made);
        }
        if variants.is_empty() {
            return Err(wrong(format!("does not have a prepared input `{input}`")));
        }
        if variants.iter().all(std::result::Result::is_err) {
            let reasons = variants.into_iter().filter_map(std::result::Result::err).collect();
            return Err(Error::Unprepared { kernel: self.name().to_owned(), input: input.to_owned(), reasons });
        }
        Ok(tensor.prepared(Prepared { kernel: self.id(), input: input.to_owned(), variants }))
    }
}

/// Joins the reasons of a preparation's versions. The first one gives the cause.
fn joined(reasons: Vec<(String, Refusal)>) -> Refusal {
    let cause = reasons.first().map_or(Cause::Preparation, |(_, reason)| reason.cause);
    Refusal::new(cause, reasons.into_iter().map(|(_, reason)| reason.message).collect::<Vec<_>>().join("; "))
}
