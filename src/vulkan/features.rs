//! The optional features of devices: their query, their names in variants, and the structs that enable them.

use super::choose::{More, Support};
use super::instance::has;
use super::matrices;
use ash::{ext, khr, vk};
use tilewright_launch::Feature;

/// The optional features that this crate uses, each on if the device has it.
#[derive(Clone, Copy, Default)]
pub(super) struct Features {
    pub(super) address: bool,
    pub(super) storage_16: bool,
    pub(super) storage_8: bool,
    pub(super) f16: bool,
    pub(super) i8: bool,
    pub(super) i16: bool,
    pub(super) memory_model: bool,
    pub(super) memory_model_device: bool,
    pub(super) subgroup_size: bool,
    pub(super) subgroup_types: bool,
    pub(super) cooperative_matrix: bool,
    pub(super) matrix_reductions: bool,
    pub(super) matrix_conversions: bool,
    pub(super) matrix_bf16: bool,
    pub(super) atomic_f32_add: bool,
    pub(super) integer_dot_product: bool,
    pub(super) int64: bool,
    pub(super) statistics: bool,
    pub(super) timeline: bool,
    /// True if subgroup operations cannot be used, because the caller of the device did not enable them for all types.
    pub(super) subgroup_operations_off: bool,
}

impl Features {
    pub(super) fn query(instance: &ash::Instance, raw: vk::PhysicalDevice, support: &Support<'_>) -> Features {
        let mut known = Features {
            address: support.has(vk::API_VERSION_1_2, khr::buffer_device_address::NAME),
            storage_16: true,
            storage_8: support.has(vk::API_VERSION_1_2, khr::_8bit_storage::NAME),
            f16: support.has(vk::API_VERSION_1_2, khr::shader_float16_int8::NAME),
            i8: false,
            i16: false,
            memory_model: support.has(vk::API_VERSION_1_2, khr::vulkan_memory_model::NAME),
            memory_model_device: false,
            subgroup_size: support.has(vk::API_VERSION_1_3, ext::subgroup_size_control::NAME),
            subgroup_types: support.api >= vk::API_VERSION_1_2,
            cooperative_matrix: has(support.extensions, khr::cooperative_matrix::NAME),
            matrix_reductions: has(support.extensions, matrices::MORE),
            matrix_conversions: has(support.extensions, matrices::MORE),
            matrix_bf16: has(support.extensions, matrices::BFLOAT),
            atomic_f32_add: has(support.extensions, ext::shader_atomic_float::NAME),
            integer_dot_product: support.has(vk::API_VERSION_1_3, khr::shader_integer_dot_product::NAME),
            int64: false,
            statistics: has(support.extensions, khr::pipeline_executable_properties::NAME),
            timeline: support.has(vk::API_VERSION_1_2, khr::timeline_semaphore::NAME),
            subgroup_operations_off: false,
        };
        let mut chain = Chain::default();
        let mut all = chain.link(&known);
        // SAFETY: see `candidates`; the chain has only structs that the device knows.
        unsafe { instance.get_physical_device_features2(raw, &mut all) };
        let (int64, i16) = (all.features.shader_int64 == vk::TRUE, all.features.shader_int16 == vk::TRUE);
        known = Features { int64, i16, ..chain.read() };
        known.cooperative_matrix &= known.memory_model;
        known.matrix_reductions &= known.cooperative_matrix;
        known.matrix_conversions &= known.cooperative_matrix;
        known.matrix_bf16 &= known.cooperative_matrix;
        known
    }

    /// Returns the features that are on in both.
    pub(super) fn both(&self, other: &Features) -> Features {
        Features {
            address: self.address && other.address,
            storage_16: self.storage_16 && other.storage_16,
            storage_8: self.storage_8 && other.storage_8,
            f16: self.f16 && other.f16,
            i8: self.i8 && other.i8,
            i16: self.i16 && other.i16,
            memory_model: self.memory_model && other.memory_model,
            memory_model_device: self.memory_model_device && other.memory_model_device,
            subgroup_size: self.subgroup_size && other.subgroup_size,
            subgroup_types: self.subgroup_types && other.subgroup_types,
            cooperative_matrix: self.cooperative_matrix && other.cooperative_matrix,
            matrix_reductions: self.matrix_reductions && other.matrix_reductions,
            matrix_conversions: self.matrix_conversions && other.matrix_conversions,
            matrix_bf16: self.matrix_bf16 && other.matrix_bf16,
            atomic_f32_add: self.atomic_f32_add && other.atomic_f32_add,
            integer_dot_product: self.integer_dot_product && other.integer_dot_product,
            int64: self.int64 && other.int64,
            statistics: self.statistics && other.statistics,
            timeline: self.timeline && other.timeline,
            subgroup_operations_off: self.subgroup_operations_off || other.subgroup_operations_off,
        }
    }

    /// Switches features off that depend on others. The runtime enables all of `potential` on its own devices, so compiled modules may
    /// use device scope with the memory model, and halves in subgroups, wherever the device has them.
    pub(super) fn settled(mut self, potential: &Features) -> Features {
        self.memory_model &= self.memory_model_device || !potential.memory_model_device;
        self.subgroup_operations_off = potential.subgroup_types && !self.subgroup_types;
        self.cooperative_matrix &= self.memory_model;
        self.matrix_reductions &= self.cooperative_matrix;
        self.matrix_conversions &= self.cooperative_matrix;
        self.matrix_bf16 &= self.cooperative_matrix;
        self
    }

    /// Returns the features under the names that variants use.
    pub(super) fn list(&self, more: &More) -> Vec<Feature> {
        let has = |f: Feature| match f {
            Feature::Address => self.address,
            Feature::Storage16 => self.storage_16,
            Feature::F16 => self.f16,
            Feature::Storage8 => self.storage_8,
            Feature::I8 => self.i8,
            Feature::I16 => self.i16,
            Feature::SubgroupArithmetic => more.subgroup_arithmetic && !self.subgroup_operations_off,
            Feature::SubgroupShuffle => more.subgroup_shuffle && !self.subgroup_operations_off,
            Feature::SubgroupSize => self.subgroup_size && more.required_in_compute,
            Feature::MemoryModel => self.memory_model,
            Feature::CooperativeMatrix => self.cooperative_matrix,
            Feature::MatrixReductions => self.matrix_reductions,
            Feature::MatrixConversions => self.matrix_conversions,
            Feature::MatrixBf16 => self.matrix_bf16,
            Feature::AtomicF32Add => self.atomic_f32_add,
            Feature::Nan16 => more.nan_16,
            Feature::Nan32 => more.nan_32,
            Feature::Rte16 => more.rte_16,
            Feature::Rte32 => more.rte_32,
            Feature::IntegerDotProduct => self.integer_dot_product,
            Feature::Int64 => self.int64,
            _ => false,
        };
        Feature::ALL.into_iter().map(|(f, _)| f).filter(|f| has(*f)).collect()
    }
}

/// The feature structs of Vulkan, to query features and to enable them.
#[derive(Default)]
pub(super) struct Chain {
    address: vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>,
    storage_16: vk::PhysicalDevice16BitStorageFeatures<'static>,
    storage_8: vk::PhysicalDevice8BitStorageFeatures<'static>,
    arithmetic: vk::PhysicalDeviceShaderFloat16Int8Features<'static>,
    memory_model: vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>,
    subgroup_size: vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>,
    subgroup_types: vk::PhysicalDeviceShaderSubgroupExtendedTypesFeatures<'static>,
    cooperative_matrix: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
    more_matrices: matrices::MoreFeatures,
    bfloat: matrices::BFloatFeatures,
    atomic_float: vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'static>,
    integer_dot_product: vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static>,
    statistics: vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'static>,
    timeline: vk::PhysicalDeviceTimelineSemaphoreFeatures<'static>,
}

impl Chain {
    /// Links the structs of these features, with the features switched on.
    pub(super) fn link(&mut self, on: &Features) -> vk::PhysicalDeviceFeatures2<'_> {
        self.address = self.address.buffer_device_address(on.address);
        self.storage_16 = self.storage_16.storage_buffer16_bit_access(on.storage_16);
        self.storage_8 = self.storage_8.storage_buffer8_bit_access(on.storage_8);
        self.arithmetic = self.arithmetic.shader_float16(on.f16).shader_int8(on.i8);
        self.memory_model = self.memory_model.vulkan_memory_model(on.memory_model);
        self.memory_model = self.memory_model.vulkan_memory_model_device_scope(on.memory_model_device);
        self.subgroup_size = self.subgroup_size.subgroup_size_control(on.subgroup_size).compute_full_subgroups(on.subgroup_size);
        self.subgroup_types = self.subgroup_types.shader_subgroup_extended_types(on.subgroup_types);
        self.cooperative_matrix = self.cooperative_matrix.cooperative_matrix(on.cooperative_matrix);
        self.more_matrices.reductions = on.matrix_reductions.into();
        self.more_matrices.conversions = on.matrix_conversions.into();
        (self.bfloat.ty, self.bfloat.matrix) = (on.matrix_bf16.into(), on.matrix_bf16.into());
        self.atomic_float = self.atomic_float.shader_buffer_float32_atomic_add(on.atomic_f32_add);
        self.integer_dot_product = self.integer_dot_product.shader_integer_dot_product(on.integer_dot_product);
        self.statistics = self.statistics.pipeline_executable_info(on.statistics);
        self.timeline = self.timeline.timeline_semaphore(on.timeline);
        let mut all = vk::PhysicalDeviceFeatures2::default();
        all.features = all.features.shader_int64(on.int64).shader_int16(on.i16);
        if on.address {
            all = all.push_next(&mut self.address);
        }
        if on.storage_16 {
            all = all.push_next(&mut self.storage_16);
        }
        if on.storage_8 {
            all = all.push_next(&mut self.storage_8);
        }
        if on.f16 || on.i8 {
            all = all.push_next(&mut self.arithmetic);
        }
        if on.memory_model {
            all = all.push_next(&mut self.memory_model);
        }
        if on.subgroup_size {
            all = all.push_next(&mut self.subgroup_size);
        }
        if on.subgroup_types {
            all = all.push_next(&mut self.subgroup_types);
        }
        if on.cooperative_matrix {
            all = all.push_next(&mut self.cooperative_matrix);
        }
        if on.matrix_reductions || on.matrix_conversions {
            all = all.push_next(&mut self.more_matrices);
        }
        if on.matrix_bf16 {
            all = all.push_next(&mut self.bfloat);
        }
        if on.atomic_f32_add {
            all = all.push_next(&mut self.atomic_float);
        }
        if on.integer_dot_product {
            all = all.push_next(&mut self.integer_dot_product);
        }
        if on.statistics {
            all = all.push_next(&mut self.statistics);
        }
        if on.timeline {
            all = all.push_next(&mut self.timeline);
        }
        all
    }

    /// Returns the features that a query filled in. All features of a struct that was not linked are off.
    fn read(&self) -> Features {
        let on = |b: vk::Bool32| b == vk::TRUE;
        Features {
            address: on(self.address.buffer_device_address),
            storage_16: on(self.storage_16.storage_buffer16_bit_access),
            storage_8: on(self.storage_8.storage_buffer8_bit_access),
            f16: on(self.arithmetic.shader_float16),
            i8: on(self.arithmetic.shader_int8),
            memory_model: on(self.memory_model.vulkan_memory_model),
            memory_model_device: on(self.memory_model.vulkan_memory_model_device_scope),
            subgroup_size: on(self.subgroup_size.subgroup_size_control) && on(self.subgroup_size.compute_full_subgroups),
            subgroup_types: on(self.subgroup_types.shader_subgroup_extended_types),
            cooperative_matrix: on(self.cooperative_matrix.cooperative_matrix),
            matrix_reductions: on(self.more_matrices.reductions),
            matrix_conversions: on(self.more_matrices.conversions),
            matrix_bf16: on(self.bfloat.ty) && on(self.bfloat.matrix),
            atomic_f32_add: on(self.atomic_float.shader_buffer_float32_atomic_add),
            integer_dot_product: on(self.integer_dot_product.shader_integer_dot_product),
            int64: false,
            i16: false,
            statistics: on(self.statistics.pipeline_executable_info),
            timeline: on(self.timeline.timeline_semaphore),
            subgroup_operations_off: false,
        }
    }
}
