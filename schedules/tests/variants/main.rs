//! Tests every variant of this crate at odd sizes. The program that the macro embedded must equal the program that its source
//! compiles to, `spirv-val` must accept it, and its results must match the plain evaluation of its kernel. It runs on the reference
//! device with the limits of the variant's profile and, if that device meets the profile, on the Vulkan device.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod entries;
mod proofs;
mod quantized;
mod random;
mod sources;
mod table;

use proc_macro2::{TokenStream, TokenTree};
use sources::{Written, schedules, schedules_in};
use std::collections::{BTreeSet, HashMap};
use tilewright::{DynKernel, Error, Options, Rounding};
use tilewright_check::{Fill, Inputs, wanted};
use tilewright_differential::compare::compare;
use tilewright_differential::devices::{runs, vulkan};
use tilewright_differential::{compile, validate::validate};
use tilewright_dsl::algorithm;
use tilewright_dsl::algorithm::evaluate::Tensor;
use tilewright_dsl::compile::decomposed;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::nest::{Body, BufferId, Program as Nest, Stage, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::head;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Tokens;
use tilewright_launch::{DType, Program};
use tilewright_prove::launch::{admits, inputs, launch};
use tilewright_schedules::{catalog, lavapipe};

/// The values of dims by name.
type Dims = &'static [(&'static str, i64)];

/// Returns the names that identify a variant.
fn key(program: &Program) -> [&str; 3] {
    [&program.kernel, &program.variant, &program.profile]
}

/// Returns the names that identify a schedule in a file.
fn name(tokens: &Tokens) -> [String; 3] {
    let subject = tokens.parse().expect("trees");
    [subject.kernel.name.text, subject.schedule.name.text, subject.profile.name]
}

/// Compiles a program of the catalog again from its source.
fn recompiled(program: &Program, written: &[Written]) -> compile::Variant {
    let tokens = match written.iter().find(|w| name(&w.tokens) == key(program)) {
        Some(written) => written.tokens.clone(),
        None => default_of(program, written),
    };
    let (subject, made) = sources::compile(&tokens);
    let algorithm = head::bindings(&subject.kernel, &subject.schedule).and_then(|b| algorithm::check(&subject.kernel, &b));
    let algorithm = algorithm.unwrap_or_else(|e| panic!("{}", e.texts(&subject.spans)));
    let prepared = made.prepared.into_iter().map(|(_, nest)| nest).collect();
    let decomposed = decomposed(&subject.kernel, &subject.schedule, &Choice::default());
    let decomposed = decomposed.unwrap_or_else(|e| panic!("{}", e.texts(&subject.spans)));
    compile::Variant { program: made.program, algorithm, decomposed, nest: made.nest, specialized: made.specialized, prepared }
}

/// Returns the default schedule of a kernel.
fn default_of(program: &Program, written: &[Written]) -> Tokens {
    assert_eq!(program.variant, "DEFAULT", "the catalog has {:?}, and no file", key(program));
    let of_kernel = written.iter().find(|w| name(&w.tokens)[0] == program.kernel);
    let Tokens { kernel, files, .. } = of_kernel.expect("a schedule of this kernel").tokens.clone();
    let schedule: TokenStream = format!("DEFAULT: {} for p {{}}", program.kernel).parse().expect("tokens");
    // Its span is the span of the kernel's name, as in the macro.
    let name = kernel.clone().into_iter().find(|tree| matches!(tree, TokenTree::Ident(name) if *name == program.kernel));
    let name = name.expect("the kernel's name").span();
    let schedule = schedule.into_iter().map(|mut tree| {
        tree.set_span(name);
        tree
    });
    Tokens { schedule: schedule.collect(), kernel, profile: Profile::vulkan_1_1(), files }
}

/// Checks every variant of a catalog entry at the sizes for which its facts hold. There must be at least two such sizes.
fn check(entry: &str, sizes: &[Dims], scalars: &[f64]) {
    let entry = catalog::ALL.iter().find(|e| e.name == entry).expect("an entry of the catalog");
    let programs = (entry.programs)().expect("they decode");
    let of_kernel = |text: &str, kernel: &str| [' ', '<'].iter().any(|end| text.contains(&format!(": {kernel}{end}")));
    let names_one = |text: &str| programs.iter().any(|program| of_kernel(text, &program.kernel));
    let (written, mut asked) = (schedules_in(&names_one), Questions::default());
    for program in &programs {
        let name = key(program);
        let variant = recompiled(program, &written);
        assert!(variant.program == *program, "{name:?}: the macro embedded something else");
        validate(&variant).unwrap_or_else(|said| panic!("{name:?}: {said}"));
        let holds = |dims: &Dims| admits(program, dims).expect("every dim has a value");
        let sizes: Vec<Dims> = sizes.iter().copied().filter(holds).collect();
        assert!(sizes.len() >= 2, "{name:?} takes {} of the sizes", sizes.len());
        let (reference, vulkan) = (on_reference(program), on_vulkan(program));
        for (n, dims) in sizes.iter().enumerate() {
            let question = asked.at(&variant, dims, scalars);
            compare_at(&variant, &reference, question);
            // A driver compiles a variant of another device again for each size that it pins, and this takes most of the time.
            let runs_here = |kernel: &&DynKernel| is_native(program) || n == sizes.len() / 2 && runs(kernel.device(), program);
            vulkan.iter().filter(runs_here).for_each(|kernel| compare_at(&variant, kernel, question));
        }
        proofs::check(&variant);
    }
}

/// Caches inputs and expected results for variants with the same kernel, types, parameters and sizes, because the plain evaluation
/// takes longer than the variants.
#[derive(Default)]
struct Questions(Vec<Question>);

struct Question {
    /// The types, the parameters, and the text of the decomposed algorithm.
    of: (Vec<DType>, Vec<(String, i64)>, String),
    dims: Dims,
    inputs: Inputs,
    wanted: HashMap<BufferId, Tensor>,
}

impl Questions {
    fn at(&mut self, variant: &compile::Variant, dims: Dims, scalars: &[f64]) -> &Question {
        let algorithm = &variant.algorithm;
        let types = algorithm.buffers.values().map(|buffer| buffer.dtype).collect();
        let of = (types, algorithm.parameters.clone(), variant.decomposed.as_ref().map_or_else(String::new, definitions));
        let known = self.0.iter().position(|q| q.dims == dims && q.of == of);
        let at = known.unwrap_or_else(|| {
            // The seed is fixed, because f64 and f32 can round a value near a half to different integers.
            let inputs = inputs(algorithm, dims, scalars, &|_| Fill::Small, &mut fastrand::Rng::with_seed(1)).expect("shapes");
            let wanted = wanted(algorithm, variant.decomposed.as_ref(), &inputs.given).expect("the evaluation");
            self.0.push(Question { of, dims, inputs, wanted });
            self.0.len() - 1
        });
        &self.0[at]
    }
}

/// Prints all definitions of a program.
fn definitions(program: &Nest) -> String {
    let text = |e: ExprId| print::expr(program, e);
    let stage = |stage: &Stage| {
        let over = if let Body::Reduce { over, .. } = &stage.body { &over[..] } else { &[] };
        let extents = stage.axes.iter().chain(over).map(|axis| text(program.axes[*axis].extent));
        let values = stage.values().into_iter().map(text);
        format!("{}: {}", stage.name, extents.chain(values).collect::<Vec<_>>().join(", "))
    };
    program.stages.values().map(stage).collect::<Vec<_>>().join("\n")
}

fn compare_at(variant: &compile::Variant, kernel: &DynKernel, Question { dims, inputs, wanted, .. }: &Question) {
    let (name, algorithm, device) = (key(&variant.program), &variant.algorithm, &kernel.device().info().name);
    let results = launch(kernel, &variant.program, algorithm, inputs);
    for (id, values) in results.unwrap_or_else(|e| panic!("{name:?} at {dims:?} on {device}: {e}")) {
        let unknown = compare(&algorithm.buffers[id], &wanted[&id], &values);
        let unknown = unknown.unwrap_or_else(|wrong| panic!("{name:?} at {dims:?} on {device}: {wrong}"));
        assert_eq!(unknown, 0, "{name:?} at {dims:?}: elements without a bound");
    }
}

/// Loads a program on the reference device, with the limits of the variant's profile.
fn on_reference(program: &Program) -> DynKernel {
    let device = Options::new().device(format!("reference:{}", program.profile)).open().expect("the reference device");
    // SAFETY: the compiler made the program, and the reference device checks each access.
    unsafe { device.load_programs(vec![program.clone()]) }.expect("it loads")
}

/// True if the Vulkan device must run a program: it is for any device, or for lavapipe, and the device is llvmpipe.
fn is_native(program: &Program) -> bool {
    program.profile == "vulkan_1_1" || program.profile == "mesa_lavapipe" && vulkan().info().name.contains("llvmpipe")
}

/// Loads a program on the Vulkan device. Returns `None` if the device does not meet the variant's requirements.
fn on_vulkan(program: &Program) -> Option<DynKernel> {
    // SAFETY: the compiler made the program.
    match unsafe { vulkan().load_programs(vec![program.clone()]) } {
        Ok(kernel) => Some(kernel),
        Err(Error::Unsupported { .. }) if !is_native(program) => None,
        Err(error) => panic!("{:?}: {error}", key(program)),
    }
}

/// Checks that the catalog lists every variant, and that every entry has a test.
#[test]
fn the_catalog_is_complete() {
    let programs: Vec<Program> = catalog::ALL.iter().flat_map(|entry| (entry.programs)().expect("they decode")).collect();
    let listed: BTreeSet<[&str; 3]> = programs.iter().map(key).collect();
    assert_eq!(listed.len(), programs.len(), "a variant is listed twice");
    let mut names = BTreeSet::new();
    for written in schedules() {
        let name = name(&written.tokens);
        assert!(listed.contains(&name.each_ref().map(String::as_str)), "{} is not in the catalog", written.place);
        assert!(names.insert(name), "{}: two files have a schedule of that name, kernel and profile", written.place);
    }
    let entries: Vec<&str> = catalog::ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(entries, entries::TESTED, "each entry has its test, in the same order");
}

/// Checks the rounding that a variant states. For F(4, 3), the transforms enlarge errors by the factor 4.76, and a sum of 2048
/// products in f32 has the error `2^-24 sqrt(1.5 + 0.085 * 2048)`. If they are stored as f16, two factors are also rounded to 11
/// bits.
#[test]
fn decomposed_variants_state_their_rounding() {
    let expected = |rounding: &[Rounding]| match rounding {
        [Rounding { result: "output", expected, worst }] if worst > expected => *expected,
        other => panic!("{other:?}"),
    };
    let is = |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 0.01, "{got:e} is not {wanted:e}");
    let summed = 4.76 * 2f64.powi(-24) * (1.5f64 + 0.085 * 2048.0).sqrt();
    is(expected(lavapipe::winograd::F4.rounding()), summed);
    is(expected(lavapipe::winograd::F4_F16.rounding()), summed.hypot(0.58 * 4.76 * 2f64.powi(-11)));
    assert_eq!(lavapipe::conv2d::CHANNELS_64.rounding(), []);
}
