//! `pipeline(k_o, a_s, buffers: 2, prefetch: register, fetch: start, store: end)`.

use crate::schedule::nest::{Exec, Memory, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let places = nest.places(Memory::Shared);
    let is_shared = |depth: usize| {
        move |c: &&crate::schedule::places::Copied| c.memory == Memory::Shared && c.depth == depth && !c.result && !c.pipelined
    };
    // The loops at which shared copies are made; sometimes any loop.
    let plain = |at: &str| nest.axes.iter().rfind(|a| a.live && a.name == at).is_some_and(|a| a.exec == Exec::Plain);
    let legal = places.iter().filter(|p| plain(&p.at) && nest.copies.iter().any(|c| is_shared(p.depth)(&c)));
    let legal: Vec<_> = legal.cloned().collect();
    let place = match legal.is_empty() {
        true if random.u8(..100) < 3 => random.choice(places)?,
        _ => random.choice(legal)?,
    };
    let mut names: Vec<String> = nest.copies.iter().filter(is_shared(place.depth)).map(|c| c.name.clone()).collect();
    let some = random.u8(..100) < 45 && !names.is_empty();
    if some {
        names.truncate(random.usize(1..=names.len()));
    }
    let registers = random.u8(..100) < 65;
    let least = if registers || random.u8(..100) < 4 { 1 } else { 2 };
    let mut keys = vec![("buffers", random.u8(least..=3).to_string())];
    if registers {
        keys.push(("prefetch", "register".into()));
        if random.u8(..100) < 50 {
            keys.push(("fetch", spot(nest, random)));
        }
    }
    if random.u8(..100) < 50 {
        keys.push(("store", spot(nest, random)));
    }
    for copied in nest.copies.iter_mut().filter(|c| names.contains(&c.name)) {
        copied.pipelined = true;
    }
    // Additional buffers take more memory, and the copies' loop must not be changed.
    nest.shared -= nest.shared / 4;
    if let Some(axis) = nest.axes.iter_mut().rfind(|a| a.live && a.name == place.at) {
        axis.fixed = true;
        axis.pipelined = true;
    }
    let arguments = [place.at].into_iter().chain(if some { names } else { Vec::new() });
    Some(Directive { keys, ..Directive::new("pipeline", arguments) })
}

/// Generates a position within an iteration.
fn spot(nest: &Nest<'_>, random: &mut Rng) -> String {
    let mut stages = vec![nest.stage.clone()];
    stages.extend(nest.hosted.iter().map(|h| h.name.clone()));
    stages.extend(nest.copies.iter().filter(|c| !c.pipelined).map(|c| c.name.clone()));
    let stage = random.choice(stages).unwrap_or_default();
    let at = match random.u8(..10) {
        0..3 => "start".to_owned(),
        3..6 => "end".to_owned(),
        6..8 => format!("before {stage}"),
        _ => format!("after {stage}"),
    };
    if random.u8(..100) < 30 { format!("{at} early") } else { at }
}
