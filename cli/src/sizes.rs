//! The sizes on the command line, and the sizes that a kernel needs.

use crate::exit::Problem;
use std::fmt;
use tilewright_dsl::algorithm::signature::signature;
use tilewright_dsl::diag::did_you_mean;
use tilewright_dsl::syntax::Kernel;
use tilewright_launch::Program;
use tilewright_runner::Dims;

/// A set of sizes, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sizes(pub(crate) Vec<(String, i64)>);

/// Reads `M=4096,N=4096`.
pub(crate) fn parse(text: &str) -> Result<Sizes, String> {
    let mut sizes: Vec<(String, i64)> = Vec::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: write NAME=VALUE"))?;
        let (name, value) = (name.trim().to_owned(), value.trim());
        let number: u32 = value.parse().map_err(|_| format!("`{value}` is not a whole number from 0 to {}", u32::MAX))?;
        if name.is_empty() || sizes.iter().any(|(other, _)| *other == name) {
            return Err(if name.is_empty() { format!("`{part}`: write NAME=VALUE") } else { format!("`{name}` has two values") });
        }
        sizes.push((name, number.into()));
    }
    Ok(Sizes(sizes))
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&parts.join(","))
    }
}

impl Sizes {
    pub(crate) fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }

    /// Returns the dims of a launch.
    pub(crate) fn dims<'a>(&self, program: &'a Program) -> Result<Dims<'a>, String> {
        Dims::new(program, &|name| self.get(name))
    }

    /// Returns the sizes of a launch of a schedule, in the order of its kernel's dims. A dim that a fact of the schedule makes a
    /// literal may be missing.
    ///
    /// # Errors
    /// Returns the option to write if a dim lacks a value.
    fn of(&self, asked: &SizedSchedule<'_>) -> Result<Sizes, String> {
        let value = |name: &&String| self.get(name).or_else(|| asked.program.literal(&asked.program.facts, name));
        let missing: Vec<String> = asked.dims.iter().filter(|name| value(name).is_none()).map(|n| format!("{n}=…")).collect();
        if missing.is_empty() {
            return Ok(Sizes(asked.dims.iter().filter_map(|name| Some((name.clone(), value(&name)?))).collect()));
        }
        let said = self.0.iter().filter(|(name, _)| asked.dims.contains(name)).map(|(name, value)| format!("{name}={value}"));
        let all: Vec<String> = said.chain(missing).collect();
        Err(format!("some sizes of `{}` are missing; write `--size {}`", asked.schedule, all.join(",")))
    }

    /// Explains why a program is not for these sizes: one of its facts gives a dim another literal.
    pub(crate) fn contradict(&self, program: &Program) -> Option<String> {
        self.0.iter().find_map(|(name, value)| {
            let literal = program.literal(&program.facts, name).filter(|literal| literal != value)?;
            Some(format!("`{name} == {literal}` does not hold: `{name}` is {value}"))
        })
    }
}

/// A schedule that needs sizes.
pub(crate) struct SizedSchedule<'a> {
    pub(crate) schedule: &'a str,
    pub(crate) kernel: &'a str,
    /// The dims of its kernel that a caller chooses.
    pub(crate) dims: &'a [String],
    pub(crate) program: &'a Program,
}

/// The sizes of a schedule: for each set that is meant for it, the sizes or the reason why they are incomplete.
pub(crate) type Given = Vec<Result<Sizes, String>>;

/// Returns the sizes of each of several schedules. A set may be meant for the schedules of one kernel only. So if a set is complete
/// for another kernel, and a schedule has other sizes, the set is not used for that schedule. `wrong` are the dims of schedules that
/// do not compile; a set may be meant for these, too.
///
/// # Errors
/// A set is complete for none of the schedules.
pub(crate) fn given(sets: &[Sizes], schedules: &[SizedSchedule<'_>], wrong: &[&[String]]) -> Result<Vec<Given>, Problem> {
    let none = [Sizes(Vec::new())];
    let sets = if sets.is_empty() { &none[..] } else { sets };
    let all: Vec<Given> = schedules.iter().map(|asked| sets.iter().map(|set| set.of(asked)).collect()).collect();
    let is_of_wrong = |set: &Sizes| wrong.iter().any(|dims| dims.iter().all(|name| set.get(name).is_some()));
    for (n, _) in sets.iter().enumerate().filter(|(_, set)| !is_of_wrong(set)) {
        if let Some(Err(why)) = all.first().map(|first| &first[n]).filter(|_| all.iter().all(|of| of[n].is_err())) {
            return Err(Problem::usage(why.clone()));
        }
    }
    let is_of_another =
        |kernel: &str, n: usize| schedules.iter().zip(&all).any(|(asked, of)| asked.kernel != kernel && of[n].is_ok());
    let concerning = |(asked, of): (&SizedSchedule<'_>, &Given)| {
        let some = of.iter().any(Result::is_ok);
        let mut kept: Given = Vec::new();
        for (n, sizes) in of.iter().enumerate() {
            let is_left_out = sizes.is_err() && some && is_of_another(asked.kernel, n);
            if !is_left_out && !kept.contains(sizes) {
                kept.push(sizes.clone());
            }
        }
        kept
    };
    Ok(schedules.iter().zip(&all).map(concerning).collect())
}

/// Checks that each size is a dim of one of several kernels, which are given by their names and dims.
///
/// # Errors
/// A name is a dim of none of the kernels.
pub(crate) fn known<'a>(sets: &[Sizes], kernels: impl Iterator<Item = (&'a str, &'a [String])>) -> Result<(), Problem> {
    let (mut names, mut there): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (kernel, dims) in kernels {
        names.push(kernel);
        there.extend(dims.iter().map(String::as_str).filter(|dim| !there.contains(dim)).collect::<Vec<_>>());
    }
    names.dedup();
    let mut said = sets.iter().flat_map(|set| &set.0);
    let Some((name, _)) = said.find(|(name, _)| !there.contains(&name.as_str())).filter(|_| !names.is_empty()) else {
        return Ok(());
    };
    let help = did_you_mean(name, there.iter().copied()).map_or_else(String::new, |help| format!(" ({help})"));
    let there = if there.is_empty() { "there are none".to_owned() } else { format!("there are {}", there.join(", ")) };
    Err(Problem::usage(match names[..] {
        [kernel] => format!("`{name}` is not a size of `{kernel}`{help}; {there}"),
        _ => format!("no kernel of these schedules has a size `{name}`{help}; {there}"),
    }))
}

/// Returns the dims of a kernel that a caller chooses, including those that a schedule makes literals.
pub(crate) fn dims(kernel: &Kernel) -> Vec<String> {
    signature(kernel).dims.into_iter().map(|name| name.text).collect()
}

/// Returns the dims of a program that a caller chooses and the program's facts leave open.
pub(crate) fn symbolic(program: &Program) -> Vec<&str> {
    let dims = program.dims.iter().enumerate().filter(|(n, dim)| dim.derived.is_none() && !program.is_stride(*n));
    dims.map(|(_, dim)| dim.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_names_and_numbers() {
        let sizes = parse("M=4096, N = 3").expect("right");
        assert_eq!((sizes.get("M"), sizes.get("N"), sizes.get("K")), (Some(4096), Some(3), None));
        assert_eq!(sizes.to_string(), "M=4096,N=3");
        for (wrong, why) in [
            ("", "`: write NAME=VALUE"),
            ("M", "`M`: write NAME=VALUE"),
            ("=3", "`=3`: write NAME=VALUE"),
            ("M=-1", "`-1` is not a whole number"),
            ("M=1,M=2", "`M` has two values"),
            ("M=4294967296", "is not a whole number from 0 to 4294967295"),
        ] {
            let error = parse(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
