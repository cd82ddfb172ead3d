//! Loading: selects the variants that a device can run, checks that they belong together, and compiles them.

use super::argument::Argument;
use super::choice::Choices;
use super::conversion::Conversion;
use super::pipelines::Pipelines;
use super::preparation::Preparation;
use super::run::{Launch, Target};
use super::{Kernel, Loaded, Variant};
use crate::device::pending::Pending;
use crate::device::statistics::Statistics;
use crate::device::timing::Timing;
use crate::device::{Device, DeviceInfo, Disabled};
use crate::error::{Error, Result};
use crate::launch::validate::validate;
use crate::tensor::AnyTensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tilewright_launch::{Addressing, Condition, Dispatch, Program, Role, Size, Tensor};

/// A kernel that is loaded onto a device from launch programs. Its arguments are known at run time only. Clones share it.
#[derive(Clone)]
pub struct DynKernel(Arc<Inner>);

struct Inner {
    device: Device,
    kernel: String,
    variants: Vec<Loadable>,
    /// Unique among loaded kernels.
    id: u64,
    preparations: Vec<Preparation>,
    /// The conversions of packed tensors. All variants have the same ones.
    conversions: Vec<Conversion>,
    /// True if the choice of a variant depends on numbers among the arguments.
    has_facts_of_scalars: bool,
    choices: Choices,
}

/// A variant that the device can run.
pub(crate) struct Loadable {
    pub(crate) program: Program,
    /// True if it is a version of a variant under more facts. The plain version comes later.
    pub(crate) specialized: bool,
    /// The index, among the loaded variants, of the variant that it is, or is a version of.
    pub(crate) variant: usize,
    /// The variant's name.
    pub(crate) name: Arc<str>,
    /// One for each dispatch.
    pub(crate) dispatches: Vec<LoadedDispatch>,
}

/// A dispatch of a loaded variant.
pub(crate) struct LoadedDispatch {
    pub(crate) name: Arc<str>,
    pub(crate) pipelines: Pipelines,
}

impl Device {
    /// Loads a kernel's variants, in order of preference.
    ///
    /// Variants whose requirements this device does not meet are left out; it is an error if none is left. The variants must agree
    /// in every parameter, unless a literal in an input's shape distinguishes them.
    pub fn load<K: Kernel>(&self, variants: &[Variant<K>]) -> Result<Loaded<K>> {
        let programs = variants.iter().map(Variant::program).collect::<Result<_>>()?;
        // SAFETY: a variant holds what the compiler made: that is the contract of its constructor.
        unsafe { DynKernel::load(self, programs) }.map(Loaded::new)
    }

    /// Loads programs that were compiled at run time: see [`Device::load`].
    ///
    /// # Safety
    /// Each program must be one that Tilewright's compiler of this version made (`tilewright_dsl::variant::compile`), without
    /// changes; or this must be the reference device, which checks each access.
    ///
    /// Memory safety depends on the program: the compiler's proofs rely on its shapes, facts and limits, and its SPIR-V runs on the
    /// device as it is, without further checks. A changed program can read and overwrite other tensors, and any memory of this
    /// process. Only some contradictions within a program are detected; they are [`Error::Malformed`].
    pub unsafe fn load_programs(&self, programs: Vec<Program>) -> Result<DynKernel> {
        // SAFETY: this function has the same contract.
        unsafe { DynKernel::load(self, programs) }
    }
}

impl DynKernel {
    /// Loads programs: see [`Device::load_programs`].
    ///
    /// # Safety
    /// The programs must be unchanged since the compiler made them.
    pub(crate) unsafe fn load(device: &Device, programs: Vec<Program>) -> Result<DynKernel> {
        let Some(kernel) = programs.first().map(|p| p.kernel.clone()) else { return Err(Error::NothingToLoad) };
        let versions = versions(programs)?;
        let conversions = versions.iter().find(|v| !v.specialized).map_or_else(Vec::new, |v| Conversion::of(&v.program));
        let plain_programs = versions.iter().filter(|v| !v.specialized).map(|v| &v.program).enumerate();
        let preparations = plain_programs.flat_map(|(n, p)| Preparation::of(p, n)).collect();
        let plain: Vec<&Program> = versions.iter().filter(|v| !v.specialized).map(|v| &v.program).collect();
        for (i, a) in plain.iter().enumerate() {
            plain.iter().skip(i + 1).try_for_each(|b| agree(a, b))?;
        }
        let (mut variants, mut reasons) = (Vec::new(), Vec::new());
        for Version { program, specialized, variant } in versions {
            match unmet(&program, device.info()) {
                None => variants.push(compile(device, program, specialized, variant)?),
                // Missing requirements are reported for a variant's plain version only.
                Some(_) if specialized => {}
                Some(reason) => reasons.push((program.variant, reason)),
            }
        }
        device.save_cache();
        if variants.is_empty() {
            return Err(Error::Unsupported { kernel, device: device.info().name.clone(), reasons });
        }
        let mut facts = variants.iter().flat_map(|loaded| &loaded.program.facts);
        let has_facts_of_scalars = facts.any(|fact| matches!(fact.condition, Condition::Scalar { .. }));
        Ok(DynKernel(Arc::new(Inner {
            device: device.clone(),
            id: next_id(),
            kernel,
            variants,
            conversions,
            preparations,
            has_facts_of_scalars,
            choices: Choices::default(),
        })))
    }

    /// Returns the kernel's name.
    pub fn name(&self) -> &str {
        &self.0.kernel
    }

    /// Returns the device on which the kernel is loaded.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the variants that this device can run, in order of preference.
    pub fn variants(&self) -> impl ExactSizeIterator<Item = &Program> {
        self.0.variants.iter().map(|v| &v.program)
    }

    /// Runs the first variant that takes these arguments, and allocates the outputs.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = Argument<'a>>) -> Result<Vec<AnyTensor>> {
        Launch::new(self, args, Target::Allocate, None)?.run()
    }

    /// Runs the first variant that takes these arguments, and writes to these outputs.
    pub fn run_into<'a, 'b>(
        &self,
        args: impl IntoIterator<Item = Argument<'a>>,
        outputs: impl IntoIterator<Item = &'b mut AnyTensor>,
    ) -> Result<()> {
        let launch = Launch::new(self, args, Target::into(outputs), None)?;
        launch.run().map(drop)
    }

    /// Submits the launch of [`DynKernel::run`] without waiting for it. The outputs can be used at once: see [`Pending`].
    pub fn submit<'a>(&self, args: impl IntoIterator<Item = Argument<'a>>) -> Result<(Vec<AnyTensor>, Pending)> {
        Launch::new(self, args, Target::Allocate, None)?.submit()
    }

    /// Submits the launch of [`DynKernel::run_into`] without waiting for it. The outputs can be used at once: see [`Pending`].
    pub fn submit_into<'a, 'b>(
        &self,
        args: impl IntoIterator<Item = Argument<'a>>,
        outputs: impl IntoIterator<Item = &'b mut AnyTensor>,
    ) -> Result<Pending> {
        Ok(Launch::new(self, args, Target::into(outputs), None)?.submit()?.1)
    }

    /// Runs the kernel as [`DynKernel::run`] does, and returns the device's time.
    pub fn run_timed<'a>(&self, args: impl IntoIterator<Item = Argument<'a>>) -> Result<(Vec<AnyTensor>, Timing)> {
        Launch::new(self, args, Target::Allocate, None)?.run_timed()
    }

    /// Returns the name of the variant that [`DynKernel::run`] would take.
    pub fn variant_for<'a>(&self, args: impl IntoIterator<Item = Argument<'a>>) -> Result<&str> {
        let at = super::choice::choose(self, args)?;
        Ok(self.loadable(at).map_or("", |v| &v.program.variant))
    }

    /// Returns the driver's numbers of the dispatches that [`DynKernel::run`] would launch, such as their registers. They are compiled, but not launched.
    ///
    /// # Errors
    /// Returns the errors of [`DynKernel::run`], and [`Error::NoStatistics`] if the device does not keep these numbers: see
    /// [`Options::statistics`](crate::Options::statistics).
    pub fn statistics<'a>(&self, args: impl IntoIterator<Item = Argument<'a>>) -> Result<Vec<Statistics>> {
        Launch::new(self, args, Target::Allocate, None)?.statistics()
    }

    pub(crate) fn loadable(&self, at: usize) -> Option<&Loadable> {
        self.0.variants.get(at)
    }

    /// Returns a number that is unique among loaded kernels.
    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn preparations(&self) -> &[Preparation] {
        &self.0.preparations
    }

    pub(crate) fn conversions(&self) -> &[Conversion] {
        &self.0.conversions
    }

    /// Returns true if the choice of a variant depends on numbers among the arguments.
    pub(super) fn has_facts_of_scalars(&self) -> bool {
        self.0.has_facts_of_scalars
    }

    pub(super) fn choices(&self) -> &Choices {
        &self.0.choices
    }

    pub(crate) fn loadables(&self) -> &[Loadable] {
        &self.0.variants
    }
}

impl std::fmt::Debug for DynKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.variants().map(|p| &p.variant).collect();
        write!(f, "DynKernel({} {names:?} on {})", self.name(), self.device().info().name)
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A version of a variant, as a separate program.
struct Version {
    program: Program,
    specialized: bool,
    variant: usize,
}

/// Returns every version of some variants, in order of preference, and checks that each is consistent.
fn versions(programs: Vec<Program>) -> Result<Vec<Version>> {
    let mut all = Vec::new();
    for (variant, program) in programs.into_iter().enumerate() {
        let name = program.variant.clone();
        let malformed = |reason| Error::Malformed { variant: name.clone(), reason };
        validate(&program).map_err(malformed)?;
        let mut versions = program.into_versions().map_err(malformed)?;
        let plain = versions.pop();
        for program in versions {
            validate(&program).map_err(malformed)?;
            all.push(Version { program, specialized: true, variant });
        }
        all.extend(plain.map(|program| Version { program, specialized: false, variant }));
    }
    Ok(all)
}

fn compile(device: &Device, program: Program, specialized: bool, variant: usize) -> Result<Loadable> {
    let load = |d: &Dispatch| Ok(LoadedDispatch { name: d.name.as_str().into(), pipelines: Pipelines::new(device, &program, d)? });
    let dispatches = program.dispatches.iter().map(load).collect::<Result<_>>()?;
    Ok(Loadable { name: program.variant.as_str().into(), program, specialized, variant, dispatches })
}

/// Returns the first of a program's requirements that a device does not meet.
fn unmet(program: &Program, info: &DeviceInfo) -> Option<String> {
    let (r, l) = (&program.requires, &info.limits);
    let within =
        |what: &str, wanted: u32, limit: u32| (wanted > limit).then(|| format!("needs {wanted} {what}, the device has {limit}"));
    if let Some(f) = r.features.iter().find(|f| !info.features.contains(f)) {
        let disabled = info.disabled.iter().find(|disabled| disabled.feature == *f);
        return Some(match disabled {
            Some(Disabled { enable, .. }) => format!("needs the feature `{}`: {enable}", f.name()),
            None => format!("needs the feature `{}`, which the device lacks", f.name()),
        });
    }
    within("invocations in a workgroup", r.invocations, l.invocations)
        .or_else(|| {
            let axes = ["x", "y", "z"].into_iter().zip(r.local.into_iter().zip(l.local));
            axes.into_iter().find_map(|(axis, (w, l))| within(&format!("invocations in {axis} of a workgroup"), w, l))
        })
        .or_else(|| within("bytes of shared memory", r.shared_bytes, l.shared_bytes))
        .or_else(|| r.subgroup.and_then(|size| unmet_subgroup(program, size, info)))
        .or_else(|| unmet_matrices(program, info))
        .or_else(|| program.dispatches.iter().find_map(|d| unmet_dispatch(d, info)))
}

fn unmet_subgroup(program: &Program, size: u32, info: &DeviceInfo) -> Option<String> {
    let l = &info.limits;
    let (min, max) = l.subgroup_range;
    if !info.features.contains(&tilewright_launch::Feature::SubgroupSize) {
        return Some(format!("needs subgroups of {size}, and the device cannot be asked for a size"));
    }
    if !size.is_power_of_two() || !(min..=max).contains(&size) {
        let has = if min == max { format!("{min}") } else { format!("{min} to {max}") };
        return Some(format!("needs subgroups of {size}, the device has {has}"));
    }
    let most = program.dispatches.iter().map(|d| invocations(d.local)).max().unwrap_or(0);
    (most > u64::from(size) * u64::from(l.subgroups))
        .then(|| format!("needs {most} invocations in subgroups of {size}, but a workgroup has at most {} subgroups", l.subgroups))
}

fn unmet_matrices(program: &Program, info: &DeviceInfo) -> Option<String> {
    let known = info.matrices.as_ref()?;
    let missing = program.requires.matrices.iter().find(|wanted| !known.contains(wanted))?;
    let list: Vec<String> = known.iter().map(ToString::to_string).collect();
    let has = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    Some(format!("needs matrices of {missing}, the device has {has}"))
}

/// Returns the number of invocations in a workgroup.
fn invocations(local: [u32; 3]) -> u64 {
    local.iter().fold(1, |all, n| all.saturating_mul(u64::from(*n)))
}

fn unmet_dispatch(d: &tilewright_launch::Dispatch, info: &DeviceInfo) -> Option<String> {
    let l = &info.limits;
    let local = d.local.iter().zip(l.local).any(|(w, l)| *w > l);
    let count = invocations(d.local);
    if local || count > u64::from(l.invocations) {
        return Some(format!(
            "needs workgroups of {:?} invocations, the device has {:?} and {} in all",
            d.local, l.local, l.invocations
        ));
    }
    let push = if d.spilled { 8 } else { d.param_bytes };
    if push > l.push_constant_bytes {
        return Some(format!("needs {push} bytes of push constants, the device has {}", l.push_constant_bytes));
    }
    let bound = d.buffers.len() as u64 + u64::from(d.spilled);
    if d.addressing == Addressing::Descriptor && bound > u64::from(l.storage_buffers) {
        return Some(format!("needs {bound} storage buffers, the device has {}", l.storage_buffers));
    }
    let (word, wanted) = spirv_version(&d.spirv)?;
    (info.api_version < wanted).then(|| {
        let ((major, minor), (has_major, has_minor)) = (wanted, info.api_version);
        format!("needs Vulkan {major}.{minor} for its SPIR-V {}.{}, the device has {has_major}.{has_minor}", word.0, word.1)
    })
}

/// Returns the SPIR-V version of a module, and the Vulkan version that accepts it.
fn spirv_version(words: &[u8]) -> Option<((u8, u8), (u32, u32))> {
    let &[_, minor, major, _] = words.get(4..8)?.first_chunk::<4>()?;
    let vulkan = match (major, minor) {
        (1, 0..=3) => (1, 1),
        (1, 4 | 5) => (1, 2),
        _ => (1, 3),
    };
    Some(((major, minor), vulkan))
}

/// Checks that two variants can be loaded together: they must have the same signature, and the same parameters unless shapes
/// distinguish the two.
fn agree(a: &Program, b: &Program) -> Result<()> {
    let differ = |reason: String| Err(Error::Disagree { first: a.variant.clone(), second: b.variant.clone(), reason });
    if a.kernel != b.kernel {
        return differ(format!("they are of different kernels, `{}` and `{}`", a.kernel, b.kernel));
    }
    if a.arguments != b.arguments || a.scalars != b.scalars {
        return differ("their arguments differ".to_owned());
    }
    let outer = |p: &'_ Program| -> Vec<Tensor> {
        p.tensors.iter().filter(|t| !matches!(t.role, Role::Temporary | Role::Prepared)).cloned().collect()
    };
    let (ours, theirs) = (outer(a), outer(b));
    let same = |x: &Tensor, y: &Tensor| {
        (&x.name, x.dtype, x.role, x.shape.len(), &x.layout) == (&y.name, y.dtype, y.role, y.shape.len(), &y.layout)
    };
    if ours.len() != theirs.len() {
        return differ("their outputs differ in number".to_owned());
    }
    if let Some((x, y)) = ours.iter().zip(&theirs).find(|(x, y)| !same(x, y)) {
        let layout = |t: &Tensor| t.layout.as_ref().map_or_else(String::new, |l| format!(", packed as {l}"));
        let show = |t: &Tensor| format!("`{}: {}` with {} dimensions{}", t.name, t.dtype, t.shape.len(), layout(t));
        return differ(format!("the first has {}, the second {}", show(x), show(y)));
    }
    if let Some(tensor) = ours.iter().find(|t| prepares(a, t) != prepares(b, t)) {
        return differ(format!("only one of them takes `{}` prepared", tensor.name));
    }
    if told_apart(&ours, &theirs) {
        return Ok(());
    }
    for (name, value) in &a.parameters {
        match b.parameters.iter().find(|(n, _)| n == name) {
            Some((_, other)) if other == value => {}
            Some((_, other)) => {
                return differ(format!("they differ in {name}, {value} and {other}, and no input's shape distinguishes them"));
            }
            None => return differ(format!("only the first has a parameter {name}")),
        }
    }
    Ok(())
}

/// Returns true if a program takes an input prepared.
fn prepares(program: &Program, tensor: &Tensor) -> bool {
    program.preparations.iter().any(|p| program.tensors.get(p.input as usize).is_some_and(|t| t.name == tensor.name))
}

/// Returns true if no shape fits both: some literal in an argument's shape is a different literal in the other.
fn told_apart(a: &[Tensor], b: &[Tensor]) -> bool {
    let given = |t: &&Tensor| matches!(t.role, Role::Input | Role::Update);
    let mut places = a.iter().filter(given).zip(b.iter().filter(given)).flat_map(|(x, y)| x.shape.iter().zip(&y.shape));
    places.any(|(x, y)| matches!((x, y), (Size::Const(x), Size::Const(y)) if x != y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceKind, Limits};
    use crate::launch::samples::{conv, lit};
    use tilewright_launch::{DType, Dispatch, Feature, Matrices};

    /// A device with the limits that Vulkan guarantees.
    fn info(features: Vec<Feature>) -> DeviceInfo {
        let limits = Limits {
            invocations: 128,
            local: [128, 128, 64],
            grid: [65535; 3],
            shared_bytes: 16384,
            subgroup: 32,
            subgroup_range: (16, 64),
            subgroups: 4,
            push_constant_bytes: 128,
            storage_buffers: 4,
            storage_buffer_bytes: 1 << 27,
            storage_buffer_offset: 256,
            timestamps: false,
        };
        let (name, driver) = ("Small".into(), "d".into());
        let (kind, api_version) = (DeviceKind::Other, (1, 1));
        let (matrices, fast_dots) = (Some(vec![]), vec![]);
        DeviceInfo { index: 0, name, kind, driver, api_version, features, disabled: vec![], matrices, fast_dots, limits }
    }

    fn with_dispatch(change: impl FnOnce(&mut Dispatch)) -> Program {
        let spirv = [0x0723_0203u32, 0x0001_0300, 0, 1, 0].iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut dispatch = Dispatch {
            name: "d".into(),
            spirv,
            lines: tilewright_launch::Lines::default(),
            grid: [lit(1), lit(1), lit(1)],
            local: [64, 2, 1],
            buffers: vec![],
            addressing: Addressing::Descriptor,
            params: vec![],
            param_bytes: 128,
            constants: vec![],
            spilled: false,
        };
        change(&mut dispatch);
        let mut program = conv();
        program.dispatches.push(dispatch);
        program
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut Dispatch), reason: &str) {
        assert_eq!(unmet(&with_dispatch(change), &info(vec![])).as_deref(), Some(reason));
    }

    #[test]
    fn what_a_dispatch_needs_of_a_device_is_checked() {
        assert_eq!(unmet(&with_dispatch(|_| ()), &info(vec![])), None);
        let workgroups = "needs workgroups of [64, 4, 1] invocations, the device has [128, 128, 64] and 128 in all";
        refused(|d| d.local = [64, 4, 1], workgroups);
        refused(|d| d.param_bytes = 132, "needs 132 bytes of push constants, the device has 128");
        let bound = tilewright_launch::BufferUse { tensor: 0, reads: true, writes: false, align: 4 };
        refused(|d| (d.buffers, d.spilled) = (vec![bound; 4], true), "needs 5 storage buffers, the device has 4");
        refused(|d| d.spirv[5] = 4, "needs Vulkan 1.2 for its SPIR-V 1.4, the device has 1.1");
        refused(|d| d.spirv[5] = 6, "needs Vulkan 1.3 for its SPIR-V 1.6, the device has 1.1");
    }

    #[test]
    fn matrices_must_be_those_of_the_device() {
        let wanted = Matrices { shape: [16, 16, 16], factors: [DType::F32; 2], sum: DType::F32 };
        let mut program = with_dispatch(|_| ());
        program.requires.matrices = vec![wanted];
        let on = |matrices| unmet(&program, &DeviceInfo { matrices, ..info(vec![]) });
        assert_eq!(on(None), None);
        assert_eq!(on(Some(vec![Matrices { shape: [8; 3], ..wanted }, wanted])), None);
        let none = "needs matrices of 16 x 16 x 16 f32 f32 f32, the device has none";
        assert_eq!(on(Some(vec![])).as_deref(), Some(none));
        let other = "needs matrices of 16 x 16 x 16 f32 f32 f32, the device has 8 x 8 x 8 f32 f32 f32";
        assert_eq!(on(Some(vec![Matrices { shape: [8; 3], ..wanted }])).as_deref(), Some(other));
    }

    #[test]
    fn a_subgroup_size_must_be_one_that_can_be_required() {
        let needs = |size, features| {
            let mut program = with_dispatch(|_| ());
            program.requires.subgroup = Some(size);
            unmet(&program, &info(features))
        };
        let able = vec![Feature::SubgroupSize];
        assert_eq!(needs(32, able.clone()), None);
        assert_eq!(needs(32, vec![]).as_deref(), Some("needs subgroups of 32, and the device cannot be asked for a size"));
        assert_eq!(needs(8, able.clone()).as_deref(), Some("needs subgroups of 8, the device has 16 to 64"));
        assert_eq!(needs(24, able.clone()).as_deref(), Some("needs subgroups of 24, the device has 16 to 64"));
        let many = "needs 128 invocations in subgroups of 16, but a workgroup has at most 4 subgroups";
        assert_eq!(needs(16, able).as_deref(), Some(many));
    }
}
