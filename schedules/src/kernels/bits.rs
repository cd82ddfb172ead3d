//! Products of floats with weights of 4 bits (`MatMulNBits` of ONNX Runtime).
//!
//! `b` has the weights of column `j` in blocks of `BLOCK` along `k`: `b[j, q, t]` is the byte of the weights `2 * t` and `2 * t + 1` of
//! block `q`. The low nibble is the even one. A weight is `(nibble - 8) * scale[j, q]`, or `(nibble - zero) * scale[j, q]`, where the zero
//! point of block `q` is a nibble of `zero[j, q / 2]`, in the same order. The last block can exceed `K`. Its rest is not used.

use tilewright::{functions, kernel};

functions! {
    /// Nibble `n` of a byte, as a float.
    fn nibble(byte: u8, n: i32) -> f32 {
        (byte >> (n * 4) as u8 & 15) as f32
    }
}

kernel! {
    use self::nibble;

    /// `c = a * b`, with all arithmetic in f32. The products of `PART` weights are added up before they are multiplied by the scale, so `PART`
    /// must divide `BLOCK`.
    pub fn matmul_n_bits<T: f32 | f16, S: f32 | f16, M, N, K, BLOCK = 32, PART = 32, Q = (K + BLOCK - 1) / BLOCK>(
        a: T[M, K],
        b: u8[N, Q, BLOCK / 2],
        scale: S[N, Q],
    ) -> c: T[M, N] {
        let part[i, j, g]: f32[M, N, Q * (BLOCK / PART)] = sum(t in 0..PART / 2, h in 0..2) {
            let byte = b[j, g / (BLOCK / PART), g % (BLOCK / PART) * (PART / 2) + t];
            a.pad(0.0)[i, g * PART + 2 * t + h] as f32 * (nibble(byte, h) - 8.0)
        };
        c[i, j] = sum(g in 0..Q * (BLOCK / PART)) { part[i, j, g] * scale[j, g / (BLOCK / PART)] as f32 } as T;
    }
}

kernel! {
    use self::nibble;

    /// [`matmul_n_bits`] with a zero point for each block.
    pub fn matmul_n_bits_zeros<T: f32 | f16, S: f32 | f16, M, N, K, BLOCK = 32, PART = 32, Q = (K + BLOCK - 1) / BLOCK>(
        a: T[M, K],
        b: u8[N, Q, BLOCK / 2],
        scale: S[N, Q],
        zero: u8[N, (Q + 1) / 2],
    ) -> c: T[M, N] {
        let part[i, j, g]: f32[M, N, Q * (BLOCK / PART)] = sum(t in 0..PART / 2, h in 0..2) {
            let byte = b[j, g / (BLOCK / PART), g % (BLOCK / PART) * (PART / 2) + t];
            let middle = nibble(zero[j, g / (BLOCK / PART * 2)], g / (BLOCK / PART) % 2);
            a.pad(0.0)[i, g * PART + 2 * t + h] as f32 * (nibble(byte, h) - middle)
        };
        c[i, j] = sum(g in 0..Q * (BLOCK / PART)) { part[i, j, g] * scale[j, g / (BLOCK / PART)] as f32 } as T;
    }
}

kernel! {
    use self::nibble;

    /// [`matmul_n_bits`] as matrix units compute it: the weights are rounded to f16 before they are multiplied.
    pub fn matmul_n_bits_f16<S: f32 | f16, M, N, K, BLOCK = 32, Q = (K + BLOCK - 1) / BLOCK>(
        a: f16[M, K],
        b: u8[N, Q, BLOCK / 2],
        scale: S[N, Q],
    ) -> c: f16[M, N] {
        let weight[j, k]: f16[N, Q * BLOCK] = {
            let byte = b[j, k / BLOCK, k % BLOCK / 2];
            ((nibble(byte, k % 2) - 8.0) * scale[j, k / BLOCK] as f32) as f16
        };
        c[i, j] = sum(k in 0..Q * BLOCK) { a.pad(0.0)[i, k] as f32 * weight[j, k] as f32 } as f16;
    }
}
