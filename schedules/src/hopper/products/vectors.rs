//! Vectors.

use crate::kernels::{add, gelu};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Four elements per invocation.
    pub ADD: add for nvidia_hopper where N % 4 == 0 {
        apply parts::vectors::ELEMENTS;
    }
}

schedule! {
    /// Four elements per invocation.
    pub GELU: gelu<T = f32> for nvidia_hopper where N % 4 == 0 {
        apply parts::vectors::ELEMENTS<TILE = 1024>;
    }
}

schedule! {
    /// Eight f16 elements per invocation.
    pub GELU_F16: gelu<T = f16> for nvidia_hopper where N % 8 == 0 {
        apply parts::vectors::ELEMENTS<TILE = 2048, EACH = 8>;
    }
}
