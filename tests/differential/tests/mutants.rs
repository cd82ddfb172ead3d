//! Nests with one thing wrong are refused by the verifier, or mean what they should: no run has to give them away.

use tilewright::Options;
use tilewright_differential::mutants::{Found, Subject};
use tilewright_differential::mutate::Kind;

/// What judging all mutants of a nest came to: refused ones, barriers among them, and those that mean the same.
#[derive(Default)]
struct Judged {
    refused: usize,
    barriers: usize,
    same: usize,
}

impl Judged {
    fn judge(&mut self, subject: &Subject) {
        for mutant in subject.mutants() {
            match (mutant.kind, subject.judge(&mutant.program)) {
                (kind, Found::Verifier | Found::Emitter) => {
                    self.refused += 1;
                    self.barriers += usize::from([Kind::Barrier, Kind::Part, Kind::Scope].contains(&kind));
                }
                // An init has one value in all elements, wherever it is.
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
                ) => panic!("{}: {}: {found:?}", mutant.kind, mutant.what),
                // A tile too many is guarded, a reduction's items come in any order, and some facts make one tile of several. A part of a
                // barrier may pass what only the schedule's places keep it from.
                (_, Found::Nobody) => self.same += 1,
                // Where an axis has no points, a tile too many reads what is not there.
                (Kind::More, Found::Fault(_)) => {}
                // An accumulator with lanes in one of its loops alone is written component by component.
                (Kind::Exec, Found::Fault(fault)) if fault.contains("the register") => {}
                (kind, found) => panic!("{kind}: {}: {found:?}", mutant.what),
            }
        }
    }
}

#[test]
fn mutants_of_a_few_nests() {
    let device = Options::new().device("reference").open().expect("it needs nothing");
    let mut judged = Judged::default();
    let shared = Subject::shared(&device).unwrap_or_else(|wrong| panic!("{wrong}"));
    shared.iter().for_each(|subject| judged.judge(subject));
    for (seed, case) in [2, 6, 8, 9].into_iter().flat_map(|seed| (0..10).map(move |case| (seed, case))) {
        let subject = Subject::new(seed, case, &device).unwrap_or_else(|wrong| panic!("{wrong}"));
        subject.iter().for_each(|subject| judged.judge(subject));
    }
    let Judged { refused, barriers, same } = judged;
    assert!(refused > 300 && barriers >= 3 && same * 5 < refused, "{refused} refused, {barriers} barriers, {same} the same");
}
