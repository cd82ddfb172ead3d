//! The cost of a whole launch: the sums over its dispatches, and the memory that it needs.

use crate::figures::{DimValues, Figures};
use std::collections::BTreeMap;
use tilewright_codegen::cost::Bottleneck;
use tilewright_dsl::launch::{Program, Role, Tensor};
use tilewright_dsl::nest::Rounding;
use tilewright_dsl::profile::Profile;

/// The cost of a launch. Computing prepared tensors is not part of it, but their memory and reading them is.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Dispatches.
    pub dispatches: usize,
    /// Float operations. They include functions beyond arithmetic, but not operations of matrix units. This and all following
    /// figures are `None` if dims are missing.
    pub flops: Option<i64>,
    /// Operations of matrix units.
    pub matrix_flops: Option<i64>,
    /// Calls of functions beyond arithmetic.
    pub functions: Option<i64>,
    /// Bytes of device memory that invocations read and write.
    pub asked: Option<i64>,
    /// Bytes that the dispatches have to move: each dispatch moves each of its tensors once.
    pub compulsory: Option<i64>,
    /// Bytes of shared memory that invocations read and write.
    pub shared: Option<i64>,
    /// Bytes of temporaries, which are in device memory only for this launch. Temporaries that are in use at different times share
    /// memory.
    pub temporaries: Option<i64>,
    /// Bytes of prepared tensors.
    pub prepared: Option<i64>,
    /// The most bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The least time in nanoseconds on a device of the schedule's profile, one dispatch after another. It is also `None` if the
    /// profile does not give the device's rates.
    pub nanoseconds: Option<f64>,
    /// The estimated time, one dispatch after another, and the reason for most of it. It is `None` if the least time is.
    pub estimate: Option<LaunchEstimate>,
    /// The size of the SPIR-V modules in 32-bit words.
    pub words: usize,
    /// The stated rounding errors of the schedule's decompositions.
    pub errors: Vec<Rounding>,
}

impl Totals {
    pub(crate) fn new(
        figures: &[Figures],
        launched: &Program,
        known: &DimValues,
        errors: &[Rounding],
        profile: &Profile,
    ) -> Totals {
        let moved = |f: &Figures| total(f.moved.iter().map(|moved| moved.read?.checked_add(moved.written?)));
        let room = |role: Role| total(launched.tensors.iter().filter(|t| t.role == role).map(|t| bytes(t, known)));
        Totals {
            dispatches: figures.len(),
            flops: total(figures.iter().map(|f| f.flops)),
            matrix_flops: total(figures.iter().map(|f| f.matrix_flops)),
            functions: total(figures.iter().map(|f| f.functions)),
            asked: total(figures.iter().map(moved)),
            compulsory: total(figures.iter().map(|f| f.compulsory)),
            shared: total(figures.iter().map(|f| f.shared)),
            temporaries: temporaries(launched, known),
            prepared: room(Role::Prepared),
            shared_bytes: launched.requires.shared_bytes,
            nanoseconds: least(figures, profile),
            estimate: estimate(figures),
            words: figures.iter().map(|f| f.spirv_bytes / 4).sum(),
            errors: errors.to_vec(),
        }
    }
}

/// The estimated time of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchEstimate {
    /// Nanoseconds.
    pub nanoseconds: f64,
    /// The reason for most of the time.
    pub bound: Bottleneck,
}

/// Returns the estimated time of all dispatches.
fn estimate(figures: &[Figures]) -> Option<LaunchEstimate> {
    let mut by_bound: BTreeMap<Bottleneck, f64> = BTreeMap::new();
    for figures in figures {
        let estimate = figures.estimate.as_ref()?;
        *by_bound.entry(estimate.bound).or_default() += estimate.nanoseconds;
    }
    let (bound, _) = by_bound.iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(LaunchEstimate { nanoseconds: by_bound.values().sum(), bound: *bound })
}

/// Returns the least time of all dispatches, one after another, on a device of a profile.
pub(crate) fn least(figures: &[Figures], profile: &Profile) -> Option<f64> {
    figures.iter().map(|f| f.on(profile).map(|roofline| roofline.nanoseconds)).sum()
}

/// Returns the sum, if all parts are known and it fits 64 bits.
fn total(parts: impl IntoIterator<Item = Option<i64>>) -> Option<i64> {
    parts.into_iter().try_fold(0i64, |sum, part| sum.checked_add(part?))
}

/// Returns the bytes of the memory that the temporaries share.
fn temporaries(launched: &Program, known: &DimValues) -> Option<i64> {
    let of = |tensor: &Tensor| if tensor.role == Role::Temporary { bytes(tensor, known)?.try_into().ok() } else { Some(0) };
    let sizes: Vec<u64> = launched.tensors.iter().map(of).collect::<Option<_>>()?;
    total(launched.temporaries(&sizes).bytes.into_iter().map(|bytes| bytes.try_into().ok()))
}

/// Returns the bytes of a tensor in memory.
pub(crate) fn bytes(tensor: &Tensor, known: &DimValues) -> Option<i64> {
    let shape: Vec<usize> = tensor.shape.iter().map(|size| usize::try_from(known.eval(size)?).ok()).collect::<Option<_>>()?;
    let laid = tensor.layout.as_ref().map_or(Some(shape.clone()), |layout| layout.memory(&shape))?;
    let elements = laid.into_iter().try_fold(1i64, |all, n| all.checked_mul(i64::try_from(n).ok()?))?;
    elements.checked_mul(tensor.dtype.bytes().into())
}
