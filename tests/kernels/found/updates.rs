//! Cases of the differential test in which a dispatch reads a tensor, and a later dispatch updates it.

use crate::harness::{of_subgroups, profiles, variant};
use tilewright_dsl::launch::Feature;

/// Copies of such a tensor are filled out of range too, because the dispatch that reads it does not update it.
#[test]
fn copies_are_filled_out_of_range() {
    let kernel = "fn k<N>(x0: f32[N], x1: &mut f32[]) -> y0: f32[5, N] { y0[i, j] = max(l in 0..2) { x1[] } + x0[j]; x1[] = 1.0; }";
    let schedule = "V: k for p { y0 {
        tile(i: 1, j: 2) => workgroup(y, z);
        distribute(j => lane(x));
        promote(x1 => y0_c1, at: l, to: register);
    } }";
    let subgroups = of_subgroups(8);
    variant(kernel, schedule, &subgroups).check(&[("N", 1)], &[]);

    let kernel = "fn k<N>(x4: &mut f32[N]) -> y0: f32[N, N] { y0[i, j] = sum(k in 0..N) { x4[i] }; x4[i] = 1.0; }";
    let schedule = "V: k for p { y0 {
        tile(j: 2) => workgroup(z);
        reorder(k, j);
        promote(x4 => y0_c0, at: k, to: shared);
        pipeline(k, buffers: 2, prefetch: register);
        distribute(j => thread(z));
        serial(i);
    } }";
    profiles().iter().for_each(|profile| variant(kernel, schedule, profile).check(&[("N", 1)], &[]));

    let kernel = "fn k<N>(x1: &mut f32[N, N]) -> y0: f32[N, N] { y0[i, j] = min(k in 0..2) { x1[i, j] }; x1[i, j] = 1.0; }";
    let schedule = "V: k for p { y0 {
        tile(i: 2, j: 1 => z1) => workgroup(x down, y);
        tile(k: 1 => z2);
        promote(x1 => y0_c1, at: workgroup, to: register);
        unroll(i);
        distribute(z2 => lane(x), by: subgroup);
        promote(y0 => y0_r, at: i, to: shared);
    } }";
    let mut arithmetic = of_subgroups(8);
    arithmetic.features.insert(Feature::SubgroupArithmetic);
    variant(kernel, schedule, &arithmetic).check(&[("N", 12)], &[]);
}
