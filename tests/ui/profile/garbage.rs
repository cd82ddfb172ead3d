//! Tokens that are no profile.

tilewright::profile! { 1 + 2 }
tilewright::profile! { pub board: }
tilewright::profile! {}

fn main() {}
