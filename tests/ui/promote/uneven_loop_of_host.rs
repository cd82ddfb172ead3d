//! A shared copy in the block of a stage that is placed in a loop which invocations run differently.

tilewright::kernel! {
    pub fn causal<N>(x: f32[N, N], w: f32[N]) -> y: f32[N] {
        let a[i]: f32[N] = sum(k in 0..N) { x[i, k] * w[k] };
        y[i] = sum(j in 0..i + 1) { a[j] };
    }
}
tilewright::schedule! {
    pub NESTED: causal for tilewright::devices::vulkan_1_1 {
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        compute_at(a, j, to: register);
        a {
            promote(w => w_s, at: k, to: shared);
        }
    }
}

fn main() {}
