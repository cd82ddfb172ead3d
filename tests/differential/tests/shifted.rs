//! Kernels whose intermediates have ranges of indices have the values of the same kernels without ranges, and compile wherever these do.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use tilewright_check::{Fill, wanted};
use tilewright_differential::case::Case;
use tilewright_differential::compile::{Variant, variant};
use tilewright_differential::shifted::shifted;
use tilewright_prove::launch::inputs;

/// Returns the values of a variant's results by the plain evaluation, as text, by their names, or the fact that does not hold.
fn values(variant: &Variant, case: &Case) -> Result<BTreeMap<String, String>, String> {
    let dims: Vec<(&str, i64)> = case.launches[0].iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let random = &mut fastrand::Rng::with_seed(case.values);
    let given = inputs(&variant.algorithm, &dims, &case.scalars, &|_| Fill::Small, random)?;
    let results = wanted(&variant.algorithm, None, &given.given)?;
    let named = results.into_iter().map(|(buffer, tensor)| (variant.algorithm.buffers[buffer].name.clone(), format!("{tensor:?}")));
    Ok(named.collect())
}

#[test]
fn ranges_change_no_value() {
    let (mut compared, mut known, mut refused) = (0, 0, 0);
    for number in 0..300 {
        let case = Case::new(97, number);
        let (kernel, schedule) = (case.kernel.to_string(), case.schedule.to_string());
        let other = shifted(&kernel);
        if case.large || other == kernel {
            continue;
        }
        match (variant(&other, &schedule, &case.profile), variant(&kernel, &schedule, &case.profile)) {
            (Ok(shifted), Ok(plain)) => {
                compared += 1;
                let wanted = values(&plain, &case);
                known += usize::from(wanted.is_ok());
                assert_eq!(values(&shifted, &case), wanted, "{number}\n{kernel}\n{other}");
            }
            (Err(_), Err(_)) => refused += 1,
            (Err(why), Ok(_)) => panic!("{number}: {}\n{other}\n{schedule}", why.text),
            (Ok(_), Err(why)) => panic!("{number}: {}\n{kernel}\n{schedule}", why.text),
        }
    }
    assert!(known > 40, "{compared} compiled, {known} compared, {refused} refused");
}
