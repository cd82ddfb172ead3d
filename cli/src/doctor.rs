//! `tilewright doctor`: prints the installed and the missing tools, and the profiles that each device meets.

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
use tilewright_runner::message::Diagnosis;

/// The state of one runner's machine.
#[derive(Serialize)]
struct Report {
    runner: String,
    #[serde(flatten)]
    diagnosis: Diagnosis,
    /// The guarantees that each device lacks of each profile, by the device's index and the profile's name.
    profiles: BTreeMap<u64, BTreeMap<String, Vec<String>>>,
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
    Report { runner: runner.to_owned(), diagnosis, profiles, well }
}

fn shown(report: &Report, own: &[Profile]) -> String {
    let Diagnosis { system, loader, driver, layers, environment, devices } = &report.diagnosis;
    let mut text = format!("{} ({system})\n", heading(&report.runner));
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
