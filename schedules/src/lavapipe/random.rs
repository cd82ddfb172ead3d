//! Random numbers: an invocation computes all four words of a counter once, and stores them as one vector.

use crate::kernels::{philox, philox_uniform};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// One counter per invocation.
    pub PHILOX: philox for mesa_lavapipe {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        vectorize(w, 4);
    }
}

schedule! {
    /// One counter per invocation.
    pub PHILOX_UNIFORM: philox_uniform for mesa_lavapipe {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        vectorize(w, 4);
    }
}
