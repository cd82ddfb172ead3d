//! Tests the documentation that the macros write for the items of `kernel!` and `schedule!`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use tilewright_codegen::cost;
use tilewright_dsl::expand;

/// Returns the documentation of the item before a word, in lines, with the attributes of all groups in order.
fn documentation(expansion: TokenStream, before: &str) -> String {
    let mut lines = Vec::new();
    let trees: Vec<TokenTree> = expansion.into_iter().collect();
    for pair in trees.windows(2) {
        match pair {
            [TokenTree::Punct(mark), TokenTree::Group(group)] if mark.as_char() == '#' => {
                let text = group.stream().to_string();
                if let Some(literal) = text.strip_prefix("doc = ") {
                    lines.push(syn::parse_str::<syn::LitStr>(literal).expect("a string").value());
                }
            }
            [TokenTree::Ident(word), _] if word == before => return lines.join("\n"),
            [_, TokenTree::Punct(end)] if end.as_char() == ';' => lines.clear(),
            _ => {}
        }
    }
    panic!("no `{before}`")
}

fn matmul() -> TokenStream {
    quote! {
        /// C = A B.
        pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
            c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
        }
    }
}

fn schedule(tokens: TokenStream, kernel: TokenStream) -> String {
    let board = quote!(pub board: vulkan_1_1 { gflops: 1000, bandwidth: 100 });
    let chain = quote!(schedule { #tokens } kernel { #kernel } profiles { { vulkan_1_1 } { #board } });
    documentation(expand::compile(chain, tilewright_spirv::compile, cost::text), "const")
}

#[test]
fn a_schedule_begins_with_its_kernel_and_its_summary() {
    let source = "\n```text\npub TILED: …\n```\n";
    let text = schedule(
        quote! {
            /// One element for each invocation.
            #[doc = #source]
            pub TILED: kernels::matmul for boards::board {
                tile(i: 8, j: 8) => workgroup(y, x);
                distribute(i, j => thread(y, x));
            }
        },
        matmul(),
    );
    insta::assert_snapshot!(text);
}

#[test]
fn several_dispatches_have_their_intermediates() {
    let kernel = quote! {
        pub fn twice<N>(x: f32[N]) -> y: f32[N] {
            let first[i]: f32[N] = sum(k in 0..3) { x.clamp()[i + k] };
            y[i] = sum(k in 0..3) { first.clamp()[i - k] };
        }
    };
    let text = schedule(
        quote!(pub PLAIN: twice for board { first { distribute(i => workgroup(x)); } distribute(i => workgroup(x)); }),
        kernel,
    );
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "A schedule of [`twice`](mod@twice) for `board`.  ",
            "2 dispatches: 6 N flops, 16 N B if each tensor is moved once  ",
            "4 N B of intermediates; each bound by memory at every size",
        ]
    );
}

#[test]
fn a_kernel_shows_its_body() {
    let source = "\n```text\npub fn matmul<M, N, K>(…) { c[i, j] = … }\n```\n";
    let kernel = quote! {
        /// C = A B.
        #[doc = #source]
        pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
            c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
        }
    };
    let text = documentation(expand::kernel(kernel, tilewright_spirv::compile, cost::text), "mod");
    assert!(!text.contains("a: f32[M, K]"), "the source replaces the declaration: {text}");
    let unknown = documentation(expand::kernel(matmul(), tilewright_spirv::compile, cost::text), "mod");
    insta::assert_snapshot!([text, unknown].join("\n---\n"));
}
