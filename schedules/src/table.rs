//! The rows of `tilewright bench table`: kernels of the [catalog](crate::catalog) at the sizes at which they are compared with other
//! libraries.

/// A kernel of the catalog at some sizes.
#[derive(Clone, Copy, Debug)]
pub struct TableRow {
    /// Its name, which `scripts/anchors.py` prints as `work`.
    pub name: &'static str,
    /// The name of the catalog's entry.
    pub entry: &'static str,
    /// The dims of the entry, with their values.
    pub dims: &'static [(&'static str, i64)],
}

const fn row(name: &'static str, entry: &'static str, dims: &'static [(&'static str, i64)]) -> TableRow {
    TableRow { name, entry, dims }
}

/// All rows.
#[rustfmt::skip]
pub const ROWS: &[TableRow] = &[
    row("matmul 512", "matmul", &[("M", 512), ("N", 512), ("K", 512)]),
    row("matmul 1024", "matmul", &[("M", 1024), ("N", 1024), ("K", 1024)]),
    row("matmul 2048", "matmul", &[("M", 2048), ("N", 2048), ("K", 2048)]),
    row("matmul 4096", "matmul", &[("M", 4096), ("N", 4096), ("K", 4096)]),
    row("matmul 1000x1023x777", "matmul", &[("M", 1000), ("N", 1023), ("K", 777)]),
    row("matmul_f16 1024", "matmul_f16", &[("M", 1024), ("N", 1024), ("K", 1024)]),
    row("matmul_f16 2048", "matmul_f16", &[("M", 2048), ("N", 2048), ("K", 2048)]),
    row("matmul_f16 4096", "matmul_f16", &[("M", 4096), ("N", 4096), ("K", 4096)]),
    row("matmul_f16 8192", "matmul_f16", &[("M", 8192), ("N", 8192), ("K", 8192)]),
    row("matmul_f16 4095", "matmul_f16", &[("M", 4095), ("N", 4095), ("K", 4095)]),
    row("matmul_f16 1000x1023x777", "matmul_f16", &[("M", 1000), ("N", 1023), ("K", 777)]),
    row("matmul_f16 1x4096x4096", "matmul_f16_thin", &[("M", 1), ("N", 4096), ("K", 4096)]),
    row("matmul_f16 8x4096x4096", "matmul_f16_thin", &[("M", 8), ("N", 4096), ("K", 4096)]),
    row("matmul_f16 16x4096x4096", "matmul_f16_thin", &[("M", 16), ("N", 4096), ("K", 4096)]),
    row("matvec 4096", "matvec", &[("M", 4096), ("K", 4096)]),
    row("matvec 16384", "matvec", &[("M", 16384), ("K", 16384)]),
    row("matvec_f16 4096", "matvec_f16", &[("M", 4096), ("K", 4096)]),
    row("split_k 64x64x65536", "split_k", &[("M", 64), ("N", 64), ("K", 65536)]),
    row("conv3x3_f16 32x58x58x64", "conv3x3_f16", &[("N", 32), ("IH", 58), ("IW", 58), ("IC", 64), ("OC", 64)]),
    row("conv3x3_f16 32x16x16x256", "conv3x3_f16", &[("N", 32), ("IH", 16), ("IW", 16), ("IC", 256), ("OC", 256)]),
    row("conv2d_f16_f32 32x58x58x64", "conv2d_f16_f32", &[("N", 32), ("IH", 58), ("IW", 58), ("IC", 64), ("OC", 64)]),
    row("conv2d_f16_f32 32x16x16x256", "conv2d_f16_f32", &[("N", 32), ("IH", 16), ("IW", 16), ("IC", 256), ("OC", 256)]),
    row("conv_nchw_f16_f32 32x64x58x58", "conv_nchw_f16_f32", &[("N", 32), ("IC", 64), ("IH", 58), ("IW", 58), ("OC", 64)]),
    row("conv_nchw_f16_f32 32x256x16x16", "conv_nchw_f16_f32", &[("N", 32), ("IC", 256), ("IH", 16), ("IW", 16), ("OC", 256)]),
    row("conv_nchw 2x64x130x130 to 32", "conv_nchw", &[("N", 2), ("IC", 64), ("IH", 130), ("IW", 130), ("OC", 32)]),
    row("conv2d 1x258x258x16 to 256", "conv2d_winograd", &[("N", 1), ("IH", 258), ("IW", 258), ("IC", 16), ("OC", 256)]),
    row("conv2d_7x7 128x230x230x3 to 64", "conv2d_7x7", &[("N", 128), ("IH", 230), ("IW", 230), ("IC", 3), ("OC", 64)]),
    row("conv1x1 1x56x56x240 to 64", "conv1x1", &[("N", 1), ("H", 56), ("W", 56), ("IC", 240), ("OC", 64)]),
    row("conv1x1 32x56x56x256 to 64", "conv1x1", &[("N", 32), ("H", 56), ("W", 56), ("IC", 256), ("OC", 64)]),
    row("depthwise 8x114x114x96", "depthwise", &[("N", 8), ("IH", 114), ("IW", 114), ("C", 96)]),
    row("separable 8x114x114x96 to 64", "separable", &[("N", 8), ("IH", 114), ("IW", 114), ("C", 96), ("OC", 64)]),
    row("conv2d_winograd 32x58x58x64", "conv2d_winograd", &[("N", 32), ("IH", 58), ("IW", 58), ("IC", 64), ("OC", 64)]),
    row("conv2d_winograd 32x16x16x256", "conv2d_winograd", &[("N", 32), ("IH", 16), ("IW", 16), ("IC", 256), ("OC", 256)]),
    row("conv2d_winograd 2x10x10x1280", "conv2d_winograd", &[("N", 2), ("IH", 10), ("IW", 10), ("IC", 1280), ("OC", 1280)]),
    row("softmax 4096x1024", "softmax", &[("R", 4096), ("C", 1024)]),
    row("softmax 32768x4096", "softmax", &[("R", 32768), ("C", 4096)]),
    row("layernorm 4096x1024", "layernorm", &[("R", 4096), ("C", 1024)]),
    row("layernorm 32768x4096", "layernorm", &[("R", 32768), ("C", 4096)]),
    row("sum 256M", "sum", &[("K", 1 << 28)]),
    row("argmax 16M", "argmax", &[("K", 1 << 24)]),
    row("add 16M", "add", &[("N", 1 << 24)]),
    row("attention 8x1024x64", "attention", &[("B", 8), ("N", 1024), ("M", 1024), ("D", 64), ("E", 64)]),
    row("attention_few 32x4096x128", "attention_few", &[("B", 32), ("N", 1), ("M", 4096), ("D", 128), ("E", 128)]),
    row("attention_few 32x16384x128", "attention_few", &[("B", 32), ("N", 1), ("M", 16384), ("D", 128), ("E", 128)]),
    row("attention_few 32x65536x128", "attention_few", &[("B", 32), ("N", 1), ("M", 65536), ("D", 128), ("E", 128)]),
    row("attention_mixed 256x4096x64", "attention_mixed", &[("B", 256), ("N", 4096), ("M", 4096), ("D", 64), ("E", 64)]),
    row("attention_mixed 256x4096x128", "attention_mixed_128", &[("B", 256), ("N", 4096), ("M", 4096), ("D", 128), ("E", 128)]),
    row("causal_attention_mixed 256x4096x64", "causal_attention_mixed", &[("B", 256), ("N", 4096), ("D", 64), ("E", 64)]),
    row("causal_attention_mixed 256x4096x128", "causal_attention_mixed_128", &[("B", 256), ("N", 4096), ("D", 128), ("E", 128)]),
    row("matmul_q 4096", "matmul_q", &[("M", 4096), ("N", 4096), ("K", 4096)]),
    row("matmul_n_bits 1x4096x4096", "matmul_n_bits", &[("M", 1), ("N", 4096), ("K", 4096)]),
    row("matmul_n_bits 1x14336x14336", "matmul_n_bits", &[("M", 1), ("N", 14336), ("K", 14336)]),
    row("matmul_n_bits 8x4096x4096", "matmul_n_bits", &[("M", 8), ("N", 4096), ("K", 4096)]),
    row("matmul_n_bits_128 1x14336x14336", "matmul_n_bits_128", &[("M", 1), ("N", 14336), ("K", 14336)]),
    row("matmul_n_bits_f16 16x4096x4096", "matmul_n_bits_f16", &[("M", 16), ("N", 4096), ("K", 4096)]),
    row("matmul_n_bits_f16 512x4096x4096", "matmul_n_bits_f16", &[("M", 512), ("N", 4096), ("K", 4096)]),
];
