//! Kernels whose intermediates are members of a family have the programs of the same kernels without a family.

#![allow(clippy::unwrap_used, reason = "tests")]

use tilewright_differential::case::Case;
use tilewright_differential::compile::variant;
use tilewright_differential::members::{looped, renamed};
use tilewright_dsl::nest::print;

/// Replaces names of members and of intermediates by identifiers, because the names of copies and registers are derived from either.
fn flat(text: &str) -> String {
    (0..10).fold(text.to_owned(), |text, number| {
        let identifier = format!("s_{number}");
        text.replace(&format!("s[{number}]"), &identifier).replace(&format!("s{number}"), &identifier)
    })
}

#[test]
fn members_are_compiled_as_other_stages() {
    let (mut compared, mut refused, mut loops) = (0, 0, 0);
    for number in 0..400 {
        let case = Case::new(83, number);
        let (kernel, schedule) = (case.kernel.to_string(), case.schedule.to_string());
        let family = looped(&renamed(&kernel));
        if !family.contains("s[") {
            continue;
        }
        loops += family.matches("for level in").count();
        match (variant(&family, &renamed(&schedule), &case.profile), variant(&kernel, &schedule, &case.profile)) {
            (Ok(family), Ok(plain)) => {
                compared += 1;
                let (family, plain) = (print::plan(&family.nest), renamed(&print::plan(&plain.nest)));
                assert_eq!(flat(&family), flat(&plain), "{number}\n{kernel}\n{schedule}");
            }
            (Err(_), Err(_)) => refused += 1,
            (Err(why), Ok(_)) => panic!("{number}: {}\n{family}\n{}", why.text, renamed(&schedule)),
            (Ok(_), Err(why)) => panic!("{number}: {}\n{kernel}\n{schedule}", why.text),
        }
    }
    assert!(compared > 40 && loops > 100, "{compared} compared, {refused} refused, {loops} loops");
}
