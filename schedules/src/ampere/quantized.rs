//! Products of quantized tensors on matrix units. Not yet run on such a device.

use crate::kernels::{matmul_n_bits_f16, matmul_q};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// 8-bit integers, any sizes: 128x64 per workgroup of 4 subgroups. The sums go through shared memory.
    pub I8: matmul_q<A = i8, B = i8> for nvidia_ampere {
        apply parts::matrices::PREFETCHED<DEPTH = 32, PAD = 16, STEP = 64>;
    }
}

schedule! {
    /// Weights of 4 bits, any number of rows: 64x64 per workgroup of 4 subgroups.
    pub BITS: matmul_n_bits_f16<S = f16> for nvidia_ampere where N % 64 == 0, K % 64 == 0 {
        apply parts::bits::TILES;
    }
}
