//! `dot`: the nests that it makes, all refusals with their whole messages, and wrong dot products that the verifier refuses.

use tilewright_dsl::compile::{Compiled, compile};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Binary, Expr};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{Exec, NodeKind, Program, print, walk};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

/// Both factors have the axis of the sum last.
const ROWS: &str = "fn k<M, N, K>(a: i8[M, K], b: i8[N, K]) -> c: i32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[j, k] as i32 };
}";

const MATMUL: &str = "fn k<M, N, K>(a: i8[M, K], b: u8[K, N]) -> c: i32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[k, j] as i32 };
}";

/// Distributes the result, as all schedules do that name no workgroups themselves.
const PLACED: &str = "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));";

/// Returns a profile with dot products.
fn able() -> Profile {
    let mut profile = Profile::vulkan_1_1();
    profile.features.extend([Feature::IntegerDotProduct, Feature::Storage8, Feature::I8]);
    profile
}

fn compiled(kernel: &str, schedule: &str, profile: &Profile) -> Result<Compiled, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: k for vulkan_1_1 {schedule}");
    let parsed = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result();
    let schedule = parsed.map_err(|errors| errors.texts(&spans))?;
    compile(&kernel, &schedule, profile).map_err(|errors| errors.texts(&spans))
}

/// Returns the nest under the directives, and the lowered nest.
fn nests(kernel: &str, facts: &str, directives: &str) -> String {
    let made = compiled(kernel, &format!("{facts} {{ {directives} show; }}"), &able()).unwrap_or_else(|text| panic!("{text}"));
    let shown: Vec<&str> = made.warnings.0.iter().map(|w| w.message.trim_start_matches("the nest here:\n")).collect();
    format!("{}\n## lowered\n{}", shown.join("\n"), print::plan(&made.program))
}

#[test]
fn words_of_tensors() {
    insta::assert_snapshot!(nests(ROWS, "where K % 4 == 0", &format!("{PLACED} dot(k, 4);")));
}

#[test]
fn words_of_copies() {
    let directives = "tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[i, k], at: k_o, to: shared, fill: 0);
        promote(b => b_s[j, k], at: k_o, to: shared, fill: 0, row_pad: 4);
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);
        dot(k, 4);";
    insta::assert_snapshot!(nests(MATMUL, "", directives));
}

const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("an extent that 4 may not divide", ROWS, "", "dot(k, 4);"),
    (
        "a literal extent that 4 does not divide",
        "fn k<M, N>(a: i8[M, 6], b: i8[N, 6]) -> c: i32[M, N] { c[i, j] = sum(k in 0..6) { a[i, k] as i32 * b[j, k] as i32 }; }",
        "",
        "dot(k, 4);",
    ),
    ("a parallel axis", ROWS, "where N % 32 == 0", "tile(i: 8) => workgroup(x); distribute(i => thread(x)); dot(j, 4); serial(j);"),
    ("an axis that is not there", ROWS, "where K % 4 == 0", "dot(q, 4);"),
    ("an axis that was split", ROWS, "where K % 8 == 0", "split(k, [_, 8] => p, q); dot(k, 4);"),
    ("an unrolled axis", ROWS, "where K == 16", "unroll(k); dot(k, 4);"),
    ("eight factors", ROWS, "where K % 8 == 0", "dot(k, 8);"),
    ("no number", ROWS, "where K % 4 == 0", "dot(k);"),
    ("a key", ROWS, "where K % 4 == 0", "dot(k, 4, vector: 2);"),
    ("twice", ROWS, "where K % 16 == 0", "dot(k, 4); dot(k, 4);"),
    ("the factors of a word", ROWS, "where K % 4 == 0", "dot(k, 4); unroll(k_dot);"),
    ("the factors of a word as a place", ROWS, "where K % 4 == 0", "dot(k, 4); promote(a => a_r[i], at: k_dot, to: register);"),
    (
        "a vector of the same stage, later",
        ROWS,
        "where K % 4 == 0, N % 4 == 0",
        "tile(i: 8, j: 32) => workgroup(y, x); tile(i: 1, j: 4) => thread(y, x); dot(k, 4); vectorize(j, 4);",
    ),
    (
        "a vector of the same stage, before",
        ROWS,
        "where K % 4 == 0, N % 4 == 0",
        "tile(i: 8, j: 32) => workgroup(y, x); tile(i: 1, j: 4) => thread(y, x); vectorize(j, 4, unaligned: scalar); dot(k, 4);",
    ),
    ("a factor with another axis last", MATMUL, "where K % 4 == 0", "dot(k, 4);"),
    (
        "a copy with another axis last",
        MATMUL,
        "where K % 32 == 0",
        "tile(k: 32 => k_o); promote(b => b_s[k, j], at: k_o, to: shared); dot(k, 4);",
    ),
    (
        "registers with another axis last",
        MATMUL,
        "where K % 32 == 0",
        "tile(i: 8, j: 32) => workgroup(y, x); tile(i: 1, j: 4) => thread(y, x); tile(k: 32 => k_o); reorder(k_o, k, j);
         promote(b => b_r[k, j], at: k_o, to: register); dot(k, 4); unroll(k, j);",
    ),
    (
        "a tail within a word",
        ROWS,
        "",
        "tile(k: 32 => k_o); promote(a => a_s[i, k], at: k_o, to: shared); promote(b => b_s[j, k], at: k_o, to: shared); dot(k, 4);",
    ),
    ("rows that may begin within a word", ROWS, "", "tile(k: 32 round_up => k_o); dot(k, 4);"),
    (
        "a pad that moves words apart",
        ROWS,
        "where K % 32 == 0",
        "tile(k: 32 => k_o); promote(a => a_s[i, k], at: k_o, to: shared, row_pad: 2); dot(k, 4);",
    ),
    (
        "words from an odd place on",
        "fn k<M, N, K>(a: i8[M, K + 4], b: i8[N, K]) -> c: i32[M, N] {
            c[i, j] = sum(k in 0..K) { a[i, k + 1] as i32 * b[j, k] as i32 };
        }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a word that can be out of bounds",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N, K]) -> c: i32[M, N] {
            c[i, j] = sum(k in 0..K) { a.pad(0)[i, k + 4] as i32 * b[j, k] as i32 };
        }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a factor that is the same for all of the sum",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N]) -> c: i32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[j] as i32 }; }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a table",
        "fn k<M>(a: i8[M, 4]) -> c: i32[M] {
            const W: i8[4] = [1, 2, 3, 4];
            c[i] = sum(k in 0..4) { a[i, k] as i32 * W[k] as i32 };
        }",
        "",
        "tile(i: 8) => workgroup(x); distribute(i => thread(x)); dot(k, 4);",
    ),
    (
        "a factor of more bits",
        "fn k<M, N, K>(a: i16[M, K], b: i8[N, K]) -> c: i32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[j, k] as i32 }; }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "products that wrap at 8 bits",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N, K]) -> c: i8[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[j, k] }; }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "products of floats",
        "fn k<M, N, K>(a: f32[M, K], b: f32[N, K]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[j, k] }; }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a factor that is computed",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N, K], z: i32) -> c: i32[M, N] {
            c[i, j] = sum(k in 0..K) { (a[i, k] as i32 - z) * b[j, k] as i32 };
        }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "items that are not products",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N, K]) -> c: i32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as i32 + b[j, k] as i32 }; }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a maximum",
        "fn k<M, N, K>(a: i8[M, K], b: i8[N, K]) -> c: i32[M, N] where K >= 1 {
            c[i, j] = max(k in 0..K) { a[i, k] as i32 * b[j, k] as i32 };
        }",
        "where K % 4 == 0",
        "dot(k, 4);",
    ),
    (
        "a stage without a sum",
        "fn k<M, N>(a: i8[M, N]) -> c: i32[M, N] { c[i, j] = a[i, j] as i32 * 2; }",
        "",
        "tile(i: 8) => workgroup(x); dot(j, 4);",
    ),
];

/// Shows the whole messages: each must name the mistake and its place, and say what to write instead.
#[test]
fn what_is_refused() {
    let mut all = String::new();
    for (title, kernel, facts, directives) in REFUSED {
        let placed = if directives.contains("workgroup") { "" } else { PLACED };
        let text = compiled(kernel, &format!("{facts} {{ {placed} {directives} }}"), &able()).err();
        let text = text.unwrap_or_else(|| panic!("{title}: accepted"));
        assert!(!text.contains("bug in the compiler"), "{title}: {text}");
        all += &format!("## {title}\n{text}\n");
    }
    let schedule = format!("where K % 4 == 0 {{ {PLACED} dot(k, 4); }}");
    let without = compiled(ROWS, &schedule, &Profile::vulkan_1_1()).expect_err("a refusal");
    all += &format!("## a profile without dot products\n{without}\n");
    let mut wide = able();
    wide.features.remove(&Feature::I8);
    let directives = "tile(k: 32 => k_o); promote(b => b_s[j, k], at: k_o, to: shared); dot(k, 4);";
    let schedule = format!("where K % 32 == 0 {{ {PLACED} {directives} }}");
    let text = compiled(MATMUL, &schedule, &wide).expect_err("a refusal");
    all += &format!("## a shared copy whose elements have 32 bits\n{text}\n");
    insta::assert_snapshot!(all);
}

/// Returns the refusal of a changed nest.
fn changed(change: impl Fn(&mut Program), profile: &Profile) -> String {
    let schedule = format!("where K % 16 == 0 {{ {PLACED} dot(k, 4); }}");
    let mut program = compiled(ROWS, &schedule, &able()).unwrap_or_else(|text| panic!("{text}")).program;
    change(&mut program);
    let errors = verify(&program, profile).expect_err("the verifier accepts a wrong dot product");
    errors.0.first().map(|error| error.message.clone()).unwrap_or_default()
}

/// Changes the loops and computes of a program.
fn each(program: &mut Program, f: impl Fn(&mut NodeKind)) {
    for dispatch in &mut program.plan {
        walk::each_mut(&mut dispatch.body, &mut |node| f(&mut node.kind));
    }
}

#[test]
fn wrong_dot_products() {
    let item = |program: &mut Program, new: &dyn Fn(&mut Program, tilewright_dsl::expr::ExprId) -> tilewright_dsl::expr::ExprId| {
        let mut found = None;
        each_item(program, &mut |value| found = found.or(Some(*value)));
        let value = new(program, found.expect("an update"));
        each_item(program, &mut |old| *old = value);
    };
    let other = |op: Binary| {
        move |program: &mut Program, value| match *program.exprs.get(value) {
            Expr::Binary(_, a, b) => program.exprs.binary(op, a, b),
            _ => value,
        }
    };
    let eight = changed(
        |program| {
            each(program, |kind| {
                if let NodeKind::Loop(l) = kind
                    && l.exec == Exec::Serial
                {
                    l.exec = Exec::Dot;
                }
            });
        },
        &able(),
    );
    assert!(eight.contains("dot product"), "{eight}");
    let sums = changed(|program| item(program, &other(Binary::Add)), &able());
    assert!(sums.contains("does not multiply two bytes"), "{sums}");
    let wide = changed(
        |program| {
            let a = program.buffers.ids().find(|id| program.buffers[*id].name == "a").expect("an argument");
            program.buffers[a].dtype = DType::I16;
            let index = program.buffers[a].shape.iter().map(|_| program.exprs.int(0)).collect::<Vec<_>>();
            let read = program.exprs.read(a, DType::I16, index);
            item(program, &|program, value| match *program.exprs.get(value) {
                Expr::Binary(op, _, b) => program.exprs.binary(op, program.exprs.cast(DType::I32, read), b),
                _ => value,
            });
        },
        &able(),
    );
    assert!(wide.contains("does not multiply two bytes"), "{wide}");
    let without = changed(|_| (), &Profile::vulkan_1_1());
    assert!(without.contains("needs `integer_dot_product`"), "{without}");
    let threads = changed(
        |program| {
            each(program, |kind| {
                if let NodeKind::Loop(l) = kind
                    && let Exec::Bind(tilewright_dsl::nest::Level::Thread, tilewright_dsl::nest::Slot::X) = l.exec
                {
                    l.exec = Exec::Dot;
                }
            });
        },
        &able(),
    );
    assert!(threads.contains("dot product"), "{threads}");
}

/// Calls a function for the item of each update.
fn each_item(program: &mut Program, f: &mut dyn FnMut(&mut tilewright_dsl::expr::ExprId)) {
    for dispatch in &mut program.plan {
        walk::each_mut(&mut dispatch.body, &mut |node| {
            if let NodeKind::Compute(compute) = &mut node.kind
                && compute.phase == tilewright_dsl::nest::Phase::Update
            {
                compute.value.iter_mut().for_each(&mut *f);
            }
        });
    }
}
