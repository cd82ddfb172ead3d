//! Plans a kernel: its dtypes, and the directives of each version.

use crate::exit::Problem;
use crate::sizes::dims;
use serde_json::{Value, json};
use tilewright_dsl::diag::Errors;
use tilewright_dsl::plan::{Block, Plan};
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::syntax::Kernel;
use tilewright_dsl::syntax::kernel::GenericKind;
use tilewright_dsl::variant;
use tilewright_explain::source::{Bound, Item, Source, Subject};
use tilewright_launch::Fact;

/// A kernel with its plan.
pub(super) struct Planned {
    /// The kernel.
    pub(super) kernel: Item,
    /// The start of its schedules' names: the kernel's name, if its file has several kernels.
    pub(super) prefix: String,
    /// The profile's name.
    pub(super) profile: String,
    /// The values of its generics, in the order of the generics.
    pub(super) bound: Vec<Bound>,
    /// The generics whose values the user did not give.
    pub(super) chosen: Vec<String>,
    /// The versions, in the order in which a launch tries them.
    pub(super) versions: Vec<Version>,
}

/// A version of a plan.
pub(super) struct Version {
    /// The facts, as after `where`. Empty for the general version.
    pub(super) facts: String,
    /// The directives.
    pub(super) plan: Plan,
    /// The stages that the plan does not mention.
    pub(super) open: Vec<String>,
    /// The dims that a caller chooses and the facts leave open.
    pub(super) dims: Vec<String>,
}

/// Plans a kernel under the given values of generics. The other dtypes have the first choice that compiles.
pub(super) fn planned(
    source: &Source,
    parsed: &Subject,
    (kernel, prefix): (&Item, &str),
    given: &[Bound],
) -> Result<Planned, Problem> {
    let mut first = None;
    for bound in candidates(&parsed.kernel, given) {
        let subject = source.unscheduled(&kernel.name, &parsed.profile, &bound)?;
        match versions(&subject) {
            Ok(versions) => {
                let open = bound.iter().filter(|b| given.iter().all(|other| other.name != b.name));
                let chosen = open.map(|b| b.name.clone()).collect();
                let profile = parsed.profile.name.clone();
                return Ok(Planned { kernel: kernel.clone(), prefix: prefix.to_owned(), profile, bound, chosen, versions });
            }
            Err(errors) => first = first.or_else(|| Some(source.place(errors.texts(&subject.spans).trim_end()))),
        }
    }
    let errors = first.unwrap_or_default();
    Err(Problem::no(format!("`{}` cannot be planned for {}:\n{errors}", kernel.name, parsed.profile.name)))
}

/// Returns the values of generics to try, in order: every choice of the dtypes that are not given.
fn candidates(kernel: &Kernel, given: &[Bound]) -> Vec<Vec<Bound>> {
    let mut all = vec![Vec::new()];
    for generic in &kernel.generics {
        let name = &generic.name.text;
        let values: Vec<String> = match (given.iter().find(|bound| bound.name == *name), &generic.kind) {
            (Some(bound), _) => vec![bound.value.clone()],
            (None, GenericKind::Dtype(choices)) => choices.iter().map(|choice| choice.text.clone()).collect(),
            (None, _) => continue,
        };
        let with =
            |bound: &Vec<Bound>, value: &String| [&bound[..], &[Bound { name: name.clone(), value: value.clone() }]].concat();
        all = all.iter().flat_map(|bound| values.iter().map(move |value| with(bound, value))).collect();
    }
    all
}

/// Compiles the schedule `{}`, and returns its versions.
fn versions(subject: &Subject) -> Result<Vec<Version>, Errors> {
    let Subject { kernel, schedule, profile, .. } = subject;
    let made = variant::compile(kernel, schedule, profile, &Choice::default(), &|_| None, tilewright_spirv::compile)?;
    let program = &made.program;
    let dims = |facts: &[Fact]| dims(kernel).into_iter().filter(|name| program.literal(facts, name).is_none()).collect();
    let special = program.specialized.iter().map(|version| (version.under.clone(), dims(&version.facts))).zip(made.plans);
    let version = |((facts, dims), plan): ((String, Vec<String>), Plan)| {
        let open = variant::unplanned(kernel, schedule, &facts, &plan)?;
        Ok(Version { facts, plan, open, dims })
    };
    special.chain([((String::new(), dims(&program.facts)), made.plan)]).map(version).collect()
}

impl Planned {
    /// Returns the name of the schedule of a version. Versions are counted from 1, and the last one is the general one.
    pub(super) fn name(&self, n: usize) -> String {
        let number = if n < self.versions.len() { format!("_{n}") } else { String::new() };
        format!("{}PLAN{number}", self.prefix)
    }

    /// Returns the plan as data.
    pub(super) fn report(&self) -> Value {
        let bound: serde_json::Map<String, Value> = self.bound.iter().map(|b| (b.name.clone(), b.value.clone().into())).collect();
        let versions: Vec<Value> = (1..).zip(&self.versions).map(|(n, version)| version.report(self.name(n))).collect();
        json!({ "kernel": self.kernel.name, "profile": self.profile, "bindings": bound, "versions": versions })
    }
}

impl Version {
    fn report(&self, name: String) -> Value {
        let block = |block: &Block| {
            let lines = block.lines.iter().map(|line| json!({ "directive": line.text, "reason": line.why }));
            json!({ "stage": block.stage, "directives": lines.collect::<Vec<_>>() })
        };
        let blocks: Vec<Value> = self.plan.blocks.iter().map(block).collect();
        json!({ "schedule": name, "facts": self.facts, "blocks": blocks, "unplanned": self.open })
    }
}
