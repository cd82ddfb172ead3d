//! The laws of exact arithmetic, of random elements.

use tilewright_reference::field::{Element, Field, Format, Rational, Reason};

fn field(seed: u64) -> Field {
    Field::new(seed, &[], &[]).expect("no constants")
}

/// Returns random elements of a field.
fn elements<const N: usize>(field: &Field, first: u32) -> [Element; N] {
    std::array::from_fn(|n| field.input(Format::F32, first + n as u32))
}

fn constant(field: &Field, value: f32) -> Element {
    field.constant(Format::F32, value.to_bits())
}

const LEAST: Element = Element::Infinite { negative: true };
const GREATEST: Element = Element::Infinite { negative: false };

#[test]
fn sums_products_and_quotients_are_those_of_a_field() {
    for seed in 0..50 {
        let field = field(seed);
        let [a, b, c] = elements(&field, 1);
        assert_eq!(a.plus(b).times(c), a.times(c).plus(b.times(c)));
        assert_eq!(a.over(b).times(b), a);
        assert_eq!(a.minus(b).plus(b), a);
        assert_eq!(a.negated().plus(a), Element::ZERO);
        assert_ne!(a, b);
        assert_ne!(a.times(b), a.plus(b));
    }
}

#[test]
fn an_exponential_of_a_sum_is_a_product() {
    for seed in 0..50 {
        let field = field(seed);
        let [a, b, c] = elements(&field, 1);
        assert_eq!(field.exp(a.plus(b)), field.exp(a).times(field.exp(b)));
        assert_eq!(field.exp(a.minus(b)).times(field.exp(b)), field.exp(a));
        assert_eq!(field.exp(a.times(b).plus(a.times(c))), field.exp(a.times(b.plus(c))));
        assert_eq!(field.exp2(a.plus(b)), field.exp2(a).times(field.exp2(b)));
        assert_eq!(field.exp(Element::ZERO), Element::of(1));
        assert_ne!(field.exp(a), field.exp2(a));
        assert!(matches!(field.exp(field.exp(a)), Element::Unknown(Reason::ExpOfExp)));
        assert!(matches!(field.exp(field.exp(a).plus(b)), Element::Unknown(Reason::ExpOfExp)));
    }
}

#[test]
fn a_maximum_is_one_of_a_total_order() {
    let mut greater = 0;
    for seed in 0..200 {
        let field = field(seed);
        let [a, b, c] = elements(&field, 1);
        assert_eq!(field.max(a, field.max(b, c)), field.max(field.max(a, b), c));
        assert_eq!(field.max(a, b), field.max(b, a));
        assert_eq!(field.max(a, b).plus(field.min(a, b)), a.plus(b));
        assert_eq!((field.max(a, a), field.is_less(a, a)), (a, Some(false)));
        assert_eq!([field.max(LEAST, a), field.min(GREATEST, a)], [a; 2]);
        greater += u32::from(field.max(a, Element::ZERO) == a);
    }
    // Otherwise a rectifier would be the identity, or 0.
    assert!((50..150).contains(&greater), "{greater} of 200 elements are above 0");
}

#[test]
fn a_random_element_can_be_between_two_small_numbers() {
    let between = |seed: u64| {
        let field = field(seed);
        let x = field.input(Format::F32, 9);
        field.min(field.max(x, Element::ZERO), Element::of(6)) == x
    };
    let count = (0..400).filter(|seed| between(*seed)).count();
    assert!((50..200).contains(&count), "{count} of 400 elements are between 0 and 6");
}

#[test]
fn numbers_have_their_own_order() {
    let field = field(1);
    let numbers = [-100_000, -7, -1, 0, 1, 2, 3, 255, 256, 1 << 30].map(Element::of);
    for (n, a) in numbers.iter().enumerate() {
        for (m, b) in numbers.iter().enumerate() {
            assert_eq!(field.is_less(*a, *b), Some(n < m), "{a} and {b}");
        }
    }
    let floats = [-7.25, -0.1, 1e-6, 0.1, 0.25, 1.0, 1.5, 300.0].map(|value| constant(&field, value));
    for (n, a) in floats.iter().enumerate() {
        for (m, b) in floats.iter().enumerate() {
            assert_eq!(field.is_less(*a, *b), Some(n < m), "{a} and {b}");
        }
    }
    assert!(!field.chose(), "the order of constants is not a choice");
    field.is_less(field.input(Format::F32, 1), Element::of(0));
    assert!(field.chose());
}

#[test]
fn a_decision_by_equality_is_a_choice() {
    let field = field(2);
    let [a, b] = elements(&field, 1);
    assert_eq!((field.are_equal(Element::of(1), Element::of(2)), field.chose()), (Some(false), false));
    assert_eq!((field.are_equal(a, Element::ZERO), field.chose()), (Some(false), true));
    assert_eq!((field.are_equal(a.plus(b), b.plus(a)), field.are_equal(a, Element::Unknown(Reason::Nan))), (Some(true), None));
}

#[test]
fn equal_elements_have_one_place_in_the_order() {
    let field = field(4);
    let [a] = elements(&field, 1);
    for n in [-3, 0, 7] {
        let computed = a.plus(Element::of(n)).minus(a);
        for other in [-4, -3, 0, 5, 7, 8] {
            assert_eq!(field.is_less(computed, Element::of(other)), Some(n < other), "{n} and {other}");
        }
    }
}

#[test]
fn constants_are_the_numbers_that_their_bits_mean() {
    let field = field(3);
    for (a, b, sum) in [(0.5, 0.25, 0.75), (1e-30, 0.0, 1e-30), (-3.5, 1.25, -2.25), (1.0e10, 1024.0, 10_000_001_024.0)] {
        let [a, b, sum] = [a, b, sum].map(|value: f32| constant(&field, value));
        assert_eq!(a.plus(b), sum);
    }
    assert_eq!(constant(&field, 3.0).times(constant(&field, 1.0 / 1024.0)), constant(&field, 3.0 / 1024.0));
    assert_eq!(
        [0x3c00, 0x0001, 0xc500].map(|bits| field.constant(Format::F16, bits)),
        [1.0, 5.960_464_5e-8, -5.0].map(|v| constant(&field, v))
    );
    assert_eq!(field.constant(Format::BF16, 0x4040), Element::of(3));
    assert_eq!([constant(&field, f32::NEG_INFINITY), constant(&field, f32::MIN).negated()], [LEAST, constant(&field, f32::MAX)]);
    assert!(matches!(constant(&field, f32::NAN), Element::Unknown(Reason::Nan)));
}

#[test]
fn a_rational_must_round_to_its_constant() {
    let of = |numerator, denominator, bits| Rational { format: Format::F32, bits, numerator, denominator };
    let two_thirds = (2.0f32 / 3.0).to_bits();
    let field = Field::new(1, &[of(2, 3, two_thirds)], &[]).expect("it is the nearest number");
    let three = Element::of(3);
    assert_eq!(field.constant(Format::F32, two_thirds).times(three), Element::of(2));
    assert_ne!(constant(&self::field(1), 2.0 / 3.0).times(three), Element::of(2));
    for wrong in
        [of(2, 3, two_thirds + 1), of(2, 3, two_thirds - 1), of(3, 4, two_thirds), of(-2, 3, two_thirds), of(2, 0, two_thirds)]
    {
        let error = Field::new(1, &[wrong], &[]).expect_err("it is another number");
        assert!(error.contains("is not the number"), "{error}");
    }
}

#[test]
fn laws_of_infinities_are_few() {
    let field = Field::new(1, &[], &[0.5, -0.5]).expect("no constants");
    let a = field.input(Format::F32, 1);
    let [positive, negative] = [0.5f32, -0.5].map(|scalar| field.input(Format::F32, scalar.to_bits()));
    assert_eq!([LEAST.plus(a), LEAST.minus(a), LEAST.times(positive), GREATEST.times(negative), GREATEST.negated()], [LEAST; 5]);
    assert_eq!([field.exp(LEAST), field.exp2(LEAST), a.over(GREATEST)], [Element::ZERO; 3]);
    assert!(matches!(LEAST.minus(LEAST), Element::Unknown(Reason::InfinityLessInfinity)));
    assert!(matches!(LEAST.times(a), Element::Unknown(Reason::InfinityInArithmetic)));
    assert!(matches!(a.over(Element::ZERO), Element::Unknown(Reason::DivisionByZero)));
}

#[test]
fn functions_are_random_functions_of_their_operands() {
    let field = field(5);
    let [a, b] = elements(&field, 1);
    assert_eq!(field.function("tanh", &[a]), field.function("tanh", &[a.plus(b).minus(b)]));
    assert_ne!(field.function("tanh", &[a]), field.function("sinh", &[a]));
    assert_ne!(field.function("powf", &[a, b]), field.function("powf", &[b, a]));
    assert_eq!(field.inverse_sqrt(a).times(field.sqrt(a)), Element::of(1));
    assert_eq!(field.abs(a), field.abs(a.negated()));
    // The exponent of an exponential is not known, so a function depends on the operand's value only.
    assert_eq!(field.function("tanh", &[field.exp(Element::ZERO)]), field.function("tanh", &[Element::of(1)]));
}

#[test]
fn rounding_to_halves_changes_nothing() {
    let field = field(3);
    let [a] = elements(&field, 1);
    assert_eq!(field.function("nearest_half", &[a]), a);
    assert_eq!(field.function("nearest_half", &[LEAST]), LEAST);
    assert_ne!(field.function("round", &[a]), a);
}

#[test]
fn degrees_bound_the_polynomials() {
    let field = field(7);
    let [a, b, c] = elements(&field, 1);
    assert_eq!([a.times(b).degree(), a.plus(b).degree(), a.times(b).plus(c).degree()], [2, 1, 2]);
    assert_eq!([a.over(b).degree(), a.over(b).plus(c.over(b)).degree()], [1, 2]);
    assert_eq!(Element::of(3).degree(), 0);
}
