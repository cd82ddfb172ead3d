//! Schedules as people write them: tiles to workgroups, the reduction in tiles, copies, threads, copies again, unrolled loops.

use super::directives::step;
use super::nest::Nest;
use super::tree::Directive;
use fastrand::Rng;

/// A step: the alternatives, the probability in percent, and the most repetitions.
type PhaseStep = (&'static [&'static str], u8, u8);

/// The steps in order.
const STEPS: [PhaseStep; 14] = [
    (&["accumulate"], 40, 1),
    (&["rfactor"], 9, 1),
    (&["fuse", "tile", "split"], 25, 1),
    (&["to workgroups"], 80, 1),
    (&["tile reduction"], 65, 1),
    (&["outward"], 60, 1),
    (&["promote", "promote", "compute_at"], 60, 3),
    (&["pipeline"], 45, 2),
    (&["lanes"], 12, 3),
    (&["to threads", "distribute", "distribute", "strategy"], 80, 2),
    (&["promote", "compute_at", "unroll", "vectorize", "tile"], 60, 3),
    (&["dot"], 60, 1),
    (&["border"], 40, 1),
    (&["pipeline"], 15, 1),
];

pub(super) fn phases(nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let mut made = Vec::new();
    for (names, share, most) in STEPS {
        if random.u8(..100) >= share {
            continue;
        }
        for _ in 0..random.u8(1..=most) {
            if let Some(name) = random.choice(names) {
                made.extend(step(name, nest, random));
            }
        }
    }
    made
}
