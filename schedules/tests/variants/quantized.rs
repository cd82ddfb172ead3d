//! Kernels of quantized tensors and of weights of 4 bits against plain functions, which compute sums in `i64` or f64: at odd sizes, at the
//! ends of the types, and at ties.

use crate::vulkan;
use fastrand::Rng;
use tilewright_schedules::lavapipe::{bits, quantized};

/// Returns the 8-bit integer of a sum. It rounds ties to even and saturates, and NaN is 0.
fn requantized(sum: i64, scale: f32, zero: i8) -> i8 {
    ((sum as f32 * scale).round_ties_even() + f32::from(zero)) as i8
}

/// Returns random bytes. Many are at the ends of the type.
fn bytes(count: usize, random: &mut Rng) -> Vec<i8> {
    let byte = |random: &mut Rng| {
        let any = random.i8(..);
        random.choice([-128, 127, 0, any]).unwrap_or(any)
    };
    (0..count).map(|_| byte(random)).collect()
}

/// Returns random scales. Most are powers of 2, so that ties occur, and some are infinite or NaN.
fn scales(count: usize, random: &mut Rng) -> Vec<f32> {
    const ODD: [f32; 8] = [0.5, 0.25, -0.125, 0.001, 1.0, f32::NAN, f32::INFINITY, 0.0];
    (0..count).map(|_| random.choice(ODD).unwrap_or(1.0)).collect()
}

#[test]
fn quantized_products_are_exact() {
    let mut random = Rng::with_seed(1);
    let matmul = vulkan().load(&[quantized::I8_ROWS_64, quantized::I8_PLANNED]).expect("it loads");
    for [m, n, k] in [[1, 1, 1], [3, 130, 37], [7, 5, 0], [64, 32, 64]] {
        let (a, b, scale) = (bytes(m * k, &mut random), bytes(k * n, &mut random), scales(n, &mut random));
        let (b_zero, bias) = (bytes(n, &mut random), (0..n).map(|_| random.i32(-9000..9000)).collect::<Vec<_>>());
        for (a_zero, c_zero) in [(-128, 127), (127, -128), (0, 0), (5, -7)] {
            let device = vulkan();
            let result = matmul.run((
                &device.upload([m, k], &a).expect("a"),
                &device.upload([k, n], &b).expect("b"),
                &device.upload([n], &bias).expect("bias"),
                &device.upload([n], &scale).expect("scale"),
                &device.upload([n], &b_zero).expect("b_zero"),
                a_zero,
                c_zero,
            ));
            let got = result.and_then(|c| c.download()).expect("a result");
            for (at, got) in got.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let product =
                    |l: usize| (i64::from(a[i * k + l]) - i64::from(a_zero)) * (i64::from(b[l * n + j]) - i64::from(b_zero[j]));
                let sum = (0..k).map(product).sum::<i64>() + i64::from(bias[j]);
                assert_eq!(
                    *got,
                    requantized(sum, scale[j], c_zero),
                    "[{i}, {j}] of {m} x {n} x {k}, sum {sum}, scale {}",
                    scale[j]
                );
            }
        }
    }
}

/// A convolution's sizes: images, rows, columns, input and output channels.
type Sizes = [usize; 5];

/// Returns the sum of a pixel of a 3x3 convolution with a border of zeros, NHWC x HWCF, and without the bias.
fn convolved(input: &[i8], filter: &[i8], [_, h, w, ic, oc]: Sizes, at: [usize; 4], zeros: [i8; 2]) -> i64 {
    let [n, y, x, o] = at;
    let mut sum = 0;
    for (fh, fw, c) in (0..9 * ic).map(|t| (t / ic / 3, t / ic % 3, t % ic)) {
        let (row, column) = ((y + fh).wrapping_sub(1), (x + fw).wrapping_sub(1));
        // Outside, the input is its zero point.
        if row < h && column < w {
            let item = i64::from(input[((n * h + row) * w + column) * ic + c]) - i64::from(zeros[0]);
            sum += item * (i64::from(filter[((fh * 3 + fw) * ic + c) * oc + o]) - i64::from(zeros[1]));
        }
    }
    sum
}

#[test]
fn quantized_convolutions_are_exact() {
    let (mut random, device) = (Rng::with_seed(2), vulkan());
    let conv = device.load(&[quantized::CONV2D]).expect("it loads");
    for sizes in [[1, 1, 1, 1, 1], [2, 5, 7, 3, 9], [1, 4, 9, 8, 5]] {
        let [n, h, w, ic, oc] = sizes;
        let (input, filter) = (bytes(n * h * w * ic, &mut random), bytes(9 * ic * oc, &mut random));
        let (scale, filter_zero) = (scales(oc, &mut random), bytes(oc, &mut random));
        let bias: Vec<i32> = (0..oc).map(|_| random.i32(-9000..9000)).collect();
        let (input_zero, output_zero, low, high) = (-128, 3, -100, 90);
        let result = conv.run((
            &device.upload([n, h, w, ic], &input).expect("input"),
            &device.upload([3, 3, ic, oc], &filter).expect("filter"),
            &device.upload([oc], &bias).expect("bias"),
            &device.upload([oc], &scale).expect("scale"),
            &device.upload([oc], &filter_zero).expect("filter_zero"),
            input_zero,
            output_zero,
            low,
            high,
        ));
        for (at, got) in result.and_then(|y| y.download()).expect("a result").iter().enumerate() {
            let (pixel, o) = (at / oc, at % oc);
            let place = [pixel / (h * w), pixel / w % h, pixel % w, o];
            let sum = convolved(&input, &filter, sizes, place, [input_zero, filter_zero[o]]) + i64::from(bias[o]);
            assert_eq!(*got, requantized(sum, scale[o], output_zero).clamp(low, high), "{place:?} of {sizes:?}, sum {sum}");
        }
    }
}

#[test]
fn floats_are_quantized_to_the_nearest_and_ties_to_even() {
    let device = vulkan();
    let quantize = device.load(&[quantized::QUANTIZE]).expect("it loads");
    let dequantize = device.load(&[quantized::DEQUANTIZE]).expect("it loads");
    let x = [0.25f32, 0.75, 1.25, -0.25, -0.75, 1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0];
    let upload = |values: &[f32]| device.upload([1, 1, values.len()], values).expect("x");
    let (scale, zero) = (device.upload([1], &[0.5f32]).expect("scale"), device.upload([1], &[7u8]).expect("zero"));
    let y = quantize.run((&upload(&x), &scale, &zero)).expect("a result");
    assert_eq!(y.download().expect("elements"), [7, 9, 9, 7, 5, 255, 0, 255, 0, 0, 7]);
    let x = dequantize.run((&y, &scale, &zero)).and_then(|x| x.download()).expect("a result");
    assert_eq!(x, [0.0, 1.0, 1.0, 0.0, -1.0, 124.0, -3.5, 124.0, -3.5, -3.5, 0.0]);
}

#[test]
fn the_range_of_floats_gives_their_scale_and_zero_point() {
    let device = vulkan();
    let quantize = device.load(&[quantized::DYNAMIC]).expect("it loads");
    let cases: [(&[f32], f32, u8); 5] = [
        (&[0.0, 2.0, -3.0, -2.5, 1.34, 0.5], 5.0 / 255.0, 153),
        (&[-1.0, -2.1, -1.3, -2.5, -3.34, -4.0], 4.0 / 255.0, 255),
        (&[1.0, 2.1, 1.3, 2.5, 3.34, 4.0, 1.5], 4.0 / 255.0, 0),
        (&[0.0, 0.0], 1.0 / 255.0, 0),
        (&[], 1.0 / 255.0, 0),
    ];
    for (x, scale, zero) in cases {
        let result = quantize.run(&device.upload([x.len()], x).expect("x")).expect("a result");
        let (y, got, middle) = (result.0.download(), result.1.download(), result.2.download());
        assert_eq!(middle.expect("zero"), [zero], "{x:?}");
        let got = got.expect("scale")[0];
        assert!((got - scale).abs() <= 2.0 * f32::EPSILON * scale, "{got} instead of {scale}");
        for (x, y) in x.iter().zip(y.expect("y")) {
            assert!(((f32::from(y) - f32::from(zero)) * got - x).abs() <= 0.51 * got, "{x} is {y}");
        }
    }
}

/// Returns a weight of 4 bits of a column: the low nibble of a byte is the even one.
fn nibble(packed: &[u8], n: usize) -> f64 {
    f64::from(packed[n / 2] >> (n % 2 * 4) & 15)
}

#[test]
fn weights_of_4_bits_have_the_layout_of_onnx() {
    let (mut random, device) = (Rng::with_seed(3), vulkan());
    let plain = device.load(&[bits::PLANNED_F32]).expect("it loads");
    let zeros = device.load(&[bits::PLANNED_ZEROS]).expect("it loads");
    for [m, n, k] in [[1, 1, 1], [1, 19, 45], [3, 5, 64], [2, 7, 97usize]] {
        let blocks = k.div_ceil(32);
        let a: Vec<f32> = (0..m * k).map(|_| random.i8(-8..8).into()).collect();
        let scale: Vec<f32> = (0..n * blocks).map(|_| random.i8(-4..4).into()).collect();
        let b: Vec<u8> = (0..n * blocks * 16).map(|_| random.u8(..)).collect();
        let zero: Vec<u8> = (0..n * blocks.div_ceil(2)).map(|_| random.u8(..)).collect();
        let sum = |i: usize, j: usize, middle: &dyn Fn(usize) -> f64| -> f64 {
            let weight = |l: usize| (nibble(&b[j * blocks * 16..], l) - middle(l / 32)) * f64::from(scale[j * blocks + l / 32]);
            (0..k).map(|l| f64::from(a[i * k + l]) * weight(l)).sum()
        };
        let half = |values: &[f32]| values.iter().map(|v| half::f16::from_f32(*v)).collect::<Vec<_>>();
        let b_there = device.upload([n, blocks, 16], &b).expect("b");
        let got =
            plain.run((&device.upload([m, k], &a).expect("a"), &b_there, &device.upload([n, blocks], &scale).expect("scale")));
        for (at, got) in got.and_then(|c| c.download()).expect("a result").iter().enumerate() {
            assert_eq!(f64::from(*got), sum(at / n, at % n, &|_| 8.0), "element {at} of {m} x {n} x {k}");
        }
        let got = zeros.run((
            &device.upload([m, k], &half(&a)).expect("a"),
            &b_there,
            &device.upload([n, blocks], &half(&scale)).expect("scale"),
            &device.upload([n, blocks.div_ceil(2)], &zero).expect("zero"),
        ));
        for (at, got) in got.and_then(|c| c.download()).expect("a result").iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let wanted = sum(i, j, &|block| nibble(&zero[j * blocks.div_ceil(2)..], block));
            assert_eq!(got.to_f64(), half::f16::from_f64(wanted).to_f64(), "element {at} of {m} x {n} x {k}");
        }
    }
}
