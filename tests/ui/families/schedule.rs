//! Wrong names of members in schedules.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn chain<N>(x: f32[N]) -> y: f32[N] {
        let s[0][i]: f32[N] = x[i];
        for l in 1..4 { let s[l][i]: f32[N] = s[l - 1].clamp()[i + 1] * 0.5; }
        y[i] = s[3][i];
    }
}

schedule! { pub ALL: chain for vulkan_1_1 { root(t[..]); } }
schedule! { pub SOME: chain for vulkan_1_1 { root(s[1..9]); } }
schedule! { pub NONE: chain for vulkan_1_1 { root(s); s[4] { serial(i); } } }
schedule! { pub NUMBER: chain for vulkan_1_1 { s[i] { serial(i); } } }
schedule! { pub AXES: chain for vulkan_1_1 { root(s[..]); s[..] { tile(i: 64) => workgroup(x); serial(j); } } }
schedule! { pub PLACE: chain for vulkan_1_1 { root(s[..]); compute_at(s[5], workgroup, to: shared); } }

fn main() {}
