//! The interface of a dispatch's pipeline: its bindings, push constants and subgroups.

use tilewright_launch::{Addressing, Dispatch};

/// Returns the number of storage buffers in set 0. The last one holds the parameters if they are spilled.
pub(crate) fn bindings(dispatch: &Dispatch) -> u32 {
    match dispatch.addressing {
        Addressing::Descriptor => dispatch.buffers.len() as u32 + u32::from(dispatch.spilled),
        Addressing::Address => 0,
    }
}

/// Returns the bytes of the push constants: the parameters, or the address of the buffer that holds them.
pub(crate) fn push_bytes(dispatch: &Dispatch) -> u32 {
    match (dispatch.spilled, dispatch.addressing) {
        (false, _) => dispatch.param_bytes,
        (true, Addressing::Address) => 8,
        (true, Addressing::Descriptor) => 0,
    }
}

/// True if full subgroups can be required together with a subgroup size, because Vulkan allows them only if the local size in x is a
/// multiple of it.
pub(crate) fn has_full_subgroups(dispatch: &Dispatch, subgroup: u32) -> bool {
    dispatch.local[0].checked_rem(subgroup) == Some(0)
}
