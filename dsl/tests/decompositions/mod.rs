//! Compiles a kernel under a schedule that decomposes it, and prints the resulting stages and obligations, or all errors.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::{Errors, Spans};
use tilewright_dsl::nest::{Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// All errors as text. The number in a source's name depends on which tests ran before, so it is left out.
fn text(errors: &Errors, spans: &Spans) -> String {
    let text: String = errors.0.iter().map(|e| e.text(spans) + "\n").collect();
    let mut parts = text.split("<parsed string ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "<source" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the program of a kernel under a schedule, or all errors.
pub(crate) fn compiled(kernel: &str, schedule: &str) -> Result<Program, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = format!("V: {} for vulkan_1_1 {schedule}", kernel.name);
    let schedule = match syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result() {
        Ok(schedule) => schedule,
        Err(errors) => return Err(text(&errors, &spans)),
    };
    let compiled = compile(&kernel, &schedule, &Profile::vulkan_1_1());
    compiled.map(|compiled| compiled.program).map_err(|errors| text(&errors, &spans))
}

/// Prints the stages, their order, and the obligations. Accesses that are in bounds are left out, because there are too many to read.
pub(crate) fn stages(kernel: &str, schedule: &str) -> String {
    let program = compiled(kernel, schedule).unwrap_or_else(|errors| panic!("{errors}"));
    let owed = program
        .report
        .ledger
        .iter()
        .filter(|o| !o.what.contains("is in bounds of"))
        .map(|o| format!("{}: {:?}\n", o.what, o.state));
    format!("{}\n## ledger\n{}", print::plan(&program), owed.collect::<String>())
}

/// Returns the whole messages of refused programs: a title, the kernel, and the schedule from its conditions on.
pub(crate) fn refusals(refused: &[(&str, &str, &str)]) -> String {
    let text = |&(title, kernel, schedule): &(&str, &str, &str)| match compiled(kernel, schedule) {
        Ok(program) => panic!("{title} is not refused:\n{}", print::plan(&program)),
        Err(errors) => format!("## {title}\n{errors}"),
    };
    refused.iter().map(text).collect::<Vec<_>>().join("\n")
}
