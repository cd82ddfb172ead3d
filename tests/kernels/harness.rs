//! Compiles a kernel and a schedule from text, as the macros do, runs the variant on the device with the validation layers on, and
//! compares every element with the evaluation of the algorithm, within the error bound of the arithmetic. Every module is checked
//! by `spirv-val` first; outputs are poisoned before the launch.
//!
//! `tilewright_differential` implements these steps, and applies them to generated cases. Here a difference fails a test.

use std::collections::HashMap;
use std::sync::OnceLock;
use tilewright::{Argument, Device, DynKernel, Scalar};
pub use tilewright_check::Fill;
use tilewright_check::wanted;
use tilewright_differential::compare::compare;
use tilewright_differential::compile::Refusal;
pub use tilewright_differential::devices::{devices, runs};
use tilewright_differential::{compile, validate::validate};
use tilewright_dsl::algorithm::evaluate::Value;
use tilewright_dsl::launch;
use tilewright_dsl::nest::{self, Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_prove::launch::{admits, arguments, inputs, launch};

/// Returns the seed of inputs: a random one for each check, or `TILEWRIGHT_INPUT_SEED`, which a failed check prints.
fn seed() -> u64 {
    match std::env::var("TILEWRIGHT_INPUT_SEED") {
        Ok(seed) => seed.parse().expect("TILEWRIGHT_INPUT_SEED is a whole number"),
        Err(_) => fastrand::u64(..),
    }
}

/// Elements of tensors by name.
pub type Named = HashMap<String, Vec<f64>>;

fn numbers(values: &[Value]) -> Vec<f64> {
    values.iter().map(|value| value.number()).collect()
}

/// A variant, and the algorithm that it must agree with.
pub struct Variant {
    pub program: launch::Program,
    algorithm: Program,
    decomposed: Option<Program>,
    /// Loaded on each device, once, because a driver's compilation takes longer than a launch.
    loaded: OnceLock<Vec<DynKernel>>,
}

/// Returns a profile like lavapipe's, with buffers by address, and one with the least that Vulkan guarantees, with descriptors.
pub fn profiles() -> [Profile; 2] {
    let mut addresses = Profile::vulkan_1_1();
    addresses.name = "test".into();
    addresses.invocations = 256;
    addresses.local = [256, 256, 64];
    addresses.features = [launch::Feature::Address, launch::Feature::Storage16, launch::Feature::F16].into();
    let mut descriptors = addresses.clone();
    descriptors.features.remove(&launch::Feature::Address);
    [addresses, descriptors]
}

/// Returns a profile of devices with this subgroup size.
pub fn of_subgroups(size: u32) -> Profile {
    use launch::Feature::{Address, SubgroupArithmetic, SubgroupShuffle, SubgroupSize};
    let features = [Address, SubgroupSize, SubgroupArithmetic, SubgroupShuffle].into();
    Profile { features, subgroup: Some(size), ..Profile::vulkan_1_1() }
}

/// Compiles `kernel` under a schedule's text, from its name on: `V: matmul for p { … }`.
pub fn variant(kernel: &str, schedule: &str, profile: &Profile) -> Variant {
    try_variant(kernel, schedule, profile).unwrap_or_else(|refusal| panic!("{}\n{schedule}", refusal.text))
}

/// Compiles `kernel` under a schedule, or returns the refusal.
pub fn try_variant(kernel: &str, schedule: &str, profile: &Profile) -> Result<Variant, Refusal> {
    compile::variant(kernel, schedule, profile).map(validated)
}

/// Returns the last nest, as text.
pub fn nest(kernel: &str, schedule: &str) -> String {
    let made = compile::variant(kernel, schedule, &profiles()[0]);
    print::plan(&made.unwrap_or_else(|refusal| panic!("{}\n{schedule}", refusal.text)).nest)
}

/// Checks a kernel on both profiles, at all sizes.
pub fn check(kernel: &str, schedule: &str, sizes: &[&[(&str, i64)]]) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        sizes.iter().for_each(|dims| variant.check(dims, &[]));
    }
}

/// Checks that a schedule is refused with an error that contains `why`, and not by the verifier.
pub fn refused(kernel: &str, schedule: &str, why: &str) {
    profiles().iter().for_each(|profile| refused_on(profile, kernel, schedule, why));
}

/// Does the same on one profile.
pub fn refused_on(profile: &Profile, kernel: &str, schedule: &str, why: &str) {
    let refusal = try_variant(kernel, schedule, profile).err().unwrap_or_else(|| panic!("accepted\n{schedule}"));
    assert!(refusal.text.contains(why) && !refusal.is_defect, "{}", refusal.text);
}

/// Compiles every choice of a schedule's tuned constants, or returns the refusal.
pub fn choices(kernel: &str, schedule: &str, profile: &Profile) -> Vec<(String, Result<Variant, String>)> {
    let all = compile::choices(kernel, schedule, profile).unwrap_or_else(|refusal| panic!("{}\n{schedule}", refusal.text));
    all.into_iter().map(|(choice, made)| (choice, made.map(validated).map_err(|refusal| refusal.text))).collect()
}

fn validated(made: compile::Variant) -> Variant {
    validate(&made).unwrap_or_else(|said| panic!("{said}\n{}", print::plan(&made.nest)));
    Variant { program: made.program, algorithm: made.algorithm, decomposed: made.decomposed, loaded: OnceLock::new() }
}

impl Variant {
    /// Runs with fresh random inputs and compares every result. `scalars` are in the kernel's order.
    pub fn check(&self, dims: &[(&str, i64)], scalars: &[f64]) {
        self.check_filled(dims, scalars, &|_| Fill::Small);
    }

    /// Does the same with inputs whose fill `fill` returns by name.
    pub fn check_filled(&self, dims: &[(&str, i64)], scalars: &[f64], fill: &dyn Fn(&str) -> Fill) {
        self.check_partly(dims, scalars, fill, |_| 0);
    }

    /// Does the same, but up to `vague(n)` of a result's `n` elements may be unchecked, because they do not have a useful error
    /// bound: for example, the operand of `floor` is near an integer.
    pub fn check_partly(&self, dims: &[(&str, i64)], scalars: &[f64], fill: &dyn Fn(&str) -> Fill, vague: impl Fn(usize) -> usize) {
        self.checked(dims, scalars, fill, vague);
    }

    /// Does the same, and returns the inputs and each device's results, by name.
    pub fn checked(
        &self,
        dims: &[(&str, i64)],
        scalars: &[f64],
        fill: &dyn Fn(&str) -> Fill,
        vague: impl Fn(usize) -> usize,
    ) -> (Named, Vec<Named>) {
        let algorithm = &self.algorithm;
        let seed = seed();
        let inputs = inputs(algorithm, dims, scalars, fill, &mut fastrand::Rng::with_seed(seed)).expect("shapes");
        let wanted = wanted(algorithm, self.decomposed.as_ref(), &inputs.given).expect("the evaluation");
        let one = |kernel| {
            let results = launch(kernel, &self.program, algorithm, &inputs).expect("it runs");
            for (id, values) in &results {
                let name = &algorithm.buffers[*id].name;
                let at = format!("at {dims:?}, with TILEWRIGHT_INPUT_SEED={seed}");
                let unknown = compare(&algorithm.buffers[*id], &wanted[id], values).unwrap_or_else(|wrong| panic!("{at}: {wrong}"));
                let (count, most) = (values.len(), vague(values.len()));
                assert!(unknown <= most, "{at}: {unknown} of {count} elements of `{name}` have no bound, and {most} may have none");
            }
            results.iter().map(|(id, values)| (algorithm.buffers[*id].name.clone(), numbers(values))).collect()
        };
        let results = self.launched().map(one).collect();
        let given = &inputs.given.tensors;
        (given.iter().map(|(id, tensor)| (algorithm.buffers[*id].name.clone(), numbers(&tensor.values))).collect(), results)
    }

    /// Returns fresh random inputs and each device's results, by name.
    pub fn results(&self, dims: &[(&str, i64)], scalars: &[f64], fill: &dyn Fn(&str) -> Fill) -> Vec<(Named, Named)> {
        let name = |id| self.algorithm.buffers[id].name.clone();
        let one = |kernel| {
            let inputs = inputs(&self.algorithm, dims, scalars, fill, &mut fastrand::Rng::with_seed(seed())).expect("shapes");
            let results = launch(kernel, &self.program, &self.algorithm, &inputs).expect("it runs");
            let given = inputs.given.tensors.into_iter().map(|(id, tensor)| (name(id), numbers(&tensor.values))).collect();
            (given, results.into_iter().map(|(id, values)| (name(id), numbers(&values))).collect())
        };
        self.launched().map(one).collect()
    }

    /// Returns true if the variant's facts hold at these dims.
    pub fn admits(&self, dims: &[(&str, i64)]) -> bool {
        admits(&self.program, dims).expect("every dim has a value")
    }

    /// Returns the refusal of a launch at these dims, on each device.
    pub fn refusals(&self, dims: &[(&str, i64)]) -> Vec<String> {
        self.on_each(dims, &|kernel, arguments| kernel.run(arguments).expect_err("a refusal").to_string())
    }

    /// Returns the version that a launch at these dims takes, on each device.
    pub fn taken(&self, dims: &[(&str, i64)]) -> Vec<String> {
        self.on_each(dims, &|kernel, arguments| kernel.variant_for(arguments).expect("a version").to_owned())
    }

    /// Returns the refusal of a launch at these dims with a scalar, on each device.
    pub fn refusals_of(&self, dims: &[(&str, i64)], scalar: impl Into<Scalar>) -> Vec<String> {
        self.on_each_with(dims, Some(scalar.into()), &|kernel, arguments| kernel.run(arguments).expect_err("a refusal").to_string())
    }

    /// Returns the version that a launch at these dims with a scalar takes, on each device.
    pub fn taken_with(&self, dims: &[(&str, i64)], scalar: impl Into<Scalar>) -> Vec<String> {
        self.on_each_with(dims, Some(scalar.into()), &|kernel, arguments| {
            kernel.variant_for(arguments).expect("a version").to_owned()
        })
    }

    fn on_each(&self, dims: &[(&str, i64)], ask: &dyn Fn(&DynKernel, Vec<Argument<'_>>) -> String) -> Vec<String> {
        self.on_each_with(dims, None, ask)
    }

    /// Calls a function for each device, with the loaded variant and arguments for these dims. All scalars have the given value.
    fn on_each_with(
        &self,
        dims: &[(&str, i64)],
        scalar: Option<Scalar>,
        ask: &dyn Fn(&DynKernel, Vec<Argument<'_>>) -> String,
    ) -> Vec<String> {
        let one = |kernel: &DynKernel| {
            let tensors = arguments(kernel.device(), &self.algorithm, dims).expect("tensors");
            let mut rest = tensors.iter();
            let argument = |argument: &nest::Argument| match argument {
                nest::Argument::Dim(id) => {
                    let dim = dims.iter().find(|(name, _)| *name == self.algorithm.dims[*id].name).expect("a value");
                    Argument::Size(usize::try_from(dim.1).expect("a size"))
                }
                nest::Argument::Scalar(_) => Argument::Scalar(scalar.expect("a scalar")),
                nest::Argument::Tensor(_) => Argument::Read(rest.next().expect("a tensor")),
            };
            ask(kernel, self.algorithm.arguments.iter().map(argument).collect())
        };
        self.loaded().iter().map(one).collect()
    }

    /// Returns the variant on each device that runs it in the tests.
    fn launched(&self) -> impl Iterator<Item = &DynKernel> {
        self.loaded().iter().filter(|kernel| runs(kernel.device(), &self.program))
    }

    /// Loads the variant on each device that multiplies its matrices. The reference device always does. With
    /// `TILEWRIGHT_MATRICES=vulkan`, Vulkan alone runs the variant, because the reference device does so without it, and it must multiply
    /// the matrices of `mesa_lavapipe_26`.
    fn loaded(&self) -> &[DynKernel] {
        // SAFETY: the compiler made this program.
        let load = |device: &Device| unsafe { device.load_programs(vec![self.program.clone()]) }.expect("it loads");
        let has = |device: &&Device| {
            let known = device.info().matrices.as_ref();
            known.is_none_or(|known| self.program.requires.matrices.iter().all(|row| known.contains(row)))
        };
        let vulkan = std::env::var("TILEWRIGHT_MATRICES").is_ok_and(|value| value == "vulkan");
        // The reference device has matrices of all sizes.
        let is_wanted = |device: &&Device| !vulkan || device.info().matrices.is_some();
        let loaded = self.loaded.get_or_init(|| devices().iter().filter(is_wanted).filter(has).map(load).collect());
        let must = vulkan && self.program.profile == "mesa_lavapipe_26";
        assert!(!must || !loaded.is_empty(), "the Vulkan device does not multiply matrices");
        loaded
    }
}

/// Returns the instructions of a module: the opcode and the operands of each.
pub fn instructions(spirv: &[u8]) -> Vec<(u32, Vec<u32>)> {
    let words: Vec<u32> = spirv.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let mut rest = &words[5..];
    let mut all = Vec::new();
    while let Some(first) = rest.first() {
        let (this, others) = rest.split_at((first >> 16) as usize);
        all.push((first & 0xffff, this[1..].to_vec()));
        rest = others;
    }
    all
}
