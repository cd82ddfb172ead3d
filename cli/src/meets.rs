//! Compares a device with the guarantees of a profile.

use tilewright_dsl::profile::Profile;
use tilewright_launch::Feature;
use tilewright_runner::message::Properties;

/// Returns the guarantees of a profile that a device lacks. If there are none, the device meets the profile.
pub(crate) fn lacks(profile: &Profile, device: &Properties) -> Vec<String> {
    let mut lacks = Vec::new();
    let mut limit = |what: &str, wanted: u32, has: u32| {
        if wanted > has {
            lacks.push(format!("{what}: {has} of {wanted}"));
        }
    };
    limit("invocations in a workgroup", profile.invocations, device.invocations);
    for (axis, (wanted, has)) in ["x", "y", "z"].into_iter().zip(profile.local.into_iter().zip(device.local)) {
        limit(&format!("invocations in {axis}"), wanted, has);
    }
    limit("bytes of shared memory", profile.shared_bytes, device.shared_bytes);
    limit("bytes of push constants", profile.push_bytes, device.push_bytes);
    let requires = profile.has(Feature::SubgroupSize);
    if let Some(size) = profile.subgroup {
        let (least, most) = device.subgroup_range;
        if !(least..=most).contains(&size) && (requires || device.subgroup != size) {
            let has = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            lacks.push(format!("subgroups of {size}: it has {has}"));
        } else if requires {
            limit("subgroups in a workgroup", profile.subgroups, device.subgroups);
        }
    }
    let missing = profile.features.iter().map(|f| f.name()).filter(|f| !device.features.iter().any(|has| has == f));
    lacks.extend(missing.map(|f| format!("the feature `{f}`")));
    if let Some(known) = &device.matrices {
        let missing = profile.matrices.iter().map(ToString::to_string).filter(|m| !known.contains(m));
        lacks.extend(missing.map(|m| format!("matrices of {m}")));
    }
    lacks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a device with the least that Vulkan guarantees.
    fn least() -> Properties {
        let profile = Profile::vulkan_1_1();
        Properties {
            index: 0,
            name: "Small".into(),
            kind: "other".into(),
            driver: "d".into(),
            vulkan: (1, 1),
            features: Vec::new(),
            matrices: Some(Vec::new()),
            fast_dots: Vec::new(),
            invocations: profile.invocations,
            local: profile.local,
            shared_bytes: profile.shared_bytes,
            subgroup: 4,
            subgroup_range: (4, 4),
            subgroups: 1,
            push_bytes: profile.push_bytes,
            timestamps: false,
        }
    }

    #[test]
    fn the_least_meets_the_least() {
        assert_eq!(lacks(&Profile::vulkan_1_1(), &least()), Vec::<String>::new());
    }

    #[test]
    fn all_that_is_missing_is_named() {
        let wanted = Profile {
            invocations: 256,
            local: [128, 256, 64],
            subgroup: Some(16),
            features: [Feature::Address, Feature::F16].into(),
            ..Profile::vulkan_1_1()
        };
        let device = Properties { features: vec!["f16".into()], ..least() };
        assert_eq!(
            lacks(&wanted, &device),
            [
                "invocations in a workgroup: 128 of 256",
                "invocations in y: 128 of 256",
                "subgroups of 16: it has 4",
                "the feature `address`"
            ]
        );
    }

    #[test]
    fn matrices_are_compared_one_by_one() {
        let wanted = Profile { features: [].into(), ..Profile::amd_rdna3() };
        let has = wanted.matrices[0].to_string();
        let device = Properties { matrices: Some(vec![has]), ..least() };
        let lacks = lacks(&wanted, &device);
        assert!(lacks.contains(&"matrices of 16 x 16 x 16 f16 f16 f32".to_owned()), "{lacks:?}");
        assert!(!lacks.contains(&"matrices of 16 x 16 x 16 f16 f16 f16".to_owned()), "{lacks:?}");
    }
}
