//! Describes the physical devices and chooses one.

use super::failed;
use super::features::Features;
use super::instance::{Instance, NEWEST, has};
use super::matrices;
use crate::device::{DeviceInfo, DeviceKind, Limits};
use crate::error::{Error, Result};
use ash::{ext, khr, vk};
use std::ffi::{CStr, CString};
use tilewright_launch::{DotSigns, Feature};

/// A physical device that could be opened.
pub(super) struct Candidate {
    pub(super) raw: vk::PhysicalDevice,
    pub(super) family: u32,
    /// The number of queues in the family.
    pub(super) queues: u32,
    pub(super) info: DeviceInfo,
    pub(super) details: Details,
}

impl Candidate {
    /// Leaves buffer device addresses out of the features.
    pub(super) fn disable_addresses(&mut self) {
        self.details.features.address = false;
        self.info.features.retain(|feature| *feature != Feature::Address);
    }
}

/// Properties of a device that only this backend needs.
#[derive(Clone)]
pub(super) struct Details {
    /// The lesser of the device's Vulkan version and the requested version.
    pub(super) api: u32,
    /// Extensions to enable.
    pub(super) extensions: Vec<&'static CStr>,
    pub(super) features: Features,
    /// Nanoseconds per tick of a timestamp, and the bits of one that count.
    pub(super) timestamp_period: f64,
    pub(super) timestamp_mask: u64,
    pub(super) storage_offset_alignment: u64,
    pub(super) max_buffer: u64,
    /// True if the driver is NVIDIA's proprietary one.
    pub(super) is_nvidia: bool,
    pub(super) properties: vk::PhysicalDeviceProperties,
}

/// Returns the devices with Vulkan 1.1 and a compute queue, in the order in which the loader lists them.
pub(super) fn candidates(instance: &Instance) -> Result<Vec<Candidate>> {
    // SAFETY (this file): handles come from the instance, which lives.
    let devices = unsafe { instance.raw().enumerate_physical_devices() };
    let devices = match devices {
        Err(vk::Result::ERROR_INITIALIZATION_FAILED | vk::Result::ERROR_INCOMPATIBLE_DRIVER) => Vec::new(),
        other => other.map_err(failed("vkEnumeratePhysicalDevices"))?,
    };
    if devices.is_empty() {
        return Err(Error::NoDriver { reason: "it lists no device".to_owned() });
    }
    let mut candidates = Vec::new();
    for raw in devices {
        if let Some(mut candidate) = examine(instance, raw)? {
            candidate.info.index = candidates.len();
            candidates.push(candidate);
        }
    }
    Ok(candidates)
}

/// Returns the candidate that `wanted` names; by default, the first of the best kind.
pub(super) fn choose(mut candidates: Vec<Candidate>, wanted: Option<&str>) -> Result<Candidate> {
    let infos: Vec<&DeviceInfo> = candidates.iter().map(|c| &c.info).collect();
    match pick(&infos, wanted) {
        Some(at) => Ok(candidates.swap_remove(at)),
        None => Err(Error::NoDevice {
            wanted: wanted.map_or_else(
                || "of Vulkan 1.1 with a compute queue".to_owned(),
                |w| format!("is `{w}` (an index, a type, or a part of the name)"),
            ),
            available: infos.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// Returns the index of the device that `wanted` names.
fn pick(infos: &[&DeviceInfo], wanted: Option<&str>) -> Option<usize> {
    let preference =
        |kind| [DeviceKind::Discrete, DeviceKind::Integrated, DeviceKind::Virtual, DeviceKind::Cpu].iter().position(|k| *k == kind);
    let Some(wanted) = wanted else {
        return (0..infos.len()).min_by_key(|&i| infos.get(i).map(|d| preference(d.kind).unwrap_or(usize::MAX)));
    };
    let wanted = wanted.trim().to_lowercase();
    if let Ok(index) = wanted.parse::<usize>() {
        return (index < infos.len()).then_some(index);
    }
    let kind = |d: &&DeviceInfo| d.kind.name() == wanted;
    let name = |d: &&DeviceInfo| d.name.to_lowercase().contains(&wanted);
    infos.iter().position(kind).or_else(|| infos.iter().position(|d| !wanted.is_empty() && name(d)))
}

/// Queries the properties of a physical device; `None` if it cannot be used.
fn examine(owner: &Instance, raw: vk::PhysicalDevice) -> Result<Option<Candidate>> {
    let instance = owner.raw();
    // SAFETY: see `candidates`.
    let properties = unsafe { instance.get_physical_device_properties(raw) };
    let families = unsafe { instance.get_physical_device_queue_family_properties(raw) };
    let compute = families.iter().enumerate().filter(|(_, f)| f.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let family = compute.min_by_key(|(_, f)| preference(f));
    let Some((index, family)) = family.filter(|_| properties.api_version >= vk::API_VERSION_1_1) else { return Ok(None) };
    let extensions = unsafe { instance.enumerate_device_extension_properties(raw) };
    let extensions = extensions.map_err(failed("vkEnumerateDeviceExtensionProperties"))?;
    let support = Support { api: properties.api_version.min(NEWEST), extensions: &extensions };
    let features = Features::query(instance, raw, &support);
    described(owner, raw, (index, family), &support, features).map(Some)
}

/// Describes a device with a family of queues, and with these features of those that are supported.
fn described(
    owner: &Instance,
    raw: vk::PhysicalDevice,
    (index, family): (usize, &vk::QueueFamilyProperties),
    support: &Support<'_>,
    features: Features,
) -> Result<Candidate> {
    let instance = owner.raw();
    // SAFETY: see `candidates`.
    let properties = unsafe { instance.get_physical_device_properties(raw) };
    let mut more = More::default();
    more.query(instance, raw, support);
    let limits = limits(&properties.limits, &more, &features, family.timestamp_valid_bits);
    let info = DeviceInfo {
        index: 0,
        name: properties.device_name_as_c_str().map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned()),
        kind: kind(properties.device_type),
        driver: more.driver(&properties),
        api_version: (vk::api_version_major(properties.api_version), vk::api_version_minor(properties.api_version)),
        features: features.list(&more),
        matrices: Some(if features.cooperative_matrix { matrices::of(owner, raw)? } else { Vec::new() }),
        fast_dots: more.fast_dots.clone(),
        disabled: Vec::new(),
        limits,
    };
    let bits = family.timestamp_valid_bits;
    let details = Details {
        api: support.api,
        extensions: support.enabled(&features),
        features,
        timestamp_period: f64::from(properties.limits.timestamp_period),
        timestamp_mask: if bits >= 64 { u64::MAX } else { (1 << bits) - 1 },
        storage_offset_alignment: properties.limits.min_storage_buffer_offset_alignment.max(16),
        max_buffer: more.max_buffer.max(1 << 30),
        is_nvidia: more.driver_id == vk::DriverId::NVIDIA_PROPRIETARY,
        properties,
    };
    Ok(Candidate { raw, family: index as u32, queues: family.queue_count, info, details })
}

/// Describes a device that the caller opened. Features that the caller did not enable are listed as disabled.
pub(super) fn foreign(owner: &Instance, raw: vk::PhysicalDevice, family: u32, enabled: &Enabled) -> Result<Candidate> {
    let refused = |reason: String| Err(Error::AshDevice { reason });
    let instance = owner.raw();
    // SAFETY (this function): the caller's physical device is of its instance, which lives: that is the contract of `from_ash`.
    let properties = unsafe { instance.get_physical_device_properties(raw) };
    let families = unsafe { instance.get_physical_device_queue_family_properties(raw) };
    let extensions = unsafe { instance.enumerate_device_extension_properties(raw) };
    let extensions = extensions.map_err(failed("vkEnumerateDeviceExtensionProperties"))?;
    let api = properties.api_version.min(enabled.api).min(NEWEST);
    if api < vk::API_VERSION_1_1 {
        let show = |v| format!("{}.{}", vk::api_version_major(v), vk::api_version_minor(v));
        let (has, asked) = (show(properties.api_version), show(enabled.api));
        return refused(format!(
            "it needs Vulkan 1.1, the device has {has}, and the application asked for {asked}: set `ApplicationInfo::api_version`"
        ));
    }
    let Some(properties) = families.get(family as usize) else {
        return refused(format!("it has {} queue families, so family {family} does not exist", families.len()));
    };
    if !properties.queue_flags.contains(vk::QueueFlags::COMPUTE) {
        return refused(format!("queue family {family} does not have `QueueFlags::COMPUTE`"));
    }
    if let Some(unknown) = enabled.extensions.iter().find(|name| !has(&extensions, name)) {
        return refused(format!("it does not have the extension `{}`", unknown.to_string_lossy()));
    }
    let listed: Vec<vk::ExtensionProperties> = extensions.iter().copied().filter(|e| enabled.lists(e)).collect();
    let (all, support) = (Support { api, extensions: &extensions }, Support { api, extensions: &listed });
    let (potential, supported) = (Features::query(instance, raw, &all), Features::query(instance, raw, &support));
    let features = supported.both(&enabled.features).settled(&potential);
    let mut candidate = described(owner, raw, (family as usize, properties), &support, features)?;
    let mut more = More::default();
    more.query(instance, raw, &all);
    let missing = potential.list(&more).into_iter().filter(|f| !candidate.info.features.contains(f));
    candidate.info.disabled = missing.map(|feature| super::foreign::disabled(feature, api, &listed)).collect();
    // SAFETY: the instance is the caller's, and lives.
    let devices = unsafe { instance.enumerate_physical_devices() }.map_err(failed("vkEnumeratePhysicalDevices"))?;
    candidate.info.index = devices.iter().position(|device| *device == raw).unwrap_or_default();
    Ok(candidate)
}

/// The parts of a device that the caller enabled.
pub(super) struct Enabled {
    /// The Vulkan version that the application asked for.
    pub(super) api: u32,
    pub(super) extensions: Vec<CString>,
    pub(super) features: Features,
}

impl Enabled {
    /// True if an extension of the device is in the list.
    fn lists(&self, extension: &vk::ExtensionProperties) -> bool {
        self.extensions.iter().any(|name| extension.extension_name_as_c_str() == Ok(name))
    }
}

/// Returns a key that orders compute families by preference, the best first. Families with timestamps are best. Then follow
/// families without graphics, because their queues run in parallel, while queues of a family with graphics take turns (NVIDIA's
/// do). Then follow families with more queues.
fn preference(family: &vk::QueueFamilyProperties) -> impl Ord + use<> {
    let graphics = family.queue_flags.contains(vk::QueueFlags::GRAPHICS);
    (family.timestamp_valid_bits == 0, graphics, std::cmp::Reverse(family.queue_count))
}

fn kind(raw: vk::PhysicalDeviceType) -> DeviceKind {
    match raw {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceKind::Cpu,
        _ => DeviceKind::Other,
    }
}

fn limits(l: &vk::PhysicalDeviceLimits, more: &More, features: &Features, timestamp_bits: u32) -> Limits {
    let range = if features.subgroup_size { more.subgroup_range } else { (more.subgroup, more.subgroup) };
    Limits {
        invocations: l.max_compute_work_group_invocations,
        local: l.max_compute_work_group_size,
        grid: l.max_compute_work_group_count,
        shared_bytes: l.max_compute_shared_memory_size,
        subgroup: more.subgroup,
        subgroup_range: range,
        subgroups: more.subgroups,
        push_constant_bytes: l.max_push_constants_size,
        storage_buffers: l.max_per_stage_descriptor_storage_buffers.min(l.max_descriptor_set_storage_buffers),
        storage_buffer_bytes: u64::from(l.max_storage_buffer_range),
        storage_buffer_offset: l.min_storage_buffer_offset_alignment.max(1),
        timestamps: timestamp_bits > 0 && l.timestamp_period > 0.0,
    }
}

/// The features of a device beyond Vulkan 1.1: by its version, or by extensions.
pub(super) struct Support<'a> {
    pub(super) api: u32,
    pub(super) extensions: &'a [vk::ExtensionProperties],
}

impl Support<'_> {
    /// Returns true if a feature is available that became core in version `core`, and was the extension `name` before.
    pub(super) fn has(&self, core: u32, name: &CStr) -> bool {
        self.api >= core || has(self.extensions, name)
    }

    /// Returns the extensions to enable for these features.
    fn enabled(&self, features: &Features) -> Vec<&'static CStr> {
        let v12 = self.api < vk::API_VERSION_1_2;
        let wanted = [
            (features.address && v12, khr::buffer_device_address::NAME),
            // The extensions that VK_KHR_buffer_device_address, VK_KHR_shader_float16_int8 and the others depend on are core in
            // 1.1.
            ((features.f16 || features.i8) && v12, khr::shader_float16_int8::NAME),
            (features.storage_8 && v12, khr::_8bit_storage::NAME),
            (features.memory_model && v12, khr::vulkan_memory_model::NAME),
            (v12, khr::shader_float_controls::NAME),
            (v12 && has(self.extensions, khr::spirv_1_4::NAME), khr::spirv_1_4::NAME),
            (features.subgroup_size && self.api < vk::API_VERSION_1_3, ext::subgroup_size_control::NAME),
            (features.cooperative_matrix, khr::cooperative_matrix::NAME),
            (features.matrix_reductions || features.matrix_conversions, matrices::MORE),
            (features.matrix_bf16, matrices::BFLOAT),
            (features.atomic_f32_add, ext::shader_atomic_float::NAME),
            (features.integer_dot_product && self.api < vk::API_VERSION_1_3, khr::shader_integer_dot_product::NAME),
            (features.statistics, khr::pipeline_executable_properties::NAME),
            (features.timeline && v12, khr::timeline_semaphore::NAME),
            // It reports how much memory this process may use.
            (true, ext::memory_budget::NAME),
            // The specification requires that it is enabled if a device has it.
            (true, khr::portability_subset::NAME),
        ];
        wanted.into_iter().filter(|(on, name)| *on && has(self.extensions, name)).map(|(_, name)| name).collect()
    }
}

/// Properties beyond the basic ones.
#[derive(Default)]
pub(super) struct More {
    subgroup: u32,
    subgroup_range: (u32, u32),
    subgroups: u32,
    subgroup_in_compute: bool,
    pub(super) required_in_compute: bool,
    pub(super) subgroup_arithmetic: bool,
    pub(super) subgroup_shuffle: bool,
    pub(super) nan_16: bool,
    pub(super) nan_32: bool,
    pub(super) rte_16: bool,
    pub(super) rte_32: bool,
    fast_dots: Vec<DotSigns>,
    max_buffer: u64,
    driver: Option<(String, String)>,
    driver_id: vk::DriverId,
}

impl More {
    fn query(&mut self, instance: &ash::Instance, raw: vk::PhysicalDevice, support: &Support<'_>) {
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut maintenance = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut buffers = vk::PhysicalDeviceMaintenance4Properties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut control = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut floats = vk::PhysicalDeviceFloatControlsProperties::default();
        let mut dots = vk::PhysicalDeviceShaderIntegerDotProductProperties::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut maintenance);
        let has_driver = support.has(vk::API_VERSION_1_2, khr::driver_properties::NAME);
        if has_driver {
            all = all.push_next(&mut driver);
        }
        if support.has(vk::API_VERSION_1_3, ext::subgroup_size_control::NAME) {
            all = all.push_next(&mut control);
        }
        if support.has(vk::API_VERSION_1_3, khr::maintenance4::NAME) {
            all = all.push_next(&mut buffers);
        }
        if support.has(vk::API_VERSION_1_2, khr::shader_float_controls::NAME) {
            all = all.push_next(&mut floats);
        }
        if support.has(vk::API_VERSION_1_3, khr::shader_integer_dot_product::NAME) {
            all = all.push_next(&mut dots);
        }
        // SAFETY: see `candidates`; each struct in the chain is one that the device knows.
        unsafe { instance.get_physical_device_properties2(raw, &mut all) };
        let compute = vk::ShaderStageFlags::COMPUTE;
        self.subgroup = subgroup.subgroup_size;
        self.subgroup_in_compute = subgroup.supported_stages.contains(compute);
        let can = |what| self.subgroup_in_compute && subgroup.supported_operations.contains(what);
        (self.subgroup_arithmetic, self.subgroup_shuffle) =
            (can(vk::SubgroupFeatureFlags::ARITHMETIC), can(vk::SubgroupFeatureFlags::SHUFFLE));
        self.nan_16 = floats.shader_signed_zero_inf_nan_preserve_float16 == vk::TRUE;
        self.nan_32 = floats.shader_signed_zero_inf_nan_preserve_float32 == vk::TRUE;
        self.rte_16 = floats.shader_rounding_mode_rte_float16 == vk::TRUE;
        self.rte_32 = floats.shader_rounding_mode_rte_float32 == vk::TRUE;
        self.fast_dots = fast_dots(&dots);
        self.subgroup_range = (control.min_subgroup_size, control.max_subgroup_size);
        self.subgroups = control.max_compute_workgroup_subgroups;
        self.required_in_compute = control.required_subgroup_size_stages.contains(compute);
        // The larger limit is used, because a driver may allocate more than its allocation limit, and otherwise fails. A larger
        // buffer than `maxBufferSize` is not valid.
        self.max_buffer = buffers.max_buffer_size.max(maintenance.max_memory_allocation_size);
        let text = |s: Result<&CStr, _>| {
            s.map_or_else(|_: std::ffi::FromBytesUntilNulError| String::new(), |s| s.to_string_lossy().into_owned())
        };
        self.driver_id = driver.driver_id;
        self.driver = has_driver.then(|| (text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str())));
    }

    fn driver(&self, properties: &vk::PhysicalDeviceProperties) -> String {
        match &self.driver {
            Some((name, info)) => format!("{name} {info}").trim().to_owned(),
            None => format!("driver {:#x}", properties.driver_version),
        }
    }
}

/// Returns the dot products of packed bytes that the device computes faster than their products and sums.
fn fast_dots(properties: &vk::PhysicalDeviceShaderIntegerDotProductProperties<'_>) -> Vec<DotSigns> {
    let accelerated = |signs: DotSigns| match signs {
        DotSigns::Signed => properties.integer_dot_product4x8_bit_packed_signed_accelerated,
        DotSigns::Unsigned => properties.integer_dot_product4x8_bit_packed_unsigned_accelerated,
        DotSigns::Mixed => properties.integer_dot_product4x8_bit_packed_mixed_signedness_accelerated,
    };
    DotSigns::ALL.into_iter().map(|(signs, _)| signs).filter(|signs| accelerated(*signs) == vk::TRUE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(index: usize, name: &str, kind: DeviceKind) -> DeviceInfo {
        let more = More::default();
        let limits = limits(&vk::PhysicalDeviceLimits::default(), &more, &Features::default(), 0);
        let (api_version, features, matrices) = ((1, 3), vec![], Some(vec![]));
        let (name, driver, fast_dots) = (name.into(), "d".into(), vec![]);
        DeviceInfo { index, name, kind, driver, api_version, features, disabled: vec![], matrices, fast_dots, limits }
    }

    #[test]
    fn a_family_for_compute_alone_is_preferred() {
        let family = |queue_flags, queue_count, timestamp_valid_bits| {
            preference(&vk::QueueFamilyProperties { queue_flags, queue_count, timestamp_valid_bits, ..Default::default() })
        };
        let (all, alone) = (vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE, vk::QueueFlags::COMPUTE);
        assert!(family(alone, 8, 64) < family(all, 16, 64));
        assert!(family(alone, 8, 64) < family(alone, 4, 64));
        assert!(family(all, 1, 64) < family(alone, 8, 0), "a family without timestamps cannot be timed");
    }

    #[test]
    fn a_device_is_picked_by_preference_index_type_or_name() {
        let cpu = info(0, "llvmpipe (LLVM)", DeviceKind::Cpu);
        let integrated = info(1, "Mali-G78", DeviceKind::Integrated);
        let discrete = info(2, "NVIDIA RTX", DeviceKind::Discrete);
        let infos = [&cpu, &integrated, &discrete];
        assert_eq!(pick(&infos, None), Some(2));
        assert_eq!(pick(&infos[..2], None), Some(1));
        assert_eq!(pick(&[], None), None);
        assert_eq!(pick(&infos, Some("0")), Some(0));
        assert_eq!(pick(&infos, Some("3")), None);
        assert_eq!(pick(&infos, Some("Integrated")), Some(1));
        assert_eq!(pick(&infos, Some("LLVMPIPE")), Some(0));
        assert_eq!(pick(&infos, Some("mali")), Some(1));
        assert_eq!(pick(&infos, Some("virtual")), None);
    }
}
