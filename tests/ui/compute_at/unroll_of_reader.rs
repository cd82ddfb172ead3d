// Another stage has the loop to unroll, so the help writes its block.
tilewright::kernel! {
    pub fn window<W>(x: f32[W], w: dim) -> y: f32[w] where W >= 1 {
        let r[j, q]: f32[w, 4] = (j as f32 - q as f32).abs();
        let s[j]: f32[w] = sum(q in 0..4) { r[j, q] };
        y[j] = sum(q in 0..4) { r[j, q] * x.clamp()[j + q] } / s[j];
    }
}
tilewright::schedule! {
    pub S: window for tilewright::devices::vulkan_1_1 {
        tile(j: 8) => workgroup(x);
        distribute(j => thread(x));
        unroll(q);
        compute_at(r, thread, to: register);
        compute_at(s, thread, to: register);
    }
}

fn main() {}
