//! The reference device: runs the SPIR-V words of a dispatch on the CPU, and reports what they do wrong.
//!
//! It runs the very words that a driver would be given, so that what it finds is true of them, and it promises no more than
//! Vulkan does: what works elsewhere by luck is a [`Fault`] here, which names the tensor, shared array or register, the
//! element, the invocation and its workgroup. It finds
//!
//! - reads and writes out of bounds, also of an index of an inner array, misaligned ones, and writes to what is only read;
//! - reads of what nothing has written: registers, shared memory, outputs and temporaries;
//! - data races between invocations in shared memory and in buffers, also between workgroups; atomic operations race with
//!   plain accesses, not with each other;
//! - barriers that not all invocations of a workgroup (or subgroup) reach;
//! - cooperative matrices that not all invocations of a subgroup load, store or compute with, whose pointer, stride or scalar is not the same
//!   in all of them, or which lie where no device has to find them;
//! - integer division by zero, and values that are undefined: shifts too far, floats too large for an integer, `OpUndef`;
//! - loops that do not end: each invocation has a [`BUDGET`] of instructions.
//!
//! ```text
//! words ── module ── analysis ── lower ──▶ code ──┐
//!   read to tables   what is uniform,  flat ops   ├─ run: threads, each a worker ── exec ──▶ Stats or Fault
//!                    assigned, folded             │       with a workgroup at a time
//!            Memory, parameter blocks, grid ──────┘
//! ```
//!
//! # How it runs
//!
//! A module is decoded once. Each operation then runs for all invocations of a workgroup together, in a loop over a row of
//! words that the compiler makes vector instructions of; what is the same in all of them is computed once. Lanes that
//! branch apart wait for each other where the control flow joins. Workgroups are spread over threads, and come in an order that
//! no kernel expects.
//!
//! Going in step hides no fault: races are found by who accessed an element since the last barrier that orders it, not by
//! what came out. Elements of buffers that a dispatch writes, and shared memory, remember that; other buffers cannot be
//! raced for. Buffers that are not coherent are ordered by no barrier, as in Vulkan; in the Vulkan memory model it is each
//! access and each barrier that says so. Of several faults that of the workgroup that began first is reported; where threads run workgroups that race with each
//! other, it may be another element from run to run. A register's loads are checked as the module runs only where it is not plain that it was written before.
//!
//! # How fast it is
//!
//! A 3x3 convolution of stride 2, 225x225x3 to 112x112x32, on a cloud machine of 2 cores: 0.33 s on one of them when written
//! naively, in workgroups of 64 invocations. Those are 632 million SPIR-V instructions, counted in each invocation: 1.9
//! thousand million a second. Under the heuristic schedule it takes 0.28 s on both cores, and less than 0.1 s with register
//! tiles and vectors, which leave fewer instructions. Workgroups of few invocations are slower, by as much as there are
//! fewer of them.
//!
//! # What it knows
//!
//! What Tilewright's compiler emits: integers of 32 and 8 bits, `f32`, `f16` and `bfloat16`, vectors, arrays, structs; buffers by descriptor and
//! by address, also one that is computed in 64 bits; push constants, shared memory, `Function` and `Private` variables; structured and unstructured control flow
//! with phis; `GLSL.std.450`; barriers; atomic operations on 32 bits; subgroup reductions, scans, votes, ballots and shuffles.
//! Floats of 16 bits are kept as `f32` and rounded after each operation; `Fma` is fused. Atomic operations order nothing but
//! themselves, whatever semantics they have. What a shuffle takes from a lane that does not run is no fault, as sums by
//! shuffles do it: it is a NaN and an index of nothing. Any other instruction is an error that names it, when the module is read.
//!
//! # Cooperative matrices
//!
//! What `SPV_KHR_cooperative_matrix` has, of the scope of a subgroup, of any shape: of `f32`, `f16`, `bfloat16` and integers of 32 and 8 bits, in
//! rows or in columns, by pointers to scalars or vectors of any width. Elements are numbered row by row, and of `n` invocations of a subgroup
//! invocation `i` has the elements `i`, `i + n`, `i + 2 n` and so on, as its components 0, 1, 2. Where these are more than there are elements, the
//! rest are copies of the first.
//!
//! A product starts with the element of `c` and adds the products of `a` and `b` in order of their depth. Of floats, a product is rounded
//! to `f32` (of two of 16 bits it is exact), each sum is rounded to `f32`, and then to the result's type. Of integers, all is exact, and the low bits are
//! kept; saturating, the sum of products has to fit the result's type, and `c` is added to it.
//!
//! Of `SPV_NV_cooperative_matrix2` there are reductions, functions of elements and conversions of accumulators to factors, also turned round. A reduction
//! combines columns from the first on, and then rows. A function that is given to one is of one block and of values alone; it is put in for
//! each component.
//!
//! Which invocation accesses an element is not defined in SPIR-V. So what a subgroup has stored as a matrix it loads only after a barrier, even if it
//! loads it in the same way; a fault names the invocation that has the element. A matrix is loaded whole: each element has to be there, written, and
//! ordered. Pointer and stride are multiples of 16 bytes, or of a row (a column, where those lie together) if that is shorter.

mod analysis;
mod code;
mod exec;
mod fault;
mod form;
mod half;
mod lines;
mod lower;
mod memory;
mod module;
mod run;
mod words;

pub use fault::{Access, Element, Fault, FaultKind, Invocation, Object, Place, Space};
pub use memory::device::{Memory, address};
pub use run::{BUDGET, Buffer, Kernel, Launch, Piece, RunError, Stats, Step};
pub use words::DecodeError;
