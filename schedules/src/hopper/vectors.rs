//! A sum of vectors.

use crate::kernels::add;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Four elements an invocation.
    pub ADD: add for nvidia_hopper where N % 4 == 0 {
        tile(i: 256) => workgroup(x);
        tile(i: 4) => thread(x);
        vectorize(i, 4);
    }
}
