//! The entries of the catalog, each with the sizes that its variants are tried at: odd ones, and what facts ask for, odd times.

use crate::check;

/// A test for each: `name(scalars) (dims) { sizes … }`.
macro_rules! entries {
    ($($name:ident($($scalar:expr),*) ($($dim:ident),*) { $(($($size:expr),*))* })*) => {
        /// Those that have a test.
        pub const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            check(stringify!($name), entries!(@sizes ($($dim),*) $(($($size),*))*), &[$($scalar),*]);
        })*
    };
    (@sizes $dims:tt $($sizes:tt)*) => { &[$(entries!(@zip $dims $sizes)),*] };
    (@zip ($($dim:ident),*) ($($size:expr),*)) => { &[$((stringify!($dim), $size)),*] };
}

entries! {
    conv2d() (N, IH, IW, IC, OC) {
        (1, 3, 3, 1, 1)
        (2, 8, 16, 5, 7)
        (1, 5, 33, 3, 32)
        (3, 9, 97, 3, 32)
        (1, 17, 33, 3, 96)
        (1, 18, 98, 3, 32)
        (2, 49, 17, 3, 16)
    }
    conv2d_f16() (N, IH, IW, IC, OC) {
        (1, 4, 10, 8, 32)
        (2, 8, 26, 24, 32)
        (1, 4, 10, 40, 96)
    }
    conv_nchw() (N, IC, IH, IW, OC) {
        (1, 1, 3, 3, 1)
        (2, 5, 5, 9, 3)
        (1, 7, 9, 15, 67)
        (1, 3, 5, 34, 8)
        (3, 1, 3, 98, 24)
        (1, 2, 4, 130, 8)
        (1, 3, 3, 386, 8)
        (1, 1, 5, 130, 24)
    }
    conv_nchw_f16() (N, IC, IH, IW, OC) {
        (1, 1, 3, 3, 1)
        (2, 5, 5, 9, 3)
        (1, 7, 9, 15, 67)
    }
    conv1x1() (N, H, W, IC, OC) {
        (1, 1, 1, 1, 1)
        (3, 5, 7, 13, 37)
        (2, 3, 17, 5, 8)
        (1, 8, 8, 4, 8)
        (1, 8, 24, 12, 72)
        (3, 24, 8, 4, 24)
    }
    conv1x1_relu6() (N, H, W, IC, OC) {
        (1, 1, 1, 1, 1)
        (3, 5, 7, 13, 37)
        (2, 3, 17, 5, 8)
        (1, 8, 8, 4, 8)
        (1, 13, 3, 67, 72)
    }
    depthwise() (N, IH, IW, C) {
        (1, 3, 3, 1)
        (2, 9, 15, 37)
        (1, 3, 6, 32)
        (3, 5, 14, 32)
        (1, 7, 6, 96)
    }
    separable() (N, IH, IW, C, OC) {
        (1, 3, 3, 1, 1)
        (2, 5, 13, 7, 3)
        (1, 3, 3, 1, 16)
        (2, 5, 12, 7, 48)
        (1, 9, 21, 13, 80)
    }
    matmul() (M, N, K) {
        (1, 1, 1)
        (3, 130, 7)
        (31, 37, 41)
        (5, 3, 0)
        (8, 64, 4)
        (24, 192, 12)
        (64, 64, 20)
        (192, 64, 4)
    }
    split_k() (M, N, K) {
        (64, 64, 256)
        (64, 64, 512)
        (64, 64, 1024)
    }
    sgemm(0.5, -0.25) (M, N, K) {
        (1, 1, 1)
        (3, 130, 7)
        (131, 37, 13)
        (5, 3, 0)
        (8, 32, 4)
        (24, 160, 12)
        (136, 132, 20)
        (8, 96, 28)
    }
    softmax() (R, C) {
        (1, 1)
        (3, 7)
        (7, 130)
        (5, 301)
    }
    layernorm() (R, C) {
        (1, 1)
        (3, 7)
        (7, 130)
        (5, 301)
    }
    blur() (H, W) {
        (1, 1)
        (3, 7)
        (13, 130)
        (67, 17)
    }
    add() (N) {
        (1)
        (131)
        (4)
        (260)
        (2372)
    }
    saxpy(-0.75) (N) {
        (1)
        (131)
        (4)
        (260)
        (2372)
    }
    sum() (K) {
        (0)
        (1)
        (2311)
        (16384)
        (49152)
        (16384 * 67)
    }
    argmax() (K) {
        (1)
        (2311)
        (16384)
        (49152)
        (16384 * 67)
    }
}
