//! A head that does not fit a kernel of another crate: the mistake is this crate's.

use chain_kernels::{board, saxpy};

tilewright::schedule! { pub A: saxpy<T = f16> for board {} }
tilewright::schedule! { pub B: saxpy<T = f32> for board { tile(i: 256) => workgroup(x); distribute(i => thread(x)); } }

fn main() {}
