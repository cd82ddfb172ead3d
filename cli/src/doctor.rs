//! `tilewright doctor`: prints the devices that work, the installed and the missing tools, and for each device the known defects of its
//! driver and the profiles that it meets.

use crate::defects::{self, Finding};
use crate::devices::title;
use crate::exit::{Exit, Problem};
use crate::meets::lacks;
use crate::options::Doctor;
use crate::output::{self, coloured, heading};
use crate::place::{HERE, Reach, runners, start};
use crate::variant::profiles_of;
use anstyle::AnsiColor::{Green, Red, Yellow};
use serde::Serialize;
use std::collections::BTreeMap;
use tilewright_dsl::profile::Profile;
use tilewright_runner::message::{Diagnosis, Properties};

/// The state of one runner's machine.
#[derive(Serialize)]
struct Report {
    runner: String,
    /// A sentence: the devices that can be used now, and their profiles.
    usable: String,
    #[serde(flatten)]
    diagnosis: Diagnosis,
    /// The guarantees that each device lacks of each profile, by the device's index and the profile's name.
    profiles: BTreeMap<u64, BTreeMap<String, Vec<String>>>,
    /// The known defects of each device's driver, by the device's index.
    defects: BTreeMap<u64, Vec<Finding>>,
    /// True if all that Vulkan needs is installed, and each profile of the file is met by some device.
    well: bool,
}

pub(crate) fn run(options: &Doctor) -> Result<Exit, Problem> {
    let reach = Reach::machine(options.answer_within);
    let own = options.file.as_deref().map(profiles_of).transpose()?.unwrap_or_default();
    let bundled = Profile::all_bundled();
    let (mut reports, mut failed) = (Vec::new(), None);
    for runner in runners(&options.runner) {
        match start(runner, &reach).and_then(|mut client| Ok(client.diagnose()?)) {
            Ok(diagnosis) => reports.push(report(runner.unwrap_or(HERE), diagnosis, &bundled, &own)),
            Err(problem) => {
                problem.report(false);
                failed = Some(problem.exit);
            }
        }
    }
    if options.json {
        output::json(&reports);
    } else {
        reports.iter().for_each(|report| output::text(shown(report, &own)));
    }
    Ok(failed.unwrap_or(if reports.iter().all(|r| r.well) { Exit::Done } else { Exit::No }))
}

fn report(runner: &str, diagnosis: Diagnosis, bundled: &[Profile], own: &[Profile]) -> Report {
    let all = || bundled.iter().chain(own);
    let of = |device| all().map(|p| (p.name.clone(), lacks(p, device))).collect();
    let profiles: BTreeMap<_, BTreeMap<_, Vec<String>>> = diagnosis.devices.iter().map(|d| (d.index, of(d))).collect();
    // The reference device is last. It does not count, because it is present without a driver.
    let vulkan = diagnosis.devices.split_last().map_or(&[][..], |(_, devices)| devices);
    let is_met = |p: &Profile| vulkan.iter().any(|d| profiles[&d.index][&p.name].is_empty());
    let well = diagnosis.loader.is_none() && diagnosis.driver.is_none() && own.iter().all(is_met);
    let usable = usable(vulkan, &profiles);
    let defects = vulkan.iter().map(|d| (d.index, defects::of(&d.driver))).collect();
    Report { runner: runner.to_owned(), usable, diagnosis, profiles, defects, well }
}

/// Returns a sentence about the Vulkan devices that can be used, and the profiles that they meet.
fn usable(vulkan: &[Properties], profiles: &BTreeMap<u64, BTreeMap<String, Vec<String>>>) -> String {
    if vulkan.is_empty() {
        return "you can use only the reference device, which interprets kernels on the CPU".to_owned();
    }
    let of = |device: &Properties| {
        let met = profiles[&device.index].iter().filter(|(_, lacks)| lacks.is_empty()).map(|(name, _)| name.as_str());
        match met.collect::<Vec<_>>()[..] {
            [] => format!("{}, which meets no profile", device.name),
            ref met => format!("{} for {}", device.name, listed(met)),
        }
    };
    format!("you can use {}; and the reference device", vulkan.iter().map(of).collect::<Vec<_>>().join("; "))
}

/// Returns names in a sentence: `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn shown(report: &Report, own: &[Profile]) -> String {
    let Diagnosis { system, loader, driver, layers, environment, devices } = &report.diagnosis;
    let mut text = format!("{} ({system}): {}\n", heading(&report.runner), report.usable);
    let state = |found: bool, why: &Option<String>, grave: bool| match why {
        Some(why) if grave => format!("{} {why}", coloured(Red, "missing:")),
        Some(why) => format!("{} {why}", coloured(Yellow, "missing:")),
        None if found => coloured(Green, "found"),
        None => "not looked for".to_owned(),
    };
    text += &format!("  Vulkan loader      {}\n", state(true, loader, true));
    text += &format!("  Vulkan driver      {}\n", state(loader.is_none(), driver, true));
    text += &format!("  validation layer   {}\n", state(loader.is_none() && driver.is_none(), layers, false));
    for (name, value) in environment {
        text += &format!("  {name}={value}\n");
    }
    for device in devices {
        text += &format!("\n{}", title(device));
        text += &report.defects.get(&device.index).map(|found| defects::shown(found)).unwrap_or_default();
        for (name, lacks) in &report.profiles[&device.index] {
            let mark = if own.iter().any(|p| p.name == *name) { " (of the file)" } else { "" };
            text += &match lacks.is_empty() {
                true => format!("  {} {name}{mark}\n", coloured(Green, "meets")),
                false => format!("  {} {name}{mark}: {}\n", coloured(Yellow, "lacks"), lacks.join("; ")),
            };
        }
    }
    text + "\n"
}
