//! Schedules that are wrong on purpose: each must be refused with an error, or be harmless.

use super::tree::{Argument, Directive, Fact, Schedule, Target};
use crate::kernel::tree::Expr;
use fastrand::Rng;

/// Introduces one error.
pub(super) fn spoil(schedule: &mut Schedule, random: &mut Rng) {
    if schedule.has("scatter") && random.bool() {
        return spoil_scatter(schedule, random);
    }
    match random.u8(..10) {
        0 => schedule.facts.push(Fact::Size(Expr::name("Q"), ">=", 1)),
        1 => schedule.bindings.push(("Q".into(), "3".into())),
        2 => {
            let block = random.choice(&mut schedule.blocks);
            block.into_iter().for_each(|b| b.stages = vec!["nowhere".into()]);
        }
        _ => spoil_directive(schedule, random),
    }
}

fn spoil_directive(schedule: &mut Schedule, random: &mut Rng) {
    let Some(block) = random.choice(&mut schedule.blocks) else { return };
    let Some(at) = random.choice(0..block.directives.len()) else { return };
    let directives = &mut block.directives;
    match random.u8(..16) {
        // Repeats a directive, whose axes are consumed and whose names are used.
        0 => directives.insert(at, directives[at].clone()),
        1 => {
            directives.remove(at);
        }
        2 => directives.swap(at, 0),
        3 => directives[at].arguments.push(Argument::Name("nothing".into())),
        4 => {
            directives[at].arguments.pop();
        }
        5 => directives[at].produced.push("extra".into()),
        6 => directives[at].keys.push(("unaligned", "vector".into())),
        7 => directives[at].keys.push(("colour", "blue".into())),
        8 => directives[at].target.get_or_insert(Target { level: "thread", slots: Vec::new() }).slots.push("x"),
        9 => {
            directives[at].target =
                Some(Target { level: random.choice(["thread", "workgroup", "lane"]).unwrap_or("lane"), slots: vec!["x"] })
        }
        // Uses a copy of the random numbers, so that the other cases stay as they were.
        10 if random.clone().bool() => directives.insert(0, Directive::new("scatter", ["i".to_owned()])),
        10 => directives[at] = Directive::new("polish", ["i".to_owned()]),
        11 => directives[at].arguments.reverse(),
        _ => numbers(&mut directives[at], random),
    }
}

/// Misuses updates of memory: in another order, for other axes, with partial results, twice, or in registers.
fn spoil_scatter(schedule: &mut Schedule, random: &mut Rng) {
    let mut all: Vec<&mut Vec<Directive>> = schedule.blocks.iter_mut().map(|block| &mut block.directives).collect();
    let place = |all: &[&mut Vec<Directive>]| {
        let found = all.iter().enumerate().find_map(|(b, of)| Some((b, of.iter().position(|d| d.name == "scatter")?)));
        found.unwrap_or_default()
    };
    let (block, at) = place(&all);
    let axis = random.choice(["i", "j", "h", "k", "l", "z1", "z2"]).unwrap_or("i").to_owned();
    let last = all[block].len() - 1;
    match random.u8(..7) {
        0 => all[block].swap(at, last),
        1 => {
            let again = all[block][at].clone();
            all[block].insert(random.usize(at + 1..=last + 1), again);
        }
        2 => all[block][at].arguments.push(Argument::Name(axis)),
        3 => all[block].push(Directive::new("vectorize", [axis, "2".to_owned()])),
        4 => all[block].push(Directive { produced: vec!["part".into()], ..Directive::new("rfactor", [axis]) }),
        5 => {
            let keys = all.iter_mut().flat_map(|of| of.iter_mut()).flat_map(|d| &mut d.keys).filter(|(key, _)| *key == "by");
            let other = random.choice(["tree", "subgroup", "atomic"]).unwrap_or("tree");
            keys.for_each(|(_, by)| *by = other.to_owned());
        }
        _ => {
            let places = all.iter_mut().flat_map(|of| of.iter_mut()).flat_map(|d| &mut d.keys).filter(|(key, _)| *key == "to");
            places.for_each(|(_, to)| *to = "register".to_owned());
        }
    }
}

/// Introduces numbers out of any range, and keywords that do not fit.
fn numbers(directive: &mut Directive, random: &mut Rng) {
    let odd = random.choice([0, -1, 1, 3, 4096, 1 << 31, 1 << 40]).unwrap_or(0);
    let word = random.choice([Some("exact"), Some("round_up"), Some("peel"), Some("sideways"), None]).flatten();
    let Some(argument) = random.choice(&mut directive.arguments) else { return };
    match argument {
        Argument::Name(name) => name.push('_'),
        Argument::Number(n) => *n = odd,
        Argument::Tile { factor, tail, .. } => {
            if random.bool() {
                *factor = odd.into();
            } else {
                *tail = word;
            }
        }
        Argument::Factors(factors, tail) => match random.choice(factors.iter_mut()) {
            Some(factor) if random.bool() => *factor = random.choice([Some(odd), None]).flatten(),
            _ => *tail = word,
        },
        Argument::Text(text) => text.push('_'),
    }
}
