//! `tilewright plan`.

use crate::common::{Crate, product, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::variant;
use tilewright_explain::source::{Bound, Source, Subject};
use tilewright_launch::{Dispatch, Lines, Program};

/// Returns the file of ready kernels.
fn ready(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schedules/src/kernels").join(file)
}

fn compiled(mut subject: Subject) -> Program {
    // The name of the variant is in the modules.
    subject.schedule.name.text = "PLAN".into();
    let Subject { kernel, schedule, profile, spans, .. } = &subject;
    let made = variant::compile(kernel, schedule, profile, &Choice::default(), &|_| None, tilewright_spirv::compile);
    made.unwrap_or_else(|errors| panic!("{}", errors.texts(spans))).program
}

/// Returns what a device runs. The lines of files differ, because a printed directive has a line of its own.
fn dispatches(program: Program) -> Vec<Dispatch> {
    program.dispatches.into_iter().map(|dispatch| Dispatch { lines: Lines::default(), ..dispatch }).collect()
}

/// Asserts that the printed schedules of a kernel compile to the modules of `{}`, each without the planner.
fn assert_same(kernels: &Source, printed: &Source, plan: &Value, profile: &Profile) {
    let name = plan["kernel"].as_str().unwrap();
    let bound = plan["bindings"].as_object().unwrap().iter();
    let bound: Vec<Bound> = bound.map(|(n, v)| Bound { name: n.clone(), value: v.as_str().unwrap().into() }).collect();
    let planned = compiled(kernels.unscheduled(name, profile, &bound).unwrap()).into_versions().unwrap();
    let versions = plan["versions"].as_array().unwrap();
    assert_eq!(planned.len(), versions.len(), "{name}");
    for (planned, version) in planned.into_iter().zip(versions) {
        let schedule = version["schedule"].as_str().unwrap();
        let at = format!("{schedule} of {name} for {}", profile.name);
        // Stages of one element need no directives.
        let is_single = |stage: &&Value| ["scale", "zero"].contains(&stage.as_str().unwrap());
        assert_eq!(version["unplanned"].as_array().unwrap().iter().find(|stage| !is_single(stage)), None, "{at}");
        let printed = compiled(printed.subject(schedule).unwrap_or_else(|error| panic!("{at}: {error}")));
        assert!(printed.specialized.is_empty(), "{at}: the planner was asked");
        let facts = |program: &Program| program.facts.iter().map(|fact| fact.text.clone()).collect::<Vec<_>>();
        assert_eq!(facts(&planned), facts(&printed), "{at}");
        assert!(dispatches(planned) == dispatches(printed), "{at}: the modules differ");
    }
}

/// Checks every kernel of a file of ready kernels that a profile supports. Returns the number of kernels.
fn check(file: &str, profile: &str, more: &[&str]) -> usize {
    let folder =
        Crate::new(&[("src/lib.rs", "pub mod kernels;\n"), ("src/kernels.rs", &std::fs::read_to_string(ready(file)).unwrap())]);
    let path = folder.arg("src/kernels.rs");
    let ran = run(&[&["plan", &path, "--for", profile, "--json"], more].concat());
    let refused = ran.err.matches("cannot be planned").count();
    assert!(ran.exit == 0 || refused > 0, "{}", ran.err);
    // The errors of the other kernels follow.
    let plan: Value = serde_json::Deserializer::from_str(&ran.out).into_iter().next().unwrap().unwrap();
    let Some(plans) = plan["kernels"].as_array() else { return 0 };
    folder.write("src/lib.rs", "pub mod kernels;\nmod plan;\n");
    folder.write("src/plan.rs", plan["source"].as_str().unwrap());
    let (kernels, printed) = (Source::open(Path::new(&path)).unwrap(), Source::open(&folder.path("src/plan.rs")).unwrap());
    let profile = Profile::bundled(profile).unwrap();
    assert!(!more.is_empty() || plans.len() + refused == kernels.kernels().len());
    plans.iter().for_each(|plan| assert_same(&kernels, &printed, plan, &profile));
    plans.len()
}

macro_rules! files {
    ($($name:ident: [$any:expr, $all:expr];)*) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            let file = concat!(stringify!($name), ".rs");
            assert_eq!([check(file, "vulkan_1_1", &[]), check(file, "nvidia_hopper", &[])], [$any, $all]);
            for profile in Profile::all_bundled().map(|profile| profile.name) {
                if profile != "vulkan_1_1" && profile != "nvidia_hopper" {
                    check(file, &profile, &[]);
                }
            }
        })*
    };
}

// The kernels that any device supports, and all kernels.
files! {
    bits: [1, 3];
    convolutions: [2, 5];
    images: [2, 2];
    matrices: [3, 10];
    mobile: [4, 4];
    quantized: [0, 10];
    random: [2, 2];
    rows: [2, 2];
    transformers: [2, 5];
    vectors: [5, 5];
}

#[test]
fn halves_are_planned() {
    assert_eq!(check("vectors.rs", "nvidia_hopper", &["--kernel", "gelu", "--bind", "T=f16"]), 1);
    assert_eq!(check("transformers.rs", "nvidia_hopper", &["--kernel", "attention", "--bind", "T=f16"]), 1);
    assert_eq!(check("convolutions.rs", "nvidia_hopper", &["--kernel", "conv2d", "--bind", "T=f16", "--bind", "S=2"]), 1);
}

#[test]
fn every_file_of_ready_kernels_is_checked() {
    let mut files: Vec<String> =
        std::fs::read_dir(ready("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|file| file != "mod.rs");
    files.sort();
    assert_eq!(files, FILES.iter().map(|file| format!("{file}.rs")).collect::<Vec<_>>());
}

#[test]
fn a_plan_is_written_and_stays() {
    let folder = product();
    let (kernel, out) = (folder.arg("src/kernel.rs"), folder.arg("src/planned.rs"));
    let printed = run(&["plan", &kernel, "--for", "nvidia_hopper"]).ends(0).out;
    let head = "//! Planned by `tilewright plan` for nvidia_hopper; ";
    assert!(printed.starts_with(head), "{printed}");
    let uses = "\nuse crate::kernel::matmul;\nuse tilewright::devices::nvidia_hopper;\nuse tilewright::schedule;\n\nschedule! {\n";
    assert!(printed.contains(uses) && printed.contains("    pub PLAN_1: matmul for nvidia_hopper where "), "{printed}");
    assert!(printed.contains("    pub PLAN: matmul for nvidia_hopper {\n") && printed.contains(" // "), "{printed}");
    let write = |more: &[&str]| run(&[&["plan", &kernel, "--for", "nvidia_hopper", "--write", &out], more].concat());
    assert!(write(&[]).ends(0).out.contains("planned.rs is written"));
    assert_eq!(folder.read("src/planned.rs"), printed);
    write(&[]).ends(0);
    let check = |more: &[&str]| run(&[&["plan", &kernel, "--for", "nvidia_hopper", "--check", &out], more].concat());
    assert!(check(&[]).ends(0).out.contains("a new plan is the same"));
    // Lines before the first schedule may change, and so may the ends of lines.
    let edited = printed.replace("use crate::kernel::matmul", "use crate::matmul").replace('\n', "\r\n");
    folder.write("src/planned.rs", &edited);
    check(&[]).ends(0);
    folder.write("src/planned.rs", &printed.replacen("for nvidia_hopper {\n", "for nvidia_hopper {\n        unroll(i);\n", 1));
    let differs = check(&[]).ends(1).out;
    assert!(differs.contains("planned.rs: a new plan differs (+) from the file (-)\n-         unroll(i);\n"), "{differs}");
    let json = check(&["--json"]).ends(1).json();
    assert_eq!((&json["same"], &json["differences"][0]), (&false.into(), &"-         unroll(i);".into()));
}

/// With `--tune`, the numbers are constants, whose defaults compile to the planned program.
#[test]
fn plans_can_have_tuned_constants() {
    let files = [("src/lib.rs", "mod kernel;\nmod planned;\n"), ("src/planned.rs", "")];
    let kernel = format!("use tilewright::kernel;\n{KERNEL}");
    let folder = Crate::new(&[&files[..], &[("src/kernel.rs", kernel.as_str())]].concat());
    let plan = |more: &[&str]| run(&[&["plan", &folder.arg("src/kernel.rs"), "--for", "vulkan_1_1"], more].concat()).ends(0).out;
    let (plain, tuned) = (plan(&[]), plan(&["--tune"]));
    assert!(tuned.contains("        tune THREADS in [64, 128] = 128;\n") && tuned.contains("tile(i: THREADS * 4 peel)"), "{tuned}");
    let program = |text: &str| {
        folder.write("src/planned.rs", text);
        compiled(Source::open(&folder.path("src/planned.rs")).unwrap().subject("PLAN").unwrap())
    };
    assert_eq!(dispatches(program(&plain)), dispatches(program(&tuned)));
}

#[test]
fn a_file_that_is_not_a_plan_stays() {
    let folder = product();
    let (kernel, out) = (folder.arg("src/kernel.rs"), folder.arg("src/schedules.rs"));
    let before = folder.read("src/schedules.rs");
    let plan = |more: &[&str]| run(&[&["plan", &kernel, "--for", "vulkan_1_1"], more].concat());
    plan(&["--write", &out]).ends(2).says("is not a plan, so it is not replaced; `--force` replaces it");
    plan(&["--check", &out]).ends(2).says("schedules.rs is not a plan");
    assert_eq!(folder.read("src/schedules.rs"), before);
    plan(&["--write", &kernel, "--force"]).ends(2).says("kernel.rs has the kernels");
    plan(&["--check", &folder.arg("src/missing.rs")]).ends(2).says("cannot read");
    plan(&["--write", &folder.arg("missing/out.rs")]).ends(2).says("cannot write");
    plan(&["--write", &out, "--force"]).ends(0);
    assert!(folder.read("src/schedules.rs").starts_with("//! Planned by"));
    plan(&["--force"]).ends(2).says("--write");
    plan(&["--write", &out, "--check", &out]).ends(2).says("cannot be used with");
}

#[test]
fn a_kernel_of_a_private_module_is_imported_from_where_it_is_public() {
    let folder = product();
    let use_of = |lib: &str, kernels: &str| {
        folder.write("src/lib.rs", lib);
        folder.write("src/kernels/mod.rs", kernels);
        folder.write("src/kernels/one.rs", &folder.read("src/kernel.rs"));
        let out = run(&["plan", &folder.arg("src/kernels/one.rs"), "--for", "vulkan_1_1"]).ends(0).out;
        out.lines().find(|line| line.starts_with("use ")).unwrap().to_owned()
    };
    assert_eq!(use_of("mod kernels;", "pub mod one;"), "use crate::kernels::one::matmul;");
    assert_eq!(use_of("mod kernels;", "mod one; pub use one::matmul;"), "use crate::kernels::matmul;");
    assert_eq!(use_of("mod kernels;", "mod one; pub use one::*;"), "use crate::kernels::matmul;");
    assert_eq!(use_of("mod kernels;", "mod one;"), "use crate::kernels::one::matmul;");
}

const KERNEL: &str = "kernel! { pub fn doubled<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + x[i]; } }\n";

const SEVERAL: &str = "use tilewright::{kernel, profile};
profile! { pub board: tilewright::devices::vulkan_1_1 { invocations: 64, local: [64, 64, 64] } }
kernel! { pub fn doubled<T: f16 | f32, N, S = 2>(x: T[N]) -> y: T[N] { y[i] = x[i] + x[i]; } }
kernel! { pub fn halves<N>(x: f16[N]) -> y: f16[N] { y[i] = x[i] + x[i]; } }
pub mod inner {
    tilewright::kernel! { pub fn sums<M, N>(x: f32[M, N]) -> y: f32[M] { y[i] = sum(j in 0..N) { x[i, j] }; } }
}
";

#[test]
fn kernels_and_generics_are_selected() {
    let folder = Crate::new(&[("src/lib.rs", SEVERAL)]);
    let path = folder.arg("src/lib.rs");
    let plan = |more: &[&str]| run(&[&["plan", &path], more].concat());
    // Only f32 is supported, and `halves` is not.
    let ran = plan(&["--for", "vulkan_1_1"]).ends(1).says("`halves` cannot be planned for vulkan_1_1:");
    assert!(ran.out.contains("pub DOUBLED_PLAN: doubled<T = f32> for vulkan_1_1 {"), "{}", ran.out);
    assert!(ran.out.contains("`T` is the first choice that the profile supports."), "{}", ran.out);
    assert!(ran.out.contains("use crate::inner::sums;\n") && ran.out.contains("pub SUMS_PLAN: sums for"), "{}", ran.out);
    let out = folder.arg("src/out.rs");
    plan(&["--for", "vulkan_1_1", "--write", &out])
        .ends(1)
        .says("out.rs is not written or compared; select kernels with `--kernel`");
    assert!(!folder.path("src/out.rs").exists());
    plan(&["--for", "vulkan_1_1", "--kernel", "halves"]).ends(1).says("`halves` cannot be planned for vulkan_1_1:");
    let hopper = plan(&["--for", "nvidia_hopper", "--kernel", "doubled", "--bind", "T=f32", "--bind", "S=3"]).ends(0).out;
    assert!(hopper.contains("doubled<T = f32, S = 3>") && !hopper.contains("first choice"), "{hopper}");
    let json = plan(&["--for", "board", "--kernel", "sums", "--json"]).ends(0).json();
    // A kernel that cannot be read does not stop the others.
    folder.write("src/two.rs", &format!("{KERNEL}kernel! {{ pub fn broken<N>(x: f32[N]) -> y: f32[N] {{ for i in N {{ }} }} }}\n"));
    let two = run(&["plan", &folder.arg("src/two.rs"), "--for", "vulkan_1_1"]).ends(1).says("`for` is not supported in kernels");
    assert!(two.out.contains("pub DOUBLED_PLAN: doubled for vulkan_1_1 {"), "{}", two.out);
    run(&["plan", &folder.arg("src/two.rs"), "--for", "vulkan_1_1", "--kernel", "broken"]).ends(2);
    assert_eq!((&json["kernels"][0]["kernel"], &json["kernels"][0]["profile"]), (&"sums".into(), &"board".into()));
    assert!(json["source"].as_str().unwrap().contains("use crate::board;\n"), "{json}");
}

#[test]
fn the_command_line_is_checked() {
    let folder = Crate::new(&[("src/lib.rs", SEVERAL)]);
    let path = folder.arg("src/lib.rs");
    let plan = |more: &[&str]| run(&[&["plan", &path], more].concat()).ends(2);
    plan(&[]).says("--for");
    plan(&["--for", "nvidia_hoper"]).says("did you mean `nvidia_hopper`?");
    plan(&["--for", "vulkan_1_1", "--kernel", "double"]).says("`double` is not a kernel of the file (did you mean `doubled`?)");
    plan(&["--for", "vulkan_1_1", "--kernel", "sums", "--bind", "T=f32"]).says("`T` is not a generic of a selected kernel");
    plan(&["--for", "vulkan_1_1", "--bind", "T"]).says("write NAME=VALUE");
    plan(&["--for", "vulkan_1_1", "--bind", "T=f32", "--bind", "T=f16"]).says("`T` has two values");
    folder.write("src/none.rs", "");
    run(&["plan", &folder.arg("src/none.rs"), "--for", "vulkan_1_1"]).ends(2).says("does not contain kernels");
    let wrong = run(&["plan", &path, "--for", "vulkan_1_1", "--kernel", "doubled", "--bind", "T=i8x"]).ends(1);
    wrong.says("`T` is a dtype: one of");
}
