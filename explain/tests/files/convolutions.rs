//! A convolution, direct and by Winograd's algorithm with tiles of 2, 4 and 6, which `docs/directives/decompose_winograd.md`
//! compares. This file is parsed but never built.

use tilewright::devices::nvidia_hopper;
use tilewright::{kernel, schedule};

kernel! {
    pub fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
        y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
            x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc]
        };
    }
}

schedule! {
    pub DIRECT: conv for nvidia_hopper {
        fuse(n, oh, ow => t);
        tile(t: 32, oc: 64) => workgroup(y, x);
        tile(t: 4, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, t, oc);
        unroll(t, oc);
    }
}

schedule! {
    pub F2: conv for nvidia_hopper where IC <= 1280 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 2e-6);
        precompute(u);
        g {
            fuse(n, th, tw => t);
            distribute(p, q => workgroup(z, z));
            tile(t: 32, oc: 64) => workgroup(y, x);
            tile(t: 4, oc: 4) => thread(y, x);
            reorder(ic, t, oc);
            unroll(t, oc);
        }
        tile(oh: 2 peel, ow: 2 peel) => workgroup(z, y);
        serial(n);
        tile(oc: 64) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    pub F4: conv for nvidia_hopper where IC <= 1280 {
        decompose_winograd(y => v, u, g, m: 4, tolerance: 5e-6);
        precompute(u);
        g {
            fuse(n, th, tw => t);
            distribute(p, q => workgroup(z, z));
            tile(t: 32, oc: 64) => workgroup(y, x);
            tile(t: 4, oc: 4) => thread(y, x);
            reorder(ic, t, oc);
            unroll(t, oc);
        }
        tile(oh: 4 peel, ow: 4 peel) => workgroup(z, y);
        serial(n);
        tile(oc: 64) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    pub F6: conv for nvidia_hopper where IC <= 256, H % 6 == 0, W % 6 == 0 {
        decompose_winograd(y => v, u, g, m: 6, tolerance: 1e-5);
        precompute(u);
        g {
            fuse(n, th, tw => t);
            distribute(p, q => workgroup(z, z));
            tile(t: 32, oc: 64) => workgroup(y, x);
            tile(t: 4, oc: 4) => thread(y, x);
            reorder(ic, t, oc);
            unroll(t, oc);
        }
        tile(oh: 6, ow: 6) => workgroup(z, y);
        serial(n);
        tile(oc: 64) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}
