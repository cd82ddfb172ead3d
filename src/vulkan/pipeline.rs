//! Pipelines: compiled dispatches.

use super::cache::PipelineCache;
use super::checks::CheckedModule;
use super::context::Context;
use super::failed;
use super::queues::Moment;
use super::statistics;
use crate::device::backend;
use crate::device::statistics::Statistic;
use crate::device::work::Wait;
use crate::error::{Error, Result};
use crate::launch::interface;
use ash::vk;
use std::borrow::Cow;
use std::ffi::CString;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use tilewright_launch::{Addressing, Dispatch};

/// A compiled dispatch.
pub(super) struct ComputePipeline {
    pub(super) raw: vk::Pipeline,
    pub(super) layout: vk::PipelineLayout,
    /// Null if buffers are accessed by address.
    pub(super) set_layout: vk::DescriptorSetLayout,
    pub(super) addressing: Addressing,
    /// Null if the module does not check its accesses.
    pub(super) check_layout: vk::DescriptorSetLayout,
    /// The module, if it checks its accesses.
    pub(super) checked: Option<CheckedModule>,
    /// True if its parameters are in a buffer.
    pub(super) spilled: bool,
    /// The name by which tools show its dispatch.
    pub(super) shown: CString,
    /// The moment at which it was created.
    pub(super) made: Moment,
    /// The driver's numbers, if it keeps them.
    statistics: Option<Vec<Statistic>>,
    context: Arc<Context>,
}

impl backend::Pipeline for ComputePipeline {
    fn statistics(&self) -> Option<&[Statistic]> {
        self.statistics.as_deref()
    }
}

/// The input of a pipeline's compilation.
pub(super) struct Words {
    pub(super) dispatch: Dispatch,
    pub(super) subgroup: Option<u32>,
    /// The values of specialization constants, by `SpecId`.
    pub(super) constants: Vec<u32>,
    /// The name by which tools show the dispatch.
    pub(super) shown: String,
    /// The module to compile instead of the dispatch's, if it checks its accesses.
    pub(super) checked: Option<CheckedModule>,
}

/// The stack size of a thread that compiles, because drivers expect as much as a main thread has.
const STACK: usize = 16 << 20;

impl ComputePipeline {
    /// Compiles a pipeline, and waits for it as long as `wait` allows.
    ///
    /// A driver's compiler cannot be interrupted, so it runs in a thread of its own. If the call stops waiting, the thread drops
    /// the result.
    pub(super) fn within(
        wait: &Wait,
        context: &Arc<Context>,
        cache: &Arc<PipelineCache>,
        made_of: Words,
        label: String,
    ) -> Result<ComputePipeline> {
        let Some(limit) = wait.timeout() else { return ComputePipeline::new(context, cache, made_of) };
        let what = format!("the driver's compilation of `{label}`");
        let (send, receive) = sync_channel(1);
        let (context, cache) = (context.clone(), cache.clone());
        let work = move || drop(send.send(ComputePipeline::new(&context, &cache, made_of)));
        let thread = Builder::new().name("tilewright-compile".to_owned()).stack_size(STACK).spawn(work);
        let thread = thread.map_err(|e| Error::OutOfMemory { what: format!("a thread for {what}: {e}") })?;
        let made = receive.recv_timeout(limit);
        if matches!(made, Err(RecvTimeoutError::Timeout)) {
            return Err(wait.over(what));
        }
        // The thread ends now. It is joined so that its objects are dropped before this function returns.
        thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        made.unwrap_or_else(|_| Err(Error::OutOfMemory { what }))
    }

    fn new(context: &Arc<Context>, cache: &PipelineCache, mut made_of: Words) -> Result<ComputePipeline> {
        let checked = made_of.checked.take();
        let dispatch = &made_of.dispatch;
        // Built before anything can fail, so that whatever was made is destroyed: destroying a null handle does nothing.
        let mut pipeline = ComputePipeline {
            raw: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
            check_layout: vk::DescriptorSetLayout::null(),
            checked,
            addressing: dispatch.addressing,
            spilled: dispatch.spilled,
            shown: CString::new(made_of.shown.replace('\0', "")).unwrap_or_default(),
            made: Moment::default(),
            statistics: None,
            context: context.clone(),
        };
        pipeline.create_layouts(dispatch)?;
        context.name(pipeline.layout, &made_of.shown);
        let bytes = match &pipeline.checked {
            Some(checked) => Cow::Borrowed(checked.module.words()),
            None if context.lines => dispatch.words_with_lines(),
            None => Cow::Borrowed(&dispatch.spirv[..]),
        };
        let words: Vec<u32> = bytes.chunks_exact(4).filter_map(|w| w.first_chunk()).map(|w| u32::from_le_bytes(*w)).collect();
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: the device lives; the words come from the compiler.
        let module = unsafe { context.device.create_shader_module(&info, None) }.map_err(failed("vkCreateShaderModule"))?;
        context.name(module, &made_of.shown);
        let created = pipeline.create(module, cache, &made_of);
        // SAFETY: made above, no longer needed.
        unsafe { context.device.destroy_shader_module(module, None) };
        pipeline.raw = created?;
        pipeline.made = context.queues.now();
        context.name(pipeline.raw, &made_of.shown);
        if context.statistics {
            pipeline.statistics = Some(statistics::of(context, pipeline.raw)?);
        }
        Ok(pipeline)
    }

    fn create_layouts(&mut self, dispatch: &Dispatch) -> Result<()> {
        let device = &self.context.device;
        let by_descriptor = dispatch.addressing == Addressing::Descriptor;
        let mut sets = Vec::new();
        if by_descriptor {
            self.set_layout = set_layout(device, interface::bindings(dispatch))?;
            sets.push(self.set_layout);
        }
        if let Some(checked) = &self.checked {
            self.check_layout = set_layout(device, checked.bindings())?;
            sets.push(self.check_layout);
        }
        let bytes = interface::push_bytes(dispatch);
        let push = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(bytes)];
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if bytes > 0 {
            info = info.push_constant_ranges(&push);
        }
        // SAFETY: the device lives.
        self.layout = unsafe { device.create_pipeline_layout(&info, None) }.map_err(failed("vkCreatePipelineLayout"))?;
        Ok(())
    }

    fn create(&self, module: vk::ShaderModule, cache: &PipelineCache, made_of: &Words) -> Result<vk::Pipeline> {
        let Words { dispatch, subgroup, constants, .. } = made_of;
        let entry = |id: usize| vk::SpecializationMapEntry { constant_id: id as u32, offset: id as u32 * 4, size: 4 };
        let entries: Vec<_> = (0..constants.len()).map(entry).collect();
        let values: Vec<u8> = constants.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&values);
        // Programs without an entry point are refused when they are loaded.
        let entry = dispatch.entry().unwrap_or_default();
        let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
        let mut stage =
            vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(entry);
        if !constants.is_empty() {
            stage = stage.specialization_info(&specialization);
        }
        if let Some(size) = *subgroup {
            required = required.required_subgroup_size(size);
            stage = stage.push_next(&mut required);
            if interface::has_full_subgroups(dispatch, size) {
                stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
            }
        }
        let mut info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout);
        if self.checked.as_ref().is_some_and(CheckedModule::has_races) {
            info.flags |= vk::PipelineCreateFlags::DISPATCH_BASE;
        }
        if self.context.statistics {
            info.flags |= vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR;
        }
        let _counted = self.context.compiles();
        // SAFETY: the module fits the layout, by the compiler.
        let created = unsafe { self.context.device.create_compute_pipelines(cache.raw(), &[info], None) };
        let mut made = created.map_err(|(made, code)| {
            for p in made {
                // SAFETY: it was made here and is null or unused.
                unsafe { self.context.device.destroy_pipeline(p, None) };
            }
            failed("vkCreateComputePipelines")(code)
        })?;
        Ok(made.pop().unwrap_or_default())
    }
}

/// Creates the layout of a descriptor set of storage buffers.
fn set_layout(device: &ash::Device, buffers: u32) -> Result<vk::DescriptorSetLayout> {
    let binding = |i| {
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        let binding = vk::DescriptorSetLayoutBinding::default().binding(i).descriptor_type(ty).descriptor_count(1);
        binding.stage_flags(vk::ShaderStageFlags::COMPUTE)
    };
    let bindings: Vec<_> = (0..buffers).map(binding).collect();
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the device lives.
    unsafe { device.create_descriptor_set_layout(&info, None) }.map_err(failed("vkCreateDescriptorSetLayout"))
}

impl Drop for ComputePipeline {
    fn drop(&mut self) {
        let (raw, layout, set_layouts) = (self.raw, self.layout, [self.set_layout, self.check_layout]);
        // SAFETY: made by `new`, destroyed once; a pipeline that a submission uses is not dropped before the submission has ended.
        self.context.destroy(move |device| unsafe {
            device.destroy_pipeline(raw, None);
            device.destroy_pipeline_layout(layout, None);
            set_layouts.into_iter().for_each(|set_layout| device.destroy_descriptor_set_layout(set_layout, None));
        });
    }
}
