//! A separable blur.

use crate::kernels::blur;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// One dispatch of tiles of 32 rows and 8 columns, one column per invocation. The tile's blurred rows are in shared memory.
    pub TILES: blur for mesa_lavapipe {
        tile(y: 32, x: 8) => workgroup(y, x);
        distribute(x => thread(x));
        serial(y);
        compute_at(rows, workgroup, to: shared);
        rows { distribute(x => thread(x)); serial(y); unroll(k); }
        unroll(k);
    }
}

schedule! {
    /// Two dispatches, one pixel per invocation.
    pub TWO_DISPATCHES: blur for mesa_lavapipe {
        rows { tile(y: 1, x: 64) => workgroup(y, x); distribute(x => thread(x)); unroll(k); }
        tile(y: 1, x: 64) => workgroup(y, x);
        distribute(x => thread(x));
        unroll(k);
    }
}
