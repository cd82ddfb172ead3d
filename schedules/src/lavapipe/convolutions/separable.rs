//! A depthwise convolution and a pointwise one in one dispatch.

use crate::kernels::separable;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over eight pixels of a row, 16 channels of the result each. Each invocation computes a depthwise channel
    /// of its own pixel just before its use. So the depthwise result is not stored, but it is recomputed for each 16 channels.
    pub REGISTERS: separable for mesa_lavapipe where OC % 16 == 0 {
        tile(n: 1, oh: 1, ow: 8, oc: 16) => workgroup(z, z, y, x);
        distribute(ow => thread(x));
        reorder(c, oc);
        compute_at(spread, c, to: register);
        spread { unroll(fh, fw); }
        vectorize(oc, 4);
        unroll(oc);
    }
}

schedule! {
    /// A row of eight pixels and 64 channels of the result per workgroup. The depthwise result is computed eight channels at a
    /// time, in shared memory.
    pub SHARED: separable for mesa_lavapipe where OC % 4 == 0 {
        tile(n: 1, oh: 1, ow: 8, oc: 64) => workgroup(z, z, y, x);
        tile(oc: 8) => thread(y);
        distribute(ow => thread(x));
        tile(c: 8 => c_o);
        reorder(c_o, c, oc);
        compute_at(spread, c_o, to: shared);
        spread { distribute(c, ow => thread(y, x)); unroll(fh, fw); }
        vectorize(oc, 4);
        unroll(oc);
    }
}
