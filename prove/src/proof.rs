//! The proof of a schedule: runs at several sizes, until each block of its modules has run.

use crate::Dims;
use crate::arithmetic::format;
use crate::case::{Case, Outcome, run};
use crate::sizes::{Candidate, candidates};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tilewright::exact::{Covered, ModuleName, Rational, module_name};
use tilewright_dsl::expr;
use tilewright_dsl::nest::Program;
use tilewright_launch as launch;

/// A compiled schedule, and the algorithm that it must agree with.
pub struct Subject<'a> {
    /// The launch program.
    pub program: &'a launch::Program,
    /// The algorithm.
    pub algorithm: &'a Program,
    /// The nests of its versions, in the order in which a launch tries them. The plain version is the last.
    pub nests: Vec<&'a Program>,
    /// The constants that are not the numbers that their bits mean.
    pub rationals: Vec<Rational>,
}

impl<'a> Subject<'a> {
    /// Makes the subject of a program, its algorithm, and the nests of its versions.
    pub fn new(program: &'a launch::Program, algorithm: &'a Program, nests: Vec<&'a Program>) -> Subject<'a> {
        let of = |rational: &expr::Rational| Rational {
            format: format(rational.constant.dtype),
            bits: rational.constant.bits,
            numerator: rational.numerator,
            denominator: rational.denominator,
        };
        let mut rationals: Vec<Rational> = Vec::new();
        for rational in nests.iter().flat_map(|nest| nest.exprs.rationals()) {
            if !rationals.contains(&of(&rational)) {
                rationals.push(of(&rational));
            }
        }
        Subject { program, algorithm, nests, rationals }
    }
}

/// The number of instructions after which a version is not run at other sizes, also if some of its blocks have not run.
const MOST_EXECUTED: f64 = 5e7;

/// The limits of a proof's work.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// True to run all sizes, even if fewer of them reach each block.
    pub all: bool,
    /// The factor by which the usual limit of work at one size is multiplied.
    pub scale: f64,
    /// The number of fields in which a kernel with choices is run.
    pub fields: u64,
    /// The first seed.
    pub seed: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { all: false, scale: 1.0, fields: 3, seed: 1 }
    }
}

/// The result of a proof.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The sizes at which all results were equal, each in the given number of fields.
    pub equal: Vec<(Dims, u64)>,
    /// The sizes at which results depend on unknown values or the launch was refused, and the reasons.
    pub not_shown: Vec<(Dims, BTreeSet<String>)>,
    /// The sizes at which a result was wrong or a fault was found. It is the last run.
    pub wrong: Option<(Dims, Outcome)>,
    /// The sizes that reached a block that the sizes before them did not reach, and those with points in more than one tile of each axis.
    pub needed: Vec<Dims>,
    /// The blocks that ran, and all blocks of the dispatches that were launched.
    pub blocks: [usize; 2],
    /// The blocks and versions that no size reached.
    pub unreached: Vec<Unreached>,
    /// The bound of the degrees of all results.
    pub degree: u32,
    /// The number of instructions that all runs executed, counted in each invocation.
    pub executed: u64,
    /// True if decisions depended on the order of numbers, or on integers of the inputs, so that only the paths of the runs are shown.
    pub chose: bool,
}

/// The verdict of a proof. It concerns the sizes that were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All results are equal, and no decision depended on the inputs.
    Proved,
    /// All results are equal on the paths that were taken.
    Tested,
    /// Results depend on unknown values at all sizes.
    NotShown,
    /// A result is another one, or a fault was found.
    Wrong,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Proved => "proved",
            Verdict::Tested => "tested exactly",
            Verdict::NotShown => "not shown",
            Verdict::Wrong => "wrong",
        })
    }
}

/// The blocks of the modules that ran.
type Coverage = BTreeMap<ModuleName, Vec<Covered>>;

/// Something that no size reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreached {
    /// A block of a dispatch, with the line in the user's file if it is known.
    Block {
        /// The dispatch.
        dispatch: String,
        /// The file, line and column.
        place: Option<String>,
    },
    /// A version of the program, by its conditions.
    Version(String),
    /// The second tiles of all axes of a version together, because they take too much work.
    Tiles(String),
}

impl Proof {
    fn new() -> Proof {
        Proof {
            equal: Vec::new(),
            not_shown: Vec::new(),
            wrong: None,
            needed: Vec::new(),
            blocks: [0; 2],
            unreached: Vec::new(),
            degree: 0,
            executed: 0,
            chose: false,
        }
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> Verdict {
        match (&self.wrong, self.equal.is_empty()) {
            (Some(_), _) => Verdict::Wrong,
            (None, true) => Verdict::NotShown,
            (None, false) if self.chose => Verdict::Tested,
            (None, false) => Verdict::Proved,
        }
    }

    /// Returns the binary logarithm of the bound on the probability with which one run shows an equality that does not hold.
    pub fn probability(&self) -> f64 {
        f64::from(self.degree.max(1)).log2() - 59.0
    }
}

/// Runs a schedule at sizes around the boundaries of its tiles.
///
/// # Errors
/// If the program cannot be decoded, or the kernel refuses sizes that its facts admit.
pub fn prove(subject: &Subject<'_>, budget: &Budget) -> Result<Proof, String> {
    let versions = subject.program.clone().into_versions()?;
    let (mut proof, mut covered) = (Proof::new(), Coverage::new());
    for (n, version) in versions.iter().enumerate() {
        let nest = subject.nests.get(n).or(subject.nests.last()).copied().unwrap_or(subject.algorithm);
        let taken = candidates(subject.algorithm, nest, &versions, n, budget.scale);
        if taken.is_empty() {
            proof.unreached.push(Unreached::Version(version.variant.clone()));
        }
        if !taken.is_empty() && !taken.iter().any(|candidate| candidate.is_required) {
            proof.unreached.push(Unreached::Tiles(version.variant.clone()));
        }
        let start = proof.executed;
        for candidate in taken {
            let ran = |dispatch| covered.get(&module_name(dispatch)).is_some_and(|blocks| blocks.iter().all(|block| block.ran));
            let is_covered = version.dispatches.iter().all(ran);
            let is_exhausted = (proof.executed - start) as f64 > MOST_EXECUTED * budget.scale;
            if proof.wrong.is_some() {
                break;
            }
            if candidate.is_required || budget.all || !is_exhausted && !is_covered {
                at_sizes(subject, &candidate, budget, &mut proof, &mut covered)?;
            }
        }
    }
    conclude(&mut proof, &covered);
    Ok(proof)
}

/// Runs a schedule at given sizes.
///
/// # Errors
/// If the kernel cannot have these sizes.
pub fn prove_at(subject: &Subject<'_>, budget: &Budget, sizes: &[Dims]) -> Result<Proof, String> {
    let (mut proof, mut covered) = (Proof::new(), Coverage::new());
    for dims in sizes {
        let candidate = Candidate { dims: dims.clone(), points: 0.0, is_required: true };
        at_sizes(subject, &candidate, budget, &mut proof, &mut covered)?;
    }
    conclude(&mut proof, &covered);
    Ok(proof)
}

/// Runs a schedule at sizes, in several fields if it makes choices.
fn at_sizes(
    subject: &Subject<'_>,
    candidate: &Candidate,
    budget: &Budget,
    proof: &mut Proof,
    covered: &mut Coverage,
) -> Result<(), String> {
    let dims = &candidate.dims;
    let (mut fields, mut reached) = (0, Coverage::new());
    while fields < budget.fields.max(1) {
        let Case { outcome, degree, executed, chose, covered: blocks } = run(subject, dims, budget.seed + fields)?;
        fields += 1;
        proof.chose |= chose;
        proof.executed += executed;
        merge(&mut reached, blocks);
        match outcome {
            Outcome::Equal => proof.degree = proof.degree.max(degree),
            Outcome::NotShown(reasons) => {
                proof.not_shown.push((dims.clone(), reasons));
                return Ok(());
            }
            Outcome::Different { .. } | Outcome::Fault(_) => {
                proof.wrong = Some((dims.clone(), outcome));
                return Ok(());
            }
        }
        if !chose {
            break;
        }
    }
    if merge(covered, reached) | candidate.is_required {
        proof.needed.push(dims.clone());
    }
    proof.equal.push((dims.clone(), fields));
    Ok(())
}

/// Adds the blocks of a run. Returns true if some are new.
fn merge(all: &mut Coverage, run: Coverage) -> bool {
    let mut is_new = false;
    for (dispatch, blocks) in run {
        match all.get_mut(&dispatch) {
            None => {
                is_new = true;
                all.insert(dispatch, blocks);
            }
            Some(known) => {
                for (known, block) in known.iter_mut().zip(blocks) {
                    is_new |= block.ran && !known.ran;
                    known.ran |= block.ran;
                }
            }
        }
    }
    is_new
}

/// Counts the blocks, and names those that no size reached.
fn conclude(proof: &mut Proof, covered: &Coverage) {
    let mut unreached = BTreeSet::new();
    for ((dispatch, _), blocks) in covered {
        proof.blocks[0] += blocks.iter().filter(|block| block.ran).count();
        proof.blocks[1] += blocks.len();
        for block in blocks.iter().filter(|block| !block.ran) {
            let place = block.place.as_ref().map(|place| format!("{}:{}:{}", place.file, place.line, place.column));
            unreached.insert(Unreached::Block { dispatch: dispatch.clone(), place });
        }
    }
    proof.unreached.extend(unreached);
}
