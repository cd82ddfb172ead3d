//! Products of quantized tensors on matrix units. Not yet run on such a device.

use crate::kernels::{matmul_n_bits_f16, matmul_q};
use crate::parts;
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// 8-bit integers, any sizes: 64x64 per workgroup of 4 subgroups. The sums go through shared memory.
    pub I8: matmul_q<A = i8, B = i8> for amd_rdna3 {
        apply parts::matrices::PREFETCHED<ROWS = 32, PAD = 16, STEP = 64>;
    }
}

schedule! {
    /// Weights of 4 bits, any number of rows: 64x64 per workgroup of 4 subgroups.
    pub BITS: matmul_n_bits_f16<S = f16> for amd_rdna3 where N % 64 == 0, K % 64 == 0 {
        apply parts::bits::TILES;
    }
}
