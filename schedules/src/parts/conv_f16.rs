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
    /// Any image: `TALL` (a multiple of 7) x 16 pixels and 64 channels per workgroup, 7x16 and 32 per subgroup. The image part with its border
    /// is in shared memory, so that all taps of the filter read it there. Each step, `k_o`, covers all taps and 16 channels. The sums are a
    /// stage `part` in fragments, in matrices of 16 pixels and `WIDTH` channels. Copies of operands, and the loops of the result, are the
    /// schedules' own.
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
    /// [`ROWS`] for channels last. The result goes through shared memory as halves, in place of the operands, so that 16 bytes are stored at a
    /// time.
    pub NHWC_ROWS<TALL = 14> {
        apply ROWS<TALL = TALL>;
        part {
            promote(input => x_s, at: k_o, to: shared, row_pad: 8);
            promote(filter => w_s, at: k_o, to: shared, row_pad: 8);
            pipeline(k_o, buffers: 1, prefetch: register);
        }
        split(oc, [2, 32] => oc_x, oc);
        promote(output => o_s, at: workgroup, to: shared, row_pad: 8);
        reorder(oh_y, oc_x, oh, ow, oc);
        distribute(oh_y, oc_x => subgroup(y, x));
        fragment(ow, oc, 16 x 16);
        unroll(oh);
        o_s {
            split(oc, [8, 8] => oc_t, oc);
            vectorize(oc, 8, unaligned: scalar);
            fuse(oh, ow, oc_t => t);
            split(t, [14, _] => t_r, t);
            distribute(t => thread(linear));
            unroll(t_r);
        }
        pin(IW, IC, OC);
        specialize(OC % 64 == 0);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// [`ROWS`] for channels first. The image is packed in blocks of 16 channels, which are adjacent for each pixel, and the filter with the
    /// output channels last. Without it, matrices cannot read the windows, because these begin at odd multiples of 2 bytes. Each subgroup writes
    /// its result through a part of shared memory that it alone uses, channel by channel, so that adjacent pixels are stored together.
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
