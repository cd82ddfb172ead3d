//! Products with weights of 4 bits. With few rows, reading the weights takes most of the time.

use crate::kernels::{matmul_n_bits, matmul_n_bits_f16, matmul_n_bits_zeros};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// One row, blocks of 32.
    pub ROW: matmul_n_bits<T = f16, S = f16> for nvidia_hopper where M == 1 {
        apply parts::bits::DEEP_VECTORS<COLUMNS = COLUMNS, SUBGROUPS = SUBGROUPS, DEEP = DEEP>;
        tune COLUMNS in [2, 4] = 2;
        tune SUBGROUPS in [1, 2, 4, 8] = 4;
        tune DEEP in [2, 4] = 2;
        specialize(K % 4096 == 0, N % 32 == 0);
        specialize(K % 2048 == 0, N % 32 == 0);
    }
}

schedule! {
    /// Up to 4 rows at a time, blocks of 32.
    pub ROWS_4: matmul_n_bits<T = f16, S = f16> for nvidia_hopper {
        apply parts::bits::VECTORS<ROWS = 4, COLUMNS = COLUMNS, SUBGROUPS = SUBGROUPS>;
        tune COLUMNS in [1, 2, 4] = 2;
        tune SUBGROUPS in [1, 2, 4, 8] = 4;
        specialize(K % 1024 == 0, N % 64 == 0);
    }
}

schedule! {
    /// [`ROW`] of blocks of 128.
    pub ROW_128: matmul_n_bits<T = f16, S = f16, BLOCK = 128> for nvidia_hopper where M == 1 {
        apply parts::bits::VECTORS;
        specialize(K % 1024 == 0, N % 16 == 0);
    }
}

schedule! {
    /// [`ROW`] in f32.
    pub ROW_F32: matmul_n_bits<T = f32, S = f32> for nvidia_hopper where M == 1 {
        apply parts::bits::VECTORS;
        specialize(K % 1024 == 0, N % 16 == 0);
    }
}

schedule! {
    /// [`ROW`] with zero points.
    pub ROW_ZEROS: matmul_n_bits_zeros<T = f16, S = f16> for nvidia_hopper where M == 1 {
        apply parts::bits::VECTORS;
        specialize(K % 1024 == 0, N % 16 == 0);
    }
}

schedule! {
    /// Up to 16 rows on matrix units.
    pub ROWS_16: matmul_n_bits_f16<S = f16> for nvidia_hopper where M <= 16, N % 32 == 0, K % 256 == 0 {
        apply parts::bits::STREAMED<SUBGROUPS = SUBGROUPS, STEP = STEP>;
        tune SUBGROUPS in [4, 8] = 8;
        tune STEP in [16, 32] = 32;
        pin(N, K);
    }
}

schedule! {
    /// Any number of rows on matrix units: 64x64 per workgroup of four subgroups.
    pub TILES: matmul_n_bits_f16<S = f16> for nvidia_hopper where N % 64 == 0, K % 64 == 0 {
        apply parts::bits::TILES<ROWS = ROWS, STEP = STEP>;
        tune ROWS in [16, 32] = 32;
        tune STEP in [32, 64] = 32;
        pin(N, K);
    }
}
