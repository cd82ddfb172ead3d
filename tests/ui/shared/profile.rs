//! A wrong profile has one error, and its schedules none, in whatever modules they stand.

mod board {
    tilewright::profile! {
        pub board: tilewright::devices::vulkan_1_1 { shared: 64 }
    }
}

tilewright::kernel! {
    pub fn copy<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

tilewright::schedule! { pub A: copy for board::board {} }
tilewright::schedule! { pub B: copy for board::board { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } }

mod others {
    tilewright::schedule! { pub C: super::copy for super::board::board {} }
}

fn main() {
    println!("{:?}", (A, B, others::C));
}
