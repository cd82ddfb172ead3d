//! Rows of a matrix, one row per workgroup. The row is in the registers of the invocations, so it is read from memory only once.

use crate::kernels::{layernorm, softmax};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Rows of 1024 elements, with 64 invocations for each.
    pub SOFTMAX_1024: softmax for nvidia_hopper where C == 1024 {
        apply parts::rows::SOFTMAX<WIDTH = T>;
        tune T in [32, 64, 128, 256] = 64;
    }
}

schedule! {
    /// Rows of 4096 elements, with 512 invocations for each.
    pub SOFTMAX_4096: softmax for nvidia_hopper where C == 4096 {
        apply parts::rows::SOFTMAX<VECTORS = 1024, WIDTH = T>;
        tune T in [128, 256, 512, 1024] = 512;
    }
}

schedule! {
    /// Rows of 1024 elements, with 64 invocations for each.
    pub LAYERNORM_1024: layernorm for nvidia_hopper where C == 1024 {
        apply parts::rows::LAYERNORM<WIDTH = T>;
        tune T in [32, 64, 128, 256] = 64;
    }
}

schedule! {
    /// Rows of 4096 elements, with 512 invocations for each.
    pub LAYERNORM_4096: layernorm for nvidia_hopper where C == 4096 {
        apply parts::rows::LAYERNORM<VECTORS = 1024, WIDTH = T>;
        tune T in [128, 256, 512, 1024] = 512;
    }
}
