//! Conversions between row-major tensors and the packed tensors that a kernel takes or returns.

use super::argument::Argument;
use super::load::DynKernel;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::tensor::AnyTensor;
use std::sync::OnceLock;
use tilewright_launch::{Program, Role};

/// A kernel that packs an input or unpacks an output. It is loaded when it is first used.
pub(crate) struct Conversion {
    /// The tensor's name.
    tensor: String,
    packs: bool,
    program: Program,
    kernel: OnceLock<DynKernel>,
}

impl Conversion {
    /// Returns the conversions of a program.
    pub(crate) fn of(program: &Program) -> Vec<Conversion> {
        let one = |c: &tilewright_launch::Conversion| {
            let tensor = program.tensors.get(c.tensor as usize)?;
            let (packs, program) = (tensor.role == Role::Input, c.program.clone());
            Some(Conversion { tensor: tensor.name.clone(), packs, program, kernel: OnceLock::new() })
        };
        program.conversions.iter().filter_map(one).collect()
    }

    fn run(&self, device: &Device, tensor: &AnyTensor) -> Result<AnyTensor> {
        let kernel = match self.kernel.get() {
            Some(kernel) => kernel,
            None => {
                // SAFETY: the program is a part of one that was loaded under the same contract.
                let loaded = unsafe { DynKernel::load(device, vec![self.program.clone()]) }?;
                self.kernel.get_or_init(|| loaded)
            }
        };
        let outputs = kernel.run([Argument::Read(tensor)])?;
        let malformed =
            || Error::Malformed { variant: self.program.variant.clone(), reason: "it does not have an output".to_owned() };
        outputs.into_iter().next().ok_or_else(malformed)
    }
}

impl DynKernel {
    /// Packs a row-major tensor for the kernel's input of this name.
    pub fn pack(&self, input: &str, tensor: &AnyTensor) -> Result<AnyTensor> {
        self.convert(input, tensor, true)
    }

    /// Converts the kernel's packed output of this name to a row-major tensor.
    pub fn unpack(&self, output: &str, tensor: &AnyTensor) -> Result<AnyTensor> {
        self.convert(output, tensor, false)
    }

    fn convert(&self, name: &str, tensor: &AnyTensor, packs: bool) -> Result<AnyTensor> {
        let found = self.conversions().iter().find(|c| c.tensor == name && c.packs == packs);
        let Some(conversion) = found else {
            let what = if packs { "no input" } else { "no output" };
            let message = format!("has {what} `{name}` that is packed");
            return Err(Error::Argument { kernel: self.name().to_owned(), message });
        };
        conversion.run(self.device(), tensor)
    }
}
