//! Attention on matrix units, in one dispatch: scores, weights and the output's sums stay in fragments. The keys and values of the
//! next block are prefetched while the current block is computed.
//!
//! If the device can reduce and convert matrices, the maximum and sum of a row stay in fragments, and the weights become a factor
//! without a copy. Otherwise (`…_KHR`), these go through shared memory. The shapes are the fastest ones on an H200.

use crate::kernels::{attention_grouped, attention_mixed, causal_attention_mixed};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 128 queries per workgroup of four subgroups, blocks of 64 keys. The bounds of the scale make selections for a maximum of -inf
    /// unnecessary.
    pub HEADS_64: attention_mixed for nvidia_hopper where D == 64, E == 64, N % 128 == 0, M % 64 == 0, scale > 1e-6, scale < 1e6
    {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x);
        apply parts::attention_mixed::FRAGMENTS<ROWS = 32>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
    }
}

schedule! {
    /// 128 queries per workgroup of eight subgroups, blocks of 64 keys, for heads of 128 elements. Without the bounds of the scale, the
    /// selections for a maximum of -inf take a tenth of the time.
    pub HEADS_128: attention_mixed for nvidia_hopper where D == 128, E == 128, N % 128 == 0, M % 64 == 0,
        finite(query), finite(key), scale > 1e-6, scale < 1e6
    {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x);
        apply parts::attention_mixed::FRAGMENTS<ROWS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
    }
}

schedule! {
    /// Causal: 128 queries per workgroup of four subgroups, blocks of 64 keys up to the key of the workgroup's last row. The
    /// workgroups with the most blocks come first, so that the last ones to finish are short. The mask is applied to the scores
    /// only, which needs bounds of the scale.
    pub CAUSAL_64: causal_attention_mixed for nvidia_hopper where D == 64, E == 64, N % 128 == 0,
        finite(query), finite(key), finite(value), scale > 1e-6, scale < 1e6
    {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64, mask: product);
        tile(b: 1, i: 128) => workgroup(y, x down);
        apply parts::attention_mixed::FRAGMENTS<ROWS = 32>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
    }
}

schedule! {
    /// Causal, for heads of 128 elements: 128 queries per workgroup of eight subgroups, blocks of 64 keys.
    pub CAUSAL_128: causal_attention_mixed for nvidia_hopper where D == 128, E == 128, N % 128 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x down);
        apply parts::attention_mixed::FRAGMENTS<ROWS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
    }
}

schedule! {
    /// 128 queries per workgroup of four subgroups, blocks of 64 keys. Weights go through shared memory, 32 keys at a time.
    pub HEADS_64_KHR: attention_mixed for nvidia_hopper where D == 64, E == 64, N % 128 == 0, M % 64 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x);
        apply parts::attention_mixed::SLICES<ROWS = 32, KEYS = 32>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
    }
}

schedule! {
    /// 128 queries per workgroup of eight subgroups, blocks of 64 keys, for heads of 128 elements. Weights go through shared
    /// memory, 16 keys at a time.
    pub HEADS_128_KHR: attention_mixed for nvidia_hopper where D == 128, E == 128, N % 128 == 0, M % 64 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x);
        apply parts::attention_mixed::SLICES<ROWS = 16, KEYS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
        emit(readonly: no);
    }
}

schedule! {
    /// [`HEADS_128_KHR`] with 64 queries per workgroup of four subgroups, for numbers of queries that 128 does not divide.
    pub HEADS_128_KHR_64: attention_mixed for nvidia_hopper where D == 128, E == 128, N % 64 == 0, M % 64 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::WEIGHTS<ROWS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: end early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
    }
}

schedule! {
    /// Causal [`HEADS_64_KHR`]. The workgroups with the most blocks come first, so that the last ones to finish are short.
    pub CAUSAL_64_KHR: causal_attention_mixed for nvidia_hopper where D == 64, E == 64, N % 128 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x down);
        apply parts::attention_mixed::SLICES<ROWS = 32, KEYS = 32>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
    }
}

schedule! {
    /// Causal [`HEADS_128_KHR`]. The workgroups with the most blocks come first, so that the last ones to finish are short.
    pub CAUSAL_128_KHR: causal_attention_mixed for nvidia_hopper where D == 128, E == 128, N % 128 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 128) => workgroup(y, x down);
        apply parts::attention_mixed::SLICES<ROWS = 16, KEYS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start early, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product early, store: end);
        emit(readonly: no);
    }
}

schedule! {
    /// [`CAUSAL_128_KHR`] with 64 queries per workgroup.
    pub CAUSAL_128_KHR_64: causal_attention_mixed for nvidia_hopper where D == 128, E == 128, N % 64 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x down);
        apply parts::attention_mixed::WEIGHTS<ROWS = 16>;
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
    }
}

schedule! {
    /// [`HEADS_64_KHR`] of grouped queries.
    pub GROUPED_64: attention_grouped for nvidia_hopper where D == 64, E == 64, M % 64 == 0, N % 128 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, h: 1, g: 1, i: 128) => workgroup(z, y, y, x);
        apply parts::attention_mixed::STAGED_SUMS<ROWS = 32>;
    }
}

schedule! {
    /// [`HEADS_64_KHR`] for any number of rows: 64 queries per workgroup, blocks of 32 keys.
    pub HEADS_64_ROWS: attention_mixed for nvidia_hopper where D == 64, E == 64, M % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 64) => workgroup(y, x);
        apply parts::attention_mixed::ANY_ROWS_SUMS<ROWS = 16>;
    }
}

schedule! {
    /// Few queries of heads of 128 elements, without matrix units.
    pub KEYS_128: attention_mixed for nvidia_hopper where N <= 8, D == 128, E == 128 {
        apply parts::attention_split::KEYS<CHUNK = CHUNK>;
        tune CHUNK in [8, 16, 32] = 16;
    }
}

schedule! {
    /// [`KEYS_128`] for heads of 64 elements.
    pub KEYS_64: attention_mixed for nvidia_hopper where N <= 8, D == 64, E == 64 {
        apply parts::attention_split::KEYS<CHUNK = CHUNK, EACH = 2, SLICES = 2>;
        tune CHUNK in [8, 16, 32] = 8;
    }
}
