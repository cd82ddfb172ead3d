//! Queries the driver's numbers of a compiled pipeline, by VK_KHR_pipeline_executable_properties.

use super::context::Context;
use super::failed;
use crate::device::statistics::Statistic;
use crate::error::Result;
use ash::{khr, vk};
use std::ffi::c_char;

/// Returns the numbers of all executables of a pipeline. The pipeline was created with `CAPTURE_STATISTICS`, and the device has the
/// feature.
pub(super) fn of(context: &Context, pipeline: vk::Pipeline) -> Result<Vec<Statistic>> {
    let functions = khr::pipeline_executable_properties::Device::new(context.instance.raw(), &context.device);
    let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
    // SAFETY: the pipeline is the device's, and the feature is enabled.
    let executables = unsafe { functions.get_pipeline_executable_properties(&info) };
    let executables = executables.map_err(failed("vkGetPipelineExecutablePropertiesKHR"))?;
    let mut found = Vec::new();
    for index in 0..executables.len() {
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index as u32);
        // SAFETY: as above; the index is below their number, and the pipeline captures statistics.
        let statistics = unsafe { functions.get_pipeline_executable_statistics(&info) };
        found.extend(statistics.map_err(failed("vkGetPipelineExecutableStatisticsKHR"))?.iter().map(statistic));
    }
    Ok(found)
}

fn statistic(of: &vk::PipelineExecutableStatisticKHR<'_>) -> Statistic {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    // SAFETY: `format` says which field the driver wrote. All fields are plain numbers, so reading another one would be defined, too.
    let value = unsafe {
        match of.format {
            Format::BOOL32 => f64::from(of.value.b32),
            Format::INT64 => of.value.i64 as f64,
            Format::FLOAT64 => of.value.f64,
            _ => of.value.u64 as f64,
        }
    };
    Statistic { name: text(&of.name), about: text(&of.description), value }
}

/// Returns a driver's text up to its end.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
