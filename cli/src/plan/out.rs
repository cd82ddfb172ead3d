//! Writes a plan to a file, or compares it with one.

use super::versions::Planned;
use super::{report, text};
use crate::exit::{Exit, Problem};
use crate::options::Plan;
use crate::output;
use crate::tune::replace;
use anstyle::AnsiColor;
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// Refuses files that the command may not write or cannot compare, before anything is compiled.
pub(super) fn precheck(options: &Plan) -> Result<(), Problem> {
    let Some(file) = options.write.as_ref().or(options.check.as_ref()) else { return Ok(()) };
    let shown = file.display();
    let is_same = file.canonicalize().ok().is_some_and(|out| options.file.canonicalize().is_ok_and(|kernels| kernels == out));
    if is_same {
        return Err(Problem::usage(format!("{shown} has the kernels; name another file for their schedules")));
    }
    match std::fs::read_to_string(file) {
        Ok(text) if options.force || text::is_plan(&text) => Ok(()),
        Ok(_) if options.check.is_some() => Err(Problem::usage(format!("{shown} is not a plan: its first line does not say so"))),
        Ok(_) => Err(Problem::usage(format!("{shown} is not a plan, so it is not replaced; `--force` replaces it"))),
        Err(error) if options.write.is_some() && (options.force || error.kind() == ErrorKind::NotFound) => Ok(()),
        Err(error) => Err(Problem::usage(format!("cannot read {shown}: {error}"))),
    }
}

/// Writes a plan.
pub(super) fn write(options: &Plan, file: &Path, text: &str, planned: &[Planned]) -> Result<Exit, Problem> {
    replace(file, text)?;
    if options.json {
        output::json(&report(text, planned));
    } else {
        let count = |planned: &Planned| match planned.versions.len() {
            1 => format!("{}: 1 schedule", planned.kernel.name),
            n => format!("{}: {n} schedules", planned.kernel.name),
        };
        planned.iter().for_each(|planned| output::line(count(planned)));
        output::line(format_args!("{} is written", file.display()));
    }
    Ok(Exit::Done)
}

/// Compares a plan with a file's.
pub(super) fn check(options: &Plan, file: &Path, text: &str) -> Result<Exit, Problem> {
    let old = std::fs::read_to_string(file).map_err(|e| Problem::usage(format!("cannot read {}: {e}", file.display())))?;
    let lines = diff(&text::schedules(&old), &text::schedules(text));
    let is_same = lines.is_empty();
    let texts: Vec<String> = lines.iter().map(|(sign, line)| format!("{sign} {line}").trim_end().to_owned()).collect();
    if options.json {
        output::json(&json!({ "file": file, "same": is_same, "differences": texts }));
    } else if is_same {
        output::line(format_args!("{}: a new plan is the same", file.display()));
    } else {
        output::line(format_args!("{}: a new plan differs (+) from the file (-)", file.display()));
        let colour = |sign: char| if sign == '+' { AnsiColor::Green } else { AnsiColor::Red };
        lines.iter().zip(&texts).for_each(|((sign, _), text)| output::line(output::coloured(colour(*sign), text)));
    }
    Ok(if is_same { Exit::Done } else { Exit::No })
}

/// Returns the lines that only `old` has, marked `-`, and those that only `new` has, marked `+`, by the longest common subsequence.
fn diff<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    // `common[i][j]`: the number of lines that the texts from line i and from line j on have in common.
    let mut common = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let other = common[i + 1][j].max(common[i][j + 1]);
            common[i][j] = if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { other };
        }
    }
    let (mut lines, mut i, mut j) = (Vec::new(), 0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn differences_are_the_fewest_lines() {
        let signs = |old: &str, new: &str| {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
            diff(&old, &new).iter().map(|(sign, line)| format!("{sign}{line}")).collect::<String>()
        };
        assert_eq!(signs("a b c", "a b c"), "");
        assert_eq!(signs("a b c", "a x c"), "-b+x");
        assert_eq!(signs("a b", "a b c"), "+c");
        assert_eq!(signs("b c d", "a c d e"), "-b+a+e");
    }
}
