//! Tilewright: a scheduling language for GPU kernels, embedded in Rust.
//!
//! A kernel's computation is written once, in `kernel!`. How it runs on a device is written separately, in `schedule!`. Both are
//! compiled to SPIR-V and a launch program while the user's crate compiles. This crate's runtime runs them:
//!
//! ```text
//! Device::open ── upload ──────────────▶ Tensor ──┐
//!        └─ load(&[Variant]) ─▶ Loaded ── run((&tensor, …)) ─▶ Tensor ── download
//! ```
//!
//! [`Device`] opens a Vulkan device, or the reference device, which interprets the same SPIR-V on the CPU and reports violations.
//! [`Device::load`] keeps the variants that the device can run. [`Loaded::run`] solves the kernel's dims from the shapes of its
//! arguments, chooses the first variant that takes them, and runs it. A [`Batch`] submits many launches at once. [`DynKernel`] does
//! the same for programs that are compiled at run time.
//!
//! # Features
//!
//! `ndarray` adds `Device::upload_array`, `Tensor::download_array` and others, for arrays and views of the crate `ndarray`. It is off by
//! default.

#![cfg_attr(docsrs, feature(doc_cfg))]

// The macros refer to this crate by its name, also inside of it.
extern crate self as tilewright;

mod device;
pub mod devices;
#[cfg(doctest)]
mod documentation;
mod error;
pub mod exact;
mod kernel;
mod launch;
pub mod layout;
mod open;
pub mod program;
mod reference;
mod tensor;
mod vulkan;

/// The Vulkan bindings of the functions that take Vulkan objects: ash 0.38.
pub use ash;
pub use device::checks::Checks;
pub use device::pending::Pending;
pub use device::{Device, DeviceInfo, DeviceKind, Disabled, Limits, Options};
pub use error::{Cause, Error, Refusal, Result};
pub use half::{bf16, f16};
pub use kernel::argument::{Argument, Scalar};
pub use kernel::batch::Batch;
pub use kernel::commands::BatchCommands;
pub use kernel::load::DynKernel;
pub use kernel::recording::Recording;
pub use kernel::{Kernel, Loaded, Outputs, Packing, Rounding, Variant};
pub use tensor::element::Element;
pub use tensor::host::HostTensor;
pub use tensor::{AnyTensor, Tensor};
pub use tilewright_launch::{DType, Feature};
pub use vulkan::foreign::{AshBuffer, AshDevice, SharedQueue};

/// Defines a kernel, the computation that schedules implement.
///
/// It becomes a module with the kernel's name. The module has `Args`, the arguments by name; `Kernel<T>`, the type of the kernel;
/// and, if the kernel's dtypes are not generic, `DEFAULT`, the variant that runs on every device. The compiler plans its schedule.
///
/// ```
/// use tilewright::{Device, kernel};
///
/// kernel! {
///     /// `alpha * x + y`.
///     pub fn saxpy<N>(alpha: f32, x: f32[N], y: f32[N]) -> z: f32[N] {
///         z[i] = alpha * x[i] + y[i];
///     }
/// }
///
/// # fn main() -> tilewright::Result<()> {
/// let device = Device::open()?;
/// let (x, y) = (device.upload([3], &[1.0f32, 2.0, 3.0])?, device.upload([3], &[0.5f32; 3])?);
/// let z = device.load(&[saxpy::DEFAULT])?.run((2.0, &x, &y))?;
/// assert_eq!(z.download()?, [2.5, 4.5, 6.5]);
/// # Ok(())
/// # }
/// ```
///
/// Several results are a tuple, which `let split::Outputs { low, whole } = split.run(&x)?.into();` converts to a struct with their
/// names. More than eight results are always that struct, and `run_into` takes an `OutputsMut`.
///
/// A size that does not follow from a shape is an argument of type `dim`, and a launch passes it as a `usize`. Conditions on sizes
/// are written after `where`. The compiler relies on them, and a launch that violates one is an [`Error::Needs`].
///
/// ```
/// # use tilewright::{Device, kernel};
/// kernel! {
///     /// The nearest elements, `n` in all.
///     pub fn resample<N>(x: f32[N], n: dim) -> y: f32[n] where N >= 1 {
///         y[i] = x.clamp()[i * N / n];
///     }
/// }
///
/// # fn main() -> tilewright::Result<()> {
/// # let device = Device::open()?;
/// let resample = device.load(&[resample::DEFAULT])?;
/// let y = resample.run((&device.upload([2], &[1.0f32, 2.0])?, 5))?;
/// assert_eq!(y.download()?, [1.0, 1.0, 1.0, 2.0, 2.0]);
/// let error = resample.run((&device.upload([0], &[0.0f32; 0])?, 5)).expect_err("there is no element");
/// assert_eq!(error.to_string(), "`resample` needs `N >= 1`; N is 0");
/// # Ok(())
/// # }
/// ```
pub use tilewright_macros::kernel;

/// Defines functions that kernels call. Each becomes a module with its name, which kernels and other functions import by `use`. A function is
/// replaced by its value where a kernel calls it. A function that only one kernel needs can precede it, inside its `kernel!`.
///
/// ```
/// # use tilewright::Device;
/// mod maths {
///     tilewright::functions! {
///         /// Blends two values.
///         pub fn lerp<T: f32 | f16>(a: T, b: T, t: T) -> T {
///             a + (b - a) * t
///         }
///         /// The position `i`, reflected at the ends of `0..n`.
///         pub fn reflect(i, n) {
///             if i < 0 { -i } else if i >= n { 2 * n - 2 - i } else { i }
///         }
///     }
/// }
///
/// tilewright::kernel! {
///     use maths::{lerp, reflect};
///     /// Blends each element with its left neighbour.
///     pub fn soften<N>(x: f32[N]) -> y: f32[N] where N >= 2 {
///         y[i] = lerp(x[i], x[reflect(i - 1, N)], 0.5);
///     }
/// }
///
/// # fn main() -> tilewright::Result<()> {
/// # let device = Device::open()?;
/// let y = device.load(&[soften::DEFAULT])?.run(&device.upload([3], &[1.0f32, 2.0, 4.0])?)?;
/// assert_eq!(y.download()?, [1.5, 1.5, 3.0]);
/// # Ok(())
/// # }
/// ```
pub use tilewright_macros::functions;

/// Defines a profile, the features and limits that a device guarantees, as the difference from another profile. It becomes a module
/// with the profile's name, which schedules and other profiles refer to.
///
/// ```
/// tilewright::profile! {
///     /// A board with a small GPU.
///     pub my_board: tilewright::devices::vulkan_1_1 {
///         invocations: 256,
///         local: [256, 256, 64],
///         shared_bytes: 32768,
///         subgroup: 16,
///         features: [address, storage_16, f16],
///     }
/// }
/// ```
///
/// Values that are left out are the other profile's. `subgroup` is a size, or `none` if it is not known.
pub use tilewright_macros::profile;

pub use device::statistics::{Statistic, Statistics};
pub use device::timing::Timing;
/// Defines a variant: a kernel with a schedule for the devices of a profile, compiled with the user's crate. It becomes a constant
/// whose documentation shows the schedule as written, the plan, the nest, every obligation and how it was discharged, and the cost.
///
/// The compiler writes directives for stages that the schedule does not mention, so `{}` is a complete schedule.
///
/// ```
/// use tilewright::devices::arm_valhall;
/// use tilewright::{kernel, schedule};
///
/// kernel! {
///     pub fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
///         c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
///     }
/// }
///
/// schedule! {
///     /// 64 threads a workgroup, 4 x 4 elements a thread.
///     pub TILED: matmul<T = f32> for arm_valhall where N % 4 == 0 {
///         tile(i: 32, j: 32) => workgroup(y, x);
///         tile(i: 4, j: 4) => thread(y, x);
///         reorder(k, i, j);
///         unroll(i);
///         vectorize(j, 4);
///     }
/// }
///
/// assert_eq!(TILED.name(), "TILED");
/// ```
pub use tilewright_macros::schedule;

/// Items that the macros' expansions refer to. They are not for users, and change without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::error::Result;
    pub use crate::kernel::argument::{Argument, Scalar};
    pub use crate::kernel::load::DynKernel;
    pub use crate::kernel::sealed::Sealed;
    pub use crate::kernel::{Arguments, Kernel, NoDefault, Outputs, Packing, Rounding, Variant, exactly};
    pub use crate::layout::{Axis, Layout, Middle, Packed, Prepared, Quotient, Remainder, RowMajor};
    pub use crate::tensor::element::Element;
    pub use crate::tensor::{AnyTensor, Tensor};
    pub use half::{bf16, f16};
    pub use std::convert::From;
    pub use std::marker::PhantomData;
    pub use std::vec::Vec;
    pub use tilewright_launch as launch;
    pub use tilewright_macros::{
        __applied, __compile, __define_profile, __imported, __not_a_function, __not_a_kernel, __not_a_profile,
    };
}
