//! Schedules with several choices of tuned constants.

use tilewright_dsl::compile::{Compiled, compile_choice};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::{Choice, choices};
use tilewright_dsl::syntax::{self, Kernel, schedule::Schedule};

const COPY: &str = "fn copy<N, S = 2>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * (S as f32); }";

fn parsed(kernel: &str, schedule: &str, spans: &mut Spans) -> (Kernel, Schedule) {
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), spans, Schedule::parse).into_result().expect("a schedule");
    (kernel, schedule)
}

/// Returns the choices of a schedule for `copy`, or its errors.
fn choices_of(items: &str) -> Vec<String> {
    let mut spans = Spans::new();
    let (kernel, schedule) = parsed(COPY, &format!("V: copy for vulkan_1_1 {{ {items} }}"), &mut spans);
    match choices(&kernel, &schedule) {
        Ok(all) => all.iter().map(Choice::to_string).collect(),
        Err(errors) => errors.0.iter().map(|e| e.text(&spans)).collect(),
    }
}

fn of_choice(items: &str, choice: &[(&str, i64)]) -> Result<Compiled, String> {
    let mut spans = Spans::new();
    let (kernel, schedule) = parsed(COPY, &format!("V: copy for vulkan_1_1 {{ {items} }}"), &mut spans);
    let choice = Choice(choice.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    compile_choice(&kernel, &schedule, &Profile::vulkan_1_1(), &choice, &mut |_, _| {}).map_err(|e| e.texts(&spans))
}

#[test]
fn choices_are_all_combinations() {
    assert_eq!(
        choices_of("tune A in [1, S * 4] = 1; tune B in [3, 2] = 2;"),
        ["A = 1, B = 3", "A = 1, B = 2", "A = 8, B = 3", "A = 8, B = 2"]
    );
    assert_eq!(choices_of(""), [""]);
}

#[test]
fn choices_are_bounded() {
    let tune = |n: usize| (0..n).map(|n| format!("tune T{n} in [1, 2] = 1;")).collect::<String>();
    assert_eq!(choices_of(&tune(12)).len(), 4096);
    let wanted = "the tuned constants make more than 4096 choices\n  help: give some of them fewer candidates";
    assert_eq!(choices_of(&tune(13)), [wanted]);
    assert_eq!(choices_of(&tune(100)), [wanted]);
}

#[test]
fn a_choice_is_checked() {
    let tile = "tune B in [8, 16] = 8; tile(i: B) => workgroup(x); distribute(i => thread(x));";
    let local = |choice: &[(&str, i64)]| of_choice(tile, choice).map(|c| c.program.plan[0].local);
    assert_eq!(local(&[]), Ok([8, 1, 1]));
    assert_eq!(local(&[("B", 16)]), Ok([16, 1, 1]));
    let said = |choice| local(choice).expect_err("refused").split_once("error: ").map(|(_, text)| text.to_owned());
    assert_eq!(said(&[("B", 32)]).as_deref(), Some("32 is not a candidate of `B`\n  help: the candidates are `8` and `16`\n"));
    assert_eq!(
        said(&[("T", 8)]).as_deref(),
        Some("`T` is not a tuned constant of the schedule\n  help: its tuned constants are `B`\n")
    );
}
