//! The search space: every choice of a schedule's `tune` lines, compiled in parallel. Choices with identical modules are one candidate.

use super::origin::Origin;
use crate::cost;
use crate::exit::Problem;
use crate::sizes::Sizes;
use crate::variant::{Compiled, choices, compile, tunes};
use indicatif::ProgressBar;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::{Source, Subject};

/// The ratio of memory traffic above which a candidate is not measured. Caches and hidden latencies can make up for some additional
/// traffic, but not for a factor above this.
const MOST_TRAFFIC: f64 = 8.0;

/// The stack size of a thread that compiles.
const STACK: usize = 32 << 20;

/// A module to measure.
pub(super) struct Candidate {
    /// The choices that result in this module. The default comes first if it is one of them.
    pub(super) choices: Vec<Choice>,
    pub(super) compiled: Compiled,
    pub(super) is_default: bool,
}

/// A choice that is not measured, or not to the end.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) choice: Choice,
    pub(super) stage: Stage,
    pub(super) why: String,
}

/// The stage at which a choice was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Compile,
    Sizes,
    Cost,
    Load,
    /// Its results cannot be checked.
    Unchecked,
    /// Its results are wrong.
    Wrong,
    Time,
    Budget,
}

impl Stage {
    /// Returns its name in tables and records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::Compile => "compile",
            Stage::Sizes => "sizes",
            Stage::Cost => "cost",
            Stage::Load => "load",
            Stage::Unchecked | Stage::Wrong => "result",
            Stage::Time => "time",
            Stage::Budget => "budget",
        }
    }
}

/// All choices of a schedule.
pub(super) struct Space {
    /// The number of choices.
    pub(super) count: usize,
    /// The default values in the file.
    pub(super) default: Choice,
    pub(super) candidates: Vec<Candidate>,
    pub(super) refused: Vec<Refused>,
    /// Every choice that compiles, and its module.
    pub(super) modules: Vec<(Choice, String)>,
}

/// Returns the default values in the file.
pub(super) fn default_choice(source: &Source, subject: &Subject) -> Result<Choice, Problem> {
    let literal = |tune: &tilewright_dsl::syntax::schedule::Tune| {
        let text = subject.spans.source(tune.default.span)?;
        Some((tune.name.text.clone(), text.replace('_', "").parse::<i64>().ok()?))
    };
    if let Some(values) = tunes(subject).map(literal).collect() {
        return Ok(Choice(values));
    }
    // A default can be an expression, whose value is known only after compilation.
    let Subject { kernel, schedule, profile, .. } = subject;
    let place = |at| subject.place(at);
    let made = tilewright_dsl::variant::compile(kernel, schedule, profile, &Choice::default(), &place, tilewright_spirv::compile);
    let made = made.map_err(|errors| Problem::no(source.place(errors.texts(&subject.spans).trim_end())))?;
    Ok(Choice(made.nest.statements.tuned.iter().map(|t| (t.name.clone(), t.value)).collect()))
}

/// Compiles all choices with `jobs` threads. No choice is begun after `until`, except the default, which is first.
pub(super) fn compiled(
    origin: &Origin<'_>,
    schedule: &str,
    jobs: usize,
    until: Option<Instant>,
    bar: &ProgressBar,
) -> Result<Space, Problem> {
    let source = origin.open()?;
    let subject = source.subject(schedule)?;
    let mut all = choices(&source, &subject)?;
    let default = default_choice(&source, &subject)?;
    if let Some(at) = all.iter().position(|choice| *choice == default) {
        all[..=at].rotate_right(1);
    }
    bar.set_length(all.len() as u64);
    bar.set_message(format!("compiling {schedule}"));
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, Result<Compiled, String>)>> = Mutex::default();
    let work = || -> Result<(), Problem> {
        let source = origin.open()?;
        let subject = source.subject(schedule)?;
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(choice) = all.get(n) else { return Ok(()) };
            if n > 0 && until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
            let result = compile(&source, &subject, choice);
            made.lock().unwrap_or_else(PoisonError::into_inner).push((n, result));
            bar.inc(1);
        }
    };
    thread::scope(|scope| {
        let jobs = jobs.clamp(1, all.len().max(1));
        let spawned = (0..jobs).map(|_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work));
        let threads =
            spawned.collect::<Result<Vec<_>, _>>().map_err(|e| Problem::usage(format!("no thread can be started: {e}")))?;
        let panicked = |_| Problem::no("the compiler panicked: this is a defect of Tilewright");
        threads.into_iter().try_for_each(|thread| thread.join().map_err(panicked)?)
    })?;
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(n, _)| *n);
    Ok(merged(all, default, made))
}

/// Returns a space with one candidate for each module.
fn merged(all: Vec<Choice>, default: Choice, made: Vec<(usize, Result<Compiled, String>)>) -> Space {
    let mut space = Space { count: all.len(), default, candidates: Vec::new(), refused: Vec::new(), modules: Vec::new() };
    let mut made = made.into_iter().peekable();
    for (n, choice) in all.into_iter().enumerate() {
        match made.next_if(|(at, _)| *at == n) {
            None => space.refuse(choice, Stage::Budget, "there was no time left to compile it".to_owned()),
            Some((_, Err(why))) => space.refuse(choice, Stage::Compile, why),
            Some((_, Ok(compiled))) => {
                space.modules.push((choice.clone(), compiled.module.clone()));
                match space.candidates.iter_mut().find(|c| c.compiled.module == compiled.module) {
                    Some(same) => same.choices.push(choice),
                    None => {
                        let is_default = choice == space.default;
                        space.candidates.push(Candidate { choices: vec![choice], compiled, is_default });
                    }
                }
            }
        }
    }
    space
}

impl Space {
    /// Returns the number of choices whose results are wrong.
    pub(super) fn wrong(&self) -> usize {
        self.refused.iter().filter(|refused| refused.stage == Stage::Wrong).count()
    }

    pub(super) fn refuse(&mut self, choice: Choice, stage: Stage, why: String) {
        self.refused.push(Refused { choice, stage, why });
    }

    /// Removes the candidates that `refuse` gives a reason for.
    pub(super) fn refuse_each(&mut self, refuse: impl Fn(&Candidate) -> Option<(Stage, String)>) {
        for candidate in std::mem::take(&mut self.candidates) {
            match refuse(&candidate) {
                None => self.candidates.push(candidate),
                Some((stage, why)) => candidate.choices.into_iter().for_each(|c| self.refuse(c, stage, why.clone())),
            }
        }
    }

    /// Removes the candidates that no launch at the sizes takes. Unless `all` is set, also removes those with much more memory traffic than
    /// another.
    pub(super) fn prune(&mut self, sizes: &[Sizes], all: bool) {
        let refusal = |c: &Candidate| sizes.iter().find_map(|s| Some(format!("at {s}: {}", c.compiled.taken(s).err()?)));
        self.refuse_each(|c| Some((Stage::Sizes, refusal(c)?)));
        if all {
            return;
        }
        for sizes in sizes {
            let asked = |c: &Candidate| asked(&c.compiled, sizes);
            let Some(least) = self.candidates.iter().filter_map(asked).min_by(f64::total_cmp).filter(|n| *n > 0.0) else {
                continue;
            };
            self.refuse_each(|c| {
                let times = asked(c)? / least;
                let why =
                    || format!("at {sizes} it asks memory for {times:.1} times as many bytes as another (`--all` measures it)");
                (times > MOST_TRAFFIC && !c.is_default).then(|| (Stage::Cost, why()))
            });
        }
    }
}

/// Returns the bytes that a launch reads and writes in memory.
fn asked(compiled: &Compiled, sizes: &Sizes) -> Option<f64> {
    let (program, costs) = compiled.versions.get(compiled.taken(sizes).ok()?)?;
    Some(cost::totals(costs, program, sizes)?.asked)
}
