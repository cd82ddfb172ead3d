//! The data that a compiled variant passes to the runtime: SPIR-V modules and a launch program.
//!
//! This is the contract between the compiler and the runtime, and the only crate that both use. The compiler fills a [`Program`] and
//! encodes it into bytes that the macros embed in the user's crate. The runtime decodes and interprets it. Tests and tools that compile at
//! run time take the same path.

mod dtype;
mod encoding;
mod interval;
mod layout;
mod lines;
mod program;
mod samples;
mod size;
mod temporaries;
mod version;

pub use dtype::{DType, FloatFormat, Numbers};
pub use encoding::{DEEPEST, DecodeError, EncodeError};
pub use interval::{Bounds, Interval, MOST, REACH};
pub use layout::{Digit, Layout};
pub use lines::{Line, Lines};
pub use program::{
    Addressing, Argument, BufferUse, Condition, Conversion, Dim, Dispatch, DotSigns, Fact, Feature, Limit, Matrices, Param,
    ParamValue, Preparation, Program, Requires, Role, Scalar, Solve, Tensor,
};
pub use size::{Relation, Size};
pub use temporaries::Temporaries;
pub use version::{Version, VersionDispatch};
