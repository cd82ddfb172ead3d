//! Convolutions of f16 on matrix units. Lists with `A`, `B` and `DEPTH` compute `PIXELS` x `CHANNELS` results per workgroup of four
//! subgroups, in matrices of `A` x `B` results and `DEPTH` items, and leave prefetches to the schedules. The other lists keep part of an
//! image in shared memory for several taps of the filter. Their matrices have 16 channels and 8 pixels, because 8 divides more images than
//! 16.

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
    /// Whole tiles of 14x8 pixels and 64 channels per workgroup of two subgroups. The image part with its border is in shared memory, so
    /// that all taps of the filter read it there. Each step, `k_o`, covers all taps and 16 channels. Copies and prefetches are the
    /// schedules' own.
    pub BORDERED {
        tile(n: 1, oc: 64, oh: 14, ow: 8) => workgroup(y, x, y, y);
        tile(ic: 16 => k_o);
        reorder(k_o, fh, fw, ic, oc, oh, ow);
        tile(oh: 7) => subgroup(x);
        mma(oc, ow, ic, 16 x 8 x 16);
        unroll(fh, fw);
    }
}

schedule! {
    /// [`BORDERED`] for channels last.
    pub NHWC_BORDERED {
        apply BORDERED;
        promote(input => x_s, at: k_o, to: shared, row_pad: 8);
        promote(filter => w_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        pin(IW, IC, OC);
    }
}

schedule! {
    /// Channels last: 7 pixels of a row in 16 images, and 128 channels, per workgroup of four subgroups. A matrix has the same pixel of 8
    /// images, so that no tile exceeds a small image. Each step, `s`, covers one row of the filter and 32 channels.
    pub NHWC_IMAGES {
        tile(n: 16, oc: 128, oh: 1, ow: 7) => workgroup(y, x, y, y);
        tile(ic: 32 => k_o);
        reorder(k_o, fh, fw, ic, oc, n, ow);
        fuse(k_o, fh => s);
        promote(input => x_s, at: s, to: shared, row_pad: 8);
        promote(filter => w_s, at: s, to: shared, row_pad: 8);
        pipeline(s, buffers: 1, prefetch: register);
        tile(n: 8, oc: 64) => subgroup(x, y);
        mma(oc, n, ic, 16 x 8 x 16);
        unroll(fw, ic);
        pin(IW, IC, OC);
        emit(readonly: no);
    }
}

schedule! {
    /// Any image: 7x16 pixels and 64 channels per workgroup of two subgroups. Each step, `s`, covers one row of the filter and 16 channels.
    /// The image part is in shared memory with the columns of its border, so that all taps of the row read it there. The sums are a stage
    /// `part` in fragments. They are written 16 channels at a time through shared memory, with guards. Copies of operands, and the loops of
    /// the result, are the schedules' own.
    pub SLICES<PAD = 4> {
        split(fh, [1, _] => k_s, fh);
        rfactor(k_s => part);
        tile(n: 1, oc: 64 round_up, oh: 7 round_up, ow: 16 round_up) => workgroup(y, x, y, y);
        split(oc, [4, 16] => oc_t, oc);
        reorder(oc_t, oh, ow, oc);
        compute_at(part, workgroup, to: fragment);
        promote(part => p_s, at: oc_t, to: shared, row_pad: PAD);
        unroll(oc_t);
        part {
            tile(ic: 16 => k_o);
            reorder(k_o, fh, fw, ic, oc, oh, ow);
            fuse(k_o, fh => s);
            tile(ow: 8) => subgroup(x);
            mma(oc, ow, ic, 16 x 8 x 16);
            unroll(fw);
        }
        emit(readonly: no);
    }
}

schedule! {
    /// [`SLICES`] for channels last.
    pub NHWC_SLICES {
        apply SLICES;
        part {
            promote(input => x_s, at: s, to: shared, row_pad: 8);
            promote(filter => w_s, at: s, to: shared, row_pad: 8);
            pipeline(s, buffers: 1, prefetch: register);
        }
        p_s { tile(ow: 8) => subgroup(x); fragment(oc, ow, 16 x 8); unroll(oh); }
        vectorize(oc, 4, unaligned: scalar);
        fuse(oh, ow, oc => t);
        split(t, [_, 64] => t_r, t);
        distribute(t => thread(linear));
        unroll(t_r);
        pin(IW, IC, OC);
        specialize(OC % 64 == 0);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Packs an image and a filter with channels first: the image in blocks of 16 channels, which are adjacent for each pixel, and the
    /// filter with the output channels last. Without it, matrices cannot read the windows, because these begin at odd multiples of 2 bytes.
    pub PACKED {
        pack(input[n, c, h, w] => [n, c / 16, h, w, c % 16], when: dispatch);
        pack(filter[o, c, y, x] => [y, x, c, o], when: dispatch);
        filter_packed {
            tile(o: 8 => o_v);
            vectorize(o, 8, unaligned: scalar);
            distribute(y, x => workgroup(y, y));
            fuse(c, o_v => t);
            tile(t: 64) => workgroup(x);
            distribute(t => thread(x));
        }
    }
}
