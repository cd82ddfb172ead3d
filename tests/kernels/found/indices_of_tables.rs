//! Tables that are read for an index, under axes that pass their ends.

use crate::harness::{check, profiles, refused, variant};

/// Out of bounds of `k`, the element of the table was replaced by 0, the identity of sums. It is not an element, so that the index passed
/// the bound that is proved for the elements, in the lane that the layout adds at an odd `N`.
#[test]
fn an_index_is_an_element_of_its_table() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] {
        const OFFSETS: i32[2, 2] = [[-2, -1], [-1, 1]];
        let s[i]: f32[N] = sum(k in 0..2) { x.pad(0.5)[i + OFFSETS[k, 0]] };
        y[i] = s[i];
    }";
    let schedule = "V: k for p {
        pack(s[i] => [i % 2, i / 2]);
        root(s);
        s {
            tile(k: 4 round_up => k_o);
            vectorize(i, 2, unaligned: scalar);
            distribute(i_o => workgroup(x));
        }
    }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for n in [1, 2, 3, 27, 64] {
            variant.check(&[("N", n)], &[]);
        }
    }
}

/// An integer that is computed as an index is not replaced out of bounds of the reduction's axis, so that it needs a predicate there.
#[test]
fn integers_that_are_computed_as_indices() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[] { y[] = sum(k in 0..N) { x[k].div_euclid(1) }; }";
    refused(kernel, "V: k for p { tile(k: 8 round_up => k_o); }", "error: `round_up` would change the meaning of `sum`");
    check(kernel, "V: k for p { tile(k: 8 => k_o); }", &[&[("N", 1)], &[("N", 7)], &[("N", 8)], &[("N", 9)]]);
}
