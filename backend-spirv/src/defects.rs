//! The table of known defects of drivers, and of the rules that avoid them.
//!
//! `docs/drivers.md` has a section for each. Tests compare it with this table, and check that the code and the tests exist.
//! `tilewright doctor` prints the defects of an installed driver.

use std::fmt;

/// A defect of a driver. Code that breaks its rule is valid SPIR-V, and the driver compiles it wrongly or slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The title of its section in `docs/drivers.md`.
    pub title: &'static str,
    /// The drivers that show it.
    pub found: &'static [Release],
    /// The consequence for a kernel without the rule.
    pub effect: Effect,
    /// The rule that avoids it. It applies on every device, unless it names a driver.
    pub rule: &'static str,
    /// The file that implements the rule.
    pub code: &'static str,
    /// The test that fails without the rule.
    pub test: &'static str,
}

/// A release of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The driver, as it names itself: `NVIDIA`, or `Mesa` for Mesa's drivers.
    pub driver: &'static str,
    /// The first numbers of its version.
    pub version: &'static str,
}

/// The consequence of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Wrong results.
    Value,
    /// The process ends.
    Crash,
    /// The driver compiles a kernel for seconds or minutes.
    Compilation,
    /// A kernel is slower than it could be.
    Speed,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Value => "wrong values",
            Effect::Crash => "a crash",
            Effect::Compilation => "slow compilation",
            Effect::Speed => "slow kernels",
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.driver, self.version)
    }
}

/// The place where a defect was found, relative to an installed driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// The defect was found in this release.
    Here,
    /// The defect was found in another release of the same driver. It was not looked for in this one.
    Elsewhere(Release),
}

impl Defect {
    /// Returns how an installed driver relates to the defect, or `None` if the defect was found in other drivers only. The driver's name
    /// and version are text as Vulkan gives them, such as `NVIDIA 580.159.03` or `llvmpipe Mesa 25.0.7-2 (LLVM 19.1.7)`.
    pub fn in_driver(&self, driver: &str) -> Option<Sighting> {
        let of_driver = || self.found.iter().filter_map(|release| Some((release, release.installed(driver)?)));
        match of_driver().find(|(release, version)| release.includes(version)) {
            Some(_) => Some(Sighting::Here),
            None => of_driver().next().map(|(release, _)| Sighting::Elsewhere(*release)),
        }
    }
}

impl Release {
    /// Returns the version that follows this driver's name in a text.
    fn installed<'a>(&self, driver: &'a str) -> Option<&'a str> {
        let mut words = driver.split_whitespace().skip_while(|word| *word != self.driver).skip(1);
        words.next().filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// True if a version begins with the numbers of this one.
    fn includes(&self, version: &str) -> bool {
        let rest = version.strip_prefix(self.version);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    }
}

const NVIDIA: &[Release] = &[Release { driver: "NVIDIA", version: "580.159" }];
const NVIDIA_AND_MESA: &[Release] = &[Release { driver: "NVIDIA", version: "580.159" }, Release { driver: "Mesa", version: "25" }];

/// The known defects, in the order of `docs/drivers.md`.
pub const DEFECTS: [Defect; 16] = [
    Defect {
        title: "Signed minima and maxima drop negations",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "operands that may be negations are hidden, and an absolute value is a select",
        code: "backend-spirv/src/drivers/integers.rs",
        test: "extremes_of_negated_integers",
    },
    Defect {
        title: "A condition is lost that chooses an operand of `OpBitwiseAnd`",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "operands that may be selects are hidden",
        code: "backend-spirv/src/drivers/integers.rs",
        test: "ands_of_choices",
    },
    Defect {
        title: "Swapped bytes of 16 bits are wrong",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "an operand that may be an upper byte is hidden",
        code: "backend-spirv/src/drivers/integers.rs",
        test: "swaps_of_bytes",
    },
    Defect {
        title: "Arithmetic on NaN is folded",
        found: NVIDIA_AND_MESA,
        effect: Effect::Value,
        rule: "`NoContraction`, hidden zeros, and hidden integers that become floats",
        code: "backend-spirv/src/drivers/hidden.rs",
        test: "arithmetic_on_nan",
    },
    Defect {
        title: "A product of halves with a certain zero is the other factor",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "the zero is hidden",
        code: "backend-spirv/src/drivers/hidden.rs",
        test: "certain_paddings_of_halves",
    },
    Defect {
        title: "NaN is absent from ranges",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "NaN of a suspect operand is tested on the bits",
        code: "backend-spirv/src/drivers/nan.rs",
        test: "comparisons_with_nan",
    },
    Defect {
        title: "Minima and maxima of f16 are lost",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "they are computed in f32",
        code: "backend-spirv/src/drivers/nan.rs",
        test: "extremes_of_chosen_halves",
    },
    Defect {
        title: "Halves that are chosen and used otherwise are wrong",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "halves are combined under a mask of bits",
        code: "backend-spirv/src/drivers/choice.rs",
        test: "halves_that_are_chosen_and_used",
    },
    Defect {
        title: "Reductions of integers by subgroup are wrong",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "they are done by shuffles",
        code: "backend-spirv/src/reductions/subgroups.rs",
        test: "integers_by_subgroup",
    },
    Defect {
        title: "The high half of a product has other bits",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "it is computed from products of 16 bits",
        code: "backend-spirv/src/drivers/integers.rs",
        test: "high_products",
    },
    Defect {
        title: "Loops are unrolled in spite of the hint `DontUnroll`",
        found: NVIDIA,
        effect: Effect::Compilation,
        rule: "the bound of a large loop in several copies is hidden",
        code: "backend-spirv/src/drivers/loops.rs",
        test: "bounds_of_loops_written_out",
    },
    Defect {
        title: "Unrolled loops take minutes to compile",
        found: NVIDIA_AND_MESA,
        effect: Effect::Compilation,
        rule: "loops and branches in unrolled copies are limited, and barriers times words",
        code: "backend-spirv/src/drivers/loops.rs",
        test: "loops_written_out",
    },
    Defect {
        title: "Elements beyond 4 GiB are others",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "addresses are computed in 64 bits, or tensors of more than 4 GiB are refused",
        code: "backend-spirv/src/memory/far.rs",
        test: "every_access_by_an_address_of_64_bits",
    },
    Defect {
        title: "An `Fma` makes loads wait",
        found: NVIDIA,
        effect: Effect::Speed,
        rule: "only a reduction's operands are fused",
        code: "codegen/src/drivers/fuse.rs",
        test: "sums_of_halves",
    },
    Defect {
        title: "The compiler ends the process at quotients of vectors",
        found: NVIDIA,
        effect: Effect::Crash,
        rule: "quotients of vectors are computed component by component",
        code: "backend-spirv/src/drivers/integers.rs",
        test: "quotients_of_vectors",
    },
    Defect {
        title: "A pipeline that is launched as soon as it is made runs other code",
        found: NVIDIA,
        effect: Effect::Value,
        rule: "with that driver, a launch waits until its queue ended something newer than its pipeline",
        code: "src/vulkan/submit.rs",
        test: "each_queue_ends_something_before_a_new_pipeline_runs_where_the_driver_needs_it",
    },
];
