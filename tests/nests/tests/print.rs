//! Snapshots of the printed nests.

use tilewright_dsl::nest::{How, print};
use tilewright_nests::{Attention, Conv, HaloConv, LayerNorm, MmaMatmul, SharedMatmul, TiledMatmul};

#[test]
fn conv() {
    insta::assert_snapshot!(print::plan(&Conv::symbolic(2).program()));
}

#[test]
fn conv_of_known_sizes() {
    insta::assert_snapshot!(print::plan(&Conv::literal([225, 225, 3, 32], 2).program()));
}

#[test]
fn tiled_matmul() {
    insta::assert_snapshot!(print::plan(&TiledMatmul::literal(512, 512, 512).program()));
}

#[test]
fn shared_matmul() {
    insta::assert_snapshot!(print::plan(&SharedMatmul::symbolic().program()));
}

#[test]
fn halo_conv() {
    insta::assert_snapshot!(print::plan(&HaloConv::symbolic().program()));
}

#[test]
fn layernorm_by_tree() {
    insta::assert_snapshot!(print::plan(&LayerNorm::symbolic(How::Tree).program()));
}

#[test]
fn layernorm_by_subgroup() {
    insta::assert_snapshot!(print::plan(&LayerNorm::symbolic(How::Subgroup).program()));
}

#[test]
fn mma_matmul() {
    insta::assert_snapshot!(print::plan(&MmaMatmul::symbolic().program()));
}

#[test]
fn attention() {
    insta::assert_snapshot!(print::plan(&Attention::symbolic().program()));
}
