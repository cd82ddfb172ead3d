//! Convolutions of f16 with accumulation in f32, on matrix units. Matrices have 16 channels of 8 pixels, or of the same pixel of 8 images.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Channels last: 14x8 pixels x 64 channels per workgroup of two subgroups, whose image part with its border is in shared memory.
    pub NHWC_BORDERED: conv2d_f16_f32 for nvidia_hopper where OH % 14 == 0, OW % 8 == 0, IC % 16 == 0, OC % 64 == 0 {
        apply parts::conv_f16::NHWC_BORDERED;
    }
}

schedule! {
    /// Channels last: 7 pixels of a row in 16 images x 128 channels per workgroup of four subgroups.
    pub NHWC_IMAGES_16: conv2d_f16_f32 for nvidia_hopper where N % 16 == 0, OW % 7 == 0, IC % 32 == 0, OC % 128 == 0 {
        apply parts::conv_f16::NHWC_IMAGES;
    }
}

schedule! {
    /// Channels last, any image: 7x16 pixels x 64 channels per workgroup of two subgroups.
    pub NHWC_SLICES: conv2d_f16_f32 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::NHWC_SLICES;
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for nvidia_hopper {
        apply parts::conv_f16::NHWC<PIXELS = 128>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Channels first: 14x8 pixels x 64 channels per workgroup of two subgroups. The image and the filter are packed first.
    pub NCHW_BORDERED: conv_nchw_f16_f32 for nvidia_hopper where OH % 14 == 0, OW % 8 == 0, IC % 16 == 0, OC % 64 == 0 {
        apply parts::conv_f16::PACKED;
        input_packed {
            distribute(n, c_o, h => workgroup(y, y, y));
            tile(w: 64) => workgroup(x);
            promote(input => t_s[c, w], at: workgroup, to: shared, row_pad: 2);
            vectorize(c, 8);
            fuse(w, c => t);
            distribute(t => thread(linear));
        }
        apply parts::conv_f16::BORDERED;
        promote(input_packed => x_s, at: k_o, to: shared, row_pad: 8);
        promote(filter_packed => w_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        pin(IH, IW, IC, OC);
    }
}

schedule! {
    /// Channels first, any image: 64 channels x 7x16 pixels per workgroup of two subgroups. The image and the filter are packed first.
    pub NCHW_SLICES: conv_nchw_f16_f32 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::PACKED;
        input_packed {
            distribute(n, c_o => workgroup(y, y));
            fuse(h, w => p);
            vectorize(c, 8);
            tile(p: 256) => workgroup(x);
            distribute(p => thread(x));
            unroll(c);
        }
        apply parts::conv_f16::SLICES<PAD = 0>;
        part {
            promote(input_packed => x_s, at: s, to: shared, row_pad: 8);
            promote(filter_packed => w_s, at: s, to: shared, row_pad: 8);
            pipeline(s, buffers: 1, prefetch: register);
        }
        p_s { tile(ow: 8) => subgroup(x); fragment(oc, ow, 16 x 8); }
        reorder(oc, oh, ow);
        vectorize(ow, 2, unaligned: scalar);
        fuse(oc, oh, ow => t);
        split(t, [_, 64] => t_r, t);
        distribute(t => thread(linear));
        unroll(t_r);
        pin(IH, IW, IC, OC);
        specialize(OC % 64 == 0, OW % 2 == 0);
        specialize(OC % 8 == 0, OW % 2 == 0);
    }
}

schedule! {
    /// Channels first, any sizes: 64 channels x 128 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for nvidia_hopper {
        apply parts::conv_f16::NCHW<PIXELS = 128>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}
