//! Attention on matrix units, in one dispatch: scores, weights and the output's sums stay in fragments, and values per row go
//! through shared memory. Keys and values are read directly from device memory.
//!
//! These need Mesa 26, whose matrix units are slow: attention of f32 is many times faster. The schedules exist to test the same
//! structure as on GPUs. Loops of products are not unrolled, because the driver takes minutes to compile long code with matrices.

use crate::kernels::{attention_grouped, attention_mixed, causal_attention_mixed};
use crate::parts;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// 32 queries per workgroup of four subgroups, blocks of 16 keys, any number of rows.
    pub HEADS_64: attention_mixed for mesa_lavapipe_26 where D == 64, E == 64, M % 16 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        apply parts::attention_mixed::SUMS<ROWS = 8, A = 8, B = 8, DEPTH = 8>;
        apply parts::attention_mixed::ANY_ROWS;
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// 32 queries per workgroup of four subgroups, blocks of 16 keys, for heads of 128 elements.
    pub HEADS_128: attention_mixed for mesa_lavapipe_26 where D == 128, E == 128, M % 16 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        apply parts::attention_mixed::SUMS<ROWS = 8, A = 8, B = 8, DEPTH = 8>;
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// Causal: 32 queries per workgroup of four subgroups, blocks of 16 keys up to the key of the workgroup's last row.
    pub CAUSAL_64: causal_attention_mixed for mesa_lavapipe_26 where D == 64, E == 64, N % 32 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        apply parts::attention_mixed::SUMS<ROWS = 8, A = 8, B = 8, DEPTH = 8>;
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// Causal [`HEADS_128`].
    pub CAUSAL_128: causal_attention_mixed for mesa_lavapipe_26 where D == 128, E == 128, N % 32 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        apply parts::attention_mixed::SUMS<ROWS = 8, A = 8, B = 8, DEPTH = 8>;
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// [`HEADS_64`] of grouped queries.
    pub GROUPED_64: attention_grouped for mesa_lavapipe_26 where D == 64, E == 64, M % 16 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, h: 1, g: 1, i: 32) => workgroup(z, y, y, x);
        apply parts::attention_mixed::SUMS<ROWS = 8, A = 8, B = 8, DEPTH = 8>;
        apply parts::attention_mixed::ANY_ROWS;
        fragment(i, e, 8 x 8);
    }
}
