//! Typed kernels: the traits and types that are named by the expansions of `kernel!` and `schedule!`.

pub(super) mod argument;
pub(super) mod batch;
pub(super) mod bound;
mod choice;
pub(super) mod commands;
mod conversion;
pub(super) mod load;

pub(super) mod pipelines;
pub(super) mod preparation;
mod recent;
pub(super) mod recording;
pub(super) mod run;

use crate::device::pending::Pending;
use crate::device::statistics::Statistics;
use crate::device::timing::Timing;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::tensor::element::Element;
use crate::tensor::{AnyTensor, Tensor};
use argument::Argument;
use load::DynKernel;
use std::fmt;
use std::marker::PhantomData;
use tilewright_launch::Program;

/// A kernel with its dtypes, for example `conv2d::Kernel<f32>`. Implemented by `kernel!`.
pub trait Kernel: 'static {
    /// The kernel's name.
    const NAME: &'static str;
    /// The kernel's arguments, for example `conv2d::Args<'a, f32>`. They can also be made from a tuple in the kernel's order.
    type Args<'a>: Arguments<'a>;
    /// The kernel's outputs: a tensor, a tuple of tensors, or `()` if it only updates tensors; more than eight outputs are a struct
    /// that has the kernel's names.
    type Outputs: Outputs;
    /// The methods that pack and prepare arguments, and unpack results.
    type Packing: Packing;
}

/// Wraps a loaded kernel in a type whose methods pack and prepare its arguments, and unpack its results. Implemented by `kernel!`.
pub trait Packing: 'static {
    #[doc(hidden)]
    fn new(kernel: DynKernel) -> Self;
}

impl Packing for () {
    fn new(_: DynKernel) {}
}

/// The arguments of a kernel. Implemented by `kernel!`.
pub trait Arguments<'a> {
    /// The arguments in the kernel's order.
    fn list(self) -> Vec<Argument<'a>>;
}

pub(crate) mod sealed {
    /// Prevents implementations outside of this crate and of expansions of `kernel!`.
    pub trait Sealed {}
}

/// The outputs of a kernel: a tensor, a tuple of tensors, or `()`; more than eight are a struct that `kernel!` defines.
pub trait Outputs: Sized + sealed::Sealed {
    /// The outputs as `run_into` takes them: with `&mut` before each tensor.
    type Into<'a>;

    #[doc(hidden)]
    fn into_list<'a>(into: Self::Into<'a>) -> Vec<&'a mut AnyTensor>;

    #[doc(hidden)]
    fn from_list(list: Vec<AnyTensor>) -> Result<Self>;
}

/// Converts a list to `N` outputs.
#[doc(hidden)]
pub fn exactly<const N: usize>(list: Vec<AnyTensor>) -> Result<[AnyTensor; N]> {
    let got = list.len();
    list.try_into()
        .map_err(|_| Error::Malformed { variant: "?".to_owned(), reason: format!("{got} outputs where the kernel has {N}") })
}

impl sealed::Sealed for () {}

impl Outputs for () {
    type Into<'a> = ();

    fn into_list<'a>((): ()) -> Vec<&'a mut AnyTensor> {
        Vec::new()
    }

    fn from_list(list: Vec<AnyTensor>) -> Result<()> {
        exactly::<0>(list).map(drop)
    }
}

impl<A: Element, L: Layout> sealed::Sealed for Tensor<A, L> {}

impl<A: Element, L: Layout> Outputs for Tensor<A, L> {
    type Into<'a> = &'a mut Tensor<A, L>;

    fn into_list<'a>(into: Self::Into<'a>) -> Vec<&'a mut AnyTensor> {
        vec![into.as_any_mut()]
    }

    fn from_list(list: Vec<AnyTensor>) -> Result<Self> {
        let [one] = exactly(list)?;
        one.typed_as()
    }
}

macro_rules! tuples {
    ($($n:literal: $($t:ident $l:ident $x:ident),*;)*) => {$(
        impl<$($t: Element, $l: Layout),*> sealed::Sealed for ($(Tensor<$t, $l>,)*) {}

        impl<$($t: Element, $l: Layout),*> Outputs for ($(Tensor<$t, $l>,)*) {
            type Into<'a> = ($(&'a mut Tensor<$t, $l>,)*);

            fn into_list<'a>(($($x,)*): Self::Into<'a>) -> Vec<&'a mut AnyTensor> {
                vec![$($x.as_any_mut()),*]
            }

            fn from_list(list: Vec<AnyTensor>) -> Result<Self> {
                let [$($x),*] = exactly::<$n>(list)?;
                Ok(($($x.typed_as()?,)*))
            }
        }
    )*};
}

tuples! {
    2: A K a, B L b;
    3: A K a, B L b, C M c;
    4: A K a, B L b, C M c, D N d;
    5: A K a, B L b, C M c, D N d, E O e;
    6: A K a, B L b, C M c, D N d, E O e, F P f;
    7: A K a, B L b, C M c, D N d, E O e, F P f, G Q g;
    8: A K a, B L b, C M c, D N d, E O e, F P f, G Q g, H R h;
}

/// A compiled schedule of the kernel `K`. `schedule!` defines it, and [`Device::load`](crate::Device::load) loads it.
pub struct Variant<K> {
    name: &'static str,
    /// `None` if the schedule did not compile.
    program: Option<&'static [u8]>,
    rounding: &'static [Rounding],
    kernel: PhantomData<fn() -> K>,
}

/// The type of `DEFAULT` in the module of a kernel without a default schedule. No function takes it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct NoDefault;

/// The rounding error of a result that a schedule decomposes, known before the kernel runs. The page of `decompose_winograd` says
/// which inputs it assumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// The result's name in the kernel.
    pub result: &'static str,
    /// The expected error, relative to the result: the root mean square of the errors over the root mean square of the values.
    pub expected: f64,
    /// The largest possible error, relative to the largest input times the largest weight times the number of products in a sum.
    pub worst: f64,
}

impl<K> Clone for Variant<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Variant<K> {}

impl<K> fmt::Debug for Variant<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({})", self.name)
    }
}

impl<K> Variant<K> {
    /// Constructs a variant. Called by the macros.
    ///
    /// # Safety
    /// The bytes must be a program for the kernel `K` that this version's compiler encoded: see [`Device::load_programs`].
    ///
    /// [`Device::load_programs`]: crate::Device::load_programs
    #[doc(hidden)]
    pub const unsafe fn __new(name: &'static str, program: &'static [u8]) -> Self {
        Variant { name, program: Some(program), rounding: &[], kernel: PhantomData }
    }

    /// Adds the rounding errors of decompositions. Called by the macros.
    #[doc(hidden)]
    #[must_use]
    pub const fn __rounds(mut self, rounding: &'static [Rounding]) -> Self {
        self.rounding = rounding;
        self
    }

    /// Constructs a placeholder for a schedule that did not compile, so that its uses do not cause more errors.
    #[doc(hidden)]
    pub const fn __broken(name: &'static str) -> Self {
        Variant { name, program: None, rounding: &[], kernel: PhantomData }
    }

    /// Returns the variant's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the rounding error of each decomposition of the schedule; empty if it has none.
    pub const fn rounding(&self) -> &'static [Rounding] {
        self.rounding
    }

    /// Decodes the variant's launch program.
    pub fn program(&self) -> Result<Program> {
        let bytes = self.program.ok_or(Error::Broken { variant: self.name })?;
        Ok(Program::decode(bytes)?)
    }
}

/// A kernel that is loaded onto a device. Clones share it. It dereferences to the methods that `kernel!` defined for it, for
/// example `conv.pack_filter(&filter)?`.
pub struct Loaded<K: Kernel> {
    kernel: DynKernel,
    packing: K::Packing,
}

impl<K: Kernel> Clone for Loaded<K> {
    fn clone(&self) -> Self {
        Loaded::new(self.kernel.clone())
    }
}

impl<K: Kernel> fmt::Debug for Loaded<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kernel.fmt(f)
    }
}

impl<K: Kernel> std::ops::Deref for Loaded<K> {
    type Target = K::Packing;

    fn deref(&self) -> &K::Packing {
        &self.packing
    }
}

impl<K: Kernel> Loaded<K> {
    pub(crate) fn new(kernel: DynKernel) -> Loaded<K> {
        Loaded { packing: K::Packing::new(kernel.clone()), kernel }
    }

    /// Runs the first variant that takes these arguments, and allocates the outputs. The arguments are a tuple in the kernel's
    /// order, or the kernel's `Args`.
    pub fn run<'a>(&self, args: impl Into<K::Args<'a>>) -> Result<K::Outputs> {
        K::Outputs::from_list(self.kernel.run(args.into().list())?)
    }

    /// Runs the first variant that takes these arguments, and writes to these outputs. Each output is overwritten as a whole.
    pub fn run_into<'a, 'b>(&self, args: impl Into<K::Args<'a>>, outputs: <K::Outputs as Outputs>::Into<'b>) -> Result<()> {
        self.kernel.run_into(args.into().list(), K::Outputs::into_list(outputs))
    }

    /// Submits the launch of [`Loaded::run`] without waiting for it. The outputs can be used at once: see [`Pending`].
    pub fn submit<'a>(&self, args: impl Into<K::Args<'a>>) -> Result<(K::Outputs, Pending)> {
        let (outputs, pending) = self.kernel.submit(args.into().list())?;
        Ok((K::Outputs::from_list(outputs)?, pending))
    }

    /// Submits the launch of [`Loaded::run_into`] without waiting for it. The outputs can be used at once: see [`Pending`].
    pub fn submit_into<'a, 'b>(&self, args: impl Into<K::Args<'a>>, outputs: <K::Outputs as Outputs>::Into<'b>) -> Result<Pending> {
        self.kernel.submit_into(args.into().list(), K::Outputs::into_list(outputs))
    }

    /// Runs the kernel as [`Loaded::run`] does, and returns the device's time.
    pub fn run_timed<'a>(&self, args: impl Into<K::Args<'a>>) -> Result<(K::Outputs, Timing)> {
        let (outputs, timing) = self.kernel.run_timed(args.into().list())?;
        Ok((K::Outputs::from_list(outputs)?, timing))
    }

    /// Returns the name of the variant that [`Loaded::run`] would take.
    pub fn variant_for<'a>(&self, args: impl Into<K::Args<'a>>) -> Result<&str> {
        self.kernel.variant_for(args.into().list())
    }

    /// Returns the driver's numbers of the dispatches that [`Loaded::run`] would launch, such as their registers. They are compiled, but not launched.
    ///
    /// # Errors
    /// Returns the errors of [`Loaded::run`], and [`Error::NoStatistics`](crate::Error::NoStatistics) if the device does not keep these
    /// numbers: see [`Options::statistics`](crate::Options::statistics).
    pub fn statistics<'a>(&self, args: impl Into<K::Args<'a>>) -> Result<Vec<Statistics>> {
        self.kernel.statistics(args.into().list())
    }

    /// Returns this kernel as one whose arguments are known at run time only.
    pub fn as_dyn(&self) -> &DynKernel {
        &self.kernel
    }
}
