tilewright::kernel! { pub fn reversed<N>(x: f32[N]) -> y: f32[] { y[] = sum(k in (0..N).rev()) { x[k] }; } }
tilewright::kernel! { pub fn stepped<N>(x: f32[N]) -> y: f32[] { y[] = sum(k in (0..N).step_by(2)) { x[k] }; } }
tilewright::kernel! { pub fn filtered<N>(x: f32[N]) -> y: f32[] { y[] = sum(k in 0..N where k < 4) { x[k] }; } }
tilewright::kernel! { pub fn sliced<N>(x: f32[N]) -> y: f32[] { y[] = x[0..N].sum(); } }

fn main() {}
