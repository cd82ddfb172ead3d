//! Convolutions of f16 on matrix units. Lists with `A`, `B` and `DEPTH` compute `PIXELS` x `CHANNELS` results per workgroup of four
//! subgroups, in matrices of `A` x `B` results and `DEPTH` items, and leave prefetches to the schedules. The other lists keep part of an
//! image in shared memory for all taps of the filter.

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

schedule! {
    /// Channels last, 64 input channels: 7 rows of an image and 64 channels per workgroup of four subgroups, which walks along them in tiles,
    /// `t`, of 8 columns. Each subgroup keeps the filter of its 16 channels in fragments, so that only the image goes through shared memory.
    pub NHWC_FILTER {
        tile(n: 1, oc: 64, oh: 7) => workgroup(y, x, y);
        tile(ow: 8 => t);
        tile(ic: 16 => ic_o);
        reorder(t, ic_o, fw, fh, ic, oc, oh, ow);
        promote(filter => w_f, at: workgroup, to: fragment);
        promote(input => x_s, at: t, to: shared, row_pad: 8);
        pipeline(t, buffers: 1, prefetch: register);
        tile(oc: 16) => subgroup(x);
        mma(oc, ow, ic, 16 x 8 x 16);
        serial(t);
        unroll(ic_o, fw, fh);
        pin(IW, OC);
    }
}

schedule! {
    /// Any image: `TALL` (a multiple of 7) x 16 pixels and 64 channels per workgroup, 7x16 and 32 per subgroup. The image part with its border
    /// is in shared memory, so that all taps of the filter read it there. Each step, `k_o`, covers all taps and 16 channels. The sums are a
    /// stage `part` in fragments, in matrices of 16 pixels and `WIDTH` channels. Each subgroup writes them through a part of shared memory that
    /// it alone uses, with guards. Copies of operands, and the loops of the result, are the schedules' own.
    pub ROWS<TALL = 14, WIDTH = 16> {
        split(fh, [1, _] => k_s, fh);
        rfactor(k_s => part);
        tile(n: 1, oc: 64 round_up, oh: TALL round_up, ow: 16 round_up) => workgroup(y, x, y, y);
        split(oh, [TALL / 7, 7] => oh_y, oh);
        compute_at(part, workgroup, to: fragment);
        part {
            tile(ic: 16 => k_o);
            reorder(k_o, fw, fh, ic, oc, oh, ow);
            tile(oh: 7, oc: 32) => subgroup(y, x);
            mma(ow, oc, ic, 16 x WIDTH x 16);
            unroll(fh, fw);
        }
        emit(readonly: no);
    }
}

schedule! {
    /// [`ROWS`] for channels last. The result is written row by row.
    pub NHWC_ROWS<TALL = 14> {
        apply ROWS<TALL = TALL>;
        part {
            promote(input => x_s, at: k_o, to: shared, row_pad: 8);
            promote(filter => w_s, at: k_o, to: shared, row_pad: 8);
            pipeline(k_o, buffers: 1, prefetch: register);
        }
        split(oc, [2, 32] => oc_x, oc);
        reorder(oh, oh_y, oc_x, ow, oc);
        promote(part => p_s[oh_y, oc_x, ow, oc], at: oh, to: shared, row_pad: 4);
        p_s { distribute(oh_y, oc_x => subgroup(y, x)); fragment(ow, oc, 16 x 16); }
        distribute(oh_y, oc_x => subgroup(y, x));
        split(ow, [4, 4] => ow_r, ow);
        split(oc, [8, 4] => oc_t, oc);
        reorder(ow_r, ow, oc_t, oc);
        fuse(ow, oc_t => t);
        distribute(t => lane(x));
        unroll(oh, ow_r);
        vectorize(oc, 4, unaligned: scalar);
        pin(IW, IC, OC);
        specialize(OC % 64 == 0);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// [`ROWS`] for channels first. The image is packed in blocks of 16 channels, which are adjacent for each pixel, and the filter with the
    /// output channels last. Without it, matrices cannot read the windows, because these begin at odd multiples of 2 bytes. The result is
    /// written channel by channel, so that adjacent pixels are stored together.
    pub NCHW_ROWS<TALL = 14> {
        pack(input[n, c, h, w] => [n, c / 16, h, w, c % 16], when: dispatch);
        pack(filter[o, c, y, x] => [y, x, c, o], when: dispatch);
        input_packed {
            distribute(n, c_o => workgroup(y, y));
            fuse(h, w => p);
            tile(p: 128) => workgroup(x);
            promote(input => t_s[c, p], at: workgroup, to: shared, row_pad: 2);
            vectorize(c, 8);
            fuse(p, c => t);
            distribute(t => thread(linear));
        }
        filter_packed {
            tile(o: 32, c: 16) => workgroup(x, y);
            promote(filter => f_s[y, x, c, o], at: workgroup, to: shared, row_pad: 8);
            split(o, [4, 8] => o_t, o);
            vectorize(o, 8, unaligned: scalar);
            fuse(y, x, c, o_t => t);
            split(t, [_, 192] => t_r, t);
            distribute(t => thread(x));
            unroll(t_r);
        }
        apply ROWS<TALL = TALL, WIDTH = 8>;
        part {
            promote(input_packed => x_s, at: k_o, to: shared, row_pad: 8);
            promote(filter_packed => w_s, at: k_o, to: shared, row_pad: 8);
            pipeline(k_o, buffers: 1, prefetch: register);
        }
        split(oc, [2, 4, 8] => oc_x, oc_t, oc);
        reorder(oc_t, oh_y, oc_x, oc, oh, ow);
        promote(part => p_s[oh_y, oc_x, oc, oh, ow], at: oc_t, to: shared);
        p_s { distribute(oh_y, oc_x => subgroup(y, x)); fragment(ow, oc, 16 x 8); }
        distribute(oh_y, oc_x => subgroup(y, x));
        vectorize(ow, 2, unaligned: scalar);
        fuse(oc, oh, ow => t);
        split(t, [_, 32] => t_r, t);
        distribute(t => lane(x));
        unroll(oc_t, t_r);
        pin(IH, IW, IC, OC);
        specialize(OC % 64 == 0, OW % 2 == 0);
        specialize(OC % 8 == 0);
    }
}
