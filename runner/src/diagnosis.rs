//! Examines the installation of this machine.

use crate::message::{Diagnosis, Failure, FailureKind, Properties};
use tilewright::{DeviceInfo, Error, Options};

impl From<&DeviceInfo> for Properties {
    fn from(info: &DeviceInfo) -> Properties {
        let limits = &info.limits;
        Properties {
            index: info.index as u64,
            name: info.name.clone(),
            kind: info.kind.name().to_owned(),
            driver: info.driver.clone(),
            vulkan: info.api_version,
            features: info.features.iter().map(|f| f.name().to_owned()).collect(),
            fast_dots: info.fast_dots.iter().map(|signs| signs.name().to_owned()).collect(),
            matrices: info.matrices.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
            invocations: limits.invocations,
            local: limits.local,
            shared_bytes: limits.shared_bytes,
            subgroup: limits.subgroup,
            subgroup_range: limits.subgroup_range,
            subgroups: limits.subgroups,
            push_bytes: limits.push_constant_bytes,
            timestamps: limits.timestamps,
        }
    }
}

/// The reason why no loader is found, even if one is installed.
const STATIC: &str = "this runner is linked statically, so it cannot load libraries such as drivers; build it for a target with glibc, \
or with `-C target-feature=-crt-static`";

/// Examines this machine.
///
/// # Errors
/// Returns an error if an environment variable is invalid.
pub(crate) fn diagnose() -> Result<Diagnosis, Failure> {
    let environment =
        std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let mut environment: Vec<_> = environment.filter(|(name, _)| name.starts_with("TILEWRIGHT_")).collect();
    environment.sort();
    let options = Options::from_env().map_err(|e| Failure { kind: FailureKind::Request, text: e.to_string() })?;
    let (mut loader, mut driver, mut layers) = (None, None, None);
    // Validation is requested, because the reference device would otherwise replace a missing driver.
    match options.clone().validation(true).list() {
        Ok(_) => {}
        Err(error @ Error::NoLoader { .. }) => loader = Some(error.to_string()),
        Err(error @ Error::NoValidationLayer) => layers = Some(error.to_string()),
        Err(error) => driver = Some(error.to_string()),
    }
    if loader.is_some() && cfg!(all(target_os = "linux", target_feature = "crt-static")) {
        loader = Some(STATIC.to_owned());
    }
    let plain = options.validation(false).list();
    let devices: Vec<Properties> = match &plain {
        Ok(devices) => devices.iter().map(Properties::from).collect(),
        Err(error) => {
            driver.get_or_insert_with(|| error.to_string());
            Vec::new()
        }
    };
    if loader.is_none() && driver.is_none() && devices.len() < 2 {
        driver = Some("the Vulkan loader found no driver with a device of Vulkan 1.1 or later".to_owned());
    }
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    Ok(Diagnosis { system, loader, driver, layers, environment, devices })
}
