//! Random numbers by counters: each is a function of a key and of its own number, so that none waits for another, and any can be
//! had again.
//!
//! Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (SC'11). Ten rounds
//! make four words of a counter of four words and a key of two. It is no cipher.
//!
//! The sizes of a kernel's outputs follow from those of its inputs. These have no input, so they write a tensor of the caller's:
//! all of it, and read none of it. Row `i` of it is made of the counter `first_0, first_1, first_2, first_3` plus `i`. The sum
//! has 64 bits, of `first_0`, which is the low word, and `first_1`, and wraps there; the other two words can number streams.
//! Counters that are used again give the same numbers, so the next launch begins `N` further.

use tilewright::kernel;

kernel! {
    /// `u32` words, each value as likely as any other.
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
    /// Floats that are at least 0 and less than 1: multiples of 2^-24, each as likely as any other. They are the upper 24 bits
    /// of the words of [`philox`], in the same places.
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
