//! Products that read a large matrix once or twice: of few rows, and of a vector. Not yet run on such a device.

use crate::kernels::{matmul_f16, matvec};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// One row, any sizes.
    pub ROW: matmul_f16 for nvidia_ampere where M == 1 {
        apply parts::thin::ROW;
    }
}

schedule! {
    /// Up to 8 rows on matrix units.
    pub ROWS_8: matmul_f16 for nvidia_ampere where M <= 8, N % 32 == 0, K % 512 == 0 {
        apply parts::thin::ROWS_8;
        pin(N, K);
    }
}

schedule! {
    /// Up to 16 rows on matrix units.
    pub ROWS_16: matmul_f16 for nvidia_ampere where M <= 16, N % 32 == 0, K % 256 == 0 {
        apply parts::thin::ROWS_16;
        pin(N, K);
    }
}

schedule! {
    /// Up to 16 rows, 8 at a time, any sizes.
    pub ROWS: matmul_f16 for nvidia_ampere where M <= 16 {
        apply parts::thin::ROWS;
    }
}

schedule! {
    /// A matrix times a vector, f32, any sizes.
    pub VECTOR: matvec<T = f32> for nvidia_ampere {
        apply parts::thin::VECTOR;
    }
}

schedule! {
    /// A matrix times a vector, f16, any sizes.
    pub VECTOR_F16: matvec<T = f16> for nvidia_ampere {
        apply parts::thin::VECTOR;
    }
}
