//! `border`: the interior of a nest without clamps, and the border with them, at sizes with and without an interior.

use crate::harness::{profiles, variant};
use tilewright_dsl::launch::Feature;

/// Rows and columns: one element, no interior, an interior of one block, tails, and several blocks.
const SIZES: [(i64, i64); 7] = [(1, 1), (2, 40), (5, 3), (12, 96), (13, 99), (40, 66), (64, 128)];

fn run(kernel: &str, schedule: &str) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for (height, width) in SIZES {
            variant.check(&[("H", height), ("W", width)], &[]);
        }
    }
}

/// Returns a stencil of some reads.
fn stencil(dtype: &str, reads: &str) -> String {
    format!("fn k<H, W>(x: {dtype}[H, W]) -> y: {dtype}[H, W] where H >= 1, W >= 1 {{ y[i, j] = {reads}; }}")
}

const CROSS: &str = "x.clamp()[i - 1, j] + x.clamp()[i + 2, j] + x.clamp()[i, j - 3] + x.clamp()[i, j + 1]";
const PADDED: &str = "x.pad(7)[i - 1, j] + x.pad(7)[i + 2, j - 1] + x.pad(7)[i, j - 3] + x.clamp()[i, j + 1]";

/// Blocks of a GPU and of a CPU, with tails of each kind.
const BLOCKS: [&str; 5] = [
    "tile(i: 4 peel, j: 32 peel) => workgroup(y, x); tile(j: 4) => thread(x); unroll(i); vectorize(j, 4, unaligned: scalar);",
    "tile(i: 4, j: 32) => workgroup(y, x); tile(j: 4) => thread(x); unroll(i); vectorize(j, 4, unaligned: scalar);",
    "tile(i: 8, j: 64 peel) => workgroup(y, x); tile(j: 16 => j_o); tile(j: 2) => thread(x); serial(i, j_o); unroll(j);",
    "tile(i: 6) => workgroup(x); tile(j: 16 => j_o); distribute(j => thread(x)); serial(j_o); unroll(i);",
    "tile(j: 8) => workgroup(x); distribute(j => thread(x)); serial(i);",
];

#[test]
fn of_one_stage() {
    for dtype in ["f32", "i32"] {
        for reads in [CROSS, PADDED] {
            let reads = if dtype == "f32" { reads.replace("(7)", "(7.5)") } else { reads.to_owned() };
            for blocks in BLOCKS {
                run(&stencil(dtype, &reads), &format!("V: k for p {{ {blocks} border(i, j); }}"));
            }
            run(&stencil(dtype, &reads), &format!("V: k for p {{ {} border(j); }}", BLOCKS[0]));
            run(&stencil(dtype, &reads), &format!("V: k for p {{ {} border(i); }}", BLOCKS[2]));
        }
    }
}

/// Words of several elements are loaded together in the interior.
#[test]
fn of_narrow_elements() {
    let [mut profile, _] = profiles();
    profile.features.insert(Feature::Storage8);
    let blocks = [
        "tile(i: 4 peel, j: 32 peel) => workgroup(y, x); tile(j: 4) => thread(x); promote(x => x_r, at: thread, to: register); unroll(i); vectorize(j, 4, unaligned: scalar);",
        "tile(i: 8, j: 64 peel) => workgroup(y, x); tile(j: 16 => j_o); tile(j: 2) => thread(x); promote(x => x_r, at: j_o, to: register); serial(i, j_o); unroll(j);",
    ];
    for dtype in ["u8", "i16"] {
        for blocks in blocks {
            for facts in ["", "where W % 4 == 0"] {
                let variant =
                    variant(&stencil(dtype, CROSS), &format!("V: k for p {facts} {{ {blocks} border(i, j); }}"), &profile);
                for (height, width) in [(1, 4), (12, 96), (13, 100), (64, 128)] {
                    variant.check(&[("H", height), ("W", width)], &[]);
                }
            }
        }
    }
}

/// In the interior of a chain, the reads of the intermediate and of the operand lose their clamps.
#[test]
fn of_stages_in_registers() {
    let kernel = "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        let s[i, j]: f32[H, W] = x.clamp()[i, j - 1] + 2.0 * x[i, j] + x.clamp()[i, j + 1];
        y[i, j] = s.clamp()[i - 1, j] + 3.0 * s[i, j] + s.clamp()[i + 1, j] + s.clamp()[i, j + 2];
    }";
    run(
        kernel,
        "V: k for p { tile(i: 4, j: 32) => workgroup(y, x); tile(j: 4) => thread(x); border(i, j); unroll(i, j); compute_at(s, thread, to: register); s { unroll(i, j); } }",
    );
}

/// Both bodies have barriers. A copy that invocations make together keeps its clamps.
#[test]
fn of_shared_copies() {
    let kernel = "fn k<H, W>(x: f32[H, W], z: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = x.clamp()[i - 1, j] + x.clamp()[i + 1, j + 1] + z.clamp()[i - 1, j] + z.pad(2.0)[i, j + 1];
    }";
    let copy = "tile(i: 4, j: 32) => workgroup(y, x); promote(x => x_s, at: workgroup, to: shared); tile(j: 4) => thread(x); unroll(i, j);";
    run(kernel, &format!("V: k for p {{ {copy} border(i, j); }}"));
}

#[test]
fn of_windows_and_strides() {
    let window = "fn k<H, W>(x: f32[H, W], f: f32[3, 5]) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = sum(a in 0..3, b in 0..5) { x.pad(0.0)[i + a - 1, j - b + 2] * f[a, b] };
    }";
    run(window, &format!("V: k for p {{ {} reorder(a, b, i, j); unroll(a, b); border(i, j); }}", BLOCKS[1]));
    run(
        window,
        "V: k for p { tile(i: 4, j: 16) => workgroup(y, x); distribute(j => thread(x)); reorder(a, b, i); unroll(i); border(i, j); }",
    );
    let half = "fn k<H, W>(x: f32[2 * H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = x.clamp()[2 * i - 1, W - j] + x.clamp()[2 * i + 2, W - 2 - j];
    }";
    run(half, &format!("V: k for p {{ {} border(i, j); }}", BLOCKS[0]));
}
