//! Tokens that are no kernel, in every macro, and none at all.

tilewright::kernel! { 1 + 2 }
tilewright::kernel! { pub f }
tilewright::kernel! { fn }
tilewright::kernel! {}

fn main() {}
