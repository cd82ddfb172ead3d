//! Scores that are masked where items are not proved to be 0 then, and where blocks can pass their end.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn causal<N>(x: i32[N, N], a: f32) -> l: f32[N] {
        let s[i, j]: f32[N, N] = x[i, j] as f32;
        let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
        l[i] = sum(j in 0..i + 1) { ((s[i, j] - m[i]) * a).exp() };
    }
}

schedule! {
    pub UNKNOWN: causal for vulkan_1_1 where N % 8 == 0 {
        decompose_online(m, l => m_b, l_b, block: 8, mask: s);
    }
}

schedule! {
    pub PAST: causal for vulkan_1_1 where a > 1e-6 {
        decompose_online(m, l => m_b, l_b, block: 8, mask: s);
    }
}

fn main() {}
