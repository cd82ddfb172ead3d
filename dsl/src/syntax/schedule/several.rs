//! Splits blocks of several stages: `a, b { promote(x => x_s, at: workgroup, to: shared); }`. Each stage makes copies and partial results
//! of its own, so each gets its own name for them: `x_s_a` and `x_s_b`. A later block with the header `x_s` schedules all of them.

use super::{Directive, DirectiveKind, Item, Pipeline, SpotAt};
use crate::syntax::{Name, families};
use std::collections::HashMap;

/// Replaces each block of several stages by one block for each stage, if its directives make copies or stages.
pub(in crate::syntax) fn apart(items: Vec<Item>) -> Vec<Item> {
    let mut derived: HashMap<String, Vec<String>> = HashMap::new();
    let mut apart = Vec::new();
    for item in items {
        match item {
            Item::Block { stages, directives } if is_several(&stages) && directives.iter().any(|d| d.kind.makes().is_some()) => {
                for stage in stages {
                    let own = directives.iter().cloned().map(|directive| of_stage(directive, &stage, &mut derived)).collect();
                    apart.push(Item::Block { stages: vec![stage], directives: own });
                }
            }
            other => apart.push(other),
        }
    }
    for item in &mut apart {
        if let Item::Block { stages, .. } = item {
            *stages = stages.drain(..).flat_map(|head| heads(head, &derived)).collect();
        }
    }
    apart
}

/// True for the names of several stages. Headers like `down[..]` are replaced by the members' names first.
fn is_several(stages: &[Name]) -> bool {
    stages.len() > 1 && !stages.iter().any(families::is_selection)
}

/// Returns the directive for one stage. The copy or stage that it makes gets its own name, and later directives refer to it by that name.
fn of_stage(mut directive: Directive, stage: &Name, derived: &mut HashMap<String, Vec<String>>) -> Directive {
    let own = |name: &str| format!("{name}_{}", families::identifier(&stage.text));
    let written = directive.kind.makes();
    let rename = |name: &mut Name, derived: &HashMap<String, Vec<String>>| {
        if derived.get(&name.text).is_some_and(|names| names.contains(&own(&name.text))) {
            name.text = own(&name.text);
        }
    };
    match &mut directive.kind {
        DirectiveKind::Promote(promote) => {
            promote.name = written.as_ref().map(|name| Name { text: own(&name.text), span: name.span });
            rename(&mut promote.source, derived);
        }
        DirectiveKind::ComputeAt(placed) => rename(&mut placed.source, derived),
        DirectiveKind::Pipeline(pipeline) => {
            let Pipeline { copies, fetch, store, .. } = &mut **pipeline;
            let spots = fetch.iter_mut().chain(store).filter_map(|spot| match &mut spot.at {
                SpotAt::Before(stage) | SpotAt::After(stage) => Some(stage),
                SpotAt::Start | SpotAt::End => None,
            });
            copies.iter_mut().chain(spots).for_each(|name| rename(name, derived));
        }
        DirectiveKind::Rfactor { into, .. } => into.text = own(&into.text),
        _ => {}
    }
    if let Some(written) = written {
        derived.entry(written.text.clone()).or_default().push(own(&written.text));
    }
    directive
}

/// Returns the name in a block's header, or the names that were derived from it.
fn heads(head: Name, derived: &HashMap<String, Vec<String>>) -> Vec<Name> {
    match derived.get(&head.text) {
        Some(names) => names.iter().map(|text| Name { text: text.clone(), span: head.span }).collect(),
        None => vec![head],
    }
}
