//! Products that read a large matrix once or twice: of few rows, and of a vector.

use crate::kernels::{matmul_f16, matvec};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// One row, any sizes.
    pub ROW: matmul_f16 for nvidia_hopper where M == 1 {
        apply parts::thin::ROW<LANES = LANES, STEPS = STEPS>;
        tune LANES in [4, 8, 16] = 4;
        tune STEPS in [2, 4, 8] = 4;
    }
}

schedule! {
    /// 16 rows on matrix units.
    pub ROWS_16: matmul_f16 for nvidia_hopper where M == 16, N % 32 == 0, K % 256 == 0 {
        apply parts::thin::MATRICES<SUBGROUPS = SUBGROUPS, COLUMNS = COLUMNS>;
        tune SUBGROUPS in [4, 8, 16] = 8;
        tune COLUMNS in [16, 32] = 32;
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
        apply parts::thin::VECTOR<ROWS = ROWS, STEPS = STEPS, WIDTH = WIDTH, EACH = 8>;
        tune ROWS in [1, 2, 4] = 1;
        tune STEPS in [1, 2, 4] = 1;
        tune WIDTH in [64, 128, 256] = 128;
    }
}
