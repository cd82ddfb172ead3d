//! Pointwise intermediates are inlined into their readers while the readers stay small enough. The others have their own dispatches, and an
//! error or warning explains that.

use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::Exprs;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// The time limit of a compilation in a build without optimization, on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// Returns the number of dispatches and the warnings, or the errors.
fn compiled(kernel: &str, directives: &str) -> Result<(usize, String), String> {
    let (mut spans, start) = (Spans::new(), Instant::now());
    let schedule = format!("V: k for p {{ {directives} }}");
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let made = compile(&kernel, &schedule, &Profile::vulkan_1_1());
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    match made {
        Ok(made) => Ok((made.program.plan.len(), made.warnings.texts(&spans))),
        Err(errors) => Err(errors.texts(&spans)),
    }
}

/// Returns a kernel of stages that each read three elements of the previous stage, beginning with `x`. The last stage is `s` with its
/// number.
fn chain(count: usize, read: &dyn Fn(&str, usize) -> String) -> String {
    let mut text = "fn k<N>(x: f32[N + 80]) -> y: f32[N] where N >= 1 {\n".to_owned();
    for n in 1..=count {
        let before = if n == 1 { "x".into() } else { format!("s{}", n - 1) };
        let reads = (0..3).map(|tap| read(&before, tap)).collect::<Vec<_>>().join(" + ");
        let _ = writeln!(text, "let s{n}[i]: f32[N + {}] = ({reads}) * 0.5;", 2 * (40 - n));
    }
    let _ = writeln!(text, "y[i] = s{count}[i]; }}");
    text
}

fn inside(of: &str, tap: usize) -> String {
    format!("{of}[i + {tap}]")
}

fn clamped(of: &str, tap: usize) -> String {
    format!("{of}.clamp()[i + {tap} - 1]")
}

/// Directives of the last stage. With them, the planner stores no intermediate of the stage.
const LAST: &str = "tile(i: 64) => workgroup(x); distribute(i => thread(x));";

#[test]
fn equal_places_are_one_read() {
    // The inlined stage reads 33 elements and has 768 operations.
    assert_eq!(compiled(&chain(16, &inside), LAST), Ok((1, String::new())));
    assert_eq!(compiled(&chain(1, &inside), LAST), Ok((1, String::new())));
}

#[test]
fn a_reader_that_would_be_too_large_reads_what_is_stored() {
    for (count, read) in [(40, &inside as &dyn Fn(&str, usize) -> String), (16, &clamped), (39, &clamped)] {
        let (dispatches, warnings) = compiled(&chain(count, read), "").expect("it compiles");
        assert!((2..=count / 2).contains(&dispatches), "{dispatches}");
        assert_eq!(warnings, "", "no schedule asked for it");
    }
}

#[test]
fn a_stage_as_large_as_the_limit_is_inlined_into_a_large_reader() {
    let sum = |terms: Vec<String>| format!("({})", terms.join(" + "));
    let group = |first: usize| sum((first..first + 20).map(|n| format!("x[i] * {n}.5")).collect());
    let groups = |range: std::ops::Range<usize>| sum(range.map(|n| group(20 * n)).collect());
    let (own, others) = (groups(0..20), groups(20..43));
    let kernel = format!("fn k<N>(x: f32[N]) -> y: f32[N] {{ let s[i]: f32[N] = {own}; y[i] = s[i] + {others}; }}");
    assert_eq!(compiled(&kernel, ""), Ok((1, String::new())));
}

#[test]
fn what_a_schedule_asks_for_is_refused() {
    let terms: Vec<String> = (0..100).map(|n| format!("x[i] * {n}.5")).collect();
    let sums: Vec<String> = terms.chunks(20).map(|terms| format!("({})", terms.join(" + "))).collect();
    let reads: Vec<String> = (0..16).map(|n| format!("s.clamp()[i + {n}]")).collect();
    let (own, reads) = (sums.join(" + "), reads.join(" + "));
    let kernel = format!("fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {{ let s[i]: f32[N] = {own}; y[i] = {reads}; }}");
    let error = compiled(&kernel, "inline(s);").expect_err("it is too large");
    assert!(error.contains("cannot be inlined into `"), "{error}");
    assert!(error.contains("would have more than 2000 operations"), "{error}");
    assert!(error.contains("help: write `root(s") && error.contains("`compute_at(s"), "{error}");
}

#[test]
fn a_schedule_of_the_reader_is_warned() {
    let named = |warning: &str| warning.split("write `root(").nth(1).and_then(|rest| rest.split(')').next()).map(str::to_owned);
    let mut warned = 0;
    for count in 3..=9 {
        let from = format!("y[i] = s{count}[i];");
        let to = (0..4).map(|tap| clamped(&format!("s{count}"), tap)).collect::<Vec<_>>().join(" + ");
        let kernel = chain(count, &clamped).replace(&from, &format!("y[i] = {to};"));
        let (dispatches, warnings) = compiled(&kernel, LAST).expect("it compiles");
        let Some(root) = named(&warnings) else { continue };
        warned += 1;
        assert!(warnings.contains("is not inlined into `y`: it has a dispatch of its own"), "{warnings}");
        // The line from the help suppresses the warning. The planner can store more for the stage that it names.
        let (rooted, warnings) = compiled(&kernel, &format!("root({root}); {LAST}")).expect("it compiles");
        assert!(rooted >= dispatches && warnings.is_empty(), "{rooted} of {dispatches}: {warnings}");
        // Without a schedule for the reader, no warning is given.
        let (planned, warnings) = compiled(&kernel, "").expect("it compiles");
        assert!(planned >= dispatches && warnings.is_empty(), "{planned} of {dispatches}: {warnings}");
    }
    assert!(warned > 0, "the chains are too short for this test");
}

#[test]
fn indices_are_in_one_form() {
    let e = Exprs::new();
    let (one, two, three) = (e.int(1), e.int(2), e.int(3));
    let i = e.axis(tilewright_dsl::arena::Id::new(0));
    let moved = e.sum(e.difference(e.sum(i, two), three), one);
    assert_eq!(e.canonical(moved), i);
    assert_eq!(e.canonical(e.sum(e.sum(i, two), one)), e.canonical(e.sum(e.sum(i, one), two)));
    assert_eq!(e.canonical(e.difference(e.product(two, e.sum(i, one)), i)), e.canonical(e.sum(i, two)));
    // The factor does not fit in a literal, so it stays a product.
    let large = (0..40).fold(i, |of, _| e.sum(e.product(of, two), of));
    assert_ne!(e.canonical(large), i);
    assert!(e.linear(large).axes.values().all(|n| i32::try_from(*n).is_ok()));
}
