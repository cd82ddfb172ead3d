//! A launch of a kernel by wgpu, from its description.

use crate::{Failure, unsupported};
use std::borrow::Cow;
use tilewright::program::{Addressing, DispatchDescription, LaunchDescription, ParameterPlace};

/// The dispatches of a launch, with their pipelines and bind groups.
pub struct Launch {
    dispatches: Vec<Dispatch>,
}

struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    /// The grid of each piece, its immediates, and its bind group.
    pieces: Vec<([u32; 3], Vec<u8>, wgpu::BindGroup)>,
}

impl Launch {
    /// Creates the pipelines and bind groups of a launch. `buffers` has one for each tensor of the description. wgpu places the
    /// barriers itself, because each bind group says which buffers a dispatch reads and writes.
    ///
    /// # Safety
    /// The description must be of a program that Tilewright's compiler made, because wgpu does not check its SPIR-V.
    pub unsafe fn new(device: &wgpu::Device, launch: &LaunchDescription, buffers: &[wgpu::Buffer]) -> Result<Launch, Failure> {
        if !launch.requires.features.is_empty() {
            return Err(unsupported(format!("the variant needs {:?}: use the profile `vulkan_1_1`", launch.requires.features)));
        }
        // SAFETY: this function has the same contract.
        let dispatch = |dispatch| unsafe { Dispatch::new(device, dispatch, buffers) };
        Ok(Launch { dispatches: launch.dispatches.iter().map(dispatch).collect::<Result<_, _>>()? })
    }

    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        for dispatch in &self.dispatches {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&dispatch.pipeline);
            for ([x, y, z], immediates, group) in &dispatch.pieces {
                pass.set_bind_group(0, group, &[]);
                if !immediates.is_empty() {
                    pass.set_immediates(0, immediates);
                }
                pass.dispatch_workgroups(*x, *y, *z);
            }
        }
    }
}

impl Dispatch {
    /// # Safety
    /// As for [`Launch::new`].
    unsafe fn new(device: &wgpu::Device, dispatch: &DispatchDescription, buffers: &[wgpu::Buffer]) -> Result<Dispatch, Failure> {
        if dispatch.addressing == Addressing::Address || dispatch.subgroup.is_some() {
            return Err(unsupported("wgpu passes no device addresses, and requires no subgroup size"));
        }
        if !dispatch.constants.is_empty() {
            return Err(unsupported("wgpu sets no specialization constants of modules that are passed through"));
        }
        let entry = dispatch.entry.to_str()?;
        let (x, y, z) = dispatch.local.into();
        let entry_points = [wgpu::PassthroughShaderEntryPoint { name: Cow::Borrowed(entry), workgroup_size: (x, y, z) }];
        let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(dispatch.name.as_str()),
            entry_points: Cow::Borrowed(&entry_points),
            spirv: Some(Cow::Borrowed(&dispatch.spirv)),
            ..Default::default()
        };
        // SAFETY: the module is valid, because the compiler made it, and its accesses are in bounds for the described shapes.
        let module = unsafe { device.create_shader_module_passthrough(descriptor) };
        let layout = group_layout(device, dispatch);
        let immediate_size = match dispatch.parameters {
            ParameterPlace::PushConstants(bytes) => bytes,
            _ => 0,
        };
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(dispatch.name.as_str()),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let pieces = dispatch.pieces.iter().map(|piece| {
            let group = group(device, &layout, dispatch, buffers, &piece.parameters);
            let immediates = if immediate_size > 0 { piece.parameters.clone() } else { Vec::new() };
            (piece.groups, immediates, group)
        });
        Ok(Dispatch { pieces: pieces.collect(), pipeline })
    }
}

fn group_layout(device: &wgpu::Device, dispatch: &DispatchDescription) -> wgpu::BindGroupLayout {
    let entry = |binding: u32, read_only: bool| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let mut entries: Vec<_> = (0..).zip(&dispatch.bindings).map(|(n, binding)| entry(n, !binding.writes)).collect();
    if let ParameterPlace::Binding(n) = dispatch.parameters {
        entries.push(entry(n, true));
    }
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    dispatch: &DispatchDescription,
    buffers: &[wgpu::Buffer],
    parameters: &[u8],
) -> wgpu::BindGroup {
    let spilled = match dispatch.parameters {
        ParameterPlace::Binding(n) => Some((n, parameter_buffer(device, parameters))),
        _ => None,
    };
    let bound = (0..).zip(&dispatch.bindings);
    let mut entries: Vec<_> = bound
        .map(|(n, binding)| wgpu::BindGroupEntry { binding: n, resource: buffers[binding.tensor].as_entire_binding() })
        .collect();
    entries.extend(spilled.iter().map(|(n, buffer)| wgpu::BindGroupEntry { binding: *n, resource: buffer.as_entire_binding() }));
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

/// Returns a buffer with the parameter block, for blocks that push constants do not hold.
fn parameter_buffer(device: &wgpu::Device, parameters: &[u8]) -> wgpu::Buffer {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("parameters"),
        size: (parameters.len() as u64).next_multiple_of(4).max(4),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: true,
    });
    if let Ok(mut mapped) = buffer.slice(..).get_mapped_range_mut() {
        mapped.slice(..parameters.len()).copy_from_slice(parameters);
    }
    buffer.unmap();
    buffer
}
