//! Runs the hand-made nests and compares them with f64, by address and by descriptor.

use crate::support::*;
use tilewright_dsl::nest::{How, Program};
use tilewright_nests::{Conv, HaloConv, LayerNorm, SharedMatmul, TiledMatmul};

/// `out[n, oh, ow, oc] = sum(fh, fw, ic)` in f64.
fn conv(x: &[f32], f: &[f32], [n, ih, iw, ic, oc]: [usize; 5], [fh, fw]: [usize; 2], stride: usize) -> (Vec<f64>, [usize; 4]) {
    let (oh, ow) = ((ih - fh) / stride + 1, (iw - fw) / stride + 1);
    let mut out = vec![0.0; n * oh * ow * oc];
    for (at, value) in out.iter_mut().enumerate() {
        let (b, y, z, c) = (at / oc / ow / oh, at / oc / ow % oh, at / oc % ow, at % oc);
        for k in 0..fh * fw * ic {
            let (dy, dx, i) = (k / ic / fw, k / ic % fw, k % ic);
            let pixel = ((b * ih + y * stride + dy) * iw + z * stride + dx) * ic + i;
            *value += f64::from(x[pixel]) * f64::from(f[k * oc + c]);
        }
    }
    (out, [n, oh, ow, oc])
}

fn check_conv(program: &Program, sizes: [usize; 5], filter: [usize; 2], stride: usize) {
    let [n, ih, iw, ic, oc] = sizes;
    let (x, f) = (random(n * ih * iw * ic, 1), random(filter[0] * filter[1] * ic * oc, 2));
    let (want, shape) = conv(&x, &f, sizes, filter, stride);
    for profile in profiles() {
        let launch = compile(program, &profile);
        let args = [
            device().upload([n, ih, iw, ic], &x).expect("uploads").into_any(),
            device().upload([filter[0], filter[1], ic, oc], &f).expect("uploads").into_any(),
        ];
        near(&run(launch, &args, &shape, f32::NAN), &want, filter[0] * filter[1] * ic);
    }
}

#[test]
fn conv_of_literal_sizes() {
    check_conv(&Conv::literal([9, 17, 3, 32], 1).program(), [1, 9, 17, 3, 32], [3, 3], 1);
    check_conv(&Conv::literal([9, 18, 4, 64], 1).program(), [1, 9, 18, 4, 64], [3, 3], 1);
}

#[test]
fn conv_of_symbolic_sizes_with_a_tail() {
    for stride in [1, 2] {
        let program = Conv::symbolic(stride).program();
        check_conv(&program, [2, 7, 23, 5, 32], [3, 3], stride as usize);
        check_conv(&program, [1, 3, 3, 1, 96], [3, 3], stride as usize);
        check_conv(&program, [1, 4, 19, 8, 32], [3, 3], stride as usize);
    }
}

#[test]
fn conv_with_a_shared_halo() {
    for sizes in [[1, 9, 33, 3, 32], [2, 5, 20, 4, 16], [1, 3, 3, 1, 64], [1, 11, 40, 7, 48]] {
        check_conv(&HaloConv::symbolic().program(), sizes, [3, 3], 2);
    }
}

fn check_matmul(program: &Program, [m, n, k]: [usize; 3]) {
    let (a, b) = (random(m * k, 3), random(k * n, 4));
    let dot = |at: usize| (0..k).map(|l| f64::from(a[at / n * k + l]) * f64::from(b[l * n + at % n])).sum::<f64>();
    let want: Vec<f64> = (0..m * n).map(dot).collect();
    for profile in profiles() {
        let launch = compile(program, &profile);
        let args = [([m, k], &a), ([k, n], &b)].map(|(shape, v)| device().upload(shape, v).expect("uploads").into_any());
        near(&run(launch, &args, &[m, n], f32::NAN), &want, k);
    }
}

#[test]
fn matmul_in_shared_memory_of_any_size() {
    for sizes in [[1, 1, 1], [3, 130, 7], [33, 65, 17], [64, 64, 64], [131, 67, 29]] {
        check_matmul(&SharedMatmul::symbolic().program(), sizes);
    }
}

#[test]
fn matmul_in_registers() {
    check_matmul(&TiledMatmul::literal(64, 64, 32).program(), [64, 64, 32]);
    check_matmul(&TiledMatmul::literal(65, 68, 30).program(), [65, 68, 30]);
}

#[test]
fn layernorm_by_tree_and_by_subgroup() {
    for how in [How::Tree, How::Subgroup] {
        let program = LayerNorm::symbolic(how).program();
        for [rows, n] in [[1, 1], [3, 130], [5, 64], [2, 1031]] {
            let (x, gamma, beta) = (random(rows * n, 5), random(n, 6), random(n, 7));
            let mut want = Vec::new();
            for row in x.chunks(n) {
                let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / n as f64;
                let variance = row.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n as f64;
                let scaled = |(j, v): (usize, &f32)| {
                    let normal = (f64::from(*v) - mean) / (variance + 1e-5).sqrt();
                    normal * f64::from(gamma[j]) + f64::from(beta[j])
                };
                want.extend(row.iter().enumerate().map(scaled));
            }
            for profile in profiles() {
                let args = [
                    device().upload([rows, n], &x).expect("uploads").into_any(),
                    device().upload([n], &gamma).expect("uploads").into_any(),
                    device().upload([n], &beta).expect("uploads").into_any(),
                ];
                near(&run(compile(&program, &profile), &args, &[rows, n], f32::NAN), &want, 400);
            }
        }
    }
}
