//! What a launch costs as a whole: the sums over its dispatches, and what lies in memory meanwhile.

use crate::figures::{Figures, Known};
use tilewright_dsl::launch::{Program, Role, Tensor};
use tilewright_dsl::nest::Rounding;
use tilewright_dsl::profile::Profile;

/// The cost of a launch. What was prepared before costs the launch nothing but the room that it takes, and that it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Dispatches.
    pub dispatches: usize,
    /// Float operations, functions beyond arithmetic included, without those of matrix units; of this and all that follow, `None` where dims are missing.
    pub flops: Option<i64>,
    /// Operations of matrix units, which those are not.
    pub matrix_flops: Option<i64>,
    /// The functions alone.
    pub functions: Option<i64>,
    /// Bytes of device memory that invocations read and write.
    pub asked: Option<i64>,
    /// Bytes that the dispatches have to move: each of its tensors once in each.
    pub compulsory: Option<i64>,
    /// Bytes of shared memory that invocations read and write.
    pub shared: Option<i64>,
    /// Bytes of what lives in device memory for this launch alone.
    pub temporaries: Option<i64>,
    /// Bytes of what was prepared.
    pub prepared: Option<i64>,
    /// Bytes of shared memory of a workgroup, at most.
    pub shared_bytes: u32,
    /// The least time on a device of the schedule's profile in nanoseconds, one dispatch after another; also `None` where the profile does
    /// not say how fast it is.
    pub nanoseconds: Option<f64>,
    /// Words of SPIR-V.
    pub words: usize,
    /// The errors that are stated of what the schedule decomposed.
    pub errors: Vec<Rounding>,
}

impl Totals {
    pub(crate) fn new(figures: &[Figures], launched: &Program, known: &Known, errors: &[Rounding], profile: &Profile) -> Totals {
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
            temporaries: room(Role::Temporary),
            prepared: room(Role::Prepared),
            shared_bytes: launched.requires.shared_bytes,
            nanoseconds: least(figures, profile),
            words: figures.iter().map(|f| f.spirv_bytes / 4).sum(),
            errors: errors.to_vec(),
        }
    }
}

/// The least time of all dispatches, one after another, on a device of a profile.
pub(crate) fn least(figures: &[Figures], profile: &Profile) -> Option<f64> {
    figures.iter().map(|f| f.on(profile).map(|roofline| roofline.nanoseconds)).sum()
}

/// The sum, if all parts are known and 64 bits hold it.
fn total(parts: impl IntoIterator<Item = Option<i64>>) -> Option<i64> {
    parts.into_iter().try_fold(0i64, |sum, part| sum.checked_add(part?))
}

/// The bytes of a tensor, as it lies in memory.
fn bytes(tensor: &Tensor, known: &Known) -> Option<i64> {
    let shape: Vec<usize> = tensor.shape.iter().map(|size| usize::try_from(known.eval(size)?).ok()).collect::<Option<_>>()?;
    let laid = tensor.layout.as_ref().map_or(Some(shape.clone()), |layout| layout.memory(&shape))?;
    let elements = laid.into_iter().try_fold(1i64, |all, n| all.checked_mul(i64::try_from(n).ok()?))?;
    elements.checked_mul(tensor.dtype.bytes().into())
}
