tilewright::kernel! {
    pub fn stages<N>(x: i32[N]) -> y: i32[N] {
        stage!(t, x);
        assert!(N > 1);
        y[i] = max!(x[i], 0);
    }
}

fn main() {}
