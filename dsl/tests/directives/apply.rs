//! Compares schedules that have numbers, or apply others, with schedules that contain the same directives themselves.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::schedule::applied::applied_paths;
use tilewright_dsl::syntax::{self, Kernel, Library};

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const LISTS: [(&str, &str); 4] = [
    ("TILES", "TILES<T = 16, U = T / 4> { tile(i: T, j: T) => workgroup(y, x); tile(i: U, j: U) => thread(y, x); }"),
    ("lists::LOOPS", "pub LOOPS { reorder(k, i, j); unroll(i, j); }"),
    ("COPIES", "COPIES<PAD = 0, AT = 8> { tile(k: AT => k_o); promote(a => a_s, at: k_o, to: shared, row_pad: PAD + 1); }"),
    ("WHOLE", "WHOLE<T = 8>: other<T = f32> for somewhere where N == T { apply TILES<T = T * 2, U = 2>; apply lists::LOOPS; }"),
];

/// Returns a schedule's tokens with the lists that it applies, as the carriers and the reader of source files collect them.
fn with_library(own: &str) -> proc_macro2::TokenStream {
    let own = own.parse().expect("tokens");
    let mut library = Library::default();
    while let Some(path) = library.missing(applied_paths(&own)) {
        let list = LISTS.iter().find(|(name, _)| *name == path.text()).map(|(_, text)| with_library(text));
        library.add(path.literal(), list);
    }
    library.before(&own)
}

fn kernel(spans: &mut Spans) -> Kernel {
    syntax::kernel::parse(MATMUL.parse().expect("tokens"), spans).into_result().expect("a kernel")
}

/// Returns the nest of a schedule, or its errors without places.
fn nest(schedule: &str) -> String {
    let mut spans = Spans::new();
    let kernel = kernel(&mut spans);
    let schedule = syntax::parse(with_library(schedule), &mut spans, Schedule::parse).into_result();
    match schedule.and_then(|schedule| compile(&kernel, &schedule, &Profile::vulkan_1_1())) {
        Ok(made) => print::plan(&made.program),
        Err(errors) => errors.0.iter().map(|e| format!("{} | {:?} | {:?}\n", e.message, notes(e, &spans), e.help)).collect(),
    }
}

/// Returns the notes as they are shown, without places.
fn notes(error: &tilewright_dsl::diag::Error, spans: &Spans) -> Vec<String> {
    let text = error.text(spans);
    let notes = text.lines().filter_map(|line| line.trim_start().strip_prefix("note: "));
    notes.map(|note| note.split(" (<").next().unwrap_or(note).to_owned()).collect()
}

#[test]
fn applied_directives_equal_those_that_are_written_out() {
    let tiles = |t: i64, u: i64| format!("tile(i: {t}, j: {t}) => workgroup(y, x); tile(i: {u}, j: {u}) => thread(y, x);");
    let loops = "reorder(k, i, j); unroll(i, j);";
    for (applied, written) in [
        ("V: matmul for p { apply TILES; apply lists::LOOPS; }", format!("V: matmul for p {{ {} {loops} }}", tiles(16, 4))),
        ("V: matmul for p { apply TILES<T = 8>; apply lists::LOOPS<>; }", format!("V: matmul for p {{ {} {loops} }}", tiles(8, 2))),
        (
            "V: matmul for p { c { apply TILES<U = 2,>; apply lists::LOOPS; } }",
            format!("V: matmul for p {{ {} {loops} }}", tiles(16, 2)),
        ),
        ("V: matmul for p { apply WHOLE; }", format!("V: matmul for p {{ {} {loops} }}", tiles(16, 2))),
        (
            "V<T = 2>: matmul for p where N % (T * 8) == 0 { apply WHOLE<T = T * 2>; }",
            format!("V: matmul for p where N % 16 == 0 {{ {} {loops} }}", tiles(8, 2)),
        ),
        (
            "V<PAD = 3>: matmul for p { apply TILES<T = B * 4>; tune B in [2, 4] = 2; apply COPIES<PAD = PAD, AT = B>; reorder(k_o, k, i, j); unroll(i, j); }",
            format!(
                "V: matmul for p {{ {} tile(k: 2 => k_o); promote(a => a_s, at: k_o, to: shared, row_pad: 4); reorder(k_o, k, i, j); unroll(i, j); }}",
                tiles(8, 2)
            ),
        ),
    ] {
        let (applied, written) = (nest(applied), nest(&written));
        assert_eq!(applied, written);
        assert!(written.starts_with("dispatch c"), "{written}");
    }
}

#[test]
fn errors_name_the_schedules_that_apply_a_list() {
    for (schedule, expected) in [
        (
            "V: matmul for p { apply TILES<T = 0>; }",
            "a factor must be at least 1 and below 2^31, not 0 | [\"`TILES` is applied with T = 0\"] | None\n",
        ),
        (
            "V: matmul for p { apply WHOLE<T = 0>; }",
            "a factor must be at least 1 and below 2^31, not 0 | [\"`TILES` is applied with T = 0 * 2, U = 2\", \"`WHOLE` is applied with T = 0\"] | None\n",
        ),
        (
            "V: matmul for p { apply lists::LOOPS<T = 1>; }",
            "`LOOPS` does not have the number `T` | [] | Some(\"it has no numbers\")\n",
        ),
        (
            "V<T = 8, u = 1>: matmul for p { apply TILES; }",
            "the name of a number is written in capitals | [] | Some(\"write `U`\")\n",
        ),
        ("V: matmul for p { apply; }", "expected the path of a schedule, found `;` | [] | None\n"),
    ] {
        assert_eq!(nest(schedule), expected, "{schedule}");
    }
}

/// `apply` is not a keyword: kernels, stages, axes and constants can have the name.
#[test]
fn only_items_apply_schedules() {
    let paths = |own: &str| {
        let paths = applied_paths(&own.parse().expect("tokens"));
        paths.iter().map(|path| path.text()).collect::<Vec<_>>()
    };
    let none =
        "V: apply for p where apply > 1 { tune apply in [1, 2] = 2; tile(apply: 4 => a); apply { unroll(i); } apply, x { show; } }";
    assert_eq!(paths(none), [""; 0]);
    assert_eq!(paths("L { apply a::B<R = 2>; x { apply ::c::D; show; apply a::B; } apply E; }"), ["a::B", "c::D", "E"]);
}

/// Lists that double one another would take forever.
#[test]
fn applications_are_limited() {
    let mut tokens: proc_macro2::TokenStream = "L0 { unroll(i); unroll(j); }".parse().expect("tokens");
    for level in 1..40 {
        let own: proc_macro2::TokenStream = format!("L{level} {{ apply L{0}; apply L{0}; }}", level - 1).parse().expect("tokens");
        let mut library = Library::default();
        library.add(library.missing(applied_paths(&own)).expect("it applies one").literal(), Some(tokens));
        tokens = library.before(&own);
    }
    let own = "V: matmul for p { apply L39; }".parse().expect("tokens");
    let mut library = Library::default();
    library.add(library.missing(applied_paths(&own)).expect("it applies one").literal(), Some(tokens));
    let mut spans = Spans::new();
    let errors = syntax::parse(library.before(&own), &mut spans, Schedule::parse).errors;
    let messages: Vec<&str> = errors.0.iter().map(|error| error.message.as_str()).collect();
    assert!(messages.contains(&"there are more than 512 schedules that this one applies"), "{messages:?}");
}
