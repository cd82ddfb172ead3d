//! Unique names of axes in prints.
//!
//! A directive may give the name of a consumed axis to a part of it. The part is then printed with a prime. For example, if
//! `oc` is tiled twice, the outer tile is `oc'` and the inner one `oc''`. The axes of a copy of a stage get primes too, because
//! they have the names of the first stage's axes. If axes of several stages have one name, it is prefixed with the stage's
//! name: `mean.k`.

use crate::arena::Id;
use crate::nest::{AxisDef, AxisId, Program, StageId};
use std::collections::{HashMap, HashSet};

/// Returns the name of every axis, by its index.
pub(super) fn axes(program: &Program) -> Vec<String> {
    let made: HashMap<AxisId, StageId> = program.stages.iter().flat_map(|(id, s)| s.axes.iter().map(move |a| (*a, id))).collect();
    let families: Vec<Option<StageId>> = program.axes.ids().map(|axis| stage(program, axis, &made)).collect();
    // Stages of one name (a copy in a prologue and in a loop) are distinguished by primes.
    let names: HashMap<StageId, &str> = program.stages.iter().map(|(id, s)| (id, s.name.as_str())).collect();
    let named = |stage: StageId| names.get(&stage).copied().unwrap_or_default();
    let mut stages_of: HashMap<&str, HashSet<Option<&str>>> = HashMap::new();
    for (id, axis) in program.axes.iter() {
        stages_of.entry(&axis.name).or_default().insert(families[id.index()].map(named));
    }
    let (mut seen, mut names) = (HashSet::new(), Vec::new());
    for (id, axis) in program.axes.iter() {
        let family = families[id.index()];
        // A definition that is not a stage yet has its own names. The axes of a wrong definition before it stay in the program.
        if family.is_some_and(|stage| stage.index() >= program.stages.len()) {
            names.push(axis.name.clone());
            continue;
        }
        let shared = stages_of.get(axis.name.as_str()).is_some_and(|stages| stages.len() > 1);
        let mut name = match family.filter(|_| shared) {
            Some(stage) => format!("{}.{}", program.stages[stage].name, axis.name),
            None => axis.name.clone(),
        };
        while !seen.insert(name.clone()) {
            name.push('\'');
        }
        names.push(name);
    }
    names
}

/// Returns the stage that an axis comes from. `made` has the stages of the axes of copies.
fn stage(program: &Program, axis: AxisId, made: &HashMap<AxisId, StageId>) -> Option<StageId> {
    match &program.axes[axis].def {
        AxisDef::Root(stage) => Some(*stage),
        AxisDef::Part { of, .. } => stage(program, *of, made),
        AxisDef::Fused(digits) => digits.first().and_then(|digit| stage(program, *digit, made)),
        AxisDef::Made => made.get(&axis).copied(),
    }
}
