//! Profiles: what a device guarantees.
//!
//! The bundled ones are functions of [`Profile`]; [`Profile::extend`] makes others from what `profile!` says.

use crate::diag::{Error, Errors, did_you_mean, list};
use crate::syntax::profile::{self as tree, Field, Value};
use std::collections::BTreeSet;
use tilewright_launch::Feature;

/// What a device guarantees. A variant is made for a profile and may use all of it and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Invocations in a workgroup, at most.
    pub invocations: u32,
    /// Invocations in x, y and z of a workgroup, at most.
    pub local: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size, if it is one.
    pub subgroup: Option<u32>,
    /// Subgroups in a workgroup, at most, where their size is required.
    pub subgroups: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// What it has beyond the core of Vulkan 1.1.
    pub features: BTreeSet<Feature>,
    /// Float operations a second at the most, in thousand millions (GFLOP/s), by ordinary f32 arithmetic. No guarantee: of
    /// the device that the profile is named after, for estimates.
    pub gflops: Option<u32>,
    /// Bytes a second from and to device memory at the most, in thousand millions (GB/s). As `gflops`, for estimates.
    pub bandwidth: Option<u32>,
}

/// The fields of `profile!`.
const FIELDS: [&str; 9] =
    ["invocations", "local", "shared_bytes", "subgroup", "subgroups", "push_bytes", "features", "gflops", "bandwidth"];

impl Profile {
    /// What every Vulkan 1.1 device guarantees (the specification's table of required limits).
    pub fn vulkan_1_1() -> Profile {
        Profile {
            name: "vulkan_1_1".into(),
            invocations: 128,
            local: [128, 128, 64],
            shared_bytes: 16384,
            subgroup: None,
            subgroups: 128,
            push_bytes: 128,
            features: BTreeSet::new(),
            gflops: None,
            bandwidth: None,
        }
    }

    /// Mesa's lavapipe, 25 and later, on a CPU with vectors of 256 bits: as `vulkaninfo` reports it. (Cooperative
    /// matrices came with Mesa 26.)
    pub fn mesa_lavapipe() -> Profile {
        Profile {
            name: "mesa_lavapipe".into(),
            invocations: 1024,
            local: [1024, 1024, 1024],
            shared_bytes: 32768,
            subgroup: Some(8),
            subgroups: 32,
            push_bytes: 256,
            features: all_but(&[Feature::CooperativeMatrix]),
            gflops: None,
            bandwidth: None,
        }
    }

    /// Arm's Mali GPUs of the Valhall family (G57, G77, G78, G710 and others), with a driver for Vulkan 1.3: what the
    /// smallest of them has. Warps are of 16 threads.
    pub fn arm_valhall() -> Profile {
        use Feature::*;
        Profile {
            name: "arm_valhall".into(),
            invocations: 512,
            local: [512, 512, 64],
            shared_bytes: 32768,
            subgroup: Some(16),
            subgroups: 32,
            push_bytes: 128,
            features: BTreeSet::from([
                Address,
                Storage16,
                F16,
                Storage8,
                I8,
                SubgroupArithmetic,
                SubgroupShuffle,
                SubgroupSize,
                MemoryModel,
            ]),
            gflops: None,
            bandwidth: None,
        }
    }

    /// NVIDIA's Ampere (RTX 30, A100). Vulkan has 48 KiB of shared memory there, not all that the hardware has.
    pub fn nvidia_ampere() -> Profile {
        Profile {
            name: "nvidia_ampere".into(),
            invocations: 1024,
            local: [1024, 1024, 64],
            shared_bytes: 49152,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 256,
            features: all_but(&[]),
            gflops: None,
            bandwidth: None,
        }
    }

    /// NVIDIA's Hopper; its rates are those of an H200.
    pub fn nvidia_hopper() -> Profile {
        let (gflops, bandwidth) = (Some(67_000), Some(4_800));
        Profile { name: "nvidia_hopper".into(), gflops, bandwidth, ..Profile::nvidia_ampere() }
    }

    /// AMD's RDNA 3 (RX 7000) with Mesa's driver. Subgroups are of 32 or 64 invocations; 32 are required here.
    pub fn amd_rdna3() -> Profile {
        Profile {
            name: "amd_rdna3".into(),
            invocations: 1024,
            local: [1024, 1024, 1024],
            shared_bytes: 65536,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 128,
            features: all_but(&[Feature::AtomicF32Add]),
            gflops: None,
            bandwidth: None,
        }
    }

    /// Every bundled profile.
    pub fn all_bundled() -> [Profile; 6] {
        use Profile as P;
        [P::vulkan_1_1(), P::mesa_lavapipe(), P::arm_valhall(), P::nvidia_ampere(), P::nvidia_hopper(), P::amd_rdna3()]
    }

    /// The bundled profile of that name.
    pub fn bundled(name: &str) -> Option<Profile> {
        Profile::all_bundled().into_iter().find(|p| p.name == name)
    }

    /// Whether it has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The profile of a chain: each extends the next one, and the last one a bundled one.
    pub fn resolve(chain: &[tree::Profile]) -> Result<Profile, Errors> {
        let Some(last) = chain.last() else { return Ok(Profile::vulkan_1_1()) };
        let base = last.base.last();
        let names = Profile::all_bundled().map(|p| p.name);
        let mut profile = base.and_then(|b| Profile::bundled(&b.text)).ok_or_else(|| {
            let (name, span) = base.map_or(("", last.name.span), |b| (b.as_str(), b.span));
            let error = Error::new(span, format!("there is no bundled profile `{name}`"));
            let known = format!("there are {}", list(&names));
            error.help(known).maybe_help(did_you_mean(name, names.iter().map(String::as_str)))
        })?;
        for tree in chain.iter().rev() {
            profile = profile.extend(tree)?;
        }
        Ok(profile)
    }

    /// This profile with what `tree` says of it.
    pub fn extend(&self, tree: &tree::Profile) -> Result<Profile, Errors> {
        let mut profile = Profile { name: tree.name.text.clone(), ..self.clone() };
        let mut errors = Errors::new();
        for (n, field) in tree.fields.iter().enumerate() {
            if let Some(first) = tree.fields[..n].iter().find(|f| f.name.text == field.name.text) {
                let error = Error::new(field.name.span, format!("`{}` is said twice", field.name));
                errors.push(error.note_at(first.name.span, "first here"));
                continue;
            }
            errors.keep(profile.set(field));
        }
        if errors.is_empty() {
            errors.keep(profile.consistent(tree));
        }
        errors.into_result().map(|()| profile)
    }

    /// Takes a field's value.
    fn set(&mut self, field: &Field) -> Result<(), Errors> {
        match field.name.as_str() {
            "invocations" => self.invocations = number(field, 1, 1 << 16)?,
            "shared_bytes" => self.shared_bytes = number(field, 0, 1 << 20)?,
            "push_bytes" => {
                self.push_bytes = number(field, 8, 1 << 16)?;
                if !self.push_bytes.is_multiple_of(4) {
                    return Err(Error::new(field.span, "`push_bytes` is a multiple of 4").into());
                }
            }
            "gflops" => self.gflops = Some(number(field, 1, 100_000_000)?),
            "bandwidth" => self.bandwidth = Some(number(field, 1, 1_000_000)?),
            "subgroup" => self.subgroup = subgroup(field)?,
            "subgroups" => self.subgroups = number(field, 1, 1 << 16)?,
            "local" => self.local = local(field)?,
            "features" => self.features = features(field, &self.features)?,
            other => {
                let error = Error::new(field.name.span, format!("a profile has no field `{other}`"));
                let known = format!("there are {}", list(FIELDS));
                return Err(error.note(known).maybe_help(did_you_mean(other, FIELDS)).into());
            }
        }
        Ok(())
    }

    /// That no field contradicts another one.
    fn consistent(&self, tree: &tree::Profile) -> Result<(), Error> {
        let blame = |name: &str| tree.fields.iter().find(|f| f.name.text == name).map_or(tree.name.span, |f| f.span);
        if self.has(Feature::CooperativeMatrix) && !self.has(Feature::MemoryModel) {
            let error = Error::new(blame("features"), "`cooperative_matrix` without `memory_model`");
            return Err(error.note("cooperative matrices need the Vulkan memory model").help("add `memory_model`"));
        }
        if let Some(size) = self.subgroup
            && size > self.invocations
        {
            let message = format!("a subgroup of {size} does not fit in a workgroup of {}", self.invocations);
            return Err(Error::new(blame("subgroup"), message).help("raise `invocations`, or say a smaller `subgroup`"));
        }
        Ok(())
    }
}

/// The features of a device that has all but these. `Int64` is for a profile to ask for: a variant with it is slower.
fn all_but(lacks: &[Feature]) -> BTreeSet<Feature> {
    Feature::ALL.into_iter().map(|(f, _)| f).filter(|f| *f != Feature::Int64 && !lacks.contains(f)).collect()
}

/// A number of a range.
fn number(field: &Field, low: u32, high: u32) -> Result<u32, Error> {
    match field.value {
        Value::Number(value) => in_range(field, value, field.span, low, high),
        _ => Err(Error::new(field.span, format!("`{}` is a whole number", field.name))),
    }
}

fn in_range(field: &Field, value: u64, span: crate::diag::SpanId, low: u32, high: u32) -> Result<u32, Error> {
    let number = u32::try_from(value).ok().filter(|v| (low..=high).contains(v));
    number.ok_or_else(|| Error::new(span, format!("`{}` is from {low} to {high}, not {value}", field.name)))
}

fn subgroup(field: &Field) -> Result<Option<u32>, Error> {
    match &field.value {
        Value::Word(word) if word.text == "none" => Ok(None),
        Value::Number(n @ 1..=128) if n.is_power_of_two() => Ok(Some(*n as u32)),
        _ => {
            let error = Error::new(field.span, "`subgroup` is a power of two from 1 to 128, or `none`");
            Err(error.note("`none`: the size is not known, or not always the same"))
        }
    }
}

fn local(field: &Field) -> Result<[u32; 3], Error> {
    let Value::Numbers(numbers) = &field.value else {
        return Err(Error::new(field.span, "`local` is three whole numbers: `[512, 512, 64]`"));
    };
    let checked: Result<Vec<u32>, Error> = numbers.iter().map(|(value, span)| in_range(field, *value, *span, 1, 1 << 16)).collect();
    let found = numbers.len();
    checked?.try_into().map_err(|_| Error::new(field.span, format!("`local` is three numbers (x, y, z), not {found}")))
}

fn features(field: &Field, inherited: &BTreeSet<Feature>) -> Result<BTreeSet<Feature>, Errors> {
    let names = Feature::ALL.map(|(_, name)| name);
    let (words, kept) = match &field.value {
        Value::Names(words) => (words, None),
        Value::More(words) => (words, Some(inherited)),
        _ => {
            let error = Error::new(field.span, "`features` is a list of names: `[address, f16]`");
            return Err(error.note("`[.., int64]`: what is inherited, and `int64`").into());
        }
    };
    let mut errors = Errors::new();
    let mut features = BTreeSet::new();
    for word in words {
        match Feature::ALL.iter().find(|(_, name)| *name == word.text) {
            Some((feature, _)) if features.insert(*feature) => {}
            Some(_) => errors.push(Error::new(word.span, format!("the feature `{word}` is named twice"))),
            None => {
                let error = Error::new(word.span, format!("there is no feature `{word}`"));
                let known = format!("there are {}", list(names));
                errors.push(error.note(known).maybe_help(did_you_mean(&word.text, names)));
            }
        }
    }
    errors.into_result()?;
    features.extend(kept.into_iter().flatten());
    Ok(features)
}
