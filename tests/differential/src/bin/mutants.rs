//! Judges nests with one error: counts by kind which check detects them, and prints those that only a run detects.

use clap::Parser;
use tilewright::{Options, Result};
use tilewright_differential::mutants::{Found, Subject, Table};

/// Mutates generated nests and counts which check detects the mutants: the verifier, the emitter, the reference device, or wrong
/// values.
#[derive(Parser)]
struct Arguments {
    /// The seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The number of cases.
    #[arg(long, default_value_t = 200)]
    cases: u64,
    /// Also prints mutants that are not detected; most of them are equivalent to the correct nest.
    #[arg(long)]
    all: bool,
}

#[allow(clippy::print_stdout, reason = "a command")]
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let device = Options::new().device("reference").open()?;
    // Panics are not printed, because the table counts them.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut table, mut count) = (Table::default(), 0);
    let generated = (arguments.from..arguments.from + arguments.cases)
        .filter_map(|case| Some((format!("case {case}"), Subject::new(arguments.seed, case, &device).transpose()?)));
    let shared = match Subject::shared(&device) {
        Ok(subjects) => (0..).zip(subjects).map(|(n, subject)| (format!("shared {n}"), Ok(subject))).collect(),
        Err(wrong) => vec![("shared".to_owned(), Err(wrong))],
    };
    for (name, subject) in shared.into_iter().chain(generated) {
        let subject = match subject {
            Ok(subject) => subject,
            Err(wrong) => {
                println!("{name}: {wrong}");
                continue;
            }
        };
        count += 1;
        for mutant in subject.mutants() {
            let found = subject.judge(&mutant.program);
            let told = match found {
                Found::Verifier | Found::Emitter => false,
                Found::Nobody => arguments.all,
                _ => true,
            };
            if told {
                println!("{name}: {}: {}: {found:?}", mutant.kind, mutant.what);
            }
            table.count(mutant.kind, &found);
        }
    }
    println!("{count} nests\n{table}");
    Ok(())
}
