//! Tests the arithmetic of polynomials over atoms, on which proofs rest.

use tilewright_dsl::arena::Id;
use tilewright_dsl::facts::polynomials::congruence::root;
use tilewright_dsl::facts::polynomials::mono::{AtomId, MAX_ATOMS, Mono};
use tilewright_dsl::facts::polynomials::poly::{Poly, gcd};

fn mono(atoms: &[usize]) -> Mono {
    let product = |m: Mono, a: &usize| m.times(Mono::atom(AtomId::new(*a)));
    atoms.iter().try_fold(Mono::ONE, product).expect("few atoms")
}

#[test]
fn products_are_sorted_and_divide() {
    assert_eq!(mono(&[3, 0, 7, 0]), mono(&[0, 0, 3, 7]));
    assert_eq!(mono(&[3, 0, 7, 0]).over(mono(&[7, 0])), Some(mono(&[0, 3])));
    assert_eq!(mono(&[3, 0, 7, 0]).over(mono(&[7, 7])), None);
    assert_eq!(mono(&[3, 0]).over(mono(&[0, 3])), Some(Mono::ONE));
    assert_eq!(mono(&[1]).over(mono(&[1, 1])), None);
    assert_eq!(mono(&[5, 2]).atoms().map(Id::index).collect::<Vec<_>>(), [2, 5]);
    assert_eq!(mono(&[1; 9]).times(mono(&[1])), None);
    assert!(mono(&[0, MAX_ATOMS - 1]).contains(AtomId::new(MAX_ATOMS - 1)));
}

#[test]
fn multiplication_keeps_the_order() {
    let all = [mono(&[]), mono(&[1]), mono(&[2]), mono(&[0, 4]), mono(&[1, 1]), mono(&[2, 3]), mono(&[0, 0, 9])];
    for a in all {
        for b in all {
            for c in all {
                assert_eq!(a < b, a.times(c) < b.times(c), "{a:?} {b:?} {c:?}");
            }
        }
    }
}

fn x(n: usize) -> Poly {
    Poly::atom(AtomId::new(n))
}

#[test]
fn division_undoes_products() {
    let a = x(0).mul(&x(1)).and_then(|p| p.plus(3)).and_then(|p| p.sub(&x(2))).expect("small");
    let b = x(1).mul(&x(1)).and_then(|p| p.add(&x(0).scale(5)?)).and_then(|p| p.plus(-2)).expect("small");
    let product = a.mul(&b).expect("small");
    assert_eq!(product.exact_div(&a), Some(b.clone()));
    assert_eq!(product.exact_div(&b), Some(a.clone()));
    assert_eq!(product.plus(1).expect("small").exact_div(&a), None);
}

#[test]
fn overflow_is_none() {
    let big = Poly::constant(i128::MAX);
    assert_eq!(big.plus(1), None);
    assert_eq!(x(0).add(&big).and_then(|p| p.scale(2)), None);
}

#[test]
fn splitting_keeps_the_order() {
    let p = x(0).mul(&x(3)).and_then(|p| p.add(&x(1).mul(&x(2))?)).and_then(|p| p.add(&x(1).mul(&x(1))?)).expect("small");
    for atom in 0..4 {
        let (a, b) = p.split(AtomId::new(atom));
        assert_eq!(a.mul(&x(atom)).and_then(|a| a.add(&b)), Some(p.clone()));
    }
}

#[test]
fn tightening_floors_the_constant() {
    let p = x(0).scale(4).and_then(|p| p.plus(-5)).expect("small");
    assert_eq!(p.tightened(), x(0).plus(-2).expect("small"));
}

#[test]
fn roots_are_multiples() {
    for g in 2..40 {
        for f in (-60..60).filter(|f| gcd(*f, g) == 1) {
            for c in -50..50 {
                let r = root(f, c, g).expect("small");
                assert_eq!((f * r + c) % g, 0, "{f} * {r} + {c} modulo {g}");
            }
        }
    }
}
