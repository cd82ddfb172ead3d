//! The order of lints: first those that are about the bottleneck of the slowest dispatch.

use super::{Lint, LintName};
use crate::figures::Figures;
use tilewright_codegen::cost::Bottleneck;

/// The factor by which a lint about its dispatch's bottleneck is more important than another one.
const EXPLAINS: f64 = 4.0;

/// Sorts lints by the share of the launch's time that their dispatch takes, and by their patterns. Dispatches of unknown time count alike.
pub(super) fn by_importance(mut found: Vec<Lint>, figures: &[Figures]) -> Vec<Lint> {
    let weight = |lint: &Lint| {
        let estimate =
            figures.iter().find(|figures| figures.cost.name == lint.dispatch).and_then(|figures| figures.estimate.as_ref());
        estimate.map_or(1.0, |estimate| {
            let explains = if explains(lint.name, estimate.bound) { EXPLAINS } else { 1.0 };
            estimate.nanoseconds * explains
        })
    };
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| rank(a.name).cmp(&rank(b.name))));
    found
}

/// True if a pattern can be the cause of a bottleneck.
fn explains(name: LintName, bound: Bottleneck) -> bool {
    match bound {
        Bottleneck::Memory | Bottleneck::Caches => matches!(
            name,
            LintName::Uncoalesced | LintName::BankConflict | LintName::ScalarAccess | LintName::Reread | LintName::Recomputed
        ),
        Bottleneck::Compute | Bottleneck::Matrices => {
            matches!(name, LintName::Recomputed | LintName::LongTile | LintName::SlowDot | LintName::Idle)
        }
        Bottleneck::Occupancy => {
            matches!(name, LintName::FewWorkgroups | LintName::Idle | LintName::Occupancy | LintName::Registers)
        }
        Bottleneck::Launch => false,
    }
}

/// Returns the position of a pattern among lints that are otherwise equal: the patterns that usually cost most come first.
fn rank(name: LintName) -> usize {
    const ORDER: [LintName; 12] = [
        LintName::FewWorkgroups,
        LintName::Uncoalesced,
        LintName::Reread,
        LintName::Idle,
        LintName::Recomputed,
        LintName::Registers,
        LintName::BankConflict,
        LintName::LongChain,
        LintName::SlowDot,
        LintName::LongTile,
        LintName::Occupancy,
        LintName::ScalarAccess,
    ];
    ORDER.iter().position(|other| *other == name).unwrap_or(ORDER.len())
}
