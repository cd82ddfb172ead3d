//! Launches that a Vulkan program runs by itself, from their descriptions.

use super::super::programs::*;
use super::super::support::*;
use super::vulkan::{ALL, Commands, OwnBuffer, Vulkan};
use super::{EVERY, axpy_of};
use std::sync::Arc;
use tilewright::ash::vk;
use tilewright::program::{
    Addressing, DispatchDescription, LaunchArgument, LaunchDescription, LaunchLimits, ParameterPlace, Program, Role,
};
use tilewright::{Scalar, kernel, schedule};

/// A runtime of the program's own.
struct Own {
    vulkan: Arc<Vulkan>,
    commands: Commands,
    buffers: Vec<Arc<OwnBuffer>>,
    destroy: Vec<End>,
}

/// A function that destroys an object.
type End = Box<dyn FnOnce(&tilewright::ash::Device)>;

impl Own {
    fn new(vulkan: &Arc<Vulkan>) -> Own {
        Own { vulkan: vulkan.clone(), commands: vulkan.commands(), buffers: Vec::new(), destroy: Vec::new() }
    }

    /// Runs a launch with these inputs, and returns the updates and outputs.
    fn run(mut self, launch: &LaunchDescription, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
        let temporaries: Vec<_> = launch.temporaries.iter().map(|bytes| self.vulkan.buffer(*bytes, EVERY)).collect();
        let mut given = inputs.iter();
        for tensor in &launch.tensors {
            let buffer = match tensor.temporary {
                Some(memory) => temporaries[memory].clone(),
                None => self.vulkan.buffer((tensor.offset + tensor.bound_bytes).next_multiple_of(16), EVERY),
            };
            if matches!(tensor.role, Role::Input | Role::Update) {
                buffer.write(0, given.next().expect("a value for each input"));
            } else if tensor.zeros {
                buffer.write(0, &vec![0.0; tensor.bound_bytes as usize / 4]);
            }
            self.buffers.push(buffer);
        }
        for dispatch in &launch.dispatches {
            self.record(launch, dispatch);
        }
        self.commands.end();
        self.commands.run();
        self.destroy.into_iter().for_each(|end| end(&self.vulkan.device));
        let results = launch.tensors.iter().zip(&self.buffers);
        let results = results.filter(|(tensor, _)| matches!(tensor.role, Role::Update | Role::Output));
        results.map(|(tensor, buffer)| buffer.read(tensor.offset, tensor.shape.iter().product())).collect()
    }

    fn record(&mut self, launch: &LaunchDescription, dispatch: &DispatchDescription) {
        let (vulkan, commands) = (self.vulkan.clone(), self.commands.raw);
        let device = &vulkan.device;
        let spilled = matches!(dispatch.parameters, ParameterPlace::Binding(_));
        let count = if dispatch.addressing == Addressing::Descriptor { dispatch.bindings.len() + usize::from(spilled) } else { 0 };
        // SAFETY (this function): the objects are the device's, and live until the commands have ended.
        let (set_layout, layout, pipeline) = unsafe { pipeline(device, dispatch, count as u32) };
        if dispatch.barrier_before {
            let all = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
            let barrier = [vk::MemoryBarrier::default().src_access_mask(vk::AccessFlags::SHADER_WRITE).dst_access_mask(all)];
            let (stage, none) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::DependencyFlags::empty());
            unsafe { device.cmd_pipeline_barrier(commands, stage, stage, none, &barrier, &[], &[]) };
        }
        unsafe { device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline) };
        for piece in &dispatch.pieces {
            let address = |tensor: usize| self.buffers[tensor].address() + launch.tensors[tensor].offset;
            let block = piece.with_addresses(&dispatch.addresses, address);
            let parameters = self.vulkan.buffer((block.len() as u64).max(16), EVERY);
            parameters.write_bytes(&block);
            let pushed = match dispatch.parameters {
                ParameterPlace::Nowhere | ParameterPlace::Binding(_) => Vec::new(),
                ParameterPlace::PushConstants(_) => block.clone(),
                ParameterPlace::Address => parameters.address().to_le_bytes().to_vec(),
            };
            if !pushed.is_empty() {
                unsafe { device.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, 0, &pushed) };
            }
            if count > 0 {
                let bound = dispatch.bindings.iter().map(|binding| {
                    let tensor = &launch.tensors[binding.tensor];
                    let buffer = &self.buffers[binding.tensor];
                    (buffer.raw, tensor.offset, tensor.bound_bytes.min(buffer.bytes - tensor.offset))
                });
                let last = spilled.then_some((parameters.raw, 0, block.len() as u64));
                let bound: Vec<_> = bound.chain(last).collect();
                let pool = unsafe { bind(device, commands, (set_layout, layout), &bound) };
                self.destroy.push(Box::new(move |device| unsafe { device.destroy_descriptor_pool(pool, None) }));
            }
            self.destroy.push(Box::new(move |_| drop(parameters)));
            let [x, y, z] = piece.groups;
            unsafe { device.cmd_dispatch(commands, x, y, z) };
        }
        self.destroy.push(Box::new(move |device| unsafe {
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set_layout, None);
        }));
    }
}

/// Creates the pipeline of a dispatch, and its layouts.
unsafe fn pipeline(
    device: &tilewright::ash::Device,
    dispatch: &DispatchDescription,
    bindings: u32,
) -> (vk::DescriptorSetLayout, vk::PipelineLayout, vk::Pipeline) {
    let compute = vk::ShaderStageFlags::COMPUTE;
    let binding = |n| {
        let binding = vk::DescriptorSetLayoutBinding::default().binding(n).descriptor_count(1).stage_flags(compute);
        binding.descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
    };
    let list: Vec<_> = (0..bindings).map(binding).collect();
    let bytes = match dispatch.parameters {
        ParameterPlace::Nowhere | ParameterPlace::Binding(_) => 0,
        ParameterPlace::PushConstants(bytes) => bytes,
        ParameterPlace::Address => 8,
    };
    let push = [vk::PushConstantRange::default().stage_flags(compute).size(bytes)];
    let entry = |n: usize| vk::SpecializationMapEntry { constant_id: n as u32, offset: 4 * n as u32, size: 4 };
    let entries: Vec<_> = (0..dispatch.constants.len()).map(entry).collect();
    let values: Vec<u8> = dispatch.constants.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&values);
    // SAFETY: by the caller.
    unsafe {
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&list);
        let set_layout = device.create_descriptor_set_layout(&info, None).expect("a layout");
        let layouts = [set_layout];
        let mut info = vk::PipelineLayoutCreateInfo::default();
        if bindings > 0 {
            info = info.set_layouts(&layouts);
        }
        if bytes > 0 {
            info = info.push_constant_ranges(&push);
        }
        let layout = device.create_pipeline_layout(&info, None).expect("a layout");
        let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&dispatch.spirv), None);
        let module = module.expect("a module");
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(compute).module(module).name(&dispatch.entry);
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage.specialization_info(&specialization)).layout(layout)];
        let made = device.create_compute_pipelines(vk::PipelineCache::null(), &info, None).expect("a pipeline");
        device.destroy_shader_module(module, None);
        (set_layout, layout, made[0])
    }
}

/// Binds buffers by a new descriptor set, and returns its pool.
unsafe fn bind(
    device: &tilewright::ash::Device,
    commands: vk::CommandBuffer,
    (set_layout, layout): (vk::DescriptorSetLayout, vk::PipelineLayout),
    buffers: &[(vk::Buffer, u64, u64)],
) -> vk::DescriptorPool {
    let ty = vk::DescriptorType::STORAGE_BUFFER;
    let size = [vk::DescriptorPoolSize::default().ty(ty).descriptor_count(buffers.len() as u32)];
    let info = |(buffer, offset, bytes): &(vk::Buffer, u64, u64)| {
        [vk::DescriptorBufferInfo::default().buffer(*buffer).offset(*offset).range(*bytes)]
    };
    let infos: Vec<_> = buffers.iter().map(info).collect();
    let layouts = [set_layout];
    // SAFETY: by the caller.
    unsafe {
        let pool = device.create_descriptor_pool(&vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&size), None);
        let pool = pool.expect("a pool");
        let allocate = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let sets = device.allocate_descriptor_sets(&allocate).expect("a set");
        let write = |(n, info)| {
            vk::WriteDescriptorSet::default().dst_set(sets[0]).dst_binding(n as u32).descriptor_type(ty).buffer_info(info)
        };
        let writes: Vec<_> = infos.iter().map(|info| &info[..]).enumerate().map(write).collect();
        device.update_descriptor_sets(&writes, &[]);
        device.cmd_bind_descriptor_sets(commands, vk::PipelineBindPoint::COMPUTE, layout, 0, &sets, &[]);
        pool
    }
}

fn describe<'a>(program: &Program, arguments: impl IntoIterator<Item = LaunchArgument<'a>>) -> LaunchDescription {
    LaunchDescription::new(program, arguments, &LaunchLimits::default()).expect("it takes these shapes")
}

#[test]
fn a_program_runs_launches_by_itself() {
    let vulkan = Vulkan::open(ALL);
    for way in WAYS {
        let n = 1000;
        let (x, y) = (numbers(n, 7), numbers(n, 8));
        let shape = [n];
        let arguments = || [(&shape).into(), (&shape).into(), Scalar::from(3.0f32).into()];
        let launch = describe(&axpy(way), arguments());
        assert_eq!((launch.dims.as_slice(), launch.dispatches.len()), (&[("N".to_owned(), 1000)][..], 1));
        assert_eq!(Own::new(&vulkan).run(&launch, &[&x, &y]), [axpy_of(&x, &y, 3.0)], "{way:?}");
        // Several dispatches, with temporaries.
        let launch = describe(&axpy_chain(way), arguments());
        assert!(launch.dispatches.len() > 2 && !launch.temporaries.is_empty());
        let barriers: Vec<bool> = launch.dispatches.iter().map(|d| d.barrier_before).collect();
        assert!(!barriers[0] && barriers[1..].contains(&true), "{barriers:?}");
        let kernel = load(&device(), vec![axpy_chain(way)]).expect("loads");
        let (dx, dy) = (device().upload([n], &x).expect("uploads"), device().upload([n], &y).expect("uploads"));
        let wanted = kernel.run(args(dx.as_any(), dy.as_any(), 3.0)).expect("runs").remove(0);
        assert_eq!(Own::new(&vulkan).run(&launch, &[&x, &y]), [wanted.download::<f32>().expect("downloads")], "{way:?}");
    }
}

kernel! {
    /// Sums of rows, relative to their largest element.
    pub fn relative<M, K>(x: f32[M, K]) -> y: f32[M] where K >= 1 {
        let top[i]: f32[M] = max(k in 0..K) { x[i, k] };
        y[i] = sum(k in 0..K) { x[i, k] - top[i] };
    }
}

schedule! {
    /// Two dispatches, by descriptors.
    pub RELATIVE: relative for tilewright::devices::vulkan_1_1 {
        root(top);
    }
}

#[test]
fn compiled_variants_are_described() {
    let vulkan = Vulkan::open(ALL);
    let program = RELATIVE.program().expect("it compiled");
    let (m, k) = (13, 37);
    let x: Vec<f32> = (0..m * k).map(|n| (n * 31 % 64) as f32).collect();
    let launch = describe(&program, [LaunchArgument::from(&[m, k])]);
    let row = |row: &[f32]| {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter().map(|x| x - top).sum::<f32>()
    };
    let wanted: Vec<f32> = x.chunks_exact(k).map(row).collect();
    assert_eq!(Own::new(&vulkan).run(&launch, &[&x]), [wanted]);
    let names: Vec<&str> = launch.tensors.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "top"]);
    assert_eq!(launch.temporaries, [64]);
    // A launch without results does not dispatch.
    assert!(describe(&program, [LaunchArgument::from(&[0, k])]).dispatches.is_empty());
}

#[test]
fn grids_are_split_by_the_limits() {
    let vulkan = Vulkan::open(ALL);
    let limits = LaunchLimits { grid: [3, 2, 1], ..LaunchLimits::default() };
    let program = mark([true, true]);
    let marks = || [LaunchArgument::from(&[5, 7])];
    let launch = LaunchDescription::new(&program, marks(), &limits).expect("it has bases");
    assert_eq!(launch.dispatches[0].pieces.len(), 9);
    let counts = Own::new(&vulkan).run(&launch, &[&[0.0; 35]]).remove(0);
    assert!(counts.iter().all(|count| count.to_bits() == 1), "each workgroup once");
    let error = LaunchDescription::new(&mark([false, true]), marks(), &limits).expect_err("x has no base").to_string();
    assert_eq!(error, "the workgroups in x of `marks` of `mark`: 7, and the limit is 3");
}

#[test]
fn arguments_that_a_program_does_not_take_are_refused() {
    let program = axpy(PLAIN);
    let told = |arguments: &[LaunchArgument<'_>]| {
        let described = LaunchDescription::new(&program, arguments.iter().copied(), &LaunchLimits::default());
        described.expect_err("it is refused").to_string()
    };
    let (three, four, alpha) = (LaunchArgument::from(&[3]), LaunchArgument::from(&[4]), Scalar::from(1.0f32).into());
    assert_eq!(told(&[three, three]), "`axpy`: takes 3 arguments, but was given 2");
    assert_eq!(told(&[three, four, alpha]), "`axpy`: `y` has shape [4], but should have [N] = [3]");
    assert_eq!(told(&[three, alpha, alpha]), "`axpy`: `y` is a tensor, but was given a number of type f32");
    assert_eq!(told(&[three, three, three]), "`axpy`: `alpha` is a number, but was given a tensor");
    let whole = Scalar::from(1u32).into();
    assert_eq!(told(&[three, three, whole]), "`axpy`: `alpha` is of type f32, but was given one of u32");
    let view = LaunchArgument::View { shape: &[3], strides: &[2], offset: 0 };
    let wanted = "`axpy`: no variant takes these arguments\n  `AXPY`: `x` is a view whose axis 0 has a stride of 2 elements, but the \
                  variant takes 1: the stride of a tensor without gaps; `strided(x)` in the schedule allows others";
    assert_eq!(told(&[view, three, alpha]), wanted);
    let view = LaunchArgument::View { shape: &[3], strides: &[1, 1], offset: 0 };
    assert_eq!(told(&[view, three, alpha]), "`axpy`: `x` is a view with 1 dimensions and 2 strides");
    let far = LaunchArgument::View { shape: &[3], strides: &[1], offset: usize::MAX / 8 };
    let told = told(&[far, three, alpha]);
    assert!(told.starts_with("`axpy`: `x` reaches element ") && told.ends_with(", and the limit is 2130706432"), "{told}");
}

#[test]
fn views_are_bound_at_their_offset() {
    let vulkan = Vulkan::open(ALL);
    for way in WAYS {
        let (x, y) = (numbers(300, 9), numbers(100, 10));
        let view = LaunchArgument::View { shape: &[100], strides: &[1], offset: 128 };
        let launch = describe(&axpy(way), [view, (&[100]).into(), Scalar::from(0.5f32).into()]);
        assert_eq!((launch.tensors[0].offset, launch.tensors[0].bytes), (512, 400));
        let mut whole = x.clone();
        whole.truncate(228);
        assert_eq!(Own::new(&vulkan).run(&launch, &[&whole, &y]), [axpy_of(&x[128..228], &y, 0.5)], "{way:?}");
    }
}
