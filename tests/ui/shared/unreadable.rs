//! Of a kernel and a profile whose heads cannot be read, the names can: what stands on them has no further error.

tilewright::kernel! {
    pub copy<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

tilewright::profile! { pub board: 3 { subgroup: 8 } }

tilewright::schedule! { pub A: copy for tilewright::devices::vulkan_1_1 {} }
tilewright::schedule! { pub B: copy for board {} }

mod others {
    tilewright::schedule! { pub C: super::copy for super::board {} }
}

fn main() {
    println!("{:?}", (A, B, others::C));
}
