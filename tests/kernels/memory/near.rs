//! Lanes that read nearby elements at known distances: one access loads them, if no tile passes the end of its axis.

use crate::harness::{instructions, profiles, variant};
use spirv::Op;
use tilewright_dsl::launch::Feature;

/// The profiles of the harness do not load single bytes, so the bytes must be loaded as words. Drivers cannot know the nibbles, so these are
/// not hidden by exclusive or before they are converted.
#[test]
fn lanes_of_nibbles_load_words() {
    let kernel = "fn k<N>(x: u8[N]) -> y: f16[N * 2] { y[i] = (x[i / 2] >> (i % 2 * 4) as u8 & 15) as f16; }";
    let schedule = "V: k for p where N % 32 == 0 {
        tile(i: 64) => workgroup(x);
        tile(i: 8) => thread(x);
        vectorize(i, 8);
    }";
    for profile in profiles() {
        assert!(!profile.has(Feature::Storage8));
        let variant = variant(kernel, schedule, &profile);
        let hides = |(opcode, _): &(u32, Vec<u32>)| *opcode == Op::BitwiseXor as u32;
        assert!(!instructions(&variant.program.dispatches[0].spirv).iter().any(hides));
        for n in [0, 32, 96] {
            variant.check(&[("N", n)], &[]);
        }
    }
}

/// Returns the number of loads of single floats.
fn single_loads(spirv: &[u8]) -> usize {
    let all = instructions(spirv);
    let float = all.iter().find(|(opcode, _)| *opcode == Op::TypeFloat as u32).map(|(_, words)| words[0]);
    all.iter().filter(|(opcode, words)| *opcode == Op::Load as u32 && Some(words[0]) == float).count()
}

#[test]
fn lanes_in_another_order_load_a_vector() {
    let schedule = "V: k for p { tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4); }";
    // The lanes of the second read do not read all elements of a vector.
    for (value, loads) in [("x[i / 4 * 4 + 3 - i % 4]", 0), ("x[i / 2 * 2]", 2)] {
        let kernel = format!("fn k<N>(x: f32[N]) -> y: f32[N] where N % 64 == 0 {{ y[i] = {value}; }}");
        for profile in profiles() {
            let variant = variant(&kernel, schedule, &profile);
            assert_eq!(single_loads(&variant.program.dispatches[0].spirv), loads, "{value}");
            for n in [0, 64, 192] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}
