//! Schedules that are wrong on purpose: each must be refused with an error, or be harmless.

use super::tree::{Argument, Directive, Fact, Schedule, Target};
use crate::kernel::tree::Expr;
use fastrand::Rng;

/// Introduces one error.
pub(super) fn spoil(schedule: &mut Schedule, random: &mut Rng) {
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
        10 => directives[at] = Directive::new("polish", ["i".to_owned()]),
        11 => directives[at].arguments.reverse(),
        _ => numbers(&mut directives[at], random),
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
