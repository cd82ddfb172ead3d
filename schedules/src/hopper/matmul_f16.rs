//! Products of f16 with accumulation in f32, on matrix units.
//!
//! Tiles and pipelines are the fastest ones on an H200: four subgroups of 64x64 per workgroup, 64 steps of k at a time, and one
//! buffer for each factor, which is filled from registers between two barriers. With 32 steps a second workgroup would fit on a
//! core, but this is slower. Workgroups process the tiles in bands, so that shared parts of the factors stay in the cache.

use crate::kernels::matmul_f16;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups, each with 64x64 in
    /// fragments.
    pub PINNED_128X128: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS<BAND = BAND, STEP = STEP, COLUMNS = COLUMNS>;
        tune BAND in [1, 2, 4, 8] = 8;
        tune STEP in [16, 32, 64] = 64;
        tune COLUMNS in [32, 64] = 64;
        pin(N, K);
        emit(readonly: no);
    }
}

schedule! {
    /// 128x64 per workgroup. Load it first for sizes up to about 1024x1024, because larger tiles would leave cores idle there.
    pub PINNED_128X64: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 64 == 0, K % 64 == 0 {
        tile(i: 128, j: 64) => workgroup(y, x);
        apply parts::matrices::WHOLE<STEP = STEP, ROWS = ROWS, COLUMNS = COLUMNS>;
        tune STEP in [16, 32, 64] = 64;
        tune ROWS in [32, 64] = 64;
        tune COLUMNS in [32, 64] = 32;
        pin(N, K);
        emit(readonly: no);
    }
}

schedule! {
    /// Sizes at run time: 128x128 per workgroup.
    pub TILES_128X128: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS;
        emit(readonly: no);
    }
}

schedule! {
    /// Large products of any sizes. The factors are copied to whole tiles, padded with zeros, so that their product does not need
    /// guards. Its rows begin at multiples of 512 bytes, and a last dispatch copies them to the result. 128x128 per workgroup of
    /// four subgroups.
    pub PADDED_128X128: matmul_f16 for nvidia_hopper {
        pack(a[i, k] => [i / (128 * BAND), k / 64, i / 128 % BAND, i % 128, k % 64], when: dispatch);
        pack(b[k, j] => [k / 64, j / 128, k % 64, j % 128], when: dispatch);
        pack(c[i, j] => [i / (128 * BAND), i / 128 % BAND, i % 128, j / 128, j % 128], when: dispatch);
        a_packed {
            fuse(i_oo, i_o => i_b);
            split(i, [_, 16] => i_t, i);
            distribute(i_b, i_t => workgroup(z, y));
            tile(k_o: 2) => workgroup(x);
            vectorize(k, 8, unaligned: scalar);
            fuse(i, k_o, k => t);
            distribute(t => thread(linear));
        }
        b_packed {
            distribute(k_o, j_o => workgroup(y, x));
            tile(k: 16) => workgroup(z);
            vectorize(j, 8, unaligned: scalar);
            fuse(k, j => t);
            distribute(t => thread(linear));
        }
        c_packed {
            reorder(i_oo, j_o, i_o, i, j, k);
            fuse(i_oo, j_o, i_o => w);
            distribute(w => workgroup(x));
            tile(k: 64 round_up => k_o);
            reorder(k_o, k, i, j);
            promote(a_packed => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b_packed => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            pipeline(k_o, buffers: 1, prefetch: register);
            tile(i: 64, j: 64) => subgroup(y, x);
            mma(i, j, k, 16 x 16 x 16);
            unroll(k);
        }
        tile(i: 16, j: 128) => workgroup(y, x);
        tile(i: 4) => thread(y);
        distribute(j => thread(x));
        unroll(i);
        tune BAND in [2, 4, 8] = 8;
        pin(N, K);
    }
}

schedule! {
    /// Any sizes: 128x64 per workgroup. The result is written through shared memory.
    pub ANY: matmul_f16 for nvidia_hopper {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Large products whose rows begin at multiples of 16 bytes: 128x128 per workgroup of four subgroups. The result is written in slices
    /// through shared memory.
    pub SLICED_128X128: matmul_f16 for nvidia_hopper where N % 8 == 0, K % 8 == 0 {
        apply parts::matrices::READ_SLICES<BAND = 8>;
        pin(N, K);
    }
}

schedule! {
    /// [`SLICED_128X128`] with 128x64 per workgroup. Load it first for sizes up to about 1024x1024.
    pub SLICED_128X64: matmul_f16 for nvidia_hopper where N % 8 == 0, K % 8 == 0 {
        apply parts::matrices::READ_SLICES<COLUMNS = 32, SLICE = 16>;
        pin(N, K);
    }
}

schedule! {
    /// Any sizes up to about 1024x1024. The factors are copied to whole tiles, padded with zeros, because rows that do not begin at
    /// multiples of 16 bytes are read element by element. The result is written in slices through shared memory. 128x64 per workgroup of
    /// four subgroups.
    pub PADDED_128X64: matmul_f16 for nvidia_hopper {
        pack(a[i, k] => [i / 128, k / 64, i % 128, k % 64], when: dispatch);
        pack(b[k, j] => [k / 64, j / 64, k % 64, j % 64], when: dispatch);
        a_packed {
            split(i, [_, 16] => i_t, i);
            distribute(i_o, i_t => workgroup(z, y));
            distribute(k_o => workgroup(x));
            vectorize(k, 8, unaligned: scalar);
            fuse(i, k => t);
            distribute(t => thread(linear));
        }
        b_packed {
            distribute(k_o, j_o => workgroup(y, x));
            tile(k: 16) => workgroup(z);
            vectorize(j, 8, unaligned: scalar);
            fuse(k, j => t);
            distribute(t => thread(linear));
        }
        apply parts::matrices::SLICES<COLUMNS = 32, SLICE = 16>;
        part {
            promote(a_packed => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b_packed => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            apply parts::matrices::SLICED<COLUMNS = 32, SLICE = 16>;
        }
        pin(N, K);
    }
}
