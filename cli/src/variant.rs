//! Compiles schedules of files with a choice of their tuned constants, and identifies their modules.

use crate::exit::Problem;
use crate::sizes::{self, Sizes};
use sha2::{Digest, Sha256};
use std::path::Path;
use tilewright_codegen::cost::{Cost, cost};
use tilewright_dsl::algorithm;
use tilewright_dsl::compile::decomposed;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::head;
use tilewright_dsl::schedule::tune::{self, Choice};
use tilewright_dsl::syntax::profile;
use tilewright_dsl::syntax::schedule::{StatementKind, Tune};
use tilewright_dsl::variant;
use tilewright_explain::source::{Source, SourceError, Subject};
use tilewright_launch::{Condition, Program, Role};

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Problem {
        Problem::usage(error.to_string())
    }
}

/// Returns the schedules of a file with these names, or all of them, and the problems of those that cannot be read. It is an error if none
/// can be read, or if a size is not one of their kernels'.
pub(crate) fn selected(
    source: &Source,
    file: &Path,
    names: &[String],
    size: &[Sizes],
) -> Result<(Vec<Subject>, Vec<Problem>), Problem> {
    let names: Vec<&str> = match names.is_empty() {
        true => source.schedules(),
        false => names.iter().map(String::as_str).collect(),
    };
    if names.is_empty() {
        return Err(Problem::usage(format!("{} does not contain schedules", file.display())));
    }
    let (mut subjects, mut problems) = (Vec::new(), Vec::new());
    for name in names {
        match source.subject(name) {
            Ok(subject) => subjects.push(subject),
            Err(error) => problems.push(Problem::from(error)),
        }
    }
    if subjects.is_empty()
        && let Some(problem) = problems.pop()
    {
        return Err(problem);
    }
    let kernels: Vec<(&str, Vec<String>)> = subjects.iter().map(|s| (s.kernel.name.as_str(), sizes::dims(&s.kernel))).collect();
    sizes::known(size, kernels.iter().map(|(kernel, dims)| (*kernel, &dims[..])))?;
    Ok((subjects, problems))
}

/// A variant.
pub(crate) struct Compiled {
    /// The launch program.
    pub(crate) program: Program,
    /// The versions of the program, in the order in which a launch tries them, each with its cost.
    pub(crate) versions: Vec<(Program, Vec<Cost>)>,
    /// The program's hash, which does not depend on lines of files.
    pub(crate) module: String,
    /// The algorithm as the schedule decomposes it, if it does so.
    pub(crate) decomposed: Option<nest::Program>,
}

/// Compiles a schedule with a choice. The errors have their places.
pub(crate) fn compile(source: &Source, subject: &Subject, choice: &Choice) -> Result<Compiled, String> {
    let Subject { kernel, schedule, profile, spans, .. } = subject;
    let wrong = |errors: tilewright_dsl::diag::Errors| source.place(errors.texts(spans).trim_end());
    let place = |at| subject.place(at);
    let made = variant::compile(kernel, schedule, profile, choice, &place, tilewright_spirv::compile).map_err(wrong)?;
    let decomposed = decomposed(kernel, schedule, choice).map_err(wrong)?;
    let costs = made.specialized.iter().chain([&made.nest]).map(|nest| cost(nest, profile));
    let versions = made.program.clone().into_versions()?.into_iter().zip(costs).collect();
    let module = hash(&made.program)?;
    Ok(Compiled { program: made.program, versions, module, decomposed })
}

/// Returns the algorithm of a schedule's kernel, which results must agree with.
pub(crate) fn algorithm(source: &Source, subject: &Subject) -> Result<nest::Program, Problem> {
    let wrong = |errors: tilewright_dsl::diag::Errors| Problem::no(source.place(errors.texts(&subject.spans).trim_end()));
    let bindings = head::bindings(&subject.kernel, &subject.schedule).map_err(wrong)?;
    algorithm::check(&subject.kernel, &bindings).map_err(wrong)
}

/// Returns all choices of a schedule's tuned constants.
pub(crate) fn choices(source: &Source, subject: &Subject) -> Result<Vec<Choice>, Problem> {
    let wrong = |errors: tilewright_dsl::diag::Errors| Problem::no(source.place(errors.texts(&subject.spans).trim_end()));
    tune::choices(&subject.kernel, &subject.schedule).map_err(wrong)
}

/// Returns the `tune` lines of a schedule.
pub(crate) fn tunes(subject: &Subject) -> impl Iterator<Item = &Tune> {
    subject.schedule.statements().filter_map(|statement| match &statement.kind {
        StatementKind::Tune(tune) => Some(tune),
        _ => None,
    })
}

impl Compiled {
    /// Wraps a program that was compiled earlier. It has no costs, because its nests are not known.
    pub(crate) fn of(program: Program) -> Result<Compiled, String> {
        let versions = program.clone().into_versions()?.into_iter().map(|version| (version, Vec::new())).collect();
        Ok(Compiled { module: hash(&program)?, versions, program, decomposed: None })
    }

    /// Returns the version without additional facts. Launches of all versions use its samples of scalars.
    pub(crate) fn plain(&self) -> &Program {
        self.versions.last().map_or(&self.program, |(program, _)| program)
    }

    /// Returns the version that a launch at these sizes takes, or the reason why it takes none.
    pub(crate) fn taken(&self, sizes: &Sizes) -> Result<usize, String> {
        let plain = self.plain();
        let scalars: Vec<Option<f64>> = (0..plain.scalars.len() as u32).map(|n| plain.sample(n)).collect();
        let mut why = "it does not have versions".to_owned();
        for (n, (program, _)) in self.versions.iter().enumerate() {
            match refusal(program, sizes, &scalars) {
                None => return Ok(n),
                Some(refusal) => why = refusal,
            }
        }
        Err(why)
    }

    /// True if it stores intermediate floats with fewer bits than its inputs and outputs have.
    pub(crate) fn has_narrow_intermediates(&self) -> bool {
        let is_intermediate = |role: Role| matches!(role, Role::Temporary | Role::Prepared);
        let floats = || self.plain().tensors.iter().filter(|tensor| tensor.dtype.is_float());
        let inner = floats().filter(|tensor| is_intermediate(tensor.role)).map(|tensor| tensor.dtype.bytes()).min();
        let outer = floats().filter(|tensor| !is_intermediate(tensor.role)).map(|tensor| tensor.dtype.bytes()).min();
        inner.zip(outer).is_some_and(|(inner, outer)| inner < outer)
    }

    /// Returns the program in the form that a runner takes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        self.program.encode().map_err(|e| e.to_string())
    }
}

/// Returns the reason why a launch at these sizes and with these scalars does not take a program, as far as shapes and facts determine it.
fn refusal(program: &Program, sizes: &Sizes, scalars: &[Option<f64>]) -> Option<String> {
    if let Some(why) = sizes.contradict(program) {
        return Some(why);
    }
    let dims = match sizes.dims(program) {
        Ok(dims) => dims,
        Err(why) => return Some(why),
    };
    let outer = program.tensors.iter().filter(|t| !matches!(t.role, Role::Temporary | Role::Prepared));
    if let Some(why) = outer.map(|t| dims.shape(t)).find_map(Result::err) {
        return Some(why);
    }
    let of_scalars = |condition: &Condition| {
        let mut values = (0..).zip(scalars);
        values.all(|(n, value)| value.is_none_or(|value| condition.holds_of_scalar(n, value)))
    };
    let holds = |condition: &Condition| condition.holds_of_sizes(dims.values()) && of_scalars(condition);
    let fails = program.facts.iter().find(|fact| !holds(&fact.condition));
    fails.map(|fact| format!("`{}` does not hold", fact.text))
}

/// Returns a hash of the parts of a program that a device runs. Lines of files do not contribute to it.
fn hash(program: &Program) -> Result<String, String> {
    let mut bare = program.clone();
    strip(&mut bare);
    let bytes = bare.encode().map_err(|e| e.to_string())?;
    Ok(Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn strip(program: &mut Program) {
    program.variant.clear();
    program.profile.clear();
    program.dispatches.iter_mut().for_each(|d| d.lines = tilewright_launch::Lines::default());
    for version in program.specialized.iter_mut().flat_map(|v| &mut v.dispatches) {
        if let tilewright_launch::VersionDispatch::Own(dispatch) = version {
            dispatch.lines = tilewright_launch::Lines::default();
        }
    }
    program.conversions.iter_mut().for_each(|c| strip(&mut c.program));
    program.preparations.iter_mut().for_each(|p| strip(&mut p.program));
}

/// Returns the profiles that a file defines or its schedules name, without the bundled ones.
pub(crate) fn profiles_of(file: &Path) -> Result<Vec<Profile>, Problem> {
    let source = Source::open(file)?;
    let text = std::fs::read_to_string(file).map_err(|e| Problem::usage(format!("cannot read {}: {e}", file.display())))?;
    let tree = syn::parse_file(&text).map_err(|e| Problem::usage(format!("{}: {e}", file.display())))?;
    let mut paths = Vec::new();
    defined(&tree.items, "", &mut paths);
    let mut found: Vec<Profile> = Vec::new();
    let named = paths.iter().map(|path| source.profile_named(path));
    let used = source.schedules().into_iter().map(|name| source.tokens(name).map(|tokens| tokens.profile));
    for profile in named.chain(used) {
        let profile = profile?;
        if Profile::bundled(&profile.name).is_none() && found.iter().all(|other| other.name != profile.name) {
            found.push(profile);
        }
    }
    Ok(found)
}

/// Collects the paths of the profiles that items define.
fn defined(items: &[syn::Item], within: &str, paths: &mut Vec<String>) {
    for item in items {
        match item {
            syn::Item::Macro(call) if call.mac.path.segments.last().is_some_and(|s| s.ident == "profile") => {
                let tree = profile::parse(call.mac.tokens.clone(), &mut Spans::new()).into_result();
                paths.extend(tree.ok().map(|tree| format!("{within}{}", tree.name.text)));
            }
            syn::Item::Mod(syn::ItemMod { ident, content: Some((_, items)), .. }) => {
                defined(items, &format!("{within}{ident}::"), paths)
            }
            _ => {}
        }
    }
}
