// The loops are distributed alike, so no other split makes it fit.
tilewright::kernel! {
    pub fn neighbours<R>(x: f32[R, 128]) -> y: f32[R, 128] {
        let a[r, i]: f32[R, 128] = x[r, i] * 2.0;
        y[r, i] = a[r, i] + a[r, (i + 1) % 128];
    }
}
tilewright::schedule! {
    pub S: neighbours for tilewright::devices::vulkan_1_1 {
        distribute(r => workgroup(x));
        distribute(i => thread(x));
        compute_at(a, workgroup, to: register);
        a { distribute(i => thread(x)); }
    }
}

fn main() {}
