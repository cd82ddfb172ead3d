//! The arguments of a launch, bound to the parameters of the kernel: their number, kinds, dtypes and devices are right.

use super::argument::{Argument, Scalar};
use super::load::DynKernel;
use super::run::Target;
use crate::error::{Error, Result};
use crate::launch::strides::Given;
use crate::tensor::AnyTensor;
use smallvec::SmallVec;
use tilewright_launch::{self as program, MOST, Program, Role};

/// Arguments of the right number, kinds and dtypes.
pub(super) struct BoundArguments<'a> {
    pub(super) tensors: SmallVec<[&'a AnyTensor; 8]>,
    /// The bits of the numbers.
    pub(super) scalars: SmallVec<[u32; 8]>,
    /// The values of the dims that are arguments.
    pub(super) sizes: SmallVec<[i64; 4]>,
}

impl<'a> BoundArguments<'a> {
    pub(super) fn new(kernel: &DynKernel, args: impl IntoIterator<Item = Argument<'a>>) -> Result<BoundArguments<'a>> {
        let wrong = |message: String| Error::Argument { kernel: kernel.name().to_owned(), message };
        let args: SmallVec<[Argument<'a>; 8]> = args.into_iter().collect();
        // All variants have the same arguments.
        let Some(p) = kernel.loadable(0).map(|v| &v.program) else { return Err(Error::NothingToLoad) };
        if args.len() != p.arguments.len() {
            return Err(wrong(format!("takes {} arguments, but was given {}", p.arguments.len(), args.len())));
        }
        let (tensors, scalars, sizes) = (SmallVec::new(), SmallVec::new(), SmallVec::new());
        let mut bound = BoundArguments { tensors, scalars, sizes };
        for (wanted, got) in p.arguments.iter().zip(args) {
            match wanted {
                program::Argument::Tensor(t) => {
                    let Some(wanted) = p.tensors.get(*t as usize) else { continue };
                    bound.tensors.push(bind_tensor(kernel, wanted, got)?);
                }
                program::Argument::Scalar(s) => {
                    let Some(wanted) = p.scalars.get(*s as usize) else { continue };
                    let got = bind_scalar(wanted, got).map_err(wrong)?;
                    bound.scalars.push(got.bits());
                }
                program::Argument::Dim(d) => {
                    let name = p.dims.get(*d as usize).map_or("?", |dim| &dim.name);
                    bound.sizes.push(bind_size(name, &got).map_err(wrong)?);
                }
            }
        }
        Ok(bound)
    }

    pub(super) fn shapes(&self) -> Vec<&'a [usize]> {
        self.tensors.iter().map(|t| t.shape()).collect()
    }

    /// Returns the given tensors, indexed as the program's tensors.
    pub(super) fn tensors<'t>(
        &'t self,
        program: &'t Program,
        target: &'t Target<'_>,
    ) -> impl Iterator<Item = Option<&'t AnyTensor>> {
        let outputs: &[&AnyTensor] = if let Target::Into(outputs) = target { outputs } else { &[] };
        let (mut inputs, mut outputs) = (self.tensors.iter().copied(), outputs.iter().copied());
        program.tensors.iter().map(move |tensor| match tensor.role {
            Role::Input | Role::Update => inputs.next(),
            Role::Output => outputs.next(),
            Role::Prepared | Role::Temporary => None,
        })
    }

    /// Returns the strides and regions of the given tensors, indexed as the program's tensors.
    pub(super) fn given<'t>(&'t self, program: &'t Program, target: &'t Target<'_>) -> Vec<Option<Given<'t>>> {
        let given = |tensor: &'t AnyTensor| {
            let (region, has_address) = (tensor.region(), tensor.memory().buffer().has_address());
            Given { shape: tensor.shape(), strides: tensor.gaps(), start: region.start, bytes: region.bytes(), has_address }
        };
        self.tensors(program, target).map(|tensor| tensor.map(given)).collect()
    }

    /// Returns all that the choice of a variant depends on, as words. Two launches of a kernel with the same words take the same variant.
    pub(super) fn form<'t>(
        &'t self,
        kernel: &'t DynKernel,
        program: &'t Program,
        target: &'t Target<'_>,
    ) -> impl Iterator<Item = u64> + 't {
        let tensors =
            self.tensors(program, target).flat_map(|tensor| tensor.map(|tensor| form_of(tensor, kernel)).into_iter().flatten());
        let scalars = self.scalars.iter().filter(|_| kernel.has_facts_of_scalars());
        tensors.chain(self.sizes.iter().map(|size| size.cast_unsigned())).chain(scalars.map(|bits| u64::from(*bits)))
    }
}

/// Returns the form of a tensor. The first word determines the number of words.
fn form_of<'t>(tensor: &'t AnyTensor, kernel: &'t DynKernel) -> impl Iterator<Item = u64> + 't {
    let (region, gaps, prepared) = (tensor.region(), tensor.gaps(), tensor.preparation());
    let flags = [tensor.memory().buffer().has_address(), gaps.is_some(), prepared.is_some()];
    let flags = flags.into_iter().fold(0, |flags, flag| flags << 1 | u64::from(flag));
    let rank = tensor.shape().len() as u64;
    // Variants can require an alignment of the first byte.
    let own = [rank << 3 | flags, region.start.trailing_zeros().into(), region.bytes()];
    let lengths = tensor.shape().iter().chain(gaps.into_iter().flatten()).map(|length| *length as u64);
    let variants = prepared
        .into_iter()
        .flat_map(|prepared| kernel.loadables().iter().map(|loaded| u64::from(prepared.of_variant(loaded.variant).is_ok())));
    own.into_iter().chain(lengths).chain(variants)
}

fn bind_tensor<'a>(kernel: &DynKernel, wanted: &program::Tensor, got: Argument<'a>) -> Result<&'a AnyTensor> {
    let wrong = |message| Error::Argument { kernel: kernel.name().to_owned(), message };
    let name = &wanted.name;
    let tensor = match (got, wanted.role) {
        (Argument::Read(t), Role::Input) => t,
        (Argument::Update(t), _) => &*t,
        (Argument::Read(_), _) => return Err(wrong(format!("`{name}` is updated in place, so pass it as `&mut`"))),
        (Argument::Scalar(s), _) => {
            return Err(wrong(format!("`{name}` is a tensor, but was given a number of type {}", s.dtype())));
        }
        (Argument::Size(_), _) => return Err(wrong(format!("`{name}` is a tensor, but was given a size"))),
    };
    check_tensor(kernel, wanted, tensor)?;
    let wants = kernel.preparations().iter().any(|p| p.input() == name);
    match tensor.preparation() {
        None if wants => Err(wrong(format!("`{name}` must be prepared, by `prepare_{name}` or `DynKernel::prepare`"))),
        Some(prepared) if !prepared.is_of(kernel, name) => {
            Err(wrong(format!("`{name}` was prepared by another kernel: prepare it by this one")))
        }
        _ => Ok(tensor),
    }
}

/// Checks a tensor's dtype, layout and device.
pub(super) fn check_tensor(kernel: &DynKernel, wanted: &program::Tensor, got: &AnyTensor) -> Result<()> {
    let (name, kernel_name) = (&wanted.name, kernel.name());
    if got.dtype() != wanted.dtype {
        let message = format!("`{name}` has elements of {}, but should have {}", got.dtype(), wanted.dtype);
        return Err(Error::Argument { kernel: kernel_name.to_owned(), message });
    }
    if got.layout() != wanted.layout.as_ref() {
        let show = |l: Option<&program::Layout>| l.map_or_else(|| "row-major".to_owned(), |l| format!("packed as {l}"));
        let message = format!("`{name}` is {}, but should be {}", show(got.layout()), show(wanted.layout.as_ref()));
        return Err(Error::Argument { kernel: kernel_name.to_owned(), message });
    }
    if got.device().is(kernel.device()) { Ok(()) } else { Err(Error::OtherDevice { what: format!("`{name}` of `{kernel_name}`") }) }
}

pub(crate) fn bind_scalar(wanted: &program::Scalar, got: Argument<'_>) -> Result<Scalar, String> {
    let name = &wanted.name;
    match got {
        Argument::Scalar(s) if s.dtype() == wanted.dtype => Ok(s),
        Argument::Scalar(s) => Err(format!("`{name}` is of type {}, but was given one of {}", wanted.dtype, s.dtype())),
        Argument::Read(_) | Argument::Update(_) => {
            Err(format!("`{name}` is a number of type {}, but was given a tensor", wanted.dtype))
        }
        Argument::Size(_) => Err(format!("`{name}` is of type {}, but was given a size, a `usize`", wanted.dtype)),
    }
}

pub(crate) fn bind_size(name: &str, got: &Argument<'_>) -> Result<i64, String> {
    match got {
        Argument::Size(n) => match i64::try_from(*n) {
            Ok(size) if size <= MOST => Ok(size),
            _ => Err(format!("`{name}` is {n}, and a dim is at most {MOST}")),
        },
        Argument::Scalar(s) => Err(format!("`{name}` is a size, a `usize`, but was given a number of type {}", s.dtype())),
        Argument::Read(_) | Argument::Update(_) => Err(format!("`{name}` is a size, a `usize`, but was given a tensor")),
    }
}
