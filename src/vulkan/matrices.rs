//! Which cooperative matrices a device multiplies, as variants name them.

use super::failed;
use super::instance::Instance;
use crate::error::Result;
use ash::{khr, vk};
use tilewright_launch::{DType, Matrices};

/// What a device with the feature multiplies by a subgroup, without saturation and with one type for both sums.
pub(super) fn of(instance: &Instance, raw: vk::PhysicalDevice) -> Result<Vec<Matrices>> {
    let functions = khr::cooperative_matrix::Instance::new(instance.entry(), instance.raw());
    // SAFETY: the device has the extension, and comes from the instance, which lives.
    let rows = unsafe { functions.get_physical_device_cooperative_matrix_properties(raw) };
    let rows = rows.map_err(failed("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))?;
    let mut all: Vec<Matrices> = rows.iter().filter_map(row).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn row(row: &vk::CooperativeMatrixPropertiesKHR<'_>) -> Option<Matrices> {
    let plain = row.scope == vk::ScopeKHR::SUBGROUP && row.saturating_accumulation == vk::FALSE && row.c_type == row.result_type;
    let [a, b, sum] = [row.a_type, row.b_type, row.c_type].map(dtype);
    let matrices = Matrices { shape: [row.m_size, row.n_size, row.k_size], factors: [a?, b?], sum: sum? };
    plain.then_some(matrices)
}

fn dtype(component: vk::ComponentTypeKHR) -> Option<DType> {
    Some(match component {
        vk::ComponentTypeKHR::FLOAT16 => DType::F16,
        vk::ComponentTypeKHR::FLOAT32 => DType::F32,
        vk::ComponentTypeKHR::SINT32 => DType::I32,
        vk::ComponentTypeKHR::UINT32 => DType::U32,
        vk::ComponentTypeKHR::SINT8 => DType::I8,
        vk::ComponentTypeKHR::UINT8 => DType::U8,
        _ => return None,
    })
}
