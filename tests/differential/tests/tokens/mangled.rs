//! Correct items with tokens removed, doubled, exchanged, or replaced by other tokens, by numbers that are too large, and by groups
//! of more tokens.

use crate::tokens::support::{board, expanded, watched};
use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use tilewright_differential::pair;

/// A change of an item's tokens. Places are taken modulo the number of places.
#[derive(Clone, Debug)]
enum Change {
    Delete(usize),
    Double(usize),
    Swap(usize, usize),
    /// Replaces a token by another token of the same items.
    Replace(usize, usize),
    /// Inserts a token before another one.
    Insert(usize, usize),
    Number(usize, u128),
    Float(usize, f64),
    Wrap(usize, u8),
    Empty(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = || 0..4096usize;
    let number = prop_oneof![
        Just(0),
        Just(1),
        0u128..70,
        Just(i32::MAX as u128),
        Just(1 << 31),
        Just(u128::from(u32::MAX)),
        Just(i64::MAX as u128),
        Just(u128::MAX),
    ];
    prop_oneof![
        at().prop_map(Change::Delete),
        at().prop_map(Change::Double),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Replace(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Insert(a, b)),
        (at(), number).prop_map(|(a, n)| Change::Number(a, n)),
        (at(), prop_oneof![Just(0.5), Just(1e300), Just(1e-300)]).prop_map(|(a, n)| Change::Float(a, n)),
        (at(), 0..4u8).prop_map(|(a, d)| Change::Wrap(a, d)),
        at().prop_map(Change::Empty),
    ]
}

/// The place of a tree: the index of each enclosing group, and its own index.
type TokenPath = Vec<usize>;

fn places(tokens: &TokenStream, around: &[usize], all: &mut Vec<(TokenPath, TokenTree)>) {
    for (n, tree) in tokens.clone().into_iter().enumerate() {
        let place = [around, &[n]].concat();
        all.push((place.clone(), tree.clone()));
        if let TokenTree::Group(group) = tree {
            places(&group.stream(), &place, all);
        }
    }
}

/// Replaces a tree by other tokens.
fn with(tokens: &TokenStream, place: &[usize], new: &mut dyn FnMut(TokenTree) -> Vec<TokenTree>) -> TokenStream {
    let Some((at, rest)) = place.split_first() else { return tokens.clone() };
    let each = |(n, tree): (usize, TokenTree)| match tree {
        tree if n != *at => vec![tree],
        TokenTree::Group(group) if !rest.is_empty() => {
            vec![Group::new(group.delimiter(), with(&group.stream(), rest, new)).into()]
        }
        tree => new(tree),
    };
    tokens.clone().into_iter().enumerate().flat_map(each).collect()
}

fn changed(tokens: &TokenStream, corpus: &[TokenTree], change: &Change) -> TokenStream {
    let mut all = Vec::new();
    places(tokens, &[], &mut all);
    if all.is_empty() {
        return tokens.clone();
    }
    let (place, tree) = all[change.at() % all.len()].clone();
    let other = |n: &usize| corpus[n % corpus.len()].clone();
    match change {
        Change::Delete(_) => with(tokens, &place, &mut |_| vec![]),
        Change::Double(_) => with(tokens, &place, &mut |t| vec![t.clone(), t]),
        Change::Swap(_, b) => {
            let (there, second) = all[b % all.len()].clone();
            // If one contains the other, only the inner one stays.
            let first = with(tokens, &there, &mut |_| vec![tree.clone()]);
            with(&first, &place, &mut |_| vec![second.clone()])
        }
        Change::Replace(_, b) => with(tokens, &place, &mut |_| vec![other(b)]),
        Change::Insert(_, b) => with(tokens, &place, &mut |t| vec![other(b), t]),
        Change::Number(_, n) => with(tokens, &place, &mut |_| vec![Literal::u128_unsuffixed(*n).into()]),
        Change::Float(_, n) => with(tokens, &place, &mut |_| vec![Literal::f64_unsuffixed(*n).into()]),
        Change::Wrap(_, d) => with(tokens, &place, &mut |t| {
            let delimiter = [Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket, Delimiter::None][usize::from(*d % 4)];
            vec![Group::new(delimiter, t.into()).into()]
        }),
        Change::Empty(_) => with(tokens, &place, &mut |t| match t {
            TokenTree::Group(group) => vec![Group::new(group.delimiter(), TokenStream::new()).into()],
            other => vec![other.clone(), other],
        }),
    }
}

impl Change {
    fn at(&self) -> &usize {
        match self {
            Change::Delete(n) | Change::Double(n) | Change::Swap(n, _) | Change::Replace(n, _) | Change::Insert(n, _) => n,
            Change::Number(n, _) | Change::Float(n, _) | Change::Wrap(n, _) | Change::Empty(n) => n,
        }
    }
}

/// Checks that expanding an item of a pair with some changes ends.
fn ends(case: u64, which: usize, changes: &[Change]) {
    let pair = pair(11, case);
    let mut items: [TokenStream; 3] = [pair.kernel.parse().expect("tokens"), pair.schedule.parse().expect("tokens"), board()];
    let mut corpus = Vec::new();
    items.iter().for_each(|tokens| places(tokens, &[], &mut corpus));
    let corpus: Vec<TokenTree> = corpus.into_iter().map(|(_, tree)| tree).collect();
    for change in changes {
        items[which] = changed(&items[which], &corpus, change);
    }
    let texts = items.map(|t| t.to_string());
    watched(&texts.join("\n"), move || {
        let [kernel, schedule, profile] = texts.map(|text| text.parse().expect("it was tokens"));
        expanded(kernel, schedule, profile);
    });
}

/// Tests the same few items each time; with `TILEWRIGHT_CASES`, that many random items.
#[test]
fn items_with_wrong_tokens() {
    let wanted = std::env::var("TILEWRIGHT_CASES").ok().and_then(|n| n.parse().ok());
    let config =
        ProptestConfig { cases: wanted.unwrap_or(64), max_shrink_iters: 200, failure_persistence: None, ..Default::default() };
    let mut runner = match wanted {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let some = (0..4000u64, 0..3usize, prop::collection::vec(change(), 1..5));
    let result = runner.run(&some, |(case, which, changes)| {
        ends(case, which, &changes);
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
}
