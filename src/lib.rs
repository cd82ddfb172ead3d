//! Tilewright: a scheduling language for GPU kernels, embedded in Rust.
//!
//! What a kernel computes is written once, in `kernel!`; how it runs on a device is written apart from it, in `schedule!`.
//! Both are compiled, while the user's crate compiles, to SPIR-V words and a launch program. This crate's runtime runs them:
//!
//! ```text
//! Device::open ── upload ──────────────▶ Tensor ──┐
//!        └─ load(&[Variant]) ─▶ Loaded ── run((&tensor, …)) ─▶ Tensor ── download
//! ```
//!
//! [`Device`] opens a Vulkan device, [`Device::load`] keeps the variants that it can run, [`Loaded::run`] solves the
//! kernel's dims from its arguments' shapes, takes the first variant that allows them, and runs it. A [`Batch`] sends many
//! launches at once. [`DynKernel`] does the same for programs that are compiled at run time.

// The macros name this crate by its name, also here.
extern crate self as tilewright;

mod argument;
mod backend;
mod batch;
mod device;
pub mod devices;
mod element;
mod error;
mod kernel;
mod launch;
mod load;
mod memory;
mod run;
mod tensor;
mod timing;
mod vulkan;

pub use argument::{Argument, Scalar};
pub use batch::Batch;
pub use device::{Device, DeviceInfo, DeviceKind, Limits, Options};
pub use element::Element;
pub use error::{Error, Result};
pub use half::{bf16, f16};
pub use kernel::{Kernel, Loaded, Outputs, Variant};
pub use load::DynKernel;
pub use tensor::{AnyTensor, Tensor};
pub use tilewright_launch::{DType, Feature};
pub use tilewright_macros::{kernel, profile, schedule};
pub use timing::Timing;

/// What the macros' expansions name. Not for users: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::argument::{Argument, Scalar};
    pub use crate::element::Element;
    pub use crate::kernel::{Arguments, Kernel, Outputs, Variant};
    pub use crate::tensor::Tensor;
    pub use half::{bf16, f16};
    pub use std::convert::From;
    pub use std::marker::PhantomData;
    pub use std::vec::Vec;
    pub use tilewright_launch as launch;
    pub use tilewright_macros::{__compile, __define_profile, __not_a_kernel, __not_a_profile};
}
