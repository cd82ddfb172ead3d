//! Linear congruences of integers.

/// Returns a number `r` for which `f * r + c` is a multiple of `g`, where `f` and `g` are coprime and `g` is at least 2. If `f` is 1 or -1,
/// the sum is 0.
pub fn root(f: i128, c: i128, g: i128) -> Option<i128> {
    match f {
        1 => c.checked_neg(),
        -1 => Some(c),
        _ => Some(c.checked_neg()?.rem_euclid(g).checked_mul(inverse(f, g))?.rem_euclid(g)),
    }
}

/// Returns the number whose product with `f` is 1 modulo `g`, by the extended Euclidean algorithm.
fn inverse(f: i128, g: i128) -> i128 {
    let (mut old, mut rest) = (g, f.rem_euclid(g));
    let (mut before, mut factor) = (0, 1);
    while rest != 0 {
        let times = old / rest;
        (old, rest) = (rest, old - times * rest);
        (before, factor) = (factor, before - times * factor);
    }
    before.rem_euclid(g)
}
