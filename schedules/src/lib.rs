//! Kernels with schedules that are ready to use. Each algorithm is written once, and each device has a folder of schedules.
//!
//! ```text
//! kernels/      the algorithms
//! lavapipe/     Mesa's lavapipe: eight invocations are one vector of the CPU
//! valhall/      Arm's Mali GPUs of the Valhall family
//! ampere/       NVIDIA's Ampere
//! hopper/       NVIDIA's Hopper
//! rdna3/        AMD's RDNA 3
//! xe2/          Intel's Xe2
//! parts/        directives that schedules of several devices apply
//! plain.rs      any device, any size: planned by the compiler
//! ```
//!
//! A schedule is a constant. A program loads the schedules that it needs, in order of preference:
//!
//! ```no_run
//! use tilewright_schedules::{hopper, kernels::matmul, lavapipe};
//!
//! # fn main() -> tilewright::Result<()> {
//! let device = tilewright::Device::open()?;
//! let multiply = device.load(&[hopper::matmul::REGISTERS_4X4, lavapipe::matmul::ROWS_8, matmul::DEFAULT])?;
//! let (a, b) = (device.upload([64, 32], &[0.5f32; 2048])?, device.upload([32, 48], &[2.0f32; 1536])?);
//! assert_eq!(multiply.run((&a, &b))?.shape(), [64, 48]);
//! # Ok(())
//! # }
//! ```
//!
//! [`catalog`] lists all of them as data, for programs that time or test them. [`table`] lists sizes at which they are compared with other
//! libraries.

pub mod ampere;
pub mod catalog;
pub mod hopper;
pub mod kernels;
pub mod lavapipe;
pub mod parts;
pub mod plain;
pub mod rdna3;
pub mod table;
pub mod valhall;
pub mod xe2;
