tilewright::kernel! {
    pub fn histogram<N, M>(x: i32[N]) -> y: i32[M] {
        y[b] = 0;
        y[x[i]] += 1;
    }
}
tilewright::kernel! { pub fn weighted<N, M>(x: i32[N], w: f32[N]) -> y: f32[M] { y[x[i]] += w[i]; } }

fn main() {}
