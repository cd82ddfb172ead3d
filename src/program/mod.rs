//! Launch programs as data, for programs that run kernels by their own Vulkan code.
//!
//! [`Variant::program`](crate::Variant::program) returns a [`Program`]: the SPIR-V modules of a variant, and the rules by which a launch
//! finds their buffers, parameters and grids. A [`LaunchDescription`] is the result of these rules for the shapes of one launch. It is
//! plain numbers, so a runtime of another program only has to create pipelines, bind buffers and dispatch.
//!
//! ```
//! use tilewright::program::{LaunchArgument, LaunchDescription, LaunchLimits};
//!
//! tilewright::kernel! {
//!     pub fn double<N>(x: f32[N]) -> y: f32[N] { y[i] = 2.0 * x[i]; }
//! }
//!
//! # fn main() -> tilewright::Result<()> {
//! let program = double::DEFAULT.program()?;
//! let launch = LaunchDescription::new(&program, [LaunchArgument::from(&[1000])], &LaunchLimits::default())?;
//! let [x, y] = &launch.tensors[..] else { unreachable!("an input and an output") };
//! assert_eq!((x.bytes, y.shape.as_slice()), (4000, &[1000][..]));
//! let [dispatch] = &launch.dispatches[..] else { unreachable!("a stage without intermediates") };
//! println!("{} words, grids {:?}", dispatch.spirv.len(), dispatch.pieces);
//! # Ok(())
//! # }
//! ```

mod description;

pub use crate::launch::work::LaunchLimits;
pub use description::{
    AddressParameter, BindingDescription, DispatchDescription, LaunchArgument, LaunchDescription, ParameterPlace, PieceDescription,
    TensorDescription,
};
pub use tilewright_launch::{
    Addressing, Argument, BufferUse, Condition, Conversion, DType, DecodeError, Digit, Dim, Dispatch, DotSigns, Fact, Feature,
    Layout, Limit, Line, Lines, MOST, Matrices, Param, ParamValue, Preparation, Program, REACH, Relation, Requires, Role, Scalar,
    Size, Solve, Temporaries, Tensor, Version, VersionDispatch,
};
