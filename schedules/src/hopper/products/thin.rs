//! Products that read a large matrix once or twice: of few rows, and of a vector.

use crate::kernels::{matmul_f16, matvec};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// One row, any sizes.
    pub ROW: matmul_f16 for nvidia_hopper where M == 1 {
        apply parts::thin::ROW<STEPS = STEPS>;
        tune STEPS in [2, 4, 8] = 4;
    }
}

schedule! {
    /// Up to 8 rows on matrix units.
    pub ROWS_8: matmul_f16 for nvidia_hopper where M <= 8, N % 32 == 0, K % 512 == 0 {
        apply parts::thin::ROWS_8<SUBGROUPS = SUBGROUPS, PAD = PAD>;
        tune SUBGROUPS in [4, 8] = 8;
        tune PAD in [0, 8] = 0;
        pin(N, K);
    }
}

schedule! {
    /// Up to 16 rows on matrix units.
    pub ROWS_16: matmul_f16 for nvidia_hopper where M <= 16, N % 32 == 0, K % 256 == 0 {
        apply parts::thin::ROWS_16<SUBGROUPS = SUBGROUPS, STEP = STEP>;
        tune SUBGROUPS in [4, 8] = 8;
        tune STEP in [16, 32, 64] = 32;
        pin(N, K);
    }
}

schedule! {
    /// Up to 16 rows, 8 at a time, any sizes.
    pub ROWS: matmul_f16 for nvidia_hopper where M <= 16 {
        apply parts::thin::ROWS<LANES = LANES, STEPS = STEPS>;
        tune LANES in [4, 8, 16] = 8;
        tune STEPS in [1, 2, 4] = 2;
    }
}

schedule! {
    /// A matrix times a vector, f32, any sizes.
    pub VECTOR: matvec<T = f32> for nvidia_hopper {
        apply parts::thin::VECTOR<ROWS = ROWS, STEPS = STEPS, WIDTH = WIDTH>;
        tune ROWS in [1, 2, 4] = 1;
        tune STEPS in [1, 2, 4] = 2;
        tune WIDTH in [64, 128, 256, 512] = 256;
    }
}

schedule! {
    /// A matrix times a vector, f16, any sizes.
    pub VECTOR_F16: matvec<T = f16> for nvidia_hopper {
        apply parts::thin::VECTOR<ROWS = ROWS, STEPS = STEPS, WIDTH = WIDTH>;
        tune ROWS in [1, 2, 4] = 1;
        tune STEPS in [1, 2, 4] = 2;
        tune WIDTH in [64, 128, 256] = 256;
    }
}
