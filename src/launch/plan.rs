//! The plan of a launch: all that follows from its dims and shapes, whichever tensors have them.

use super::work::{LaunchLimits, Solved, in_memory, is_idle, too_large, writes_nothing};
use super::{grid, params};
use crate::device::backend::Piece;
use crate::error::{Error, Result};
use crate::tensor::elements;
use tilewright_launch::{Dispatch, ParamValue, Program};

/// The plan of a launch.
pub(crate) struct Plan {
    pub(crate) dims: Vec<i64>,
    /// The shapes of the program's tensors.
    pub(crate) shapes: Vec<Vec<usize>>,
    /// The bytes of the tensors without gaps, with the padding of layouts.
    pub(crate) bytes: Vec<u64>,
    /// True if no result has elements.
    pub(crate) is_idle: bool,
    /// The dispatches that run.
    pub(crate) dispatches: Vec<PlannedDispatch>,
}

/// A dispatch that runs.
pub(crate) struct PlannedDispatch {
    /// Its index in the program.
    pub(crate) at: usize,
    /// The values of its specialization constants.
    pub(crate) constants: Vec<u32>,
    /// The parts of its grid.
    parts: Vec<grid::Part>,
    /// The parameter block with its sizes, and zeros for all else.
    sizes: Vec<u8>,
}

impl Plan {
    /// Plans the launch of a kernel's program.
    pub(crate) fn new(kernel: &str, program: &Program, solved: Solved, limits: &LaunchLimits) -> Result<Plan> {
        let Solved { dims, shapes } = solved;
        let bytes = program.tensors.iter().zip(&shapes).map(|(tensor, shape)| {
            let count = elements(&in_memory(tensor, shape))?;
            Ok(count as u64 * u64::from(tensor.dtype.bytes()))
        });
        let (bytes, is_idle) = (bytes.collect::<Result<_>>()?, is_idle(program, &shapes));
        let mut dispatches = Vec::new();
        for (at, dispatch) in program.dispatches.iter().enumerate() {
            if is_idle || writes_nothing(dispatch, &shapes) {
                continue;
            }
            let parts = parts(kernel, dispatch, &dims, limits)?;
            if parts.is_empty() {
                continue;
            }
            let too_large = || too_large(kernel, dispatch, u64::MAX);
            let constants = params::constants(dispatch, &dims).ok_or_else(too_large)?;
            let sizes = params::sizes(dispatch, &dims).ok_or_else(too_large)?;
            dispatches.push(PlannedDispatch { at, constants, parts, sizes });
        }
        Ok(Plan { dims, shapes, bytes, is_idle, dispatches })
    }

    /// Returns true if its grids have few parts, so that many such plans can be kept.
    pub(crate) fn is_small(&self) -> bool {
        self.dispatches.iter().map(|planned| planned.parts.len()).sum::<usize>() <= 1024
    }
}

impl PlannedDispatch {
    /// Returns the parts of the grid with their parameter blocks.
    pub(crate) fn pieces<'a>(
        &'a self,
        dispatch: &'a Dispatch,
        sources: &'a params::Sources<'_>,
    ) -> impl Iterator<Item = Piece> + 'a {
        self.parts
            .iter()
            .map(|part| Piece { groups: part.groups, params: params::block(dispatch, &self.sizes, sources, part.base) })
    }
}

/// The most parts of a grid. A grid with a workgroup for each of 2^31 elements has less than a tenth of it.
const MOST_PARTS: u64 = 1 << 20;

/// Splits a dispatch's grid by the device's limits.
fn parts(kernel: &str, dispatch: &Dispatch, dims: &[i64], limits: &LaunchLimits) -> Result<Vec<grid::Part>> {
    let name = || format!("`{}` of `{}`", dispatch.name, kernel);
    let mut grid = [0u32; 3];
    let sizes = dispatch.grid.each_ref().map(|size| size.eval(dims).map_or(u64::MAX, |v| v.max(0).cast_unsigned()));
    if sizes.contains(&0) {
        return Ok(Vec::new());
    }
    for (n, size) in grid.iter_mut().zip(sizes) {
        let too_large = |_| Error::TooLarge { what: format!("the workgroups of {}", name()), size, limit: u64::from(u32::MAX) };
        *n = u32::try_from(size).map_err(too_large)?;
    }
    let has_base = |axis: usize| dispatch.params.iter().any(|p| p.value == ParamValue::GroupBase(axis as u8));
    for (axis, (n, limit)) in grid.into_iter().zip(limits.grid).enumerate() {
        if n > limit && !has_base(axis) {
            let letter = ["x", "y", "z"].get(axis).copied().unwrap_or_default();
            let what = format!("the workgroups in {letter} of {}", name());
            return Err(Error::TooLarge { what, size: u64::from(n), limit: u64::from(limit) });
        }
    }
    let size = grid::count(grid, limits.grid);
    if size > MOST_PARTS {
        let what = format!("the dispatches that the grid of {} takes", name());
        return Err(Error::TooLarge { what, size, limit: MOST_PARTS });
    }
    Ok(grid::parts(grid, limits.grid))
}
