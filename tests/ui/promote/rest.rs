//! Lists with `*`: not at the end, twice, of an axis that is left out, and where it is missing.

#![allow(unused_imports)]

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn nbody<N>(p: f32[N, 3]) -> a: f32[N] {
        a[i] = sum(j in 0..N) { (p[j, 0] - p[i, 0]) * (p[j, 1] - p[i, 1]) };
    }
}

kernel! {
    pub fn rope<T, H, DH>(x: f32[T, H, 2 * DH], freq: f32[DH]) -> y: f32[T, H, 2 * DH] {
        y[t, h, d] = if d < DH { x[t, h, d] * freq[d] } else { x[t, h, d] * freq[d - DH] };
    }
}

schedule! {
    pub FIRST: nbody for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 64 => j_o);
        promote(p => p_s[*, j], at: j_o, to: shared);
    }
}

schedule! {
    pub TWICE: nbody for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 64 => j_o);
        promote(p => p_s[j, *, *], at: j_o, to: shared);
    }
}

schedule! {
    pub BOX: nbody for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 64 => j_o);
        promote(p => p_s, at: j_o, to: shared);
    }
}

schedule! {
    pub MISSING: nbody for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 64 => j_o);
        promote(p => p_s[j], at: j_o, to: shared);
    }
}

schedule! {
    pub OTHER: nbody for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 64 => j_o);
        promote(p => p_s[*], at: j_o, to: shared);
    }
}

schedule! {
    pub HALVES: rope for vulkan_1_1 {
        tile(t: 4, h: 2, d: 16) => workgroup(z, y, x);
        promote(freq => f_s, at: workgroup, to: shared);
        distribute(t, h, d => thread(z, y, x));
    }
}

schedule! {
    pub LISTED: rope for vulkan_1_1 {
        tile(t: 4, h: 2, d: 16) => workgroup(z, y, x);
        promote(freq => f_s[d], at: workgroup, to: shared);
        distribute(t, h, d => thread(z, y, x));
    }
}

fn main() {}
