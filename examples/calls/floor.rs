//! The same dispatches by Vulkan alone: recorded once, submitted again and again, on the device's first queue for compute. It is the least time
//! that a launch takes on a machine.

use std::error::Error;
use std::time::{Duration, Instant};
use tilewright::ash::{self, vk};
use tilewright::program::Program;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A device with the pipeline of a program's only dispatch, which accesses two buffers by descriptors. The objects live as long as the process.
pub struct Floor {
    device: ash::Device,
    queue: vk::Queue,
    fence: vk::Fence,
    pool: vk::CommandPool,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set_layout: vk::DescriptorSetLayout,
    family: u32,
    memory: vk::PhysicalDeviceMemoryProperties,
    groups: [u32; 3],
    _entry: ash::Entry,
    _instance: ash::Instance,
}

/// Recorded dispatches.
#[derive(Clone, Copy)]
pub struct Commands(vk::CommandBuffer);

impl Floor {
    /// Opens the Vulkan device of this name.
    pub fn open(name: &str, program: &Program) -> Result<Floor> {
        // SAFETY (this file): objects are used as Vulkan's specification says, by one thread, and never destroyed.
        unsafe {
            let entry = ash::Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
            let instance = entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None)?;
            let is_named = |raw: &vk::PhysicalDevice| {
                instance.get_physical_device_properties(*raw).device_name_as_c_str().is_ok_and(|own| own.to_str() == Ok(name))
            };
            let physical = instance.enumerate_physical_devices()?.into_iter().find(is_named).ok_or("the device has gone")?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let compute = families.iter().enumerate().filter(|(_, f)| f.queue_flags.contains(vk::QueueFlags::COMPUTE));
            let (family, _) = compute
                .min_by_key(|(_, f)| f.queue_flags.contains(vk::QueueFlags::GRAPHICS))
                .ok_or("the device has no queue for compute")?;
            let family = family as u32;
            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let device = instance.create_device(physical, &vk::DeviceCreateInfo::default().queue_create_infos(&queues), None)?;
            let (queue, fence) = (device.get_device_queue(family, 0), device.create_fence(&Default::default(), None)?);
            let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default().queue_family_index(family), None)?;
            let (set_layout, layout, pipeline) = pipeline(&device, program)?;
            let [Some(x), Some(y), Some(z)] = program.dispatches[0].grid.each_ref().map(|size| size.eval(&[])) else {
                return Err("the grid is not constant".into());
            };
            let memory = instance.get_physical_device_memory_properties(physical);
            let (groups, _entry, _instance) = ([x as u32, y as u32, z as u32], entry, instance);
            Ok(Floor { device, queue, fence, pool, pipeline, layout, set_layout, family, memory, groups, _entry, _instance })
        }
    }

    /// Records `count` dispatches. If they are dependent, they update the same buffer, and a barrier precedes each but the first.
    pub fn record(&self, count: usize, dependent: bool) -> Result<Commands> {
        let device = &self.device;
        // SAFETY: as in `open`.
        unsafe {
            let x = self.buffer()?;
            let targets = (0..if dependent { 1 } else { count }).map(|_| self.buffer()).collect::<Result<Vec<_>>>()?;
            let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            let commands = device.allocate_command_buffers(&info)?[0];
            device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
            device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, self.pipeline);
            let barrier = [vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE)];
            for n in 0..count {
                let set = [self.set(x, targets[n % targets.len()])?];
                if dependent && n > 0 {
                    let stage = vk::PipelineStageFlags::COMPUTE_SHADER;
                    device.cmd_pipeline_barrier(commands, stage, stage, vk::DependencyFlags::empty(), &barrier, &[], &[]);
                }
                device.cmd_bind_descriptor_sets(commands, vk::PipelineBindPoint::COMPUTE, self.layout, 0, &set, &[]);
                let [x, y, z] = self.groups;
                device.cmd_dispatch(commands, x, y, z);
            }
            device.end_command_buffer(commands)?;
            Ok(Commands(commands))
        }
    }

    /// Submits commands and waits for them. Returns the time of the submission, and of both.
    pub fn run(&self, commands: Commands) -> Result<[Duration; 2]> {
        let begin = Instant::now();
        let buffers = [commands.0];
        // SAFETY: as in `open`.
        unsafe {
            self.device.queue_submit(self.queue, &[vk::SubmitInfo::default().command_buffers(&buffers)], self.fence)?;
            let submitted = begin.elapsed();
            while !self.device.get_fence_status(self.fence)? && begin.elapsed() < Duration::from_micros(50) {
                std::hint::spin_loop();
            }
            self.device.wait_for_fences(&[self.fence], true, u64::MAX)?;
            let all = begin.elapsed();
            self.device.reset_fences(&[self.fence])?;
            Ok([submitted, all])
        }
    }

    /// Creates a buffer of 1,024 elements.
    unsafe fn buffer(&self) -> Result<vk::Buffer> {
        let families = [self.family];
        let info =
            vk::BufferCreateInfo::default().size(4096).usage(vk::BufferUsageFlags::STORAGE_BUFFER).queue_family_indices(&families);
        // SAFETY: as in `open`.
        unsafe {
            let buffer = self.device.create_buffer(&info, None)?;
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let fits = |(n, kind): &(usize, &vk::MemoryType)| {
                needs.memory_type_bits >> n & 1 == 1 && kind.property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
            };
            let types = self.memory.memory_types_as_slice().iter().enumerate();
            let (index, _) = types.into_iter().find(fits).ok_or("the device has no memory of its own")?;
            let allocate = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index as u32);
            self.device.bind_buffer_memory(buffer, self.device.allocate_memory(&allocate, None)?, 0)?;
            Ok(buffer)
        }
    }

    /// Creates a descriptor set of two buffers.
    unsafe fn set(&self, x: vk::Buffer, y: vk::Buffer) -> Result<vk::DescriptorSet> {
        let sizes = [vk::DescriptorPoolSize::default().ty(vk::DescriptorType::STORAGE_BUFFER).descriptor_count(2)];
        let layouts = [self.set_layout];
        let whole = |buffer| [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)];
        let infos = [whole(x), whole(y)];
        // SAFETY: as in `open`.
        unsafe {
            let pool = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = self.device.create_descriptor_pool(&pool, None)?;
            let allocate = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            let set = self.device.allocate_descriptor_sets(&allocate)?[0];
            let write = |(n, info)| {
                let ty = vk::DescriptorType::STORAGE_BUFFER;
                vk::WriteDescriptorSet::default().dst_set(set).dst_binding(n as u32).descriptor_type(ty).buffer_info(info)
            };
            let writes: Vec<_> = infos.iter().map(|info| &info[..]).enumerate().map(write).collect();
            self.device.update_descriptor_sets(&writes, &[]);
            Ok(set)
        }
    }
}

/// Creates the pipeline of a program's first dispatch, with its layouts.
unsafe fn pipeline(device: &ash::Device, program: &Program) -> Result<(vk::DescriptorSetLayout, vk::PipelineLayout, vk::Pipeline)> {
    let dispatch = &program.dispatches[0];
    let binding = |n| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(n)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
    };
    let bindings = [binding(0), binding(1)];
    let words: Vec<u32> = dispatch.spirv.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    // SAFETY: as in `open`.
    unsafe {
        let set = device.create_descriptor_set_layout(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings), None)?;
        let sets = [set];
        let layout = device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)?;
        let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None)?;
        let name = dispatch.entry().ok_or("the module has no entry point")?;
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(name);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
        let pipelines = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        Ok((set, layout, pipelines.map_err(|(_, code)| code)?[0]))
    }
}
