//! Convolutions of f16 on matrix units, with `PIXELS` x `CHANNELS` results per workgroup of four subgroups, in matrices of `A` x `B`
//! results and `DEPTH` items. Prefetches are the schedules' own.

use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels. Each step, `s`, covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32<PIXELS = 64, CHANNELS = 64, A = 16, B = 16, DEPTH = 16> {
        fuse(n, oh, ow => t);
        tile(t: PIXELS round_up, oc: CHANNELS round_up) => workgroup(y, x);
        tile(ic: 32 => k_o);
        reorder(fh, fw, k_o, ic, oc, t);
        fuse(fh, fw, k_o => s);
        promote(input => x_s[t, ic], at: s, to: shared, row_pad: 8);
        promote(filter => w_s[ic, oc], at: s, to: shared, row_pad: 8);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: PIXELS / 2, oc: CHANNELS / 2) => subgroup(y, x);
        mma(t, oc, ic, A x B x DEPTH);
        unroll(ic);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels last, any sizes. Each step, `k_o`, covers 32 elements of the windows.
    pub NHWC<PIXELS = 64, CHANNELS = 64, A = 16, B = 16, DEPTH = 16> {
        fuse(n, oh, ow => t);
        fuse(fh, fw, ic => k);
        tile(t: PIXELS round_up, oc: CHANNELS round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, t);
        promote(input => x_s[t, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(filter => w_s[k, oc], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: PIXELS / 2, oc: CHANNELS / 2) => subgroup(y, x);
        mma(t, oc, k, A x B x DEPTH);
        unroll(k);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels first, any sizes. Each step, `k_o`, covers 32 elements of the windows.
    pub NCHW<PIXELS = 64, CHANNELS = 64, A = 16, B = 16, DEPTH = 16> {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: CHANNELS round_up, p: PIXELS round_up) => workgroup(z, y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(filter => w_s[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(input => x_s[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[oc, p], at: workgroup, to: shared);
        tile(oc: CHANNELS / 2, p: PIXELS / 2) => subgroup(y, x);
        mma(oc, p, k, A x B x DEPTH);
        unroll(k);
    }
}
