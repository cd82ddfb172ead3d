//! Sizes on the command line, and those of a kernel that they must say.

use std::fmt;
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
        let number: u32 = value.parse().map_err(|_| format!("`{value}` is no whole number from 0 to {}", u32::MAX))?;
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

    /// The dims of a launch.
    pub(crate) fn dims<'a>(&self, program: &'a Program) -> Result<Dims<'a>, String> {
        Dims::new(program, &|name| self.get(name))
    }

    /// The same in the order of a program's dims, each checked to be one of them, and none missing.
    pub(crate) fn of(&self, program: &Program) -> Result<Sizes, String> {
        let symbolic = symbolic(program);
        if let Some((name, _)) = self.0.iter().find(|(name, _)| !symbolic.contains(&name.as_str())) {
            let help = tilewright_dsl::diag::did_you_mean(name, symbolic.iter().copied());
            let help = help.map_or_else(String::new, |help| format!(" ({help})"));
            return Err(format!("`{}` has no size `{name}`{help}; there are {}", program.kernel, symbolic.join(", ")));
        }
        let dims = self.dims(program).map_err(|_| {
            let missing: Vec<String> = symbolic.iter().filter(|n| self.get(n).is_none()).map(|n| format!("{n}=…")).collect();
            let so_far = if self.0.is_empty() { String::new() } else { format!("{self},") };
            format!("the sizes of `{}` are not all said; write `--size {so_far}{}`", program.kernel, missing.join(","))
        })?;
        Ok(Sizes(symbolic.into_iter().filter_map(|name| Some((name.to_owned(), dims.get(name)?))).collect()))
    }
}

/// The dims of a program that a caller chooses.
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
            ("M=-1", "`-1` is no whole number"),
            ("M=1,M=2", "`M` has two values"),
            ("M=4294967296", "is no whole number from 0 to 4294967295"),
        ] {
            let error = parse(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
