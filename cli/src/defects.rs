//! The known defects of an installed driver.

use serde::Serialize;
use tilewright_spirv::defects::{DEFECTS, Sighting};

/// A known defect of an installed driver, and what Tilewright does about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The title of its section in `docs/drivers.md`.
    pub(crate) title: &'static str,
    /// The consequence for a kernel that does not avoid it.
    pub(crate) effect: String,
    /// The release in which it was found, if that is not the installed one.
    pub(crate) found_in: Option<String>,
    /// The rule that avoids it.
    pub(crate) rule: &'static str,
}

/// Returns the known defects of a driver, given its name and version.
pub(crate) fn of(driver: &str) -> Vec<Finding> {
    let finding = |defect: &tilewright_spirv::defects::Defect| {
        let found_in = match defect.in_driver(driver)? {
            Sighting::Here => None,
            Sighting::Elsewhere(release) => Some(release.to_string()),
        };
        Some(Finding { title: defect.title, effect: defect.effect.to_string(), found_in, rule: defect.rule })
    };
    DEFECTS.iter().filter_map(finding).collect()
}

/// Returns the lines that `doctor` prints about the defects of a driver.
pub(crate) fn shown(findings: &[Finding]) -> String {
    let Some(first) = findings.first() else {
        return "  no defect of this driver is known\n".to_owned();
    };
    let (n, s, they) =
        (findings.len(), if findings.len() == 1 { "" } else { "s" }, if findings.len() == 1 { "it" } else { "them" });
    let head = match &first.found_in {
        None => format!("  {n} known defect{s} of this driver, and Tilewright avoids {they} (docs/drivers.md):\n"),
        Some(release) => {
            format!(
                "  {n} defect{s} found in {release}, maybe in this version too, and Tilewright avoids {they} (docs/drivers.md):\n"
            )
        }
    };
    let line = |f: &Finding| format!("    {}: {}. Avoided: {}\n", f.effect, f.title.replace('`', ""), f.rule.replace('`', ""));
    head + &findings.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(driver: &str) -> Vec<(&'static str, Option<String>)> {
        of(driver).into_iter().map(|f| (f.title, f.found_in)).collect()
    }

    #[test]
    fn the_tested_release_has_all_of_its_defects() {
        for driver in ["NVIDIA 580.159", "NVIDIA 580.159.03"] {
            let found = titles(driver);
            assert_eq!(found.len(), DEFECTS.len(), "{driver}");
            assert!(found.iter().all(|(_, elsewhere)| elsewhere.is_none()), "{driver}: {found:?}");
        }
    }

    #[test]
    fn another_release_may_have_them() {
        // 580.15 and 580.1590 begin with the same characters, and are other versions.
        for driver in ["NVIDIA 580.15", "NVIDIA 580.1590", "NVIDIA 595.10"] {
            let found = titles(driver);
            assert_eq!(found.len(), DEFECTS.len(), "{driver}");
            assert!(found.iter().all(|(_, elsewhere)| elsewhere.as_deref() == Some("NVIDIA 580.159")), "{driver}: {found:?}");
        }
    }

    #[test]
    fn drivers_of_mesa_have_those_of_mesa() {
        let of_mesa = ["Arithmetic on NaN is folded", "Unrolled loops take minutes to compile"];
        for (driver, release) in [
            ("llvmpipe Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", None),
            ("radv Mesa 26.1.0-devel (git-1234)", Some("Mesa 25".to_owned())),
        ] {
            assert_eq!(titles(driver), of_mesa.map(|title| (title, release.clone())), "{driver}");
        }
    }

    #[test]
    fn other_drivers_have_none() {
        for driver in ["AMD open-source driver 2025.Q1", "Tilewright 0.1.0", "driver 0x91c3c0c0", "NVIDIA", "Mesa", ""] {
            assert_eq!(titles(driver), [], "{driver}");
        }
        assert_eq!(shown(&[]), "  no defect of this driver is known\n");
    }

    #[test]
    fn a_line_names_the_effect_and_the_rule() {
        let text = shown(&of("llvmpipe Mesa 25.0.7 (LLVM 19.1.7)"));
        assert!(text.starts_with("  2 known defects of this driver, and Tilewright avoids them (docs/drivers.md):\n"), "{text}");
        assert!(
            text.contains("    slow compilation: Unrolled loops take minutes to compile. Avoided: loops and branches in"),
            "{text}"
        );
        let text = shown(&of("radv Mesa 26.1.0"));
        assert!(text.starts_with("  2 defects found in Mesa 25, maybe in this version too, and Tilewright avoids them"), "{text}");
    }
}
