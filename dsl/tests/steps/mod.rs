//! Compiles a kernel under a schedule and prints its nests.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Returns the lowered nest after any warnings, or the errors. `head` is the text between the kernel's name and the braces.
pub(crate) fn lowered(kernel: &str, head: &str, directives: &str) -> String {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: {} {head} {{ {directives} }}", kernel.name);
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse);
    let schedule = match schedule.into_result() {
        Ok(schedule) => schedule,
        Err(errors) => return errors.0.iter().map(|e| e.text(&spans) + "\n").collect(),
    };
    let profile = schedule.profile.last().and_then(|p| Profile::bundled(&p.text)).expect("a profile");
    match compile(&kernel, &schedule, &profile) {
        Ok(compiled) => {
            let warnings: String = compiled.warnings.0.iter().map(|w| format!("warning: {}\n", w.text(&spans))).collect();
            warnings + &print::plan(&compiled.program)
        }
        Err(errors) => errors.0.iter().map(|e| e.text(&spans) + "\n").collect(),
    }
}
