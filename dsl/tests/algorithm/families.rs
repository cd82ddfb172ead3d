//! Families of stages: members are stages like those that are written one by one, and every refusal has its whole text.

use super::without_names;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::families::identifier;
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::{self, kernel};

/// Returns the nests of a kernel under a schedule, or all errors.
pub(super) fn nests(kernel: &str, schedule: &str) -> Result<String, String> {
    let mut spans = Spans::new();
    let kernel = kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result();
    let kernel = kernel.map_err(|errors| without_names(&errors.texts(&spans)))?;
    let schedule = format!("V: k for p {schedule}").parse().expect("tokens");
    let schedule = syntax::parse(schedule, &mut spans, Schedule::parse).into_result();
    let schedule = schedule.map_err(|errors| without_names(&errors.texts(&spans)))?;
    let made = compile(&kernel, &schedule, &Profile::vulkan_1_1());
    made.map(|made| print::plan(&made.program)).map_err(|errors| without_names(&errors.texts(&spans)))
}

/// Replaces names of members, `s[2]`, by identifiers, `s_2`. No tensor of these tests has a number as its only index.
fn flat(text: &str) -> String {
    (0..10)
        .flat_map(|n| ["s", "t", "down", "up"].map(|family| format!("{family}[{n}]")))
        .fold(text.to_owned(), |text, member| text.replace(&member, &identifier(&member)))
}

#[test]
fn members_are_stages() {
    for (with, schedule, without, plain) in [
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                let s[0][i]: f32[N] = x[i] * 2.0;
                for l in 1..4 { let s[l][i]: f32[N] = s[l - 1].clamp()[i + (1 << l)] + l as f32; }
                y[i] = s[3][i] - s[0].pad(1.0)[i + 1];
            }",
            "{ root(s[..]); s[..] { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } distribute(i => workgroup(x)); }",
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                let s_0[i]: f32[N] = x[i] * 2.0;
                let s_1[i]: f32[N] = s_0.clamp()[i + 2] + 1.0;
                let s_2[i]: f32[N] = s_1.clamp()[i + 4] + 2.0;
                let s_3[i]: f32[N] = s_2.clamp()[i + 8] + 3.0;
                y[i] = s_3[i] - s_0.pad(1.0)[i + 1];
            }",
            "{ root(s_0, s_1, s_2, s_3); s_0, s_1, s_2, s_3 { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } distribute(i => workgroup(x)); }",
        ),
        // A pyramid, whose schedule places one member in the tiles of its reader.
        (
            "fn k<H, W>(x: f32[H, W]) -> y: f32[H >> 2, W / 4] {
                let down[0][i, j]: f32[H, W] = x[i, j].sqrt();
                for l in 1..=2 { let down[l][i, j]: f32[H >> l, W / (1 << l)] = down[l - 1][2 * i, 2 * j] + down[l - 1][2 * i + 1, 2 * j + 1]; }
                y[i, j] = down[2][i, j];
            }",
            "{
                inline(down[..1]);
                tile(i: 4, j: 4) => workgroup(y, x);
                compute_at(down[1], workgroup, to: shared);
                inline(down[2]);
                distribute(i, j => thread(y, x));
                down[1..2] { distribute(i, j => thread(y, x)); }
            }",
            "fn k<H, W>(x: f32[H, W]) -> y: f32[H / 4, W / 4] {
                let down_0[i, j]: f32[H, W] = x[i, j].sqrt();
                let down_1[i, j]: f32[H / 2, W / 2] = down_0[2 * i, 2 * j] + down_0[2 * i + 1, 2 * j + 1];
                let down_2[i, j]: f32[H / 4, W / 4] = down_1[2 * i, 2 * j] + down_1[2 * i + 1, 2 * j + 1];
                y[i, j] = down_2[i, j];
            }",
            "{
                inline(down_0);
                tile(i: 4, j: 4) => workgroup(y, x);
                compute_at(down_1, workgroup, to: shared);
                inline(down_2);
                distribute(i, j => thread(y, x));
                down_1 { distribute(i, j => thread(y, x)); }
            }",
        ),
        // Loops in loops, values in loops, and a family of single numbers.
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                for a in 0..2 {
                    for b in 0..2 { let s[2 * a + b][i]: f32[N] = { let by = a as f32 + 0.5; x[i] * by + b as f32 }; }
                    let t[a][]: f32[] = sum(i in 0..N) { s[2 * a][i] * s[2 * a + 1][i] };
                }
                y[i] = t[0][] + t[1][] * s[3][i];
            }",
            "{ root(s[..]); t[..] { tile(i: 64 => i_o); distribute(i => thread(x), by: tree); } s[0], s[2..4] { distribute(i => workgroup(x)); } }",
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                let s_0[i]: f32[N] = { let by = 0.0 + 0.5; x[i] * by + 0.0 };
                let s_1[i]: f32[N] = { let by = 0.0 + 0.5; x[i] * by + 1.0 };
                let t_0[]: f32[] = sum(i in 0..N) { s_0[i] * s_1[i] };
                let s_2[i]: f32[N] = { let by = 1.0 + 0.5; x[i] * by + 0.0 };
                let s_3[i]: f32[N] = { let by = 1.0 + 0.5; x[i] * by + 1.0 };
                let t_1[]: f32[] = sum(i in 0..N) { s_2[i] * s_3[i] };
                y[i] = t_0[] + t_1[] * s_3[i];
            }",
            "{ root(s_0, s_1, s_2, s_3); t_0, t_1 { tile(i: 64 => i_o); distribute(i => thread(x), by: tree); } s_0, s_2, s_3 { distribute(i => workgroup(x)); } }",
        ),
        // Copies of members have names that directives can write.
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                for l in 0..2 { let s[l][i]: f32[N] = x[i] * 2.0 + l as f32; }
                y[i] = s[0][i] + s[1].clamp()[i + 1];
            }",
            "{
                root(s[0..=1]);
                tile(i: 64) => workgroup(x);
                promote(s[1], at: workgroup, to: shared);
                distribute(i => thread(x));
                s_1_shared { distribute(i => thread(x)); }
                s[..2] { tile(i: 64) => workgroup(x); promote(x, at: workgroup, to: shared); distribute(i => thread(x)); }
                x_shared { distribute(i => thread(x)); }
            }",
            "fn k<N>(x: f32[N]) -> y: f32[N] {
                let s_0[i]: f32[N] = x[i] * 2.0 + 0.0;
                let s_1[i]: f32[N] = x[i] * 2.0 + 1.0;
                y[i] = s_0[i] + s_1.clamp()[i + 1];
            }",
            "{
                root(s_0, s_1);
                tile(i: 64) => workgroup(x);
                promote(s_1, at: workgroup, to: shared);
                distribute(i => thread(x));
                s_1_shared { distribute(i => thread(x)); }
                s_0, s_1 { tile(i: 64) => workgroup(x); promote(x, at: workgroup, to: shared); distribute(i => thread(x)); }
                x_shared { distribute(i => thread(x)); }
            }",
        ),
    ] {
        let wanted = nests(without, plain).unwrap_or_else(|errors| panic!("{errors}\n{without}\n{plain}"));
        let found = nests(with, schedule).unwrap_or_else(|errors| panic!("{errors}\n{with}\n{schedule}"));
        assert_eq!(flat(&found), wanted, "{with}\n{schedule}");
    }
}

#[test]
fn members_are_checked() {
    let kernel = |body: &str| {
        let text = format!("fn k<N>(x: f32[N], n: i32[N]) -> y: f32[N] {{\n{body}\n}}");
        format!("{body}\n{}", nests(&text, "{}").expect_err(&text))
    };
    // Only the limit on turns ends these loops, because the innermost one is empty.
    let loops = "abcdefgh".chars().map(|name| format!("for {name} in 0..64 {{ ")).collect::<String>();
    let nested = format!("{loops}for l in 1..1 {{ let s[1][i]: f32[N] = x[i]; ");
    let first = "let s[0][i]: f32[N] = x[i];\n";
    let many = "for a in 0..64 { let s[a][i]: f32[N] = x[i]; let t[a][i]: f32[N] = x[i]; }\n";
    let cases = [
        kernel("for l in 0..N { let s[l][i]: f32[N] = x[i]; } y[i] = s[0][i];"),
        kernel("for l in 0..65 { let s[l][i]: f32[N] = x[i]; } y[i] = s[0][i];"),
        kernel("for l in 0..=9223372036854775807 { let s[l][i]: f32[N] = x[i]; } y[i] = s[0][i];"),
        kernel(&format!("{first}{nested}{} y[i] = s[0][i];", "}".repeat(9))).replace(&nested, "nested "),
        kernel("for l in 3..1 + 1 { let s[l][i]: f32[N] = x[i]; } y[i] = s[3][i];"),
        kernel(&format!("{first}for l in 0..3 {{ let s[l][i]: f32[N] = s[l - 1][i]; }} y[i] = s[2][i];")),
        kernel(&format!("{first}for l in 0..3 {{ let s[l][i]: f32[N] = x[i]; }} y[i] = s[2][i];")),
        kernel(&format!("{first}for l in 1..3 {{ let s[l][i]: f32[N] = s[l][i]; }} y[i] = s[2][i];")),
        kernel(&format!("{first}for l in 1..3 {{ let s[l][i]: f32[N] = s[l - 1][i + 1]; }} y[i] = s[3][i];")),
        kernel(&format!("{first}for l in 1..3 {{ let s[l][i]: f32[N] = s[l - 1][i]; }} y[i] = s[3][i];")),
        kernel(&format!("{first}for l in 1..3 {{ let s[l][i]: f32[N] = s[l - 1][i] + n[i]; }} y[i] = s[2][i];")),
        kernel(&format!("{first}for l in 1..4 {{ let s[l][i]: f32[N] = s[l - 1][i] + x[N - (1 << l)]; }} y[i] = s[3][i];")),
        kernel(&format!("{first}for l in 1..3 {{ let s[l][i]: f32[N] = s[l - 1][i] + }} y[i] = s[2][i];")),
        kernel("for l in 0..3 { let s[l][i]: f32[N] = x[i]; let t[i]: f32[N] = x[i]; } y[i] = t[i];"),
        kernel("for l in 0..3 { let c = l as f32; let s[l][i]: f32[N] = x[i] * c; } y[i] = s[0][i];"),
        kernel("for l in 0..3 { let s[l][i]: f32[N] = x[i]; y[i] = s[l][i]; }"),
        kernel("for l in 0..3 { const C: f32[1] = [1.0]; let s[l][i]: f32[N] = C[0]; } y[i] = s[0][i];"),
        kernel("for l in 0..3 { let s[i][i]: f32[N] = x[i]; } y[i] = s[0][i];"),
        kernel("let s[0, 1][i]: f32[N] = x[i]; y[i] = s[0][i];"),
        kernel("let s[99][i]: f32[N] = x[i]; y[i] = s[99][i];"),
        kernel(&format!("{first}y[i] = s[i][i];")),
        kernel(&format!("{first}y[i] = s[0];")),
        kernel(&format!("{first}y[i] = s[i];")),
        kernel(&format!("{first}y[i] = x[0][i] + s[0][i];")),
        kernel(&format!("{first}let s[i]: f32[N] = x[i]; y[i] = s[i][0];")),
        kernel("for l in 0..3 { y[i] = x[i]; }"),
        kernel(&format!("{many}for a in 0..2 {{ let u[a][i]: f32[N] = s[a][i] + t[a][i]; }} y[i] = u[1][i];")).replace(many, ""),
    ];
    super::wrong::snapshot("families", cases.join("\n"));
}

#[test]
fn names_of_members_are_checked() {
    let of = |schedule: &str| {
        let text = "fn k<N>(x: f32[N]) -> y: f32[N] {
            for l in 0..4 { let down[l][i]: f32[N] = x[i] + l as f32; }
            y[i] = down[0][i] + down[1][i] + down[2][i] + down[3][i];
        }";
        format!("{schedule}\n{}", nests(text, schedule).expect_err(schedule))
    };
    let alone = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }";
    let cases = [
        of("{ dwn[..] { serial(i); } }"),
        of("{ x[..] { serial(i); } }"),
        of("{ down[2..5] { serial(i); } }"),
        of("{ down[3..3] { serial(i); } }"),
        of("{ down[4] { serial(i); } }"),
        of("{ down { serial(i); } }"),
        of("{ down[i] { serial(i); } }"),
        of("{ down[..i] { serial(i); } }"),
        of("{ down[..] { serial(j); } }"),
        of("{ down[..] { serial(i) } }"),
        of("{ inline(down[..9]); }"),
        of("{ inline(down[..=9223372036854775807]); }"),
        of("{ compute_at(down[..], workgroup, to: shared); }"),
        of("{ down[0]; }"),
        of("{ down[0](i); }"),
        of("{ precompute(up[..]); }"),
        nests(alone, "{ down[..] { serial(i); } }").expect_err("no family"),
    ];
    super::wrong::snapshot("names_of_members", cases.join("\n"));
}
