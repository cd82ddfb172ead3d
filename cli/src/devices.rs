//! `tilewright devices`: lists the devices of a runner.

use crate::exit::{Exit, Problem};
use crate::options::Devices;
use crate::output;
use crate::place::{Reach, start};
use tilewright_runner::message::Properties;

pub(crate) fn run(options: &Devices) -> Result<Exit, Problem> {
    let reach = Reach::machine(options.answer_within);
    let diagnosis = start(options.runner.as_deref(), &reach)?.diagnose()?;
    if diagnosis.devices.len() < 2 {
        let why = [&diagnosis.loader, &diagnosis.driver].into_iter().flatten().next();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        output::message(format_args!("no Vulkan device was found{why}; `tilewright doctor` says what to install"));
    }
    match options.json {
        true => output::json(&diagnosis.devices),
        false => diagnosis.devices.iter().for_each(|device| output::text(shown(device))),
    }
    Ok(Exit::Done)
}

/// Returns a device's first line.
pub(crate) fn title(device: &Properties) -> String {
    let (major, minor) = device.vulkan;
    let name = output::heading(&device.name);
    format!("{}: {name} ({}, {}, Vulkan {major}.{minor})\n", device.index, device.kind, device.driver)
}

fn shown(device: &Properties) -> String {
    let [x, y, z] = device.local;
    let (least, most) = device.subgroup_range;
    let required = if least == most { String::new() } else { format!(", {least} to {most} can be required") };
    let features = if device.features.is_empty() { "none".to_owned() } else { device.features.join(", ") };
    let matrices = match &device.matrices {
        None => "of every shape".to_owned(),
        Some(all) if all.is_empty() => "none".to_owned(),
        Some(all) => all.join("; "),
    };
    let dots = match &device.fast_dots[..] {
        [] => "none accelerated".to_owned(),
        all => format!("accelerated: {}", all.join(", ")),
    };
    let lines = [
        (
            "workgroup",
            format!("{} invocations, {x} x {y} x {z}; {} bytes of shared memory", device.invocations, device.shared_bytes),
        ),
        ("subgroups", format!("of {}{required}; {} in a workgroup", device.subgroup, device.subgroups)),
        ("push constants", format!("{} bytes", device.push_bytes)),
        ("timestamps", if device.timestamps { "yes" } else { "no" }.to_owned()),
        ("features", features),
        ("matrices", matrices),
        ("dot products", dots),
    ];
    let lines: String = lines.into_iter().map(|(what, text)| format!("   {what:<15}{text}\n")).collect();
    title(device) + &lines
}
