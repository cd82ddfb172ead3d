//! Convolutions of quantized tensors.

use tilewright::schedule;

schedule! {
    /// Vectors of four channels: eight of them, `ROWS` x 8 pixels and `COLUMNS` pixels of a row for each invocation.
    pub DEPTHWISE<ROWS = 4, COLUMNS = 4> {
        tile(n: 1, oh: ROWS, ow: 8, c: 32) => workgroup(z, z, y, x);
        tile(oh: 1, ow: COLUMNS, c: 4) => thread(z, y, x);
        reorder(fh, fw, ow, c);
        unroll(fh, fw, ow);
        vectorize(c, 4);
    }
}

schedule! {
    /// Channels last, on matrix units: `PIXELS` pixels of any rows and `CHANNELS` channels per workgroup of four subgroups. Each step, `s`,
    /// covers one filter tap and `STEP` channels. The filter is packed with the input channels last, because devices load matrices of bytes
    /// quickly only if bytes of one sum are adjacent.
    pub NHWC<PIXELS = 128, CHANNELS = 64, STEP = 64> {
        pack(filter[y, x, c, o] => [y, x, o, c], when: dispatch);
        filter_packed {
            tile(o: 32, c: 32) => workgroup(y, x);
            distribute(x => workgroup(z));
            serial(y);
            distribute(o, c => thread(y, x));
        }
        pixel { apply PIXEL_SUMS; }
        window { apply WINDOW_SUMS; }
        fuse(n, oh, ow => t);
        tile(t: PIXELS round_up, oc: CHANNELS round_up) => workgroup(y, x);
        tile(ic: STEP => k_o);
        reorder(fh, fw, k_o, ic, oc, t);
        fuse(fh, fw, k_o => s);
        apply PIXELS_BY_CHANNELS<PIXELS = PIXELS, CHANNELS = CHANNELS>;
    }
}

schedule! {
    /// A pointwise convolution, channels last, like [`NHWC`].
    pub POINTWISE<PIXELS = 128, CHANNELS = 64, STEP = 64> {
        pack(filter[c, o] => [o, c], when: dispatch);
        filter_packed {
            tile(o: 32, c: 32) => workgroup(y, x);
            distribute(o, c => thread(y, x));
        }
        pixel { apply PIXEL_SUMS; }
        fuse(n, h, w => t);
        tile(t: PIXELS round_up, oc: CHANNELS round_up) => workgroup(y, x);
        tile(ic: STEP => s);
        reorder(s, ic, oc, t);
        apply PIXELS_BY_CHANNELS<PIXELS = PIXELS, CHANNELS = CHANNELS>;
    }
}

schedule! {
    /// The end of [`NHWC`] and [`POINTWISE`]: copies at `s`, matrices of pixels `t` by channels, and the result through shared memory.
    pub PIXELS_BY_CHANNELS<PIXELS = 128, CHANNELS = 64> {
        promote(input => x_s[t, ic], at: s, to: shared, row_pad: 16);
        promote(filter_packed => w_s[oc, ic], at: s, to: shared, row_pad: 16);
        promote(output => out[t, oc], at: workgroup, to: shared);
        pipeline(s, buffers: 1, prefetch: register);
        tile(t: PIXELS / 2, oc: CHANNELS / 2) => subgroup(y, x);
        mma(t, oc, ic, 16 x 16 x 32);
        unroll(ic);
        specialize(OC % 16 == 0);
    }
}

schedule! {
    /// Channels first, on matrix units, like [`NHWC`]. The image is packed with the channels last, too, 32 x 32 bytes per workgroup.
    pub NCHW<PIXELS = 128, CHANNELS = 64, STEP = 64> {
        pack(input[n, c, h, w] => [n, h, w, c], when: dispatch);
        pack(filter[o, c, y, x] => [y, x, o, c], when: dispatch);
        input_packed {
            distribute(n => workgroup(z));
            fuse(h, w => p);
            tile(p: 32, c: 32) => workgroup(x, y);
            promote(input => t_s[c, p], at: workgroup, to: shared, row_pad: 4);
            tile(p: 8) => thread(y);
            vectorize(c, 4);
            distribute(c => thread(x));
            serial(p);
        }
        filter_packed {
            tile(o: 32, c: 32) => workgroup(y, x);
            distribute(o, c => thread(y, x));
            serial(y, x);
        }
        pixel {
            fuse(n, h, w => p);
            tile(p: 128) => workgroup(x);
            distribute(p => thread(x));
            tile(ic: 16 => ic_o);
            promote(input_packed => i_r, at: ic_o, to: register);
            unroll(ic);
        }
        window { apply WINDOW_SUMS; }
        fuse(oh, ow => p);
        tile(n: 1, oc: CHANNELS round_up, p: PIXELS round_up) => workgroup(z, y, x);
        tile(ic: STEP => k_o);
        reorder(fh, fw, k_o, ic, oc, p);
        fuse(fh, fw, k_o => s);
        promote(filter_packed => w_s[oc, ic], at: s, to: shared, row_pad: 16);
        promote(input_packed => x_s[p, ic], at: s, to: shared, row_pad: 16);
        promote(output => out[oc, p], at: workgroup, to: shared);
        pipeline(s, buffers: 1, prefetch: register);
        tile(oc: CHANNELS / 2, p: PIXELS / 2) => subgroup(y, x);
        mma(oc, p, ic, 16 x 16 x 32);
        unroll(ic);
    }
}

schedule! {
    /// Sums of a pixel's channels, channels last: 16 bytes at a time, a pixel for each invocation.
    pub PIXEL_SUMS {
        fuse(n, h, w => p);
        tile(p: 128) => workgroup(x);
        distribute(p => thread(x));
        tile(ic: 16 => ic_o);
        promote(input => i_r, at: ic_o, to: register);
        unroll(ic);
    }
}

schedule! {
    /// Sums of windows of pixels, one for each invocation.
    pub WINDOW_SUMS {
        fuse(n, oh, ow => p);
        tile(p: 128) => workgroup(x);
        distribute(p => thread(x));
        unroll(fh, fw);
    }
}
