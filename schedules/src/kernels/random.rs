//! Counter-based random numbers: each is a function of a key and its own index. So they can be computed in parallel, and any of
//! them can be reproduced.
//!
//! Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (SC'11). Ten rounds compute four
//! 32-bit words from a counter of four and a key of two. The generator is not cryptographically secure.
//!
//! The sizes of a kernel's outputs follow from the sizes of its inputs. These kernels do not have an input, so they overwrite a
//! tensor of the caller without reading it. Row `i` is computed from the counter `first_0, first_1, first_2, first_3` plus `i`. The
//! addition has 64 bits: `first_0` is the low word, `first_1` the high word, and it wraps there. The other two words can number
//! streams. A counter that is used again gives the same numbers, so the next launch must begin `N` further.

use tilewright::{functions, kernel};

functions! {
    /// Word `w` of the counter that is `i` after the first one.
    fn word(w: i32, i: i32, key_0: u32, key_1: u32, first_0: u32, first_1: u32, first_2: u32, first_3: u32) -> u32 {
        let by_0 = 0xD2511F53;
        let by_1 = 0xCD9E8D57;
        let step_0 = 0x9E3779B9;
        let step_1 = 0xBB67AE85;
        let a0 = first_0 + i as u32;
        let b0 = if a0 < first_0 { first_1 + 1 } else { first_1 };
        let c0 = first_2;
        let d0 = first_3;
        let a1 = mixed(c0, by_1, b0, key_0);
        let b1 = c0 * by_1;
        let c1 = mixed(a0, by_0, d0, key_1);
        let d1 = a0 * by_0;
        let a2 = mixed(c1, by_1, b1, key_0 + step_0);
        let b2 = c1 * by_1;
        let c2 = mixed(a1, by_0, d1, key_1 + step_1);
        let d2 = a1 * by_0;
        let a3 = mixed(c2, by_1, b2, key_0 + 2 * step_0);
        let b3 = c2 * by_1;
        let c3 = mixed(a2, by_0, d2, key_1 + 2 * step_1);
        let d3 = a2 * by_0;
        let a4 = mixed(c3, by_1, b3, key_0 + 3 * step_0);
        let b4 = c3 * by_1;
        let c4 = mixed(a3, by_0, d3, key_1 + 3 * step_1);
        let d4 = a3 * by_0;
        let a5 = mixed(c4, by_1, b4, key_0 + 4 * step_0);
        let b5 = c4 * by_1;
        let c5 = mixed(a4, by_0, d4, key_1 + 4 * step_1);
        let d5 = a4 * by_0;
        let a6 = mixed(c5, by_1, b5, key_0 + 5 * step_0);
        let b6 = c5 * by_1;
        let c6 = mixed(a5, by_0, d5, key_1 + 5 * step_1);
        let d6 = a5 * by_0;
        let a7 = mixed(c6, by_1, b6, key_0 + 6 * step_0);
        let b7 = c6 * by_1;
        let c7 = mixed(a6, by_0, d6, key_1 + 6 * step_1);
        let d7 = a6 * by_0;
        let a8 = mixed(c7, by_1, b7, key_0 + 7 * step_0);
        let b8 = c7 * by_1;
        let c8 = mixed(a7, by_0, d7, key_1 + 7 * step_1);
        let d8 = a7 * by_0;
        let a9 = mixed(c8, by_1, b8, key_0 + 8 * step_0);
        let b9 = c8 * by_1;
        let c9 = mixed(a8, by_0, d8, key_1 + 8 * step_1);
        let d9 = a8 * by_0;
        let a10 = mixed(c9, by_1, b9, key_0 + 9 * step_0);
        let b10 = c9 * by_1;
        let c10 = mixed(a9, by_0, d9, key_1 + 9 * step_1);
        let d10 = a9 * by_0;
        if w == 0 { a10 } else if w == 1 { b10 } else if w == 2 { c10 } else { d10 }
    }
    fn mixed(factor: u32, by: u32, other: u32, key: u32) -> u32 {
        factor.mul_hi(by) ^ other ^ key
    }
}

kernel! {
    use self::word;

    /// Uniformly distributed `u32` values.
    pub fn philox<N>(
        key_0: u32,
        key_1: u32,
        first_0: u32,
        first_1: u32,
        first_2: u32,
        first_3: u32,
        words: &mut u32[N, 4],
    ) {
        words[i, w] = word(w, i, key_0, key_1, first_0, first_1, first_2, first_3);
    }
}

kernel! {
    use self::word;

    /// Uniformly distributed floats that are at least 0 and less than 1: multiples of 2^-24. They are the upper 24 bits of the
    /// words of [`philox`], at the same indices.
    pub fn philox_uniform<N>(
        key_0: u32,
        key_1: u32,
        first_0: u32,
        first_1: u32,
        first_2: u32,
        first_3: u32,
        values: &mut f32[N, 4],
    ) {
        values[i, w] = (word(w, i, key_0, key_1, first_0, first_1, first_2, first_3) >> 8) as f32 * 5.960_464_5e-8;
    }
}
