//! Writes plans as a Rust file.

use super::versions::{Planned, Version};
use std::fmt::Write;
use tilewright_dsl::diag::list;
use tilewright_explain::source::Item;

/// The start of every planned file.
const MARK: &str = "//! Planned by `tilewright plan` for ";

/// True if a file's text is a plan.
pub(super) fn is_plan(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').starts_with(MARK)
}

/// Returns the schedules of a planned file. The lines before the first schedule are left out.
pub(super) fn schedules(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("schedule!")).collect()
}

/// The form of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its numbers are literals.
    Plain,
    /// Its numbers are tuned constants.
    Tuned,
    /// The same, and its dims are pinned, because it is tuned for given sizes.
    Pinned,
}

/// Returns the file. `tilewright` is the name of that crate.
pub(super) fn file(planned: &[Planned], profile: &Item, tilewright: &str, form: Form) -> String {
    let mut text = format!("{MARK}{}; `--write` replaces this file, and `--check` compares it.\n//!\n", profile.name);
    text +=
        "//! A launch takes the first schedule whose facts hold, so load the schedules of a kernel in the order of this file.\n\n";
    let kernels = planned.iter().map(|planned| planned.kernel.path.clone());
    let mut uses: Vec<String> = kernels.chain([profile.path.clone(), format!("{tilewright}::schedule")]).collect();
    // As rustfmt sorts them, except for numbers in names.
    uses.sort_by_key(|path| (!path.starts_with("crate::"), path.clone()));
    uses.iter().for_each(|path| text += &format!("use {path};\n"));
    for planned in planned {
        for (n, version) in (1..).zip(&planned.versions) {
            let _ = writeln!(text, "\nschedule! {{\n    /// {}", documentation(planned, version));
            let _ = writeln!(text, "{}\n}}", schedule(planned, version, &planned.name(n), &planned.profile, form));
        }
    }
    text
}

/// Returns a version as the content of `schedule!`.
pub(super) fn schedule(planned: &Planned, version: &Version, name: &str, profile: &str, form: Form) -> String {
    let Planned { kernel, bound, .. } = planned;
    let bound: Vec<String> = bound.iter().map(|bound| format!("{} = {}", bound.name, bound.value)).collect();
    let bound = if bound.is_empty() { String::new() } else { format!("<{}>", bound.join(", ")) };
    let facts = if version.facts.is_empty() { String::new() } else { format!(" where {}", version.facts) };
    let plain = |stage: &String| format!("        // `{stage}` is not planned, so it has the plain schedule.\n");
    let plain: String = version.open.iter().map(plain).collect();
    let plan = if form == Form::Plain { version.plan.source(8) } else { version.plan.tuned_source(8) };
    let is_pinned = form == Form::Pinned && !version.dims.is_empty();
    let pin = if is_pinned { format!("        pin({});\n", version.dims.join(", ")) } else { String::new() };
    format!("    pub {name}: {}{bound} for {profile}{facts} {{\n{plain}{plan}{pin}    }}", kernel.name)
}

/// Returns the line that documents a version.
fn documentation(planned: &Planned, version: &Version) -> String {
    let sizes = match version.facts.as_str() {
        "" if planned.versions.len() == 1 => "all sizes".to_owned(),
        "" => "all other sizes".to_owned(),
        facts => format!("`{facts}`"),
    };
    let chosen = match &planned.chosen[..] {
        [] => String::new(),
        [_] => format!(" {} is the first choice that the profile supports.", list(&planned.chosen)),
        _ => format!(" {} are the first choices that the profile supports.", list(&planned.chosen)),
    };
    format!("`{}` for {sizes}.{chosen}", planned.kernel.name)
}
