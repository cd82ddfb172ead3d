//! The reference device: runs the SPIR-V module of a dispatch on the CPU, and reports its faults.
//!
//! It runs the same module that a driver would be given, so that its results apply to it. It guarantees no more than Vulkan does: code that
//! works on other devices by luck is a [`Fault`] here. A fault names the tensor, shared array or register, the element, the invocation and
//! its workgroup. The device finds
//!
//! - reads and writes out of bounds, including an index of an inner array, misaligned accesses, and writes to read-only memory;
//! - reads of registers, shared memory, outputs and temporaries that were never written;
//! - data races between invocations in shared memory and in buffers, including those between workgroups. Atomic operations race with plain
//!   accesses, but not with each other;
//! - barriers that not all invocations of a workgroup (or subgroup) reach;
//! - cooperative matrices that not all invocations of a subgroup load, store or compute with, that have a pointer, stride or scalar which
//!   is not the same in all of them, or whose memory layout devices need not support;
//! - integer division by zero, and undefined values, such as shifts too far, floats too large for an integer, or `OpUndef`;
//! - endless loops, because each invocation has a [`BUDGET`] of instructions.
//!
//! ```text
//! words ── module ── analysis ── lower ──▶ code ──┐
//!   read to tables   find uniform,     flat ops   ├─ run: threads, each a worker ── exec ──▶ Stats or Fault
//!                    assigned, folded             │       with a workgroup at a time
//!            Memory, parameter blocks, grid ──────┘
//! ```
//!
//! # How it runs
//!
//! A module is decoded once. Each operation then runs for all invocations of a workgroup together, in a loop over a row of words that the
//! compiler vectorizes. Values that are the same in all invocations are computed once. Lanes that branch apart wait for each other where
//! the control flow joins. Workgroups are distributed over threads, in an order that kernels do not expect.
//!
//! Running in lockstep does not hide faults, because races are found by recording who accessed an element since the last barrier that
//! orders it, not by comparing results. Elements of shared memory, and of buffers that a dispatch writes, record this. Other buffers cannot
//! have races. Barriers do not order accesses to buffers that are not coherent, as in Vulkan. In the Vulkan memory model, each access and
//! each barrier states whether they are ordered. If there are several faults, the one of the workgroup that began first is reported. If
//! threads run workgroups that race with each other, the reported element may differ from run to run. A load from a register is checked at
//! run time only if it is not certain that the register was written before.
//!
//! # How fast it is
//!
//! A 3x3 convolution of stride 2, 225x225x3 to 112x112x32, was measured on a cloud machine with 2 cores. A naive version, in workgroups of
//! 64 invocations, takes 0.33 s on one core. It executes 632 million SPIR-V instructions, counted in each invocation, or 1.9 thousand
//! million a second. With an invocation for each element, in workgroups of 64, it takes 0.28 s on both cores. With register tiles and vectors, which need fewer
//! instructions, it takes less than 0.1 s. Workgroups with few invocations are slower, in proportion to their size.
//!
//! # Other devices
//!
//! [`checked`] adds the checks of indices, and of races in shared memory, to a module that runs on another device.
//!
//! # Supported modules
//!
//! The device supports the modules that Tilewright's compiler emits: integers of 32 and 8 bits, `f32`, `f16` and `bfloat16`, vectors,
//! arrays, structs; buffers by descriptor and by address, including addresses that are computed in 64 bits; push constants, shared memory,
//! `Function` and `Private` variables; structured and unstructured control flow with phis; `GLSL.std.450`; barriers; atomic operations on
//! 32 bits; subgroup reductions, scans, votes, ballots and shuffles. Floats of 16 bits are kept as `f32` and rounded after each operation.
//! `Fma` is fused. Atomic operations order only themselves, whatever semantics they have. It is not a fault if a shuffle takes a value from
//! an inactive lane, because sums by shuffles do so. The value is then a NaN as a float, and out of bounds as an index. Any other
//! instruction is an error that names it when the module is read.
//!
//! # Cooperative matrices
//!
//! The device supports `SPV_KHR_cooperative_matrix` with the scope of a subgroup and matrices of any shape: of `f32`, `f16`, `bfloat16` and
//! integers of 32 and 8 bits, in row-major or column-major layout, by pointers to scalars or vectors of any width. Elements are numbered
//! row by row. In a subgroup of `n` invocations, invocation `i` holds the elements `i`, `i + n`, `i + 2 n` and so on, as its components 0,
//! 1, 2. If there are more components than elements, the remaining ones are copies of the first elements.
//!
//! A product starts with the element of `c` and adds the products of `a` and `b` in order of their depth. For floats, each product is
//! rounded to `f32` (a product of two 16-bit floats is exact), each sum is rounded to `f32`, and then to the result's type. For integers,
//! everything is exact, and the low bits are kept. If the product saturates, the sum of products must fit the result's type, and `c` is
//! added to it.
//!
//! Of `SPV_NV_cooperative_matrix2`, reductions, functions of elements, and conversions of accumulators to factors (also transposed) are
//! supported. A reduction combines columns from the first on, and then rows. A function that is passed to an instruction must have one
//! block and compute values only. It is inlined for each component.
//!
//! SPIR-V does not define which invocation accesses an element. So a subgroup can load a matrix that it has stored only after a barrier,
//! even if it loads it in the same way. A fault names the invocation that holds the element. A matrix is loaded as a whole: each element
//! must exist, be written, and be ordered. The pointer and the stride must be multiples of 16 bytes, or of the size of a row (a column, if
//! its elements are consecutive) if that is less.

mod analysis;
pub mod checked;
mod code;
mod exec;
mod fault;
pub mod field;
mod form;
mod half;
mod lines;
mod lower;
mod memory;
mod module;
mod run;
mod words;

pub use fault::{Access, Element, Fault, FaultKind, Invocation, Object, SourcePosition, Space};
pub use memory::device::{Memory, address};
pub use run::{BUDGET, Buffer, Kernel, Launch, Piece, RunError, Stats, StridedDim};
pub use words::DecodeError;
