//! The steps of the chapter on the matrix product, from the naive schedule to the best one for NVIDIA's Hopper.
//!
//! ```text
//! tilewright bench docs/book/steps/matmul.rs --size M=4096,N=4096,K=4096 --slower 0
//! ```

use tilewright::devices::nvidia_hopper;
use tilewright::{kernel, schedule};

kernel! {
    /// `c = a * b`.
    pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

schedule! {
    /// One result for each invocation. Neighbouring invocations compute neighbouring rows.
    pub NAIVE: matmul for nvidia_hopper {
        tile(i: 32, j: 8) => workgroup(y, x);
        distribute(i, j => thread(x, y));
    }
}

schedule! {
    /// Neighbouring invocations compute neighbouring columns.
    pub NEIGHBOURS: matmul for nvidia_hopper {
        tile(i: 8, j: 32) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}

schedule! {
    /// A workgroup computes 32 x 32 results from tiles of both factors in shared memory.
    pub SHARED: matmul for nvidia_hopper where M % 32 == 0, N % 32 == 0, K % 32 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared);
        promote(b => b_s, at: k_o, to: shared);
        distribute(i, j => thread(y, x));
    }
}

schedule! {
    /// An invocation computes 8 x 8 results in registers, and a workgroup 128 x 128.
    pub REGISTERS: matmul for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared);
        promote(b => b_s, at: k_o, to: shared);
        tile(i: 8, j: 8) => thread(y, x);
        unroll(k, i, j);
    }
}

schedule! {
    /// Rows of `a_s` are contiguous along `i`, and results are computed in groups of four, so that accesses have 16 bytes.
    pub VECTORS: matmul for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared);
        split(i, [2, 16, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4);
    }
}

schedule! {
    /// 16 x 8 results for each invocation: fewer loads for each product.
    pub TALL: matmul for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared);
        split(i, [4, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4);
    }
}

schedule! {
    /// The tiles of the next step are loaded to registers while the current ones are multiplied.
    pub PREFETCHED: matmul for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(i, [4, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4);
    }
}

schedule! {
    /// The tuned numbers, and sizes that are specialization constants.
    pub TUNED: matmul for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: STEP => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(i, [4, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4);
        tune STEP in [8, 16] = 8;
        pin(N, K);
    }
}
