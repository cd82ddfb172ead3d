//! Chooses values of scalars that satisfy a program's facts, for launches that are timed or checked.

use crate::{Condition, DType, Program};

impl Program {
    /// Returns a value of a scalar that satisfies the facts about it. Equal facts give equal values. `None` if no value was found.
    pub fn sample(&self, scalar: u32) -> Option<f64> {
        let dtype = self.scalars.get(scalar as usize)?.dtype;
        let named = self.facts.iter().filter_map(|fact| match fact.condition {
            Condition::Scalar { scalar: of, bits, .. } if of == scalar => Some(f64::from_bits(bits)),
            _ => None,
        });
        let named: Vec<f64> = named.collect();
        // The first candidate is not neutral: multiplying by it changes the result.
        let first = if dtype.is_float() { 0.75 } else { 3.0 };
        let between = named.iter().flat_map(|a| named.iter().map(move |b| (a + b) / 2.0));
        let beside = named.iter().flat_map(|n| [n + 1.0, n - 1.0, n * 1.25, n * 0.75, n * 1.01, n * 0.99]);
        let numbers = [first, 1.0, 0.0, -1.0].into_iter().chain(between).chain(beside);
        let taken = |n: &f64| self.facts.iter().all(|fact| fact.condition.holds_of_scalar(scalar, *n));
        numbers.filter_map(|n| rounded(n, dtype)).find(taken)
    }
}

/// Returns the number as a value of the type, if one is near it. An integer type must have the number itself.
fn rounded(number: f64, dtype: DType) -> Option<f64> {
    let held = dtype.from_bits(dtype.to_bits(number));
    let is_near = if dtype.is_float() { held.is_finite() } else { held == number };
    is_near.then_some(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Relation, Requires, Scalar};

    fn sample(dtype: DType, bounds: &[(Relation, f64)]) -> Option<f64> {
        let fact = |(relation, value): &(Relation, f64)| {
            let condition = Condition::Scalar { scalar: 0, relation: *relation, bits: value.to_bits() };
            Fact { text: String::new(), condition, needed: false }
        };
        let program = Program {
            kernel: "k".into(),
            variant: "V".into(),
            profile: "p".into(),
            arguments: vec![],
            tensors: vec![],
            scalars: vec![Scalar { name: "a".into(), dtype }],
            dims: vec![],
            parameters: vec![],
            solve: vec![],
            facts: bounds.iter().map(fact).collect(),
            limits: vec![],
            dispatches: vec![],
            requires: Requires::default(),
            specialized: vec![],
            conversions: vec![],
            preparations: vec![],
        };
        program.sample(0)
    }

    #[test]
    fn samples_are_values_of_their_types() {
        use Relation::{Eq, Ge, Gt, Le, Lt, Ne};
        assert_eq!(sample(DType::F32, &[]), Some(0.75));
        assert_eq!(sample(DType::I8, &[(Ne, 3.0)]), Some(1.0));
        assert_eq!(sample(DType::Bool, &[]), Some(1.0));
        assert_eq!(sample(DType::U8, &[(Gt, 254.0)]), Some(255.0));
        assert_eq!(sample(DType::U8, &[(Gt, 254.0), (Lt, 255.0)]), None);
        assert_eq!(sample(DType::I32, &[(Gt, 2e9)]), Some(2_000_000_001.0));
        assert_eq!(sample(DType::U32, &[(Ge, 3e9)]), Some(3e9));
        for (dtype, bounds) in [
            (DType::F16, &[(Gt, 40000.0)][..]),
            (DType::F16, &[(Gt, 1e-4), (Lt, 2e-4)]),
            (DType::F32, &[(Gt, 2e38)]),
            (DType::F32, &[(Le, -7.0)]),
            (DType::BF16, &[(Gt, 3.0), (Lt, 5.0)]),
            (DType::F32, &[(Gt, 1e-6), (Lt, 1e6)]),
            (DType::F32, &[(Eq, 0.125)]),
            // Twice the second literal is infinite.
            (DType::F16, &[(Gt, 40000.0), (Lt, 1.7e308)]),
        ] {
            let found = sample(dtype, bounds).unwrap_or_else(|| panic!("none for {bounds:?}"));
            assert_eq!(rounded(found, dtype), Some(found));
            assert!(bounds.iter().all(|(relation, value)| relation.holds(found, *value)), "{found} for {bounds:?}");
        }
    }
}
