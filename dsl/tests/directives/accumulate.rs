//! `accumulate`: its nest, its obligations and its refusals. Read the snapshots in review.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::{Body, Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const PRODUCT: &str =
    "fn k<M, N, K>(a: i8[M, K], b: i8[K, N]) -> c: i32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[k, j] as i32 }; }";

/// Returns a program that the compiler makes of a kernel and a schedule.
fn program(kernel: &str, schedule: &str) -> Program {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: k for vulkan_1_1 {schedule}");
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    compile(&kernel, &schedule, &Profile::vulkan_1_1()).expect("it compiles").program
}

/// Returns the lowered nest and the obligations about the accumulator, or the errors.
fn compiled(kernel: &str, schedule: &str) -> String {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: k for vulkan_1_1 {schedule}");
    let schedule =
        syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().map_err(|e| e.texts(&spans));
    let schedule = match schedule {
        Ok(schedule) => schedule,
        Err(said) => return strip(&said),
    };
    match compile(&kernel, &schedule, &Profile::vulkan_1_1()) {
        Ok(compiled) => {
            let owed = compiled.program.report.ledger.iter().filter(|owed| owed.what.contains("is exact in"));
            let owed: Vec<String> = owed.map(|owed| format!("{}: {:?}", owed.what, owed.state)).collect();
            format!("{}\n{}", owed.join("\n"), print::plan(&compiled.program))
        }
        Err(errors) => strip(&errors.texts(&spans)),
    }
}

/// Removes the name of the parsed string, because it contains a counter that depends on the other tests.
fn strip(text: &str) -> String {
    let parts = text.split("<parsed string ").enumerate();
    parts.map(|(n, part)| if n == 0 { part } else { part.split_once(">:").map_or(part, |(_, rest)| rest) }).collect()
}

#[test]
fn sums_of_products_in_f32() {
    let product = |facts: &str| {
        compiled(
            PRODUCT,
            &format!("{facts} {{ accumulate(as f32); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }}"),
        )
    };
    let all = format!("{}\n{}", product(""), product("where K <= 1024"));
    insta::assert_snapshot!(all);
}

#[test]
fn refusals() {
    let one = |kernel: &str, directives: &str| format!("{directives}\n{}", compiled(kernel, &format!("{{ {directives} }}")));
    let of = |item: &str, op: &str, range: &str| {
        format!(
            "fn k<N>(x: i8[N, 600], w: i32[N, 600], f: f32[N, 600], u: u8[N, 600]) -> y: i32[N] {{ y[i] = {op}(k in {range}) {{ {item} }}; }}"
        )
    };
    let (wide, narrow) = (of("w[i, k]", "sum", "0..600"), of("x[i, k] as i32 * x[i, k] as i32", "sum", "0..600"));
    let said = [
        one(&of("x[i, k] as i32", "prod", "0..600"), "accumulate(as f32);"),
        one(&of("f[i, k]", "argmax", "0..600"), "accumulate(as f32);"),
        one("fn k<N>(x: f32[N]) -> y: f32[] { y[] = sum(k in 0..N) { x[k] }; }", "accumulate(as i16);"),
        one("fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = x[i] + 1; }", "accumulate(as i16);"),
        one(&narrow, "accumulate(as f16);"),
        one(&narrow, "accumulate(as i32);"),
        one(&narrow, "accumulate(as u32);"),
        one(&narrow, "accumulate(as i64);"),
        one(&narrow, "accumulate(as half);"),
        one(&narrow, "accumulate(f32);"),
        one(&narrow, "accumulate(as i16);"),
        one(&narrow, "accumulate(as i8);"),
        one(&narrow, "accumulate(as u16);"),
        one(&wide, "accumulate(as f32);"),
        one(&of("x[i, k] as i32 * x[i, k] as i32 * 100", "sum", "0..600"), "accumulate(as f32);"),
        one(&of("x[k, 0] as i32", "sum", "0..i + 1"), "accumulate(as i16);"),
        one(&of("(u[i, k] * u[i, k]) as i32", "sum", "0..600"), "accumulate(as i8);"),
        // The declared sum wraps at 8 bits, and a sum in f32 would not.
        one("fn k<N>(x: i8[N, 600]) -> y: i8[N] { y[i] = sum(k in 0..600) { x[i, k] }; }", "accumulate(as f32);"),
        one(&narrow, "tile(k: 8 => k_o); accumulate(as f32);"),
        one(&narrow, "tile(i: 8) => workgroup(x); accumulate(as f32);"),
        one(&narrow, "tile(k: 8 => k_o); rfactor(k_o => part); accumulate(as f32);"),
        one(&narrow, "accumulate(as f32); accumulate(as f32);"),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

/// The verifier refuses a reduction in another dtype if its number of items is not checked, or its parts differ from the declared ones.
#[test]
fn the_verifier_checks_the_result() {
    let made =
        || program(PRODUCT, "{ accumulate(as f32); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }");
    let refused = |change: &dyn Fn(&mut Program)| {
        let mut changed = made();
        change(&mut changed);
        let errors = verify(&changed, &Profile::vulkan_1_1()).expect_err("a refusal");
        errors.0.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(verify(&made(), &Profile::vulkan_1_1()).is_ok());
    let said = refused(&|program| program.checks.conditions.clear());
    assert!(said.contains("partial results that its dtype does not have"), "{said}");
    let said = refused(&|program| {
        let declared = program.notes.accumulated[0].declared.clone();
        let (Body::Reduce { lift, .. }, Body::Reduce { lift: own, .. }) = (declared, &mut program.notes.accumulated[0].body) else {
            return;
        };
        *own = lift;
    });
    assert!(said.contains("has other items"), "{said}");
    let said = refused(&|program| {
        let Body::Reduce { lift, .. } = &mut program.notes.accumulated[0].body else { return };
        lift[0] = program.exprs.product(lift[0], lift[0]);
    });
    assert!(said.contains("has other items"), "{said}");
    let said = refused(&|program| {
        let Body::Reduce { finish, .. } = &mut program.notes.accumulated[0].body else { return };
        *finish = program.exprs.sum(*finish, *finish);
    });
    assert!(said.contains("has another finish"), "{said}");
}
