tilewright::kernel! {
    pub fn pair<N>(x: f32[N], s: f32) -> (y: f32[N], z: f32[N]) {
        let (a, b) = (s, s * 2.0);
        (y, z) = (x * a, x * b);
    }
}

fn main() {}
