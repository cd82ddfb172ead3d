//! Checks that the verifier accepts every nest, with literal and symbolic sizes.

use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{How, Program};
use tilewright_dsl::verify::verify;
use tilewright_nests::{Attention, Conv, HaloConv, LayerNorm, MmaMatmul, SharedMatmul, TiledMatmul, roomy};

fn accepted(program: Program) {
    if let Err(errors) = verify(&program, &roomy()) {
        panic!("{}", errors.texts(&Spans::new()));
    }
}

#[test]
fn conv() {
    accepted(Conv::symbolic(1).program());
    accepted(Conv::symbolic(2).program());
    accepted(Conv::literal([225, 225, 3, 32], 2).program());
    accepted(Conv::literal([14, 15, 8, 64], 1).program());
    accepted(Conv { filter: [1, 5], dtype: DType::F16, ..Conv::symbolic(3) }.program());
}

#[test]
fn tiled_matmul() {
    accepted(TiledMatmul::literal(512, 512, 512).program());
    accepted(TiledMatmul::literal(130, 7, 31).program());
    accepted(TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program());
}

#[test]
fn shared_matmul() {
    accepted(SharedMatmul::symbolic().program());
    accepted(SharedMatmul { sizes: [Some(33), Some(65), Some(9)], ..SharedMatmul::symbolic() }.program());
}

#[test]
fn halo_conv() {
    accepted(HaloConv::symbolic().program());
    accepted(HaloConv { sizes: [Some(1), Some(17), Some(31), Some(5), Some(9)], ..HaloConv::symbolic() }.program());
}

#[test]
fn layernorm() {
    accepted(LayerNorm::symbolic(How::Tree).program());
    accepted(LayerNorm::symbolic(How::Subgroup).program());
    accepted(LayerNorm { sizes: [Some(3), Some(128)], how: How::Tree }.program());
}

#[test]
fn mma_matmul() {
    accepted(MmaMatmul::symbolic().program());
    accepted(MmaMatmul { sizes: [Some(128), Some(72), Some(96)] }.program());
}

#[test]
fn attention() {
    accepted(Attention::symbolic().program());
    accepted(Attention { sizes: [Some(2), Some(128)] }.program());
}
