//! Kernels with functions and closures have the programs of the same kernels without them.

#![allow(clippy::unwrap_used, reason = "tests")]

use tilewright_differential::case::Case;
use tilewright_differential::kernel::tree::{ExprKind, FunctionForm};
use tilewright_differential::kernel::{Kernel, inlined};
use tilewright_dsl::algorithm::check_generic;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Returns the nest of a kernel under the case's header, or the first error.
fn nest(kernel: &Kernel, case: &Case) -> Result<String, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.to_string().parse().unwrap(), &mut spans).into_result();
    let kernel = kernel.map_err(|errors| errors.texts(&spans))?;
    check_generic(&kernel).map_err(|errors| errors.texts(&spans))?;
    let schedule = syntax::parse(case.pair().schedule.parse().unwrap(), &mut spans, Schedule::parse).into_result();
    let schedule = schedule.map_err(|errors| errors.texts(&spans))?;
    let made = compile(&kernel, &schedule, &Profile::with_everything()).map_err(|errors| errors.texts(&spans))?;
    Ok(print::plan(&made.program))
}

#[test]
fn calls_have_the_values_of_their_bodies() {
    let (mut items, mut closures, mut blocks, mut refused, mut compared) = (0, 0, 0, Vec::new(), 0);
    for number in 0..3000 {
        let mut case = Case::new(71, number);
        let plain = inlined(&case.kernel);
        if plain == case.kernel {
            continue;
        }
        case.schedule.blocks.clear();
        match (nest(&case.kernel, &case), nest(&plain, &case)) {
            (Ok(called), Ok(written)) => {
                assert_eq!(called, written, "{number}\n{}\n{plain}", case.kernel);
                compared += 1;
            }
            (Err(why), Ok(_)) => refused.push(format!("{number}: {why}\n{}", case.kernel)),
            _ => continue,
        }
        let form = |form| case.kernel.functions.iter().filter(|function| function.form == form).count();
        items += form(FunctionForm::Item);
        closures += form(FunctionForm::Closure);
        for stage in &case.kernel.stages {
            stage.value.visit(&mut |e| blocks += usize::from(matches!(e.kind, ExprKind::Closure { .. })));
        }
    }
    let counts = format!("{compared} compared, {items} functions, {closures} closures, {blocks} closures in blocks");
    assert!(compared > 200 && items > 100 && closures > 30 && blocks > 100, "{counts}");
    assert!(refused.len() * 20 < compared, "{counts}, {} refused:\n{}", refused.len(), refused[..refused.len().min(5)].join("\n"));
}
