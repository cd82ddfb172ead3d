//! Conditions of reductions that are not conditions, or not in their place.

tilewright::kernel! {
    pub fn number<N>(x: i32[N]) -> y: i32[] { y[] = sum(i in 0..N) where x[i] { 1 }; }
}
tilewright::kernel! {
    pub fn nothing<N>(x: i32[N]) -> y: i32[] { y[] = sum(i in 0..N) where { 1 }; }
}
tilewright::kernel! {
    pub fn early<N, M>(x: i32[N, M]) -> y: i32[] { y[] = sum(i in 0..N where i > 2, j in 0..M) { x[i, j] }; }
}
tilewright::kernel! {
    pub fn late<N>(x: i32[N]) -> y: i32[] { y[] = sum(i in 0..N) { x[i] } where x[i] > 2; }
}
tilewright::kernel! {
    pub fn outside<N>(x: f32[N]) -> y: f32[] { y[] = sum(i in 0..N) where i > 0 { x[i - 2] }; }
}
tilewright::kernel! {
    pub fn unknown<N>(x: f32[N]) -> y: f32[] { y[] = sum(i in 0..N) where keep[i] { x[i] }; }
}
tilewright::kernel! {
    pub fn inner<N>(x: f32[N]) -> y: f32[] { y[] = sum(i in 0..N) where any(j in 0..N) { x[j] > 0.0 } { x[i] }; }
}

fn main() {}
