//! A wrong profile reports once, in its file, however many schedules and profiles stand on it.

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/wrong_profile.rs"]
mod wrong_profile;

tilewright::profile! { pub board_2: wrong_profile::board { subgroup: 8 } }
tilewright::schedule! { pub A: kernels::copy for wrong_profile::board {} }
tilewright::schedule! { pub B: kernels::copy for board_2 {} }
tilewright::schedule! { pub C: kernels::matmul<T = f16> for board_2 {} }

fn main() {
    println!("{:?}", (A, B, C));
}
