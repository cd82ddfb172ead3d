//! Attention on matrix units, in one dispatch: scores, weights and the output's sums stay in fragments, and values per row go
//! through shared memory. The keys and values of the next block are prefetched while the current block is computed. Not yet run on
//! such a device.

use crate::kernels::{attention_grouped, attention_mixed, causal_attention_mixed};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// 64 queries per workgroup of four subgroups, blocks of 32 keys, any number of rows.
    pub HEADS_64: attention_mixed for nvidia_ampere where D == 64, E == 64, M % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::ANY_ROWS_SUMS;
    }
}

schedule! {
    /// 64 queries per workgroup of four subgroups, blocks of 64 keys, for heads of 128 elements.
    pub HEADS_128: attention_mixed for nvidia_ampere where D == 128, E == 128, M % 64 == 0, N % 64 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::STAGED_SUMS;
    }
}

schedule! {
    /// Causal: 64 queries per workgroup of four subgroups, blocks of 64 keys up to the key of the workgroup's last row.
    pub CAUSAL_64: causal_attention_mixed for nvidia_ampere where D == 64, E == 64, N % 64 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::STAGED_SUMS;
    }
}

schedule! {
    /// Causal [`HEADS_128`].
    pub CAUSAL_128: causal_attention_mixed for nvidia_ampere where D == 128, E == 128, N % 64 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::STAGED_SUMS;
    }
}

schedule! {
    /// [`HEADS_64`] of grouped queries.
    pub GROUPED_64: attention_grouped for nvidia_ampere where D == 64, E == 64, M % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, h: 1, g: 1, i: 64) => workgroup(z, y, y, x);
        apply parts::attention_mixed::ANY_ROWS_SUMS;
    }
}

schedule! {
    /// Few queries of heads of 128 elements, without matrix units.
    pub KEYS_128: attention_mixed for nvidia_ampere where N <= 8, D == 128, E == 128 {
        apply parts::attention_split::KEYS;
    }
}

schedule! {
    /// [`KEYS_128`] for heads of 64 elements.
    pub KEYS_64: attention_mixed for nvidia_ampere where N <= 8, D == 64, E == 64 {
        apply parts::attention_split::KEYS<CHUNK = 8, EACH = 2, SLICES = 2>;
    }
}
