//! The compiler's own plans, for the kernels that `scripts/peers.py` times beside cuBLAS, cuDNN and PyTorch.

use crate::kernels::{attention_mixed, conv2d, conv3x3_f16, matmul, matmul_f16, softmax};
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! { pub MATMUL: matmul for nvidia_hopper {} }
schedule! { pub MATMUL_F16: matmul_f16 for nvidia_hopper {} }
schedule! { pub CONV2D_WINOGRAD: conv2d<T = f32> for nvidia_hopper {} }
schedule! { pub CONV3X3_F16: conv3x3_f16 for nvidia_hopper {} }
schedule! { pub ATTENTION_MIXED: attention_mixed for nvidia_hopper {} }
schedule! { pub SOFTMAX: softmax for nvidia_hopper {} }
