//! The program that introduces the language: one convolution, two schedules for it, and a run of each.

use tilewright::devices::arm_valhall;
use tilewright::{Device, kernel, schedule};

kernel! {
    /// Strided 2-D convolution, NHWC x HWCF, no padding.
    pub fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1,
                  OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
        input: T[N, IH, IW, IC],
        filter: T[FH, FW, IC, OC],
    ) -> output: T[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
            input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
        };
    }
}

schedule! {
    /// One 1x8x32 (OH x OW x OC) patch for each workgroup, 1x4x4 for each thread.
    pub VALHALL: conv2d<T = f32, S = 2> for arm_valhall
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 4, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(ic, ow);
        vectorize(oc, 4);
    }
}

schedule! { pub PLAIN: conv2d<T = f32, S = 2> for tilewright::devices::vulkan_1_1 {} }

/// Convolves one image in f64.
fn convolution(pixels: &[f32], weights: &[f32], width: usize, depth: usize) -> Vec<f64> {
    let (taps, channels) = (3, 3);
    let out = (width - taps) / 2 + 1;
    let mut output = vec![0.0; out * out * depth];
    for (at, value) in output.iter_mut().enumerate() {
        let (oh, ow, oc) = (at / (out * depth), at / depth % out, at % depth);
        for tap in 0..taps * taps * channels {
            let (fh, fw, ic) = (tap / (taps * channels), tap / channels % taps, tap % channels);
            let pixel = pixels[((oh * 2 + fh) * width + ow * 2 + fw) * channels + ic];
            *value += f64::from(pixel) * f64::from(weights[tap * depth + oc]);
        }
    }
    output
}

#[test]
fn it_runs_as_it_is_written() -> tilewright::Result<()> {
    // With 33 -> 16 rows, VALHALL's facts hold. With 35 -> 17, they do not, and PLAIN runs.
    for (width, variant) in [(33, "VALHALL"), (35, "PLAIN")] {
        let mut random = fastrand::Rng::new();
        let mut some = |count: usize| (0..count).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
        let (pixels, weights) = (some(width * width * 3), some(3 * 3 * 3 * 32));
        let device = Device::open()?;
        let conv = device.load(&[VALHALL, PLAIN])?;
        let input = device.upload([1, width, width, 3], &pixels)?;
        let filter = device.upload([3, 3, 3, 32], &weights)?;
        assert_eq!(conv.variant_for((&input, &filter))?, variant);
        let output = conv.run((&input, &filter))?;
        let by_name = conv.run(conv2d::Args { filter: &filter, input: &input })?;

        let expected = convolution(&pixels, &weights, width, 32);
        assert_eq!(output.shape(), [1, (width - 1) / 2, (width - 1) / 2, 32]);
        assert_eq!(output.download()?, by_name.download()?);
        // 27 products of at most 1/4, and 27 roundings of their sum.
        let bound = 27.0 * 27.0 / 4.0 * f64::from(f32::EPSILON);
        for (got, wanted) in output.download()?.into_iter().zip(expected) {
            assert!((f64::from(got) - wanted).abs() <= bound, "{got} instead of {wanted}");
        }
    }
    Ok(())
}
