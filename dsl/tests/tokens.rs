//! Tests the functions on tokens and source texts that the macros use.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use tilewright_dsl::expand::source::paragraph;
use tilewright_dsl::expand::tokens::{text, visible};

#[test]
fn declarations_read_as_they_are_written() {
    for line in [
        "fn conv<T: f32 | f16, N, S = 1, OH = (IH - FH) / S + 1>(x: T[N, IH], w: &mut T[2]) -> y: T[N, OH]",
        "fn iota<N = 16>() -> (y: i32[N], z: i32[N])",
        "fn total(x: f32[4]) -> y: f32[]",
    ] {
        let tokens: TokenStream = line.parse().expect("tokens");
        assert_eq!(text(&tokens), line);
    }
}

#[test]
fn invisible_groups_become_visible_where_they_matter() {
    let group = |line: &str| TokenTree::Group(Group::new(Delimiter::None, line.parse().expect("tokens")));
    let shown = |line: &str| text(&visible(group(line).into()).expect("it is flat"));
    assert_eq!(shown("N + 1"), "(N + 1)");
    assert_eq!(shown("f32"), "f32");
    assert_eq!(shown("a::b"), "a::b");
    let nested: TokenStream = [group("N + 1")].into_iter().collect();
    let bracket = TokenTree::Group(Group::new(Delimiter::Bracket, nested));
    assert_eq!(text(&visible(bracket.into()).expect("it is flat")), "[(N + 1)]");
}

#[test]
fn text_of_a_call() {
    let call = "tilewright::schedule! {\n    /// What it is.\n    pub V: k for p {\n        tile(i: 4); // a comment\n\n        unroll(i);\n    }\n}";
    let shown = "\n```text\npub V: k for p {\n    tile(i: 4); // a comment\n\n    unroll(i);\n}\n```\n";
    assert_eq!(paragraph(call).as_deref(), Some(shown));
    let imported = "kernel! {\n    use a::cube;\n    /// Cubes.\n    fn k<N>(x: f32[N]) -> y: f32[N] {}\n}";
    let shown = "\n```text\nuse a::cube;\nfn k<N>(x: f32[N]) -> y: f32[N] {}\n```\n";
    assert_eq!(paragraph(imported).as_deref(), Some(shown));
    assert_eq!(paragraph("schedule! { V: k for p {} }").as_deref(), Some("\n```text\nV: k for p {}\n```\n"));
    assert_eq!(paragraph("schedule!(V: k for p { // ```\n})").as_deref(), Some("\n````text\nV: k for p { // ```\n}\n````\n"));
}

#[test]
fn no_text() {
    for call in ["", "schedule!", "schedule! {", "schedule! {}", "schedule! { pub $name: k for p {} }"] {
        assert_eq!(paragraph(call), None, "{call}");
    }
}
