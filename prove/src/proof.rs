//! The proof of a schedule: runs at several sizes, until each block of its modules has run.

use crate::arithmetic::format;
use crate::case::{Case, Outcome, run};
use crate::sizes::{Candidate, candidates};
use crate::{Dims, launch::admits};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The sizes at which results depend on unknown values, and the reasons.
    pub not_shown: Vec<(Dims, BTreeSet<String>)>,
    /// The sizes at which a result was wrong or the launch failed. It is the last run.
    pub wrong: Option<(Dims, Outcome)>,
    /// The sizes that reached a block that the sizes before them did not reach.
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
        let all = candidates(subject.algorithm, nest, version, budget.scale);
        let taken: Vec<Candidate> = all.into_iter().filter(|c| takes(&versions, &c.dims) == Some(n)).collect();
        if taken.is_empty() {
            proof.unreached.push(Unreached::Version(version.variant.clone()));
        }
        let start = proof.executed;
        for candidate in taken {
            if (proof.executed - start) as f64 > MOST_EXECUTED * budget.scale {
                break;
            }
            let ran = |dispatch| covered.get(&module_name(dispatch)).is_some_and(|blocks| blocks.iter().all(|block| block.ran));
            let is_covered = version.dispatches.iter().all(ran);
            let equal = proof.equal.iter().filter(|(dims, _)| takes(&versions, dims) == Some(n)).count();
            if proof.wrong.is_some() || is_covered && !budget.all && equal >= 3 {
                break;
            }
            at_sizes(subject, &candidate.dims, budget, &mut proof, &mut covered)?;
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
        at_sizes(subject, dims, budget, &mut proof, &mut covered)?;
    }
    conclude(&mut proof, &covered);
    Ok(proof)
}

/// Returns the version that a launch at these sizes takes.
fn takes(versions: &[launch::Program], dims: &Dims) -> Option<usize> {
    let named: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    versions.iter().position(|version| admits(version, &named) == Some(true))
}

/// Runs a schedule at sizes, in several fields if it makes choices.
fn at_sizes(subject: &Subject<'_>, dims: &Dims, budget: &Budget, proof: &mut Proof, covered: &mut Coverage) -> Result<(), String> {
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
    if merge(covered, reached) {
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
