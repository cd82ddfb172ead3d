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
    /// Large products of any sizes: 128x128 per workgroup of four subgroups. The factors are copied to whole tiles, padded with zeros, so that
    /// their product does not need guards. The result is written in slices through shared memory.
    pub PADDED_128X128: matmul_f16 for nvidia_hopper {
        apply parts::matrices::PADDED_SLICES<BAND = BAND>;
        tune BAND in [1, 4, 8] = 4;
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
    /// [`PADDED_128X128`] with 128x64 per workgroup. Load it first for sizes up to about 1024x1024.
    pub PADDED_128X64: matmul_f16 for nvidia_hopper {
        apply parts::matrices::PADDED_SLICES<COLUMNS = 32>;
        pin(N, K);
    }
}
