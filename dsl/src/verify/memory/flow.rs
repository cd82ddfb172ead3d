//! Data flow between dispatches: each output is written completely, each temporary is written before it is read, and a tensor that is updated
//! in place is read before its update. Within a dispatch, an
//! invocation reads device memory that the dispatch writes only at the elements that it has written itself. Every obligation has one state.

use crate::diag::{Error, Errors};
use crate::expr::Expr;
use crate::nest::{Access, Body, BufferId, How, NodeKind, Phase, Program, Space};
use crate::verify::Rule;
use crate::verify::context::Provers;
use crate::verify::site::{Site, SiteAccess};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Checks the whole plan.
pub(in crate::verify) fn check(program: &Program, provers: &Provers<'_>, sites: &[Vec<Site<'_>>], errors: &mut Errors) {
    ledger(program, errors);
    if program.plan.is_empty() {
        return;
    }
    let mut written: HashSet<BufferId> = HashSet::new();
    let plan_sites = sites;
    let mut updates: HashSet<BufferId> = HashSet::new();
    for (at, sites) in plan_sites.iter().enumerate() {
        own_reads(program, sites, errors);
        for (site, touch) in touches(sites).filter(|(_, touch)| updates.contains(&touch.buffer)) {
            let what = format!("{}: `{}` is used after its update", Rule::Flow, program.buffers[touch.buffer].name);
            errors.push(Error::new(site.span(), what));
        }
        let is_update = |touch: &SiteAccess| touch.writes && program.buffers[touch.buffer].space == Space::Update;
        updates.extend(touches(sites).filter(|(_, touch)| is_update(touch)).map(|(_, touch)| touch.buffer));
        for (site, touch) in touches(sites).filter(|(_, touch)| !touch.writes) {
            let buffer = &program.buffers[touch.buffer];
            if buffer.space == Space::Temporary && !written.contains(&touch.buffer) {
                let what = format!("{}: `{}` is read before a dispatch has written it", Rule::Flow, buffer.name);
                errors.push(Error::new(site.span(), what));
            }
        }
        updates_of_filled(program, provers, plan_sites, at, errors);
        let whole = touches(sites).filter(|(_, touch)| touch.writes && is_whole(program, provers, touch));
        written.extend(whole.map(|(_, touch)| touch.buffer));
    }
    let updated = program.stages.values().flat_map(|stage| stage.buffers()).filter(|b| program.buffers[*b].space == Space::Update);
    let results: BTreeSet<BufferId> = program.outputs.iter().copied().chain(updated).collect();
    for result in results.into_iter().filter(|result| !written.contains(result)) {
        let buffer = &program.buffers[result];
        let what = if buffer.space == Space::Update { "tensor" } else { "output" };
        errors.push(Error::new(buffer.span, format!("{}: the {what} `{}` is not written completely", Rule::Flow, buffer.name)));
    }
}

/// Checks that the destination of atomics and of other updates of device memory was filled with the identity by the last dispatch that wrote
/// it, and that the updates reach all of it.
fn updates_of_filled(program: &Program, provers: &Provers<'_>, plan: &[Vec<Site<'_>>], at: usize, errors: &mut Errors) {
    for site in &plan[at] {
        let (stage, updated) = match &site.node.kind {
            NodeKind::AllReduce(reduction) if reduction.how == How::Atomic => (reduction.stage, &reduction.dst),
            NodeKind::Compute(c) if matches!(c.phase, Phase::Update | Phase::Atomic) => (c.stage, &c.dst),
            _ => continue,
        };
        let Body::Reduce { monoid, .. } = &program.stages[stage].body else { continue };
        let is_global = |place: &Access| program.buffers[place.buffer].space.is_global();
        for (place, identity) in updated.iter().zip(&monoid.identity).filter(|(place, _)| is_global(place)) {
            let writes = |site: &&Site<'_>| site.touches.iter().any(|t| t.writes && t.buffer == place.buffer);
            let fills = |site: &Site<'_>| match &site.node.kind {
                NodeKind::Compute(fill) => fill.phase == Phase::Whole && fill.value == [*identity],
                _ => false,
            };
            let mut own = site.touches.iter().filter(|t| t.writes && t.buffer == place.buffer);
            if own.any(|touch| !is_whole(program, provers, touch)) {
                let name = &program.buffers[place.buffer].name;
                errors.push(Error::new(site.span(), format!("{}: the updates do not reach all of `{name}`", Rule::Flow)));
            }
            let last = plan[..at].iter().rev().flatten().find(writes);
            if !last.is_some_and(fills) {
                let name = &program.buffers[place.buffer].name;
                let what =
                    format!("{}: `{name}` is not filled with the identity of `{}` before the updates", Rule::Flow, monoid.name);
                errors.push(Error::new(site.span(), what));
            }
        }
    }
}

fn touches<'s>(sites: &'s [Site<'s>]) -> impl Iterator<Item = (&'s Site<'s>, &'s SiteAccess)> {
    sites.iter().flat_map(|site| site.touches.iter().map(move |touch| (site, touch)))
}

/// True if a write covers the whole buffer. An index that is an axis covers its dimension if the axis is at least as long. Other indices (a
/// packed layout, a peeled tail) are assumed to cover it.
fn is_whole(program: &Program, provers: &Provers<'_>, touch: &SiteAccess) -> bool {
    touch.index.iter().zip(&program.buffers[touch.buffer].shape).all(|(index, n)| match program.exprs.get(*index) {
        Expr::Axis(axis) => {
            let extent = program.axes[*axis].extent;
            extent == *n || provers.roots.less_equal(*n, extent)
        }
        Expr::Const(_) => provers.roots.less_equal(*n, 1),
        _ => true,
    })
}

/// Checks that device memory that a dispatch writes is read in that dispatch only at the index written.
fn own_reads(program: &Program, sites: &[Site<'_>], errors: &mut Errors) {
    let mut places: HashMap<BufferId, Vec<(&Site<'_>, &SiteAccess)>> = HashMap::new();
    for (site, touch) in touches(sites).filter(|(_, touch)| touch.writes && program.buffers[touch.buffer].space.is_global()) {
        places.entry(touch.buffer).or_default().push((site, touch));
    }
    for (site, touch) in touches(sites).filter(|(_, touch)| !touch.writes) {
        let elsewhere = |(_, write): &(&Site<'_>, &SiteAccess)| write.index != touch.index;
        if places.get(&touch.buffer).is_some_and(|writes| writes.iter().any(elsewhere)) {
            let name = &program.buffers[touch.buffer].name;
            let what = format!("{}: `{name}` is written in the dispatch that reads it, at another index", Rule::Flow);
            errors.push(Error::new(site.span(), what));
        }
    }
}

fn ledger(program: &Program, errors: &mut Errors) {
    let mut states = HashMap::new();
    for obligation in &program.report.ledger {
        let state = *states.entry((&obligation.what, obligation.span)).or_insert(obligation.state);
        if state != obligation.state {
            let what = format!("{}: the obligation that {} has two different states", Rule::Flow, obligation.what);
            errors.push(Error::new(obligation.span, what));
        }
    }
}
