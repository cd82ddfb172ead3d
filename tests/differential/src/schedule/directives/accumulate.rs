//! `accumulate(as f32)`: another dtype for the partial results of a reduction of integers. This model of a nest does not have the bounds of
//! the items, so some uses are refused.

use crate::schedule::nest::{Exec, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;
use tilewright_launch::DType;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let is_plain = nest.axes.iter().all(|axis| axis.live && axis.exec == Exec::Plain);
    let is_reduction = nest.reduces.is_some_and(|op| ["sum", "min", "max"].contains(&op));
    // An f32 has all integers of 16 bits, and sums of operands that are narrower than their result are probably short enough.
    let is_narrow = nest.reads.iter().filter(|read| read.in_reduction).all(|read| read.bytes < nest.bytes);
    let is_short = is_narrow || nest.bytes <= 2 && nest.reduces != Some("sum");
    let is_legal = is_plain && is_reduction && is_short && nest.copies.is_empty() && nest.dtype.is_int();
    // A few uses are wrong.
    if !is_legal && random.u8(..100) >= 2 {
        return None;
    }
    let narrow = if nest.dtype.is_signed_int() { [DType::I16, DType::I8] } else { [DType::U16, DType::U8] };
    let narrower = random.choice(narrow).filter(|to| i64::from(to.bytes()) < nest.bytes && random.u8(..100) < 45);
    let to = narrower.unwrap_or(DType::F32);
    Some(Directive::new("accumulate", [format!("as {to}")]))
}
