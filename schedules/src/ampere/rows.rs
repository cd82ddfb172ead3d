//! Rows of a matrix, one row per workgroup. The row is in the registers of the invocations, so it is read from memory only once. Not yet
//! run on such a device.

use crate::kernels::{layernorm, softmax};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Rows of 1024 elements, with 64 invocations for each.
    pub SOFTMAX_1024: softmax for nvidia_ampere where C == 1024 {
        apply parts::rows::SOFTMAX;
    }
}

schedule! {
    /// Rows of 4096 elements, with 256 invocations for each.
    pub SOFTMAX_4096: softmax for nvidia_ampere where C == 4096 {
        apply parts::rows::SOFTMAX<VECTORS = 1024, WIDTH = 256>;
    }
}

schedule! {
    /// Rows of 1024 elements, with 64 invocations for each.
    pub LAYERNORM_1024: layernorm for nvidia_ampere where C == 1024 {
        apply parts::rows::LAYERNORM;
    }
}

schedule! {
    /// Rows of 4096 elements, with 256 invocations for each.
    pub LAYERNORM_4096: layernorm for nvidia_ampere where C == 4096 {
        apply parts::rows::LAYERNORM<VECTORS = 1024, WIDTH = 256>;
    }
}
