//! The part of a launch that is independent of devices: it computes dims, checks and parameters from the arguments.
//!
//! [`validate`] checks a program once, when it is loaded. Each launch then uses [`solve`] (dims from shapes), [`strides`] (strides
//! and alignment of tensors) and [`check`] (shapes, facts, limits, overlap); [`work`] calls them in this order. [`plan`] then splits each
//! dispatch by the device's limits ([`grid`]), and builds parameter blocks ([`params`]). [`interface`] describes pipelines, and [`hazards`]
//! decides where barriers are needed.

pub(crate) mod check;
pub(crate) mod grid;
pub(crate) mod hazards;
pub(crate) mod interface;
pub(crate) mod params;
pub(crate) mod plan;
pub(crate) mod solve;
pub(crate) mod strides;
mod text;
pub(crate) mod validate;
pub(crate) mod work;

#[cfg(test)]
pub(crate) mod samples;

use crate::error::{Cause, Refusal};
use tilewright_launch::{Program, Size};

/// Returns the cause of a refusal that depends on sizes: [`Cause::Strides`] if one of them is the free stride of a view.
fn cause_of<'a>(program: &Program, sizes: impl IntoIterator<Item = &'a Size>, otherwise: Cause) -> Cause {
    let of_strides = |size: &Size| size.any_dim(&|dim| program.is_stride(dim as usize));
    if sizes.into_iter().any(of_strides) { Cause::Strides } else { otherwise }
}
