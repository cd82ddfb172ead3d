//! Convolutions of f32 without matrix units, for devices with fast shared memory.

use tilewright::schedule;

schedule! {
    /// Channels last, any sizes: a product of the image's windows with the filter. `PIXELS` x `CHANNELS` results per workgroup, `STEP`
    /// elements of the windows at a time through shared memory, 8x8 results per invocation in blocks of 4x4.
    pub WINDOWS<PIXELS = 128, CHANNELS = 64, STEP = 16> {
        fuse(n, oh, ow => t);
        fuse(fh, fw, ic => k);
        tile(t: PIXELS round_up, oc: CHANNELS round_up) => workgroup(y, x);
        tile(k: STEP round_up => k_o);
        reorder(k_o, k, t, oc);
        promote(input => x_s[k, t], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(filter => w_s[k, oc], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(t, [2, PIXELS / 8, 4] => t_r, t_t, t_v);
        split(oc, [2, CHANNELS / 8, 4] => oc_r, oc_t, oc_v);
        distribute(t_t, oc_t => thread(y, x));
        promote(x_s => x_r[t_r, t_v], at: k, to: register);
        promote(w_s => w_r[oc_r, oc_v], at: k, to: register);
        unroll(k, t_r, t_v, oc_r);
        vectorize(oc_v, 4, unaligned: scalar);
        specialize(OC % 4 == 0);
    }
}

schedule! {
    /// Channels last, any number of pixels: `ROWS` x `COLUMNS` pixels of an image and `CHANNELS` channels per workgroup. Each step, `s`,
    /// covers one row of the filter and 4 channels. The image part is in shared memory with the columns of its border, so that an
    /// invocation reads 4 channels of its pixels at once, for all taps of the row. An invocation has 8 pixels of a row, and 8 channels in
    /// blocks of 4.
    pub ROWS<ROWS = 4, COLUMNS = 16, CHANNELS = 64> {
        tile(n: 1, oh: ROWS round_up, ow: COLUMNS round_up, oc: CHANNELS) => workgroup(z, y, y, x);
        tile(ic: 4 => k_o);
        reorder(k_o, fh, fw, ic, oh, ow, oc);
        fuse(k_o, fh => s);
        promote(input => x_s, at: s, to: shared, row_pad: 4);
        promote(filter => w_s, at: s, to: shared);
        pipeline(s, buffers: 1, prefetch: register);
        tile(oh: 1, ow: 8) => thread(z, y);
        split(oc, [2, CHANNELS / 8, 4] => oc_r, oc_t, oc_v);
        distribute(oc_t => thread(x));
        reorder(fw, ic, ow, oc_r, oc_v);
        promote(x_s => x_r, at: s, to: register);
        promote(w_s => w_r, at: ic, to: register);
        unroll(fw, ic, ow, oc_r);
        vectorize(oc_v, 4);
    }
}

schedule! {
    /// Channels first, any sizes: `STEP` channels of an image part with its border are in shared memory, so that all taps of the filter
    /// read them there. A workgroup has 32 channels x `ROWS` x 32 pixels, and an invocation 8 channels x 4 pixels of a row.
    pub BORDERED<ROWS = 4, STEP = 4> {
        tile(n: 1, oc: 32 round_up, oh: ROWS round_up, ow: 32 round_up) => workgroup(z, z, y, x);
        tile(ic: STEP round_up => ic_o);
        reorder(ic_o, ic, fh, fw, oc, oh, ow);
        promote(input => x_s, at: ic_o, to: shared, fill: 0.0);
        promote(filter => w_s[ic, fh, fw, oc], at: ic_o, to: shared, fill: 0.0, row_pad: 4);
        pipeline(ic_o, buffers: 1, prefetch: register);
        tile(oc: 8, oh: 1, ow: 4) => thread(z, y, x);
        promote(x_s => x_r, at: fh, to: register);
        promote(w_s => w_r, at: fw, to: register);
        unroll(ic, fh, fw, oc);
        vectorize(ow, 4, unaligned: scalar);
        specialize(OW % 4 == 0);
    }
}

schedule! {
    /// Pointwise, channels last, any sizes: `PIXELS` x 64 results per workgroup, 16 channels at a time through shared memory, `TALL` x 8
    /// results per invocation in blocks of 4x4.
    pub POINTWISE<PIXELS = 128, TALL = 8> {
        fuse(n, h, w => t);
        tile(t: PIXELS round_up, oc: 64 round_up) => workgroup(y, x);
        tile(ic: 16 round_up => k_o);
        reorder(k_o, ic, t, oc);
        promote(input => x_s[ic, t], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(filter => w_s[ic, oc], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(t, [TALL / 4, PIXELS / TALL, 4] => t_r, t_t, t_v);
        split(oc, [2, 8, 4] => oc_r, oc_t, oc_v);
        distribute(t_t, oc_t => thread(y, x));
        promote(x_s => x_r[t_r, t_v], at: ic, to: register);
        promote(w_s => w_r[oc_r, oc_v], at: ic, to: register);
        unroll(ic, t_r, t_v, oc_r);
        vectorize(oc_v, 4, unaligned: scalar);
        specialize(IC % 4 == 0, OC % 4 == 0);
    }
}

schedule! {
    /// [`POINTWISE`] for few pixels: `PIXELS` x 64 results per workgroup, 4x4 per invocation. `SUMS` groups of invocations add the products of
    /// 16 channels each at a time, and their sums are added in the end.
    pub POINTWISE_SUMS<PIXELS = 32, SUMS = 2> {
        fuse(n, h, w => t);
        tile(t: PIXELS round_up, oc: 64 round_up) => workgroup(y, x);
        split(ic, [_, SUMS, 16] round_up => k_o, k_s, ic);
        distribute(k_s => thread(z), by: tree);
        reorder(k_o, ic, t, oc);
        promote(input => x_s[k_s, ic, t], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(filter => w_s[k_s, ic, oc], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(t, [PIXELS / 4, 4] => t_t, t_v);
        split(oc, [16, 4] => oc_t, oc_v);
        distribute(t_t, oc_t => thread(y, x));
        promote(x_s => x_r[t_v], at: ic, to: register);
        promote(w_s => w_r[oc_v], at: ic, to: register);
        unroll(ic, t_v);
        vectorize(oc_v, 4, unaligned: scalar);
        specialize(IC % 4 == 0, OC % 4 == 0);
    }
}

schedule! {
    /// A depthwise convolution and a pointwise one in one dispatch, channels last: the depthwise result of `ROWS` x 8 pixels is computed 32
    /// channels at a time, in shared memory. An invocation has 2x4 pixels and 4 channels of the result.
    pub SEPARABLE<ROWS = 8> {
        tile(n: 1, oh: ROWS round_up, ow: 8 round_up, oc: 64) => workgroup(z, z, y, x);
        tile(c: 32 => c_o);
        reorder(c_o, c, oh, ow, oc);
        compute_at(spread, c_o, to: shared);
        spread {
            vectorize(c, 4);
            fuse(oh, ow, c => t);
            split(t, [4, ROWS * 16] => t_r, t);
            distribute(t => thread(linear));
            unroll(t_r, fh, fw);
        }
        promote(mix => m_s, at: c_o, to: shared);
        tile(oh: 2, ow: 4, oc: 4) => thread(z, y, x);
        unroll(oh, ow);
        vectorize(oc, 4);
    }
}
