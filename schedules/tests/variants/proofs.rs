//! The proofs of all variants: `docs/proofs.md` lists each with its verdict, the sizes that suffice to reach its blocks, and the number of
//! blocks. The tests run these sizes in exact arithmetic. `UPDATE_DOCS=1` chooses the sizes anew and rewrites the page, in a few minutes.
//! `UPDATE_DOCS=new` keeps the rows of the variants that are listed.

use crate::{compile, key, recompiled, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use tilewright_launch::Program;
use tilewright_prove::{Budget, Dims, Proof, Subject, Unreached, Verdict, prove, prove_at, text};
use tilewright_schedules::catalog;

/// The heads of the page's table.
const HEADS: &str =
    "| kernel | profile | schedule | verdict | sizes | blocks | error | not shown |\n|---|---|---|---|---|---|---|---|\n";

/// The factor of the work for a variant with many blocks that smaller sizes do not reach, and the number of these blocks.
const LARGER: f64 = 4.0;
const MANY: usize = 16;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/proofs.md")
}

fn page_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| std::fs::read_to_string(page()).expect("docs/proofs.md"))
}

/// Returns the cells of the rows of the page's table.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let table = page_text().split_once(HEADS).map_or("", |(_, rows)| rows);
    table.lines().take_while(|line| line.starts_with('|')).map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Makes the subject of a variant.
fn subject(variant: &compile::Variant) -> Subject<'_> {
    let nests = variant.specialized.iter().chain([&variant.nest]).collect();
    Subject::new(&variant.program, &variant.algorithm, nests)
}

/// Runs the sizes that the page lists for a variant. All results must be equal, and the same number of blocks must run.
pub fn check(variant: &compile::Variant) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return;
    }
    let name = key(&variant.program);
    let [kernel, schedule, profile] = name;
    let row = rows().find(|row| row[..3] == [kernel, profile, schedule]);
    let row = row.unwrap_or_else(|| panic!("docs/proofs.md does not list {name:?}: run with UPDATE_DOCS=1"));
    let sizes: Vec<Dims> = row[4].split("; ").filter(|sizes| !sizes.is_empty()).map(dims).collect();
    // One path of each size, so that all variants take less than three minutes on two cores.
    let budget = Budget { fields: 1, ..Budget::default() };
    let proof = prove_at(&subject(variant), &budget, &sizes).unwrap_or_else(|e| panic!("{name:?}: {e}"));
    assert!(proof.wrong.is_none() && proof.not_shown.is_empty(), "{name:?}: {:?} {:?}", proof.wrong, proof.not_shown);
    // At these sizes alone, there may be nothing to choose.
    assert!(row[3] == "tested exactly" || proof.verdict().to_string() == row[3], "{name:?}: run with UPDATE_DOCS=1");
    assert_eq!(blocks(&proof), row[5], "{name:?}: run with UPDATE_DOCS=1");
}

fn dims(text: &str) -> Dims {
    let one = |part: &str| part.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    text.trim_matches('`').split(',').map(|part| one(part).unwrap_or_else(|| panic!("`{part}` in docs/proofs.md"))).collect()
}

fn sizes(dims: &Dims) -> String {
    format!("`{}`", text(dims))
}

fn blocks(proof: &Proof) -> String {
    format!("{} of {}", proof.blocks[0], proof.blocks[1])
}

/// Returns the row of a variant.
fn row(variant: &compile::Variant) -> String {
    let [kernel, schedule, profile] = key(&variant.program);
    let prove = |scale| {
        let budget = Budget { scale, ..Budget::default() };
        prove(&subject(variant), &budget).unwrap_or_else(|e| panic!("{kernel}, {schedule}: {e}"))
    };
    let mut proof = prove(1.0);
    if proof.blocks[1] - proof.blocks[0] >= MANY {
        proof = prove(LARGER);
    }
    assert!(proof.wrong.is_none(), "{kernel}, {schedule}: {:?}", proof.wrong);
    let needed: Vec<String> = proof.needed.iter().map(sizes).collect();
    let reasons = |reasons: &BTreeSet<String>| reasons.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let mut open: Vec<String> = if needed.is_empty() {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        proof.not_shown.iter().for_each(|(_, each)| *counts.entry(reasons(each)).or_default() += 1);
        counts.into_iter().map(|(reasons, count)| format!("each of {count} sizes: {reasons}")).collect()
    } else {
        proof.not_shown.iter().map(|(dims, each)| format!("{}: {}", sizes(dims), reasons(each))).collect()
    };
    let versions = proof.unreached.iter().filter(|what| matches!(what, Unreached::Version(_))).count();
    if versions > 0 {
        open.push(format!("versions that no small size takes: {versions}"));
    }
    let tiles = proof.unreached.iter().filter(|what| matches!(what, Unreached::Tiles(_))).count();
    if tiles > 0 {
        open.push(format!("versions without sizes of two tiles of all axes: {tiles}"));
    }
    // Results without elements are equal at any size, and show nothing.
    let verdict = if needed.is_empty() { Verdict::NotShown } else { proof.verdict() };
    let (blocks, error) = (blocks(&proof), proof.probability());
    format!(
        "| {kernel} | {profile} | {schedule} | {verdict} | {} | {blocks} | 2^{error:.0} | {} |\n",
        needed.join("; "),
        open.join("; ")
    )
}

/// Returns the rows of programs, in their order. With `UPDATE_DOCS=new`, the rows that the page has are kept.
fn rows_of(programs: &[Program]) -> String {
    let keeps = std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "new");
    let kept = |program: &Program| {
        let [kernel, schedule, profile] = key(program);
        let row = rows().find(|row| keeps && row[..3] == [kernel, profile, schedule])?;
        Some(format!("| {} |\n", row.join(" | ")))
    };
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); programs.len()]));
    let work = || {
        // Syntax trees cannot be sent to other threads.
        let written = sources::schedules();
        while let Some(n) = Some(next.fetch_add(1, Relaxed)).filter(|n| *n < programs.len()) {
            let row = kept(&programs[n]).unwrap_or_else(|| row(&recompiled(&programs[n], &written)));
            eprint!("{n} of {}: {row}", programs.len());
            rows.lock().expect("no thread panicked")[n] = row;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    rows.into_inner().expect("no thread panicked").concat()
}

/// The page lists each variant of the catalog, and no others.
#[test]
fn the_page_of_proofs_lists_every_variant() {
    let programs: Vec<_> = catalog::ALL.iter().flat_map(|entry| (entry.programs)().expect("they decode")).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let mut page = page_text().split_once(HEADS).map_or_else(|| page_text().to_owned(), |(before, _)| before.to_owned());
        page += HEADS;
        page += &rows_of(&programs);
        std::fs::write(self::page(), page).expect("docs/proofs.md");
        return;
    }
    let mut listed: Vec<[&str; 3]> = rows().map(|row| [row[0], row[2], row[1]]).collect();
    let mut wanted: Vec<[&str; 3]> = programs.iter().map(key).collect();
    listed.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(listed, wanted, "run with UPDATE_DOCS=1");
}
