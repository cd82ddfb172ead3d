//! Tests the macros' expansions as data: no user input makes the macros panic, and a wrong item is still an item.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;
use tilewright_dsl::diag::{Error, Errors, SpanId};
use tilewright_dsl::expand::{self, CostText};
use tilewright_dsl::launch;
use tilewright_dsl::nest::Program;
use tilewright_dsl::profile::Profile;

/// A backend that returns an error, because only its input matters here.
fn backend(_: &Program, _: &Profile, _: &str) -> Result<launch::Program, Errors> {
    Err(Errors::new())
}

fn costs(_: &Program, _: &launch::Program, _: &Profile) -> CostText {
    CostText::default()
}

fn kernel() -> TokenStream {
    quote! {
        /// Convolution.
        pub fn conv<T: f32 | f16, IW, FW = 3, S = 1, OW = (IW - FW) / S + 1>(x: T[IW], w: T[FW], scale: f32) -> y: T[OW] {
            const W: f32[2] = [1.0, 2.0];
            let c = W[0] as T;
            let s[o]: T[OW] = sum(f in 0..FW) { x[o * S + f] * w[f] };
            y[o] = if o > 1 { s[o].max(c) * (scale as T) } else { x.pad(0.0)[o - 1] };
        }
    }
}

fn schedule() -> TokenStream {
    quote! {
        /// Tiled.
        pub FAST: a::conv<T = f32, S = 2> for b::board where OW % 8 == 0, finite(x) {
            s { tile(o: 8) => workgroup(x); distribute(o => thread(x)); unroll(f); }
            y { split(o, [_, 4] => o_a, o_b); vectorize(o_b, 4); show; serial(o_a); }
        }
    }
}

fn profile() -> TokenStream {
    quote! {
        /// A board.
        pub board: a::vulkan_1_1 { invocations: 256, local: [256, 256, 64], subgroup: none, features: [f16, address] }
    }
}

/// Returns every variant with one token or group removed or doubled, and every prefix.
fn damaged(tokens: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut all = Vec::new();
    for (n, tree) in trees.iter().enumerate() {
        let with = |middle: Vec<TokenTree>| trees[..n].iter().cloned().chain(middle).chain(trees[n + 1..].iter().cloned());
        all.push(trees[..n].iter().cloned().collect());
        all.push(with(Vec::new()).collect());
        all.push(with(vec![tree.clone(), tree.clone()]).collect());
        if let TokenTree::Group(group) = tree {
            for inside in damaged(&group.stream()) {
                all.push(with(vec![Group::new(group.delimiter(), inside).into()]).collect());
            }
        }
    }
    all
}

fn compiled(schedule: &TokenStream, kernel: &TokenStream, profile: &TokenStream) -> String {
    let chain = quote!(schedule { #schedule } kernel { #kernel } profiles { { vulkan_1_1 } { #profile } });
    expand::compile(chain, backend, costs).to_string()
}

fn reports(expansion: &str) -> bool {
    expansion.contains("compile_error")
}

#[test]
fn whole_items_report_nothing() {
    assert!(!reports(&expand::kernel(kernel(), backend, costs).to_string()));
    assert!(!reports(&expand::schedule(schedule()).to_string()));
    assert!(!reports(&expand::profile(profile()).to_string()));
    let profile = profile();
    assert!(!reports(&expand::define_profile(quote!(profile { #profile } profiles { { vulkan_1_1 } })).to_string()));
}

#[test]
fn a_damaged_kernel_is_an_item_or_an_error() {
    for tokens in damaged(&kernel()) {
        let expansion = expand::kernel(tokens.clone(), backend, costs).to_string();
        assert!(reports(&expansion) || expansion.contains("mod conv"), "{tokens}");
        // If the expansion reports an error, its carrier macro contains no kernel tokens.
        assert!(!reports(&expansion) || !expansion.contains("kernel {"), "{tokens}");
    }
}

#[test]
fn a_damaged_schedule_is_a_constant_or_an_error() {
    let (kernel, profile) = (kernel(), profile());
    for tokens in damaged(&schedule()) {
        let expansion = expand::schedule(tokens.clone()).to_string();
        assert!(reports(&expansion) || expansion.contains("__kernel"), "{tokens}");
        if !reports(&expansion) {
            let expansion = compiled(&tokens, &kernel, &profile);
            assert!(expansion.contains("const FAST :"), "{tokens}");
        }
    }
}

#[test]
fn a_damaged_profile_is_an_item_or_an_error() {
    for tokens in damaged(&profile()) {
        let expansion = expand::profile(tokens.clone()).to_string();
        assert!(reports(&expansion) || expansion.contains("__profile"), "{tokens}");
        if !reports(&expansion) {
            let expansion = expand::define_profile(quote!(profile { #tokens } profiles { { vulkan_1_1 } })).to_string();
            assert!(expansion.contains("mod "), "{tokens}");
        }
    }
}

#[test]
fn what_arrives_at_the_end_of_a_chain_is_checked() {
    // Users do not write these calls, but they are possible because the macros are exported.
    for tokens in [quote!(), quote!(schedule), quote!(schedule {} kernel {} profiles {}), quote!(profile { 1 } broken)] {
        expand::compile(tokens.clone(), backend, costs);
        expand::define_profile(tokens.clone());
        expand::not_a_kernel(tokens.clone());
        expand::not_a_profile(tokens);
    }
}

#[test]
fn one_kernel_in_two_modules_has_one_carrier_each() {
    let other = quote!(pub fn conv<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; });
    let name = |tokens: TokenStream| {
        let text = expand::kernel(tokens, backend, costs).to_string();
        text.split("__tw_kernel_").nth(1).map(|rest| rest[..16].to_owned())
    };
    assert!(name(kernel()).is_some());
    assert_ne!(name(kernel()), name(other));
}

#[test]
fn a_kernel_says_why_it_has_no_default() {
    let refuses: expand::Backend = |_, _, _| Err(Error::new(SpanId::NONE, "it needs more").into());
    let expanded = |tokens| expand::kernel(tokens, refuses, costs).to_string();
    let plain = expanded(quote!(pub fn plain<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }));
    assert!(!reports(&plain) && plain.contains("There is no `DEFAULT`: it needs more."), "{plain}");
    assert!(!expanded(kernel()).contains("There is no"), "its dtype is open");
}
