#![allow(unused_imports, dead_code)]
use tilewright::functions;

functions! {
    /// Its parameter has a dtype.
    pub fn cube(v: f32) -> f32 { v * v * v }
    /// Its parameters have none.
    pub fn blend(a, b, t) { a + (b - a) * t }
    /// A root, which integers lack.
    pub fn root(v) { v.sqrt() }
    /// A quotient of indices.
    pub fn part(i, n) { i / n }
}
