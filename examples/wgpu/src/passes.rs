//! The passes of wgpu before and after the kernel.

use std::borrow::Cow;

/// Fills a buffer with small integers.
pub const FILL: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&data) { data[id.x] = f32(id.x * 7u % 256u); }
}";

/// Returns the element that [`FILL`] writes.
pub fn filled(at: usize) -> f32 {
    (at * 7 % 256) as f32
}

/// Halves each element and adds 1.
pub const DARKEN: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&data) { data[id.x] = data[id.x] * 0.5 + 1.0; }
}";

/// Returns the element that [`DARKEN`] makes of another.
pub fn darkened(value: f32) -> f32 {
    value * 0.5 + 1.0
}

/// A shader in WGSL over one buffer.
pub struct Pass {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl Pass {
    pub fn new(device: &wgpu::Device, source: &str, buffer: &wgpu::Buffer) -> Pass {
        let source = wgpu::ShaderSource::Wgsl(Cow::Borrowed(source));
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries = [wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }];
        let layout = pipeline.get_bind_group_layout(0);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
        Pass { pipeline, group }
    }

    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, elements: u32) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(elements.div_ceil(64), 1, 1);
    }
}
