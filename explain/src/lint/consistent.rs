//! Leaves out lints that contradict an earlier lint of the same schedule.

use super::{Lint, LintName};
use crate::source::Subject;
use tilewright_dsl::diag::{Errors, Kind};

/// Returns the lints without those that contradict another one, or that improve a copy which the compiler advises to remove.
pub(super) fn without_contradictions(found: Vec<Lint>, subject: &Subject, warnings: &Errors) -> Vec<Lint> {
    let useless = warnings.0.iter().filter(|warning| warning.kind == Kind::UselessCopy);
    let useless: Vec<String> = useless.filter_map(|warning| subject.spans.locate(warning.span)).collect();
    let mut kept: Vec<Lint> = Vec::new();
    for lint in found {
        let improves_copy = matches!(lint.name, LintName::BankConflict | LintName::ScalarAccess);
        let is_useless = improves_copy && lint.place.as_ref().is_some_and(|place| useless.contains(place));
        if !is_useless && !kept.iter().any(|other| contradict(other, &lint)) {
            kept.push(lint);
        }
    }
    kept
}

/// True if two lints cannot both be followed. They change the same words of a directive differently, or require different neighbours
/// of the same invocations.
fn contradict(a: &Lint, b: &Lint) -> bool {
    match (&a.edit, &b.edit) {
        (Some(x), Some(y)) => x.place == y.place && x.from == y.from && x.to != y.to && changes_alike(&x.from, &x.to, &y.to),
        (None, None) => {
            let both = a.name == LintName::Uncoalesced && b.name == LintName::Uncoalesced;
            both && a.place == b.place && a.instead != b.instead
        }
        _ => false,
    }
}

/// True if `a` and `b` replace the same word of `from` by different words.
fn changes_alike(from: &str, a: &str, b: &str) -> bool {
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>();
    let (from, a, b) = (words(from), words(a), words(b));
    let same_length = from.len() == a.len() && from.len() == b.len();
    same_length && from.iter().zip(a.iter().zip(&b)).any(|(from, (a, b))| from != a && from != b && a != b)
}

#[cfg(test)]
mod tests {
    use super::changes_alike;

    #[test]
    fn one_number_cannot_grow_and_shrink() {
        let tile = "tile(i: 32, j: 64) => workgroup(y, x)";
        assert!(changes_alike(tile, "tile(i: 16, j: 64) => workgroup(y, x)", "tile(i: 64, j: 64) => workgroup(y, x)"));
        assert!(!changes_alike(tile, "tile(i: 16, j: 64) => workgroup(y, x)", "tile(i: 32, j: 32) => workgroup(y, x)"));
        assert!(!changes_alike("promote(a)", "promote(a, row_pad: 1)", "promote(a, swizzle: 4)"));
    }
}
