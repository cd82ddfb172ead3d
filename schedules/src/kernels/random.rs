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

use tilewright::kernel;

kernel! {
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
        const BY_0: u32 = 0xD2511F53;
        const BY_1: u32 = 0xCD9E8D57;
        const STEP_0: u32 = 0x9E3779B9;
        const STEP_1: u32 = 0xBB67AE85;
        words[i, w] = {
            let a0 = first_0 + i as u32;
            let b0 = if a0 < first_0 { first_1 + 1 } else { first_1 };
            let c0 = first_2;
            let d0 = first_3;
            let a1 = c0.mul_hi(BY_1) ^ b0 ^ key_0;
            let b1 = c0 * BY_1;
            let c1 = a0.mul_hi(BY_0) ^ d0 ^ key_1;
            let d1 = a0 * BY_0;
            let a2 = c1.mul_hi(BY_1) ^ b1 ^ (key_0 + STEP_0);
            let b2 = c1 * BY_1;
            let c2 = a1.mul_hi(BY_0) ^ d1 ^ (key_1 + STEP_1);
            let d2 = a1 * BY_0;
            let a3 = c2.mul_hi(BY_1) ^ b2 ^ (key_0 + 2 * STEP_0);
            let b3 = c2 * BY_1;
            let c3 = a2.mul_hi(BY_0) ^ d2 ^ (key_1 + 2 * STEP_1);
            let d3 = a2 * BY_0;
            let a4 = c3.mul_hi(BY_1) ^ b3 ^ (key_0 + 3 * STEP_0);
            let b4 = c3 * BY_1;
            let c4 = a3.mul_hi(BY_0) ^ d3 ^ (key_1 + 3 * STEP_1);
            let d4 = a3 * BY_0;
            let a5 = c4.mul_hi(BY_1) ^ b4 ^ (key_0 + 4 * STEP_0);
            let b5 = c4 * BY_1;
            let c5 = a4.mul_hi(BY_0) ^ d4 ^ (key_1 + 4 * STEP_1);
            let d5 = a4 * BY_0;
            let a6 = c5.mul_hi(BY_1) ^ b5 ^ (key_0 + 5 * STEP_0);
            let b6 = c5 * BY_1;
            let c6 = a5.mul_hi(BY_0) ^ d5 ^ (key_1 + 5 * STEP_1);
            let d6 = a5 * BY_0;
            let a7 = c6.mul_hi(BY_1) ^ b6 ^ (key_0 + 6 * STEP_0);
            let b7 = c6 * BY_1;
            let c7 = a6.mul_hi(BY_0) ^ d6 ^ (key_1 + 6 * STEP_1);
            let d7 = a6 * BY_0;
            let a8 = c7.mul_hi(BY_1) ^ b7 ^ (key_0 + 7 * STEP_0);
            let b8 = c7 * BY_1;
            let c8 = a7.mul_hi(BY_0) ^ d7 ^ (key_1 + 7 * STEP_1);
            let d8 = a7 * BY_0;
            let a9 = c8.mul_hi(BY_1) ^ b8 ^ (key_0 + 8 * STEP_0);
            let b9 = c8 * BY_1;
            let c9 = a8.mul_hi(BY_0) ^ d8 ^ (key_1 + 8 * STEP_1);
            let d9 = a8 * BY_0;
            let a10 = c9.mul_hi(BY_1) ^ b9 ^ (key_0 + 9 * STEP_0);
            let b10 = c9 * BY_1;
            let c10 = a9.mul_hi(BY_0) ^ d9 ^ (key_1 + 9 * STEP_1);
            let d10 = a9 * BY_0;
            if w == 0 { a10 } else if w == 1 { b10 } else if w == 2 { c10 } else { d10 }
        };
    }
}

kernel! {
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
        const BY_0: u32 = 0xD2511F53;
        const BY_1: u32 = 0xCD9E8D57;
        const STEP_0: u32 = 0x9E3779B9;
        const STEP_1: u32 = 0xBB67AE85;
        values[i, w] = {
            let a0 = first_0 + i as u32;
            let b0 = if a0 < first_0 { first_1 + 1 } else { first_1 };
            let c0 = first_2;
            let d0 = first_3;
            let a1 = c0.mul_hi(BY_1) ^ b0 ^ key_0;
            let b1 = c0 * BY_1;
            let c1 = a0.mul_hi(BY_0) ^ d0 ^ key_1;
            let d1 = a0 * BY_0;
            let a2 = c1.mul_hi(BY_1) ^ b1 ^ (key_0 + STEP_0);
            let b2 = c1 * BY_1;
            let c2 = a1.mul_hi(BY_0) ^ d1 ^ (key_1 + STEP_1);
            let d2 = a1 * BY_0;
            let a3 = c2.mul_hi(BY_1) ^ b2 ^ (key_0 + 2 * STEP_0);
            let b3 = c2 * BY_1;
            let c3 = a2.mul_hi(BY_0) ^ d2 ^ (key_1 + 2 * STEP_1);
            let d3 = a2 * BY_0;
            let a4 = c3.mul_hi(BY_1) ^ b3 ^ (key_0 + 3 * STEP_0);
            let b4 = c3 * BY_1;
            let c4 = a3.mul_hi(BY_0) ^ d3 ^ (key_1 + 3 * STEP_1);
            let d4 = a3 * BY_0;
            let a5 = c4.mul_hi(BY_1) ^ b4 ^ (key_0 + 4 * STEP_0);
            let b5 = c4 * BY_1;
            let c5 = a4.mul_hi(BY_0) ^ d4 ^ (key_1 + 4 * STEP_1);
            let d5 = a4 * BY_0;
            let a6 = c5.mul_hi(BY_1) ^ b5 ^ (key_0 + 5 * STEP_0);
            let b6 = c5 * BY_1;
            let c6 = a5.mul_hi(BY_0) ^ d5 ^ (key_1 + 5 * STEP_1);
            let d6 = a5 * BY_0;
            let a7 = c6.mul_hi(BY_1) ^ b6 ^ (key_0 + 6 * STEP_0);
            let b7 = c6 * BY_1;
            let c7 = a6.mul_hi(BY_0) ^ d6 ^ (key_1 + 6 * STEP_1);
            let d7 = a6 * BY_0;
            let a8 = c7.mul_hi(BY_1) ^ b7 ^ (key_0 + 7 * STEP_0);
            let b8 = c7 * BY_1;
            let c8 = a7.mul_hi(BY_0) ^ d7 ^ (key_1 + 7 * STEP_1);
            let d8 = a7 * BY_0;
            let a9 = c8.mul_hi(BY_1) ^ b8 ^ (key_0 + 8 * STEP_0);
            let b9 = c8 * BY_1;
            let c9 = a8.mul_hi(BY_0) ^ d8 ^ (key_1 + 8 * STEP_1);
            let d9 = a8 * BY_0;
            let a10 = c9.mul_hi(BY_1) ^ b9 ^ (key_0 + 9 * STEP_0);
            let b10 = c9 * BY_1;
            let c10 = a9.mul_hi(BY_0) ^ d9 ^ (key_1 + 9 * STEP_1);
            let d10 = a9 * BY_0;
            let word = if w == 0 { a10 } else if w == 1 { b10 } else if w == 2 { c10 } else { d10 };
            (word >> 8) as f32 * 5.960_464_5e-8
        };
    }
}
