//! Errors in loops over members of a family. An error of several members is reported once.

use tilewright::kernel;

kernel! {
    pub fn lengths<N>(x: f32[N]) -> y: f32[N] {
        for l in 0..N { let s[l][i]: f32[N] = x[i]; }
        y[i] = s[0][i];
    }
}
kernel! {
    pub fn values<N>(x: f32[N], n: i32[N]) -> y: f32[N] {
        let s[0][i]: f32[N] = x[i];
        for l in 1..4 {
            let s[l][i]: f32[N] = s[l - 1][i] + n[i];
        }
        y[i] = s[3][i];
    }
}
kernel! {
    pub fn bounds<N>(x: f32[N]) -> y: f32[N] {
        let s[0][i]: f32[N] = x[i];
        for l in 1..4 {
            let s[l][i]: f32[N] = s[l - 1].clamp()[i + 1] + x[i - (1 << l)];
        }
        y[i] = s[3][i];
    }
}
kernel! {
    pub fn members<N>(x: f32[N]) -> y: f32[N] {
        let s[0][i]: f32[N] = x[i];
        for l in 0..4 {
            let s[l + 1][i]: f32[N] = s[l][i] * s[l - 1][i];
        }
        y[i] = s[4][i] + x[0][i];
    }
}
kernel! {
    pub fn statements<N>(x: f32[N]) -> y: f32[N] {
        for l in 0..4 {
            let by = l as f32;
            let s[l][i]: f32[N] = x[i] * by;
            let t[i]: f32[N] = s[l][i];
            y[i] = t[i];
        }
    }
}
kernel! {
    pub fn names<N>(x: f32[N]) -> y: f32[N] {
        let s[0][i]: f32[N] = x[i];
        let s[1][i]: f32[N] = s[i];
        y[i] = s[0][i] + s[2][i];
    }
}

fn main() {}
