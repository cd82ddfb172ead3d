//! `split(i, [2, _, 4] => a, b, c)`.

use super::{Shape, factor, note_tail, tail};
use crate::schedule::nest::{Extent, Nest};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let axis = random.choice(nest.plain())?;
    let extent = nest.axes[axis].extent;
    let mut factors: Vec<Option<i64>> = vec![Some(factor(extent, random))];
    if random.bool() {
        let rest = extent.parts(factors[0].unwrap_or(1));
        factors.push(Some(factor(rest, random).min(8)));
    }
    let product: i64 = factors.iter().flatten().product();
    // A list without `_` has to cover the axis.
    let covers = match extent {
        Extent::Literal(n) => product >= n,
        Extent::Symbolic { most, .. } => most.is_some_and(|most| product >= most),
    };
    if !covers || random.u8(..4) > 0 {
        factors.insert(random.usize(..=factors.len()), None);
    }
    let tile = matches!(factors.as_slice(), [None, Some(_)]);
    let word = tail(nest, axis, product, Shape { tile, level: None }, random);
    let old = nest.axes[axis].name.clone();
    let keeps = if random.bool() { Some(random.usize(..factors.len())) } else { None };
    let names: Vec<String> = (0..factors.len()).map(|n| if Some(n) == keeps { old.clone() } else { nest.fresh() }).collect();
    let place = nest.place(axis);
    let at = place.unwrap_or(nest.path.len());
    if place.is_some() {
        nest.path.remove(at);
    }
    let ragged = nest.axes[axis].ragged || !extent.divisible(product);
    let mut parts = Vec::new();
    for (n, (factor, name)) in factors.iter().zip(&names).enumerate().rev() {
        let part = nest.derive(axis, name.clone(), factor.map_or(extent.parts(product), Extent::Literal));
        nest.axes[part].ragged = ragged;
        nest.axes[part].contiguous = nest.axes[axis].contiguous && n + 1 == factors.len();
        if factor.is_some() {
            nest.axes[part].depends.clear();
        }
        nest.appear(part, at);
        parts.push(part);
    }
    if let [inner, outer] = parts.as_slice() {
        note_tail(nest, axis, word, (*outer, *inner), product);
    }
    let arguments = vec![Argument::Name(old), Argument::Factors(factors, word)];
    Some(Directive { name: "split", arguments, produced: names, keys: Vec::new(), target: None })
}
