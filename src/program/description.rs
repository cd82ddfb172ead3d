//! The description of one launch: the result of a program's rules for the shapes of its arguments.

use super::{Addressing, DType, Layout, Program, Requires, Role};
use crate::device::backend::Piece;
use crate::device::memory::allocated;
use crate::device::region::Region;
use crate::error::{Error, Result};
use crate::kernel::argument::{self, Scalar};
use crate::kernel::bound::{bind_scalar, bind_size};
use crate::launch::hazards::{Hazards, MemoryUse};
use crate::launch::plan::Plan;
use crate::launch::strides::Given;
use crate::launch::validate::validate;
use crate::launch::work::{self, LaunchLimits, Request, Solved};
use crate::launch::{interface, params};
use crate::tensor::{elements, view};
use std::ffi::CString;
use tilewright_launch::{self as launch, Dispatch, ParamValue};

/// An argument of a launch that is described.
#[derive(Clone, Copy, Debug)]
pub enum LaunchArgument<'a> {
    /// The shape of a tensor without gaps, at the start of its buffer.
    Tensor(&'a [usize]),
    /// A view: a part of a tensor.
    View {
        /// The number of elements in each dimension.
        shape: &'a [usize],
        /// The stride of each dimension in elements.
        strides: &'a [usize],
        /// The offset of its first element in its buffer, in elements.
        offset: usize,
    },
    /// A number.
    Scalar(Scalar),
    /// A size that the kernel takes as an argument, `n: dim`.
    Size(usize),
}

impl<'a, const N: usize> From<&'a [usize; N]> for LaunchArgument<'a> {
    fn from(shape: &'a [usize; N]) -> Self {
        LaunchArgument::Tensor(shape)
    }
}

impl<'a> From<&'a [usize]> for LaunchArgument<'a> {
    fn from(shape: &'a [usize]) -> Self {
        LaunchArgument::Tensor(shape)
    }
}

impl From<Scalar> for LaunchArgument<'_> {
    fn from(scalar: Scalar) -> Self {
        LaunchArgument::Scalar(scalar)
    }
}

impl From<usize> for LaunchArgument<'_> {
    fn from(size: usize) -> Self {
        LaunchArgument::Size(size)
    }
}

/// One launch as plain numbers: buffers to provide, and dispatches to record in order.
///
/// The offsets, sizes and parameters are proved to be in bounds for these shapes only. Describe each launch with its own shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchDescription {
    /// The kernel's name.
    pub kernel: String,
    /// The name of the variant, or of its version that takes these shapes: `NAME where K % 4 == 0`.
    pub variant: String,
    /// The name and the value of each dim.
    pub dims: Vec<(String, i64)>,
    /// The tensors: inputs and updates in the kernel's order, outputs in the kernel's order, prepared tensors, temporaries.
    pub tensors: Vec<TensorDescription>,
    /// The bytes of each memory for temporaries. Several temporaries can share one, because [`DispatchDescription::barrier_before`]
    /// separates their uses.
    pub temporaries: Vec<u64>,
    /// The dispatches, in order. Empty if no result has elements.
    pub dispatches: Vec<DispatchDescription>,
    /// The features and limits that the device must have.
    pub requires: Requires,
}

/// A tensor of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDescription {
    /// Its name in the kernel.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// Its role. An input or update has the caller's elements. A prepared tensor has the results of [`Program::preparations`].
    pub role: Role,
    /// The number of elements in each dimension, outermost first.
    pub shape: Vec<usize>,
    /// The order of the elements in memory; `None` for row-major. [`Program::conversions`] convert between the two.
    pub layout: Option<Layout>,
    /// The offset of its first element in its buffer, in bytes: 0, unless it is a view.
    pub offset: u64,
    /// The bytes from its first element to its last.
    pub bytes: u64,
    /// The bytes to bind from `offset` on: `bytes`, rounded up to a multiple of 16, because accesses are up to 16 bytes wide. A buffer of
    /// a whole tensor must have as many. For a view, bind fewer if the tensor's buffer ends before.
    pub bound_bytes: u64,
    /// The alignment of the first element that the SPIR-V requires, in bytes.
    pub align: u32,
    /// The memory of a temporary: an index into [`LaunchDescription::temporaries`]. `None` for other tensors.
    pub temporary: Option<usize>,
    /// True if the tensor is empty and a dispatch loads from it nevertheless. Bind a buffer of `bound_bytes` zeros.
    pub zeros: bool,
}

/// A dispatch of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchDescription {
    /// The stage that it computes.
    pub name: String,
    /// The SPIR-V module.
    pub spirv: Vec<u32>,
    /// The name of its entry point.
    pub entry: CString,
    /// The invocations of a workgroup in x, y, z, which the module declares.
    pub local: [u32; 3],
    /// True if a barrier must separate it from the dispatches before: compute shader writes before compute shader reads and writes.
    /// The first dispatch has none. The caller orders it after earlier work on the same buffers.
    pub barrier_before: bool,
    /// [`Addressing::Descriptor`]: binding `n` of set 0 is a storage buffer with `bindings[n]`. [`Addressing::Address`]: there is no
    /// descriptor set, and the parameter block has the addresses of the tensors.
    pub addressing: Addressing,
    /// The tensors that it accesses, in order.
    pub bindings: Vec<BindingDescription>,
    /// The place of the parameter block.
    pub parameters: ParameterPlace,
    /// The addresses to write into each piece's parameter block. Empty, unless buffers are accessed by address.
    pub addresses: Vec<AddressParameter>,
    /// The values of specialization constants: `constants[n]` is the 32-bit word of the constant with `SpecId` n.
    pub constants: Vec<u32>,
    /// The subgroup size to require, if any.
    pub subgroup: Option<u32>,
    /// True if full subgroups must be required, too.
    pub full_subgroups: bool,
    /// The parts of the grid, in any order. They need no barriers between them.
    pub pieces: Vec<PieceDescription>,
}

/// A tensor that a dispatch accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingDescription {
    /// An index into [`LaunchDescription::tensors`].
    pub tensor: usize,
    /// True if the dispatch reads it.
    pub reads: bool,
    /// True if the dispatch writes it.
    pub writes: bool,
}

/// The place of a dispatch's parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// The dispatch takes none.
    Nowhere,
    /// Push constants from offset 0 on, of this many bytes.
    PushConstants(u32),
    /// A storage buffer at this binding of set 0.
    Binding(u32),
    /// A buffer whose device address is the only push constant, of 8 bytes.
    Address,
}

/// A device address in a parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressParameter {
    /// The offset in the block. The address has 8 bytes, the least significant first.
    pub offset: u32,
    /// The tensor, whose first element has this address: an index into [`LaunchDescription::tensors`].
    pub tensor: usize,
}

/// A part of a grid, within the limits of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceDescription {
    /// The workgroups in x, y and z.
    pub groups: [u32; 3],
    /// The parameter block. The places of [`DispatchDescription::addresses`] are 0.
    pub parameters: Vec<u8>,
}

impl PieceDescription {
    /// Returns the parameter block with the addresses that `of` returns for the tensors.
    pub fn with_addresses(&self, addresses: &[AddressParameter], of: impl Fn(usize) -> u64) -> Vec<u8> {
        let mut block = self.parameters.clone();
        for address in addresses {
            let at = address.offset as usize;
            if let Some(place) = block.get_mut(at..at + 8) {
                place.copy_from_slice(&of(address.tensor).to_le_bytes());
            }
        }
        block
    }
}

impl LaunchDescription {
    /// Describes the launch of a program with these arguments, in the kernel's order, on a device with these limits. Versions of the
    /// program under more facts are preferred, as when the runtime runs it.
    ///
    /// The device must have [`LaunchDescription::requires`], which is not checked here.
    ///
    /// # Errors
    /// [`Error::Argument`] for arguments of the wrong number or kind. [`Error::Shape`], [`Error::Needs`] or [`Error::NoVariant`] if the
    /// program does not take their sizes. [`Error::TooLarge`] if a grid exceeds the limits. [`Error::Malformed`] if the program
    /// contradicts itself.
    pub fn new<'a>(
        program: &Program,
        arguments: impl IntoIterator<Item = LaunchArgument<'a>>,
        limits: &LaunchLimits,
    ) -> Result<LaunchDescription> {
        let malformed = |reason| Error::Malformed { variant: program.variant.clone(), reason };
        let bound = Bound::new(program, &arguments.into_iter().collect::<Vec<_>>())?;
        let versions = program.clone().into_versions().map_err(malformed)?;
        let (mut refusals, last) = (Vec::new(), versions.len().saturating_sub(1));
        for (n, version) in versions.iter().enumerate() {
            validate(version).map_err(malformed)?;
            let shapes: Vec<&[usize]> = bound.tensors.iter().map(|tensor| tensor.shape).collect();
            let given: Vec<Option<Given<'_>>> = (0..version.tensors.len()).map(|n| bound.given.get(n).copied()).collect();
            let request = Request { shapes: &shapes, sizes: &bound.sizes, scalars: &bound.scalars, given: &given };
            match request.solve(version, limits) {
                Ok(solved) => return describe(version, &bound, solved, limits),
                Err(refusal) => refusals.push((n < last, version.variant.clone(), refusal)),
            }
        }
        Err(work::refused(&program.kernel, refusals, true))
    }
}

/// A tensor that is given.
struct GivenTensor<'a> {
    shape: &'a [usize],
    region: Region,
}

/// Arguments of the right number and kinds.
struct Bound<'a> {
    tensors: Vec<GivenTensor<'a>>,
    given: Vec<Given<'a>>,
    scalars: Vec<u32>,
    sizes: Vec<i64>,
}

impl<'a> Bound<'a> {
    fn new(program: &Program, arguments: &[LaunchArgument<'a>]) -> Result<Bound<'a>> {
        let wrong = |message: String| Error::Argument { kernel: program.kernel.clone(), message };
        let wanted = program.arguments.len();
        if arguments.len() != wanted {
            return Err(wrong(format!("takes {wanted} arguments, but was given {}", arguments.len())));
        }
        let mut bound = Bound { tensors: Vec::new(), given: Vec::new(), scalars: Vec::new(), sizes: Vec::new() };
        for (wanted, got) in program.arguments.iter().zip(arguments) {
            match wanted {
                launch::Argument::Tensor(t) => {
                    let Some(wanted) = program.tensors.get(*t as usize) else { continue };
                    bound.tensor(wanted, *got).map_err(wrong)?;
                }
                launch::Argument::Scalar(s) => {
                    let Some(wanted) = program.scalars.get(*s as usize) else { continue };
                    bound.scalars.push(bind_scalar(wanted, number(&wanted.name, *got).map_err(wrong)?).map_err(wrong)?.bits());
                }
                launch::Argument::Dim(d) => {
                    let name = program.dims.get(*d as usize).map_or("?", |dim| &dim.name);
                    bound.sizes.push(bind_size(name, &number(name, *got).map_err(wrong)?).map_err(wrong)?);
                }
            }
        }
        Ok(bound)
    }

    fn tensor(&mut self, wanted: &launch::Tensor, got: LaunchArgument<'a>) -> Result<(), String> {
        let name = &wanted.name;
        let (shape, strides, offset) = match got {
            LaunchArgument::Tensor(shape) => (shape, None, 0),
            LaunchArgument::View { shape, strides, offset } if strides.len() == shape.len() => (shape, Some(strides), offset),
            LaunchArgument::View { shape, strides, .. } => {
                return Err(format!("`{name}` is a view with {} dimensions and {} strides", shape.len(), strides.len()));
            }
            LaunchArgument::Scalar(s) => return Err(format!("`{name}` is a tensor, but was given a number of type {}", s.dtype())),
            LaunchArgument::Size(_) => return Err(format!("`{name}` is a tensor, but was given a size")),
        };
        if strides.is_some() && wanted.layout.is_some() {
            return Err(format!("`{name}` is packed, so it cannot be a view"));
        }
        let laid = work::in_memory(wanted, shape);
        elements(&laid).map_err(|e| format!("`{name}`: {e}"))?;
        let strides = strides.filter(|strides| view::settled(shape, strides) != view::dense(shape));
        let dense = view::dense(&laid);
        let (laid, steps) = strides.map_or((laid.as_slice(), dense.as_slice()), |strides| (shape, strides));
        let reach = laid.iter().zip(steps).fold(offset as u128, |all, (n, step)| all + n.saturating_sub(1) as u128 * *step as u128);
        if reach > launch::MOST as u128 {
            return Err(format!("`{name}` reaches element {reach} of its buffer, and the limit is {}", launch::MOST));
        }
        let region = Region::of(offset, laid, steps, wanted.dtype.bytes());
        self.given.push(Given { shape, strides, start: region.start, bytes: region.bytes(), has_address: true });
        self.tensors.push(GivenTensor { shape, region });
        Ok(())
    }
}

/// Returns an argument that is not a tensor.
fn number(name: &str, got: LaunchArgument<'_>) -> Result<argument::Argument<'static>, String> {
    match got {
        LaunchArgument::Scalar(scalar) => Ok(argument::Argument::Scalar(scalar)),
        LaunchArgument::Size(size) => Ok(argument::Argument::Size(size)),
        LaunchArgument::Tensor(_) | LaunchArgument::View { .. } => Err(format!("`{name}` is a number, but was given a tensor")),
    }
}

fn describe(program: &Program, bound: &Bound<'_>, solved: Solved, limits: &LaunchLimits) -> Result<LaunchDescription> {
    let plan = Plan::new(&program.kernel, program, solved, limits)?;
    let (tensors, temporaries) = tensors(program, bound, &plan)?;
    // The caller writes the addresses.
    let sources = params::Sources { addresses: &[], scalars: &bound.scalars };
    let (mut hazards, mut dispatches) = (Hazards::default(), Vec::new());
    for planned in plan.dispatches {
        let Some(dispatch) = program.dispatches.get(planned.at) else { continue };
        let pieces = planned.pieces(dispatch, &sources).collect();
        let uses = dispatch.buffers.iter().filter_map(|used| {
            let (tensor, at) = (tensors.get(used.tensor as usize)?, u64::from(used.tensor));
            // Temporaries that share memory have one id, after the ids of tensors.
            let memory = tensor.temporary.map_or(at, |n| (tensors.len() + n) as u64);
            let bytes = tensor.offset..tensor.offset + tensor.bytes;
            Some(MemoryUse { memory, bytes, reads: used.reads, writes: used.writes })
        });
        let barrier_before = hazards.barrier_before(uses);
        dispatches.push(described(program, dispatch, planned.constants, barrier_before, pieces));
    }
    let dims = program.dims.iter().zip(&plan.dims).map(|(dim, value)| (dim.name.clone(), *value)).collect();
    Ok(LaunchDescription {
        kernel: program.kernel.clone(),
        variant: program.variant.clone(),
        dims,
        tensors,
        temporaries,
        dispatches,
        requires: program.requires.clone(),
    })
}

/// Describes the tensors, and returns the bytes of each memory for temporaries.
fn tensors(program: &Program, bound: &Bound<'_>, plan: &Plan) -> Result<(Vec<TensorDescription>, Vec<u64>)> {
    let (mut list, mut given) = (Vec::new(), bound.tensors.iter());
    for (n, ((tensor, shape), dense)) in program.tensors.iter().zip(&plan.shapes).zip(plan.bytes.iter().copied()).enumerate() {
        let region = match tensor.role {
            Role::Input | Role::Update => given.next().map(|tensor| tensor.region.clone()),
            Role::Output | Role::Prepared | Role::Temporary => None,
        };
        let region = region.unwrap_or_else(|| Region::dense(0, dense));
        let zeros = dense == 0 && !plan.is_idle && work::is_read(program, n);
        let least = match zeros {
            true => work::loaded_elements(tensor, shape)? as u64 * u64::from(tensor.dtype.bytes()),
            false => region.bytes(),
        };
        let aligns = program.dispatches.iter().flat_map(|d| &d.buffers).filter(|used| used.tensor as usize == n);
        list.push(TensorDescription {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            role: tensor.role,
            shape: shape.clone(),
            layout: tensor.layout.clone(),
            offset: if zeros { 0 } else { region.start },
            bytes: region.bytes(),
            bound_bytes: allocated(least),
            align: aligns.map(|used| used.align).max().unwrap_or(1),
            temporary: None,
            zeros,
        });
    }
    let plan = program.temporaries(&list.iter().map(|tensor| tensor.bytes).collect::<Vec<_>>());
    for (tensor, memory) in list.iter_mut().zip(&plan.of).filter(|(tensor, _)| !tensor.zeros) {
        tensor.temporary = *memory;
    }
    Ok((list, plan.bytes.iter().map(|bytes| allocated(*bytes)).collect()))
}

fn described(
    program: &Program,
    dispatch: &Dispatch,
    constants: Vec<u32>,
    barrier_before: bool,
    pieces: Vec<Piece>,
) -> DispatchDescription {
    let words = dispatch.spirv.chunks_exact(4).filter_map(|word| word.first_chunk());
    let binding =
        |used: &launch::BufferUse| BindingDescription { tensor: used.tensor as usize, reads: used.reads, writes: used.writes };
    let address = |param: &launch::Param| match param.value {
        ParamValue::Address(tensor) => Some(AddressParameter { offset: param.offset, tensor: tensor as usize }),
        ParamValue::Size(_) | ParamValue::Scalar(_) | ParamValue::GroupBase(_) => None,
    };
    let parameters = match (dispatch.spilled, dispatch.addressing) {
        (true, Addressing::Descriptor) => ParameterPlace::Binding(interface::bindings(dispatch) - 1),
        (true, Addressing::Address) => ParameterPlace::Address,
        (false, _) if dispatch.param_bytes == 0 => ParameterPlace::Nowhere,
        (false, _) => ParameterPlace::PushConstants(interface::push_bytes(dispatch)),
    };
    let piece = |piece: Piece| PieceDescription { groups: piece.groups, parameters: piece.params };
    DispatchDescription {
        name: dispatch.name.clone(),
        spirv: words.map(|word| u32::from_le_bytes(*word)).collect(),
        entry: dispatch.entry().map(CString::from).unwrap_or_default(),
        local: dispatch.local,
        barrier_before,
        addressing: dispatch.addressing,
        bindings: dispatch.buffers.iter().map(binding).collect(),
        parameters,
        addresses: dispatch.params.iter().filter_map(address).collect(),
        constants,
        subgroup: program.requires.subgroup,
        full_subgroups: program.requires.subgroup.is_some_and(|size| interface::has_full_subgroups(dispatch, size)),
        pieces: pieces.into_iter().map(piece).collect(),
    }
}
