//! Vectors.

use crate::kernels::{add, gelu};
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Four elements per invocation.
    pub ADD: add for nvidia_hopper where N % 4 == 0 {
        tile(i: 256) => workgroup(x);
        tile(i: 4) => thread(x);
        vectorize(i, 4);
    }
}

schedule! {
    /// Four elements per invocation.
    pub GELU: gelu<T = f32> for nvidia_hopper where N % 4 == 0 {
        tile(i: 1024) => workgroup(x);
        tile(i: 4) => thread(x);
        vectorize(i, 4);
    }
}

schedule! {
    /// Eight f16 elements per invocation.
    pub GELU_F16: gelu<T = f16> for nvidia_hopper where N % 8 == 0 {
        tile(i: 2048) => workgroup(x);
        tile(i: 8) => thread(x);
        vectorize(i, 8);
    }
}
