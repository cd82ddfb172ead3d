//! Stages and axes that cannot be scattered.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn count<R, N>(x: i32[R, N], B: dim) -> count: i32[R, B] {
        count[r, b] = sum(i in 0..N) where x[r, i] == b { 1 };
    }
}

kernel! {
    pub fn best<N>(x: i32[N], w: f32[N]) -> best: i32[8] where N >= 1 {
        best[b] = argmax(i in 0..N) where x[i] == b { w[i] };
    }
}

kernel! {
    pub fn near<N>(x: i32[N]) -> near: i32[8] {
        near[b] = sum(i in 0..N) where x[i] <= b { 1 };
    }
}

kernel! {
    pub fn halves<N>(x: i32[N], w: f16[N]) -> sum: f16[8] {
        sum[b] = sum(i in 0..N) where x[i] == b { w[i] };
    }
}

kernel! {
    pub fn twice<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i] * 2.0;
    }
}

kernel! {
    pub fn below<N>(x: i32[N]) -> below: i32[16] {
        below[b] = sum(i in 0..b) where x.clamp()[i] == b { 1 };
    }
}

kernel! {
    pub fn third<N>(x: i32[N]) -> third: i32[8] {
        third[b] = sum(i in 0..N) where b == 3 { x[i] };
    }
}

// The axis may be empty.
schedule! { pub A: count for vulkan_1_1 { scatter(b); } }
// An axis of the reduction, and one that the items do not choose.
schedule! { pub B: count for vulkan_1_1 where B >= 1 { scatter(i); } }
schedule! { pub C: count for vulkan_1_1 where B >= 1 { scatter(r); } }
// A part of an axis.
schedule! { pub D: count for vulkan_1_1 where B >= 1 { tile(b: 8 => b_o); scatter(b); } }
// Two values for an element.
schedule! { pub E: best for vulkan_1_1 { scatter(b); } }
schedule! { pub F: near for vulkan_1_1 { scatter(b); } }
schedule! { pub G: halves for vulkan_1_1 { scatter(b); } }
schedule! { pub H: twice for vulkan_1_1 { scatter(i); } }
schedule! { pub I: below for vulkan_1_1 { scatter(b); } }
// One element for all items.
schedule! { pub T: third for vulkan_1_1 { scatter(b); } }
// After directives that need registers, or before those that make partial results.
schedule! { pub J: count for vulkan_1_1 where B >= 1 { distribute(i => workgroup(x), by: atomic); scatter(b); } }
schedule! { pub K: count for vulkan_1_1 where B >= 1 { promote(x, at: i, to: register); scatter(b); } }
schedule! {
    pub L: count for vulkan_1_1 where B >= 1 {
        scatter(b);
        tile(i: 32 => i_o);
        distribute(i => thread(x), by: tree);
    }
}
schedule! { pub M: count for vulkan_1_1 where B >= 1, R % 4 == 0 { scatter(b); vectorize(r, 4); } }
schedule! { pub N: count for vulkan_1_1 where B >= 1 { scatter(b); tile(b: 8) => workgroup(x); } }
schedule! { pub O: count for vulkan_1_1 where B >= 1, R >= 8 { scatter(b); tile(r: 8 shift => r_o); } }
schedule! { pub P: count for vulkan_1_1 where B >= 1 { scatter(b); rfactor(i => part); } }
schedule! { pub Q: count for vulkan_1_1 where B >= 1 { scatter(b); scatter(b); } }
schedule! { pub S: count for vulkan_1_1 where B == 16 { scatter(b); tile(r: 8) => workgroup(x); promote(count, at: workgroup, to: shared); } }

fn main() {}
