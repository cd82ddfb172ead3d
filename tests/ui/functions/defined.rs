//! Functions that are wrong where they are defined. Kernels that import them report nothing.

use tilewright::devices::vulkan_1_1;
use tilewright::{functions, kernel, schedule};

functions! {
    pub fn scaled(v: f32) -> f32 { v * scale }
    pub fn fits(v: f32) -> f32 { v }
}
functions! { pub fn endless(v) { also(v) } fn also(v) { endless(v) + 1.0 } }
functions! { pub fn total(n) { sum(k in 0..n) { 1.0 } } }
functions! { pub fn first(x: f32[N]) -> f32 { x[0] } }
functions! { struct Point { x: f32 } }
functions! { pub fn roots<T: f32 | i32>(v: T) -> T { v.sqrt() } }
functions! { use self::fits as other; pub fn other(v) { v } }

kernel! { use self::scaled; pub fn uses<N>(x: f32[N]) -> y: f32[N] { y[i] = scaled(x[i]); } }
schedule! { pub A: uses for vulkan_1_1 {} }

fn main() {}
