//! The cost of a launch as numbers, as far as its dims are known, and the least time that a device needs for it.

use crate::estimate::Estimate;
use crate::words::{self, Words};
use tilewright_codegen::cost::{Cost, Occupancy, Roofline, SubgroupAccess, cost, roofline, touches};
use tilewright_dsl::launch::{self, Size};
use tilewright_dsl::nest::Program;
use tilewright_dsl::profile::Profile;

/// The cost of one dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The cost of the nest.
    pub cost: Cost,
    /// How the invocations of a subgroup access memory together.
    pub touches: Vec<SubgroupAccess>,
    /// Statistics of the SPIR-V module.
    pub words: Words,
    /// The size of the SPIR-V module in bytes.
    pub spirv_bytes: usize,
    /// The number of workgroups. This and all following figures are `None` if dims are missing.
    pub workgroups: Option<i64>,
    /// Float operations of all workgroups. They include functions beyond arithmetic, but not operations of matrix units.
    pub flops: Option<i64>,
    /// Operations of matrix units.
    pub matrix_flops: Option<i64>,
    /// Calls of functions beyond arithmetic.
    pub functions: Option<i64>,
    /// Bytes that all workgroups read from and write to shared memory.
    pub shared: Option<i64>,
    /// The traffic of every tensor.
    pub moved: Vec<Moved>,
    /// Bytes that any schedule of this dispatch has to move: each tensor once.
    pub compulsory: Option<i64>,
    /// The most workgroups that run on a core at the same time; `None` if the profile does not give a core's resources.
    pub occupancy: Option<Occupancy>,
    /// The least time on a device of the profile; also `None` if the profile does not give the device's rates.
    pub roofline: Option<Roofline>,
    /// The estimated time on a device of the profile. It is `None` if the roofline is.
    pub estimate: Option<Estimate>,
}

/// The accesses of all workgroups of a dispatch to a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The tensor's name.
    pub name: String,
    /// Bytes read.
    pub read: Option<i64>,
    /// Bytes written.
    pub written: Option<i64>,
    /// Bytes of the tensor.
    pub whole: Option<i64>,
}

/// Returns the figures of every dispatch.
pub(crate) fn figures(program: &Program, launched: &launch::Program, profile: &Profile, known: &DimValues) -> Vec<Figures> {
    let costs = cost(program, profile).into_iter().zip(touches(program, profile));
    let each = costs.zip(&launched.dispatches);
    let figures = each.map(|((cost, touches), dispatch)| Figures { touches, ..known.figures(cost, dispatch, profile) });
    figures.map(|figures| Figures { estimate: figures.estimate(profile), ..figures }).collect()
}

/// The values of the dims, as far as they are known.
#[derive(Debug)]
pub(crate) struct DimValues(Vec<Option<i64>>);

impl Figures {
    /// Returns the least time on a device of another profile.
    pub fn on(&self, profile: &Profile) -> Option<Roofline> {
        roofline(self.flops, self.matrix_flops, self.compulsory, profile)
    }
}

impl DimValues {
    pub(crate) fn new(launched: &launch::Program, given: &[(String, i64)]) -> DimValues {
        let mut known = DimValues(Vec::new());
        for dim in &launched.dims {
            let said = given.iter().find(|(name, _)| *name == dim.name).map(|(_, value)| *value);
            let value = match &dim.derived {
                Some(size) => known.eval(size),
                None => said.or_else(|| launched.facts.iter().find_map(|fact| fact.condition.equates(known.0.len()))),
            };
            known.0.push(value);
        }
        for tensor in &launched.tensors {
            known.without_gaps(launched, tensor);
        }
        known
    }

    /// Assumes that a tensor with free strides has no gaps.
    fn without_gaps(&mut self, launched: &launch::Program, tensor: &launch::Tensor) {
        let mut inner = Some(1);
        for (stride, extent) in tensor.strides.as_deref().unwrap_or_default().iter().zip(&tensor.shape).rev() {
            let free = launched.free_stride(stride).and_then(|dim| self.0.get_mut(dim));
            if let Some(value) = free.filter(|value| value.is_none()) {
                *value = inner;
            }
            inner = self.eval(stride).zip(self.eval(extent)).and_then(|(stride, extent)| stride.checked_mul(extent.max(1)));
        }
    }

    /// Returns the values of all dims, if they are known.
    pub(crate) fn all(&self) -> Option<Vec<i64>> {
        self.0.iter().copied().collect()
    }

    /// Explains why a program is not for the given sizes: one of its facts gives a dim another literal.
    pub(crate) fn contradicted(&self, launched: &launch::Program, given: &[(String, i64)]) -> Option<String> {
        let dims = launched.dims.iter().zip(&self.0);
        dims.filter_map(|(dim, value)| Some((&dim.name, value.as_ref()?))).find_map(|(name, literal)| {
            let (_, said) = given.iter().find(|(other, said)| other == name && said != literal)?;
            Some(format!("`{name} == {literal}` does not hold: `{name}` is {said}"))
        })
    }

    /// Returns true if a dim is known.
    pub(crate) fn has(&self, dim: usize) -> bool {
        self.0.get(dim).is_some_and(Option::is_some)
    }

    /// Returns the value of a size, if all its dims are known.
    pub(crate) fn eval(&self, size: &Size) -> Option<i64> {
        let unknown = |d: u32| self.0.get(d as usize).is_none_or(Option::is_none);
        let values: Vec<i64> = self.0.iter().map(|v| v.unwrap_or(0)).collect();
        if size.any_dim(&unknown) { None } else { size.eval(&values) }
    }

    fn figures(&self, cost: Cost, dispatch: &launch::Dispatch, profile: &Profile) -> Figures {
        let workgroups = self.eval(&cost.workgroups());
        let total = |size: &Size| self.eval(size)?.checked_mul(workgroups?);
        let moved = |t: &tilewright_codegen::cost::Traffic| Moved {
            name: t.name.clone(),
            read: total(&t.read),
            written: total(&t.written),
            whole: self.eval(&t.whole),
        };
        let flops = total(&cost.each.flops.clone().plus(cost.each.functions.clone()));
        let matrix_flops = if cost.each.matrix_flops == Size::Const(0) { Some(0) } else { total(&cost.each.matrix_flops) };
        let shared = total(&cost.each.shared_read.clone().plus(cost.each.shared_written.clone()));
        let compulsory = self.eval(&cost.compulsory());
        Figures {
            touches: Vec::new(),
            words: words::read(&dispatch.spirv),
            spirv_bytes: dispatch.spirv.len(),
            workgroups,
            flops,
            matrix_flops,
            functions: total(&cost.each.functions),
            shared,
            moved: cost.tensors.iter().map(moved).collect(),
            compulsory,
            occupancy: cost.occupancy(profile),
            roofline: roofline(flops, matrix_flops, compulsory, profile),
            estimate: None,
            cost,
        }
    }
}
