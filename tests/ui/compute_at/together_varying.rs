// The messages name `compute_at`, and not a promotion.
tilewright::kernel! {
    pub fn causal<N>(x: f32[N, N]) -> y: f32[N] {
        let a[i, j]: f32[N, N] = x[i, j] * 2.0;
        y[i] = sum(j in 0..i + 1) { a[i, j] };
    }
}
tilewright::kernel! {
    pub fn two<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let a[i, j]: f32[H, W] = x[i, j] * 2.0;
        y[i, j] = a[i, j] + 1.0;
    }
}
tilewright::schedule! {
    pub VARYING: causal for tilewright::devices::vulkan_1_1 {
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 16 => j_o);
        compute_at(a, j_o, to: shared);
    }
}
tilewright::schedule! {
    pub LATE: two for tilewright::devices::vulkan_1_1 {
        tile(i: 4, j: 4) => workgroup(y, x);
        compute_at(a, i, to: shared);
        distribute(i, j => thread(y, x));
    }
}
tilewright::schedule! {
    pub OWN: two for tilewright::devices::vulkan_1_1 {
        tile(i: 4, j: 4) => workgroup(y, x);
        compute_at(a, i, to: register);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
