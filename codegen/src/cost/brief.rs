//! The summary of a variant without sizes: its dispatches, their work as formulas, and what bounds them.

use super::Cost;
use super::formula::{ABOUT, formula};
use tilewright_dsl::launch::{Program as Launched, Role, Size};
use tilewright_dsl::profile::Profile;

/// The most groups of dispatches that the summary lists by name.
const GROUPS: usize = 3;

/// The most dispatches of a group that the summary lists by name.
const NAMES: usize = 4;

/// Returns the summary in one or two lines, without line ends. The text between backticks is code.
pub fn brief(costs: &[Cost], launched: &Launched, profile: &Profile) -> Vec<String> {
    let name = |dim: u32| launched.dims.get(dim as usize).map_or_else(|| "?".into(), |d| d.name.clone());
    let sum = |of: &dyn Fn(&Cost) -> Size| costs.iter().map(of).fold(Size::Const(0), Size::plus);
    let amount = |size: &Size, unit: &str| with_unit(&formula(size, &name), unit);
    let dispatches = match costs.len() {
        1 => "1 dispatch".to_owned(),
        n => format!("{n} dispatches"),
    };
    let (flops, matrices) = (sum(&Cost::flops), sum(&Cost::matrix_flops));
    let work = [(&flops, "flops"), (&matrices, "flops on matrix units")];
    let mut work: Vec<String> =
        work.iter().filter(|(size, _)| **size != Size::Const(0)).map(|(size, unit)| amount(size, unit)).collect();
    if work.is_empty() {
        work.push("no flops".into());
    }
    let bytes = amount(&sum(&Cost::compulsory), "B");
    let mut lines = vec![format!("{dispatches}: {}, {bytes} if each tensor is moved once", work.join(", "))];
    let temporaries = intermediates(launched);
    let mut second = Vec::new();
    if temporaries != Size::Const(0) {
        second.push(format!("{} of intermediates", amount(&temporaries, "B")));
    }
    second.extend(bounds(costs, profile));
    if !second.is_empty() {
        lines.push(second.join("; "));
    }
    lines
}

/// Returns the bytes of all tensors that exist for one launch, without the padding of layouts. The memory that they need can be less.
fn intermediates(launched: &Launched) -> Size {
    let tensors = launched.tensors.iter().filter(|tensor| tensor.role == Role::Temporary);
    let bytes = tensors.map(|tensor| tensor.shape.iter().cloned().fold(Size::Const(tensor.dtype.bytes().into()), Size::times));
    bytes.fold(Size::Const(0), Size::plus)
}

/// Returns what bounds the dispatches, those with the same answer together.
fn bounds(costs: &[Cost], profile: &Profile) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for cost in costs {
        let Some(bound) = cost.bound_by_size(profile) else { return Vec::new() };
        let bound = bound.to_string();
        match groups.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, names)) => names.push(&cost.name),
            None => groups.push((bound, vec![&cost.name])),
        }
    }
    if groups.len() > GROUPS {
        return Vec::new();
    }
    match groups.as_slice() {
        [(bound, _)] => vec![if costs.len() == 1 { bound.clone() } else { format!("each {bound}") }],
        several => several.iter().map(|(bound, names)| format!("{} {bound}", listed(names))).collect(),
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Adds a unit to a formula, with parentheses around a sum.
pub fn with_unit(formula: &str, unit: &str) -> String {
    match formula.strip_prefix(ABOUT) {
        _ if unit.is_empty() => formula.to_owned(),
        Some(sum) if sum.contains(" + ") || sum.contains(" - ") => format!("{ABOUT}({sum}) {unit}"),
        None if formula.contains(" + ") || formula.contains(" - ") => format!("({formula}) {unit}"),
        _ => format!("{formula} {unit}"),
    }
}
