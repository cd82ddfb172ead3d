//! Queries the cooperative matrices that a device multiplies, under the names that variants use, and its other features for them.

use super::failed;
use super::instance::Instance;
use crate::error::Result;
use ash::{khr, vk};
use std::ffi::{CStr, c_void};
use tilewright_launch::{DType, Matrices};

/// The extension for reductions and conversions of matrices.
pub(super) const MORE: &CStr = c"VK_NV_cooperative_matrix2";

/// `VkPhysicalDeviceCooperativeMatrix2FeaturesNV`, which ash 0.38 does not have.
#[repr(C)]
pub(super) struct MoreFeatures {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    workgroup_scope: vk::Bool32,
    flexible_dimensions: vk::Bool32,
    pub(super) reductions: vk::Bool32,
    pub(super) conversions: vk::Bool32,
    per_element_operations: vk::Bool32,
    tensor_addressing: vk::Bool32,
    block_loads: vk::Bool32,
}

impl Default for MoreFeatures {
    fn default() -> MoreFeatures {
        let off = vk::FALSE;
        MoreFeatures {
            s_type: <MoreFeatures as vk::TaggedStructure>::STRUCTURE_TYPE,
            p_next: std::ptr::null_mut(),
            workgroup_scope: off,
            flexible_dimensions: off,
            reductions: off,
            conversions: off,
            per_element_operations: off,
            tensor_addressing: off,
            block_loads: off,
        }
    }
}

// SAFETY: the number, the members and their order are taken from Vulkan's registry; it extends this struct there.
unsafe impl vk::TaggedStructure for MoreFeatures {
    const STRUCTURE_TYPE: vk::StructureType = vk::StructureType::from_raw(1_000_593_000);
}
// SAFETY: see above.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for MoreFeatures {}

/// The extension for matrices of bfloat16.
pub(super) const BFLOAT: &CStr = c"VK_KHR_shader_bfloat16";

/// `VkPhysicalDeviceShaderBfloat16FeaturesKHR`, which ash 0.38 does not have.
#[repr(C)]
pub(super) struct BFloatFeatures {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    pub(super) ty: vk::Bool32,
    dot_product: vk::Bool32,
    pub(super) matrix: vk::Bool32,
}

impl Default for BFloatFeatures {
    fn default() -> BFloatFeatures {
        let s_type = <BFloatFeatures as vk::TaggedStructure>::STRUCTURE_TYPE;
        BFloatFeatures { s_type, p_next: std::ptr::null_mut(), ty: vk::FALSE, dot_product: vk::FALSE, matrix: vk::FALSE }
    }
}

// SAFETY: the number, the members and their order are taken from Vulkan's registry; it extends this struct there.
unsafe impl vk::TaggedStructure for BFloatFeatures {
    const STRUCTURE_TYPE: vk::StructureType = vk::StructureType::from_raw(1_000_141_000);
}
// SAFETY: see above.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for BFloatFeatures {}

/// `VK_COMPONENT_TYPE_BFLOAT16_KHR`.
const BFLOAT_COMPONENT: vk::ComponentTypeKHR = vk::ComponentTypeKHR::from_raw(1_000_141_000);

/// Returns the matrices that a subgroup of the device multiplies without saturation, with the same type for the addend and the
/// result. The device must have the feature.
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
        BFLOAT_COMPONENT => DType::BF16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::ComponentTypeKHR as Component;

    fn properties() -> vk::CooperativeMatrixPropertiesKHR<'static> {
        vk::CooperativeMatrixPropertiesKHR {
            m_size: 16,
            n_size: 8,
            k_size: 32,
            a_type: Component::FLOAT16,
            b_type: Component::FLOAT16,
            c_type: Component::FLOAT32,
            result_type: Component::FLOAT32,
            saturating_accumulation: vk::FALSE,
            scope: vk::ScopeKHR::SUBGROUP,
            ..Default::default()
        }
    }

    #[test]
    fn a_row_of_a_subgroup_is_named_by_its_shape_and_types() {
        let wanted = Matrices { shape: [16, 8, 32], factors: [DType::F16; 2], sum: DType::F32 };
        assert_eq!(row(&properties()), Some(wanted));
        let signs = vk::CooperativeMatrixPropertiesKHR {
            a_type: Component::SINT8,
            b_type: Component::UINT8,
            c_type: Component::SINT32,
            result_type: Component::SINT32,
            ..properties()
        };
        let wanted = Matrices { shape: [16, 8, 32], factors: [DType::I8, DType::U8], sum: DType::I32 };
        assert_eq!(row(&signs), Some(wanted));
    }

    #[test]
    fn what_variants_cannot_name_is_left_out() {
        let left_out = [
            vk::CooperativeMatrixPropertiesKHR { scope: vk::ScopeKHR::WORKGROUP, ..properties() },
            vk::CooperativeMatrixPropertiesKHR { saturating_accumulation: vk::TRUE, ..properties() },
            vk::CooperativeMatrixPropertiesKHR { result_type: Component::FLOAT16, ..properties() },
            vk::CooperativeMatrixPropertiesKHR { a_type: Component::FLOAT64, ..properties() },
            vk::CooperativeMatrixPropertiesKHR { b_type: Component::SINT16, ..properties() },
            vk::CooperativeMatrixPropertiesKHR { c_type: Component::FLOAT64, result_type: Component::FLOAT64, ..properties() },
        ];
        for properties in left_out {
            assert_eq!(row(&properties), None, "{properties:?}");
        }
    }
}
