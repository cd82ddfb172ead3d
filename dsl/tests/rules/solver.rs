//! Hands the rules to an SMT solver.

use super::all;
use super::numbers::{BITS, Numbers, conditions, counterexample, shown};
use super::smt::Theory;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use tilewright_dsl::expr::rules::{self, Claim, Over, Rule};

/// The time for a query, in milliseconds. The slowest takes a few seconds.
const TIMEOUT: u32 = 30_000;

/// The time for a query that is known to stay undecided.
const SHORT_TIMEOUT: u32 = 100;

/// Rules that the solver does not decide, in one theory: products and quotients by variables. They are checked for all numbers of
/// [`BITS`] bits.
pub(crate) const EXHAUSTED: &[(&str, Theory)] = &[
    ("LOW_OF_SUM", Theory::Ints),
    ("LOW_OF_PRODUCT", Theory::Ints),
    ("NO_SOLUTION", Theory::Ints),
    ("DIVIDES_PRODUCT", Theory::Ints),
    ("DIVIDES_SUM", Theory::Ints),
    ("MOD_OF_MULTIPLE", Theory::Ints),
    ("DIGIT_INNERMOST", Theory::Ints),
    ("GROUP_START", Theory::Ints),
    ("FLOOR_BY_QUOT", Theory::Words),
    ("MOD_BY_QUOT", Theory::Words),
    ("REM_BY_QUOT", Theory::Words),
];

/// Rules whose last variable is the exponent of a power of two. The solver decides each exponent by itself.
pub(crate) const BY_CASES: &[(&str, Theory)] = &[
    ("FLOOR_BY_POWER", Theory::Words),
    ("MOD_BY_POWER", Theory::Words),
    ("UDIV_BY_POWER", Theory::Words),
    ("UMOD_BY_POWER", Theory::Words),
    ("OR_BELOW_POWER", Theory::Words),
    ("XOR_BELOW_POWER", Theory::Words),
];

/// Returns the theories in which a rule holds.
pub(crate) fn theories(rule: &Rule) -> &'static [Theory] {
    match rule.over {
        Over::Ints => &[Theory::Ints],
        Over::Words => &[Theory::Words],
        Over::Both => &[Theory::Ints, Theory::Words],
    }
}

/// The answer to a query, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Answer {
    Holds,
    Unknown,
    Refuted,
}

/// Returns the values of the last variable for which a rule is proved one by one. They include all exponents modulo 32.
fn cases(rule: &Rule, theory: Theory) -> Vec<Option<i64>> {
    if BY_CASES.contains(&(rule.name, theory)) { (0..32).map(Some).collect() } else { vec![None] }
}

/// Asks the solver about rules, in one process for each theory. `None` if the solver is not installed.
fn ask(queries: &[(Rule, Theory)]) -> Option<Vec<Answer>> {
    let mut answers = vec![Answer::Holds; queries.len()];
    for theory in [Theory::Ints, Theory::Words] {
        let (mut script, mut asked) = (theory.prelude().to_owned(), Vec::new());
        for (n, (rule, _)) in queries.iter().enumerate().filter(|(_, (_, of))| *of == theory) {
            let timeout = if is_exhausted(rule, theory) { SHORT_TIMEOUT } else { TIMEOUT };
            for case in cases(rule, theory) {
                script += &format!("(set-option :timeout {timeout})\n{}", theory.query(rule, case));
                asked.push(n);
            }
        }
        let solver = Command::new("z3").args(["-in", "-smt2"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut solver = match solver {
            Ok(solver) => solver,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => panic!("z3: {error}"),
        };
        let mut input = solver.stdin.take().unwrap();
        let writer = thread::spawn(move || input.write_all(script.as_bytes()));
        let output = String::from_utf8(solver.wait_with_output().unwrap().stdout).unwrap();
        writer.join().unwrap().unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), asked.len(), "the solver's answers:\n{output}");
        for (n, line) in asked.into_iter().zip(lines) {
            let answer = match line {
                "unsat" => Answer::Holds,
                "sat" => Answer::Refuted,
                "unknown" | "timeout" => Answer::Unknown,
                other => panic!("{}: {other}", queries[n].0.name),
            };
            // A rule is as right as its worst case.
            answers[n] = answers[n].max(answer);
        }
    }
    Some(answers)
}

/// Says that a check was left out.
#[allow(clippy::explicit_write, reason = "the output of `eprintln!` is captured, and this line must be seen")]
fn skipped() {
    writeln!(std::io::stderr(), "the rules were NOT checked by a solver: z3 is not installed (apt-get install z3)").unwrap();
}

fn is_exhausted(rule: &Rule, theory: Theory) -> bool {
    EXHAUSTED.contains(&(rule.name, theory))
}

#[test]
fn rules_are_right() {
    let queries: Vec<(Rule, Theory)> = all().flat_map(|rule| theories(rule).iter().map(|theory| (*rule, *theory))).collect();
    let Some(answers) = ask(&queries) else { return skipped() };
    let mut wrong = Vec::new();
    for ((rule, theory), answer) in queries.iter().zip(answers) {
        match answer {
            Answer::Refuted => wrong.push(format!("{} is wrong in {theory:?}", rule.name)),
            Answer::Unknown if !is_exhausted(rule, *theory) => wrong.push(format!("(\"{}\", Theory::{theory:?}),", rule.name)),
            Answer::Unknown => println!("unknown: {} in {theory:?}", rule.name),
            Answer::Holds => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rules that a solver does not decide hold for all numbers of six bits.
#[test]
fn undecided_rules_hold_for_six_bits() {
    for (name, theory) in EXHAUSTED {
        let rule = all().find(|rule| rule.name == *name).unwrap_or_else(|| panic!("{name} is not a rule"));
        assert!(theories(rule).contains(theory), "{name} is not a rule in {theory:?}");
        let numbers = match theory {
            Theory::Ints => Numbers::Ints,
            Theory::Words => Numbers::Words(BITS),
        };
        let found = counterexample(rule, &conditions(rule), numbers, BITS);
        assert!(found.is_none(), "{name}: {}", shown(rule, &found.unwrap()));
    }
}

/// The solver refutes rules that lack a condition, and one with a wrong result.
#[test]
fn wrong_rules_are_refuted() {
    let without = |rule: &Rule| Rule { given: &[], when: &[], ..*rule };
    let wrong = [
        (without(&rules::FLOOR_OF_DIGIT), Theory::Ints),
        (without(&rules::FLOOR_OF_DIGIT), Theory::Words),
        (without(&rules::MIN_IS_FIRST), Theory::Ints),
        (without(&rules::MIN0_OF_NONNEG), Theory::Ints),
        (without(&rules::MOD_JUST_NEGATIVE), Theory::Ints),
        (without(&rules::SCALED_FACT), Theory::Ints),
        (without(&rules::FLOOR_IS_UNSIGNED), Theory::Words),
        (without(&rules::SHIFTED_TILE), Theory::Ints),
        (Rule { then: Claim { right: rules::ADD_ZERO.then.left, ..rules::MUL_ZERO.then }, ..rules::MUL_ZERO }, Theory::Words),
    ];
    let Some(answers) = ask(&wrong) else { return skipped() };
    for ((rule, theory), answer) in wrong.iter().zip(answers) {
        assert_eq!(answer, Answer::Refuted, "{} in {theory:?}", rule.name);
    }
}
