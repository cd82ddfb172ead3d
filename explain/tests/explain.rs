//! Tests on a crate of several files, written to its own folder: finding items, errors about missing items, and explanations of
//! schedules.

use std::path::{Path, PathBuf};
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Source;
use tilewright_explain::{Given, explain};

/// A package in a new folder.
struct Package(PathBuf);

impl Package {
    /// Writes files, each a path under `src` and its text.
    fn new(name: &str, files: &[(&str, &str)]) -> Package {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let package = Package(folder);
        package.write("Cargo.toml", "");
        files.iter().for_each(|(path, text)| package.write(&format!("src/{path}"), text));
        package
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }

    fn source(&self, file: &str) -> Result<Source, String> {
        Source::open(&self.0.join("src").join(file)).map_err(|e| self.text(&e.to_string()))
    }

    /// Removes the package's folder from the paths in a text.
    fn text(&self, text: &str) -> String {
        let folder = self.0.canonicalize().expect("the folder");
        let here = std::env::current_dir().expect("a folder");
        let shown = folder.strip_prefix(here).unwrap_or(&folder).to_owned();
        let text = text.replace(&format!("{}/", folder.display()), "").replace(&format!("{}/", self.0.display()), "");
        text.replace(&format!("{}/", shown.display()), "")
    }

    /// Returns the explanation of a schedule.
    fn told(&self, file: &str, schedule: &str, dims: &[(&str, i64)]) -> String {
        self.chosen(file, schedule, dims, &[])
    }

    /// Returns the explanation of a schedule with values of tuned constants.
    fn chosen(&self, file: &str, schedule: &str, dims: &[(&str, i64)], tuned: &[(&str, i64)]) -> String {
        let source = self.source(file).expect("it is read");
        let subject = source.subject(schedule).unwrap_or_else(|e| panic!("{e}"));
        let named = |values: &[(&str, i64)]| values.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let told = explain(&subject, &Given { dims: named(dims), choice: Choice(named(tuned)) });
        let lines: Vec<String> = told.lines().iter().map(|line| source.place(&line.to_string())).collect();
        self.text(&lines.join("\n"))
    }

    /// Returns the error about a schedule that is not found.
    fn refusal(&self, file: &str, schedule: &str) -> String {
        match self.source(file).map(|s| s.subject(schedule).map(drop)) {
            Err(error) => error,
            Ok(Err(error)) => self.text(&error.to_string()),
            Ok(Ok(())) => panic!("`{schedule}` is found"),
        }
    }
}

const MATMUL: &str = "
    tilewright::kernel! {
        /// C = A B.
        pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
            c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
        }
    }";

/// Kernels, profiles and schedules in separate modules, reached by every kind of Rust path.
fn package(name: &str) -> Package {
    let files = [
        (
            "lib.rs",
            "mod kernels; pub mod boards; #[path = \"fast/list.rs\"] mod schedules; mod inner { pub use crate::kernels::*; }",
        ),
        ("kernels/mod.rs", "pub mod linear; pub use linear::matmul as gemm;"),
        ("kernels/linear.rs", MATMUL),
        (
            "boards.rs",
            "use tilewright::{devices::{self as bundled, vulkan_1_1}, profile};
             profile! { pub small: vulkan_1_1 { shared_bytes: 1024, gflops: 1000, bandwidth: 100 } }
             profile! { pub smaller: self::small { invocations: 64, local: [64, 64, 64] } }
             profile! { pub other: bundled::arm_valhall { subgroup: 16 } }",
        ),
        (
            "fast/list.rs",
            "use tilewright::schedule;
use super::{inner::gemm, boards};

schedule! {
    pub TILED: gemm for boards::smaller where K % 4 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        tile(k: 4);
        unroll(k);
    }
}
schedule! { pub WRONG: gemm for boards::small { tile(i: 8) => workgroup(y); tile(k: 3 exact); } }
schedule! { pub NONE: gemm for tilewright::devices::vulkan_1_1 {} }
schedule! { pub ELSEWHERE: blas::gemm for boards::small {} }
schedule! { pub NOT_A_KERNEL: boards::small for boards::small {} }
schedule! { pub NOWHERE: gemm for boards::tiny {} }
schedule! { pub MISSPELT: gemm for tilewright::devices::arm_valhal {} }
schedule! { pub BROKEN: gemm for boards::small { tile(i 8); } }
",
        ),
    ];
    Package::new(name, &files)
}

#[test]
fn a_schedule_is_told_step_by_step() {
    insta::assert_snapshot!(package("steps").told("fast/list.rs", "TILED", &[("M", 130), ("N", 64), ("K", 256)]));
}

#[test]
fn what_dims_are_not_given_stays_an_expression() {
    let told = package("dims").told("fast/list.rs", "NONE", &[("M", 130)]);
    insta::assert_snapshot!(told.split("cost of").nth(1).expect("a cost"));
}

#[test]
fn a_wrong_schedule_is_told_up_to_its_error() {
    insta::assert_snapshot!(package("wrong").told("fast/list.rs", "WRONG", &[]));
}

/// A kernel that doubles, and schedules of several versions and choices.
fn doubled(name: &str) -> Package {
    let file = "use tilewright::{kernel, schedule, devices::vulkan_1_1};
kernel! { pub fn doubled<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; } }
schedule! {
    pub SPECIALIZED: doubled for vulkan_1_1 {
        serial(i);
        tile(j: 64) => workgroup(x);
        distribute(j => thread(x));
        specialize(N % 64 == 0, M >= 2);
        specialize(M % 3 == 0);
    }
}
schedule! {
    pub WRONG: doubled for vulkan_1_1 {
        serial(i);
        tile(j: 64 exact) => workgroup(x);
        specialize(N % 64 == 0);
    }
}
schedule! {
    pub WRONG_WHERE: doubled for vulkan_1_1 {
        serial(i);
        distribute(j => workgroup(x));
        specialize(N == 0, N == 1);
    }
}
schedule! {
    pub TUNED: doubled for vulkan_1_1 {
        tune B in [64, 128] = 64;
        tune R in [1, 2, 4] = 2;
        tile(i: R, j: B) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}
schedule! { pub PLAIN: doubled for vulkan_1_1 {} }
";
    Package::new(name, &[("lib.rs", file)])
}

#[test]
fn every_version_is_told_and_none_that_changes_nothing() {
    insta::assert_snapshot!(doubled("versions").told("lib.rs", "SPECIALIZED", &[("M", 6), ("N", 640)]));
}

#[test]
fn versions_are_told_up_to_their_errors() {
    let package = doubled("wrong_versions");
    let told = ["WRONG", "WRONG_WHERE"].map(|name| package.told("lib.rs", name, &[]));
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn tuned_constants_have_the_values_that_are_asked_for() {
    let package = doubled("tuned");
    let head = |tuned: &[(&str, i64)]| {
        let told = package.chosen("lib.rs", "TUNED", &[], tuned);
        let shown = |line: &&str| line.contains(" = ") && !line.contains("y[") || line.contains("local");
        told.lines().filter(shown).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!([head(&[]), head(&[("R", 1)]), head(&[("B", 128), ("R", 1)])].join("\n\n"));
}

#[test]
fn what_cannot_be_tuned_says_what_there_is() {
    let package = doubled("untuned");
    let told = [("TUNED", "B", 96), ("TUNED", "T", 8), ("PLAIN", "B", 64)]
        .map(|(schedule, name, value)| package.chosen("lib.rs", schedule, &[], &[(name, value)]));
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn what_is_not_found_says_why() {
    let package = package("paths");
    let source = package.source("fast/list.rs").expect("it is read");
    assert_eq!(source.schedules(), ["TILED", "WRONG", "NONE", "ELSEWHERE", "NOT_A_KERNEL", "NOWHERE", "MISSPELT", "BROKEN"]);
    let refusals = ["ELSEWHERE", "NOT_A_KERNEL", "NOWHERE", "MISSPELT", "BROKEN", "TILDE"];
    let told: Vec<String> = refusals.iter().map(|name| package.refusal("fast/list.rs", name)).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn another_file_of_the_crate_is_not_read_again() {
    let package = package("beside");
    let first = package.source("boards.rs").expect("it is read");
    assert_eq!(first.schedules(), [""; 0]);
    let list = package.0.join("src/fast/list.rs");
    let text = std::fs::read_to_string(&list).expect("a file");
    package.write("src/fast/list.rs", "");
    let beside = first.beside(&list).expect("it was read");
    assert_eq!(beside.schedules().len(), text.matches("schedule! {").count());
    assert_eq!(beside.subject("TILED").expect("it is found").profile.name, "smaller");
    package.write("src/alone.rs", "tilewright::schedule! { pub ALONE: k for p {} }");
    let alone = first.beside(&package.0.join("src/alone.rs")).expect("it is opened");
    assert_eq!(alone.schedules(), ["ALONE"]);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let refusal = |name: &str, files: &[(&str, &str)]| Package::new(name, files).refusal("lib.rs", "S");
    let circle = "mod a { pub use super::b::*; } mod b { pub use super::a::*; }
        schedule! { S: a::k for tilewright::devices::vulkan_1_1 {} }";
    let profiles = "profile! { p: q {} } profile! { q: p {} } kernel! { fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
        schedule! { S: k for p {} }";
    let schedules = "kernel! { fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } } schedule! { A { apply self::B; } } schedule! { B { apply A; } }
        schedule! { S: k for tilewright::devices::vulkan_1_1 { apply A; } }";
    let list = "kernel! { fn apply<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
        schedule! { S: apply for tilewright::devices::vulkan_1_1 { apply LIST; } }";
    let twice = "#[cfg(a)] kernel! { fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
        #[cfg(b)] kernel! { fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
        schedule! { S: k for tilewright::devices::vulkan_1_1 {} }";
    // A file of a crate that cannot be read.
    let package = "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let uses = "use crate::kernels::k; schedule! { S: k for tilewright::devices::vulkan_1_1 {} }";
    let broken = Package::new("broken", &[("Cargo.toml", package), ("src/lib.rs", "mod a; mod gone;"), ("src/a.rs", uses)]);
    let told = [
        refusal("syntax", &[("lib.rs", "fn f( {")]),
        refusal("module", &[("lib.rs", "mod gone;")]),
        broken.refusal("src/a.rs", "S"),
        refusal("imports", &[("lib.rs", circle)]),
        refusal("profiles", &[("lib.rs", profiles)]),
        refusal("schedules", &[("lib.rs", schedules)]),
        refusal("list", &[("lib.rs", list)]),
        refusal("twice", &[("lib.rs", twice)]),
        refusal("absent", &[]),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn functions_are_found_in_other_modules() {
    let maths = "pub mod more { tilewright::functions! { use super::cube; pub fn sixth(v) { cube(v) * cube(v) } } }
        pub use more::sixth as power;
        tilewright::functions! {
            fn unused(v) { v }
            pub fn cube(v: f32) -> f32 { square(v) * v }
            fn square(v) { v * v }
        }";
    let kernels = "mod maths;
        kernel! {
            use maths::{cube as third, power};
            fn both(v) { third(v) + power(v) }
            pub fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = both(x[i]); }
        }
        kernel! { use maths::sixth; fn broken<N>(x: f32[N]) -> y: f32[N] { y[i] = sixth(x[i]); } }
        kernel! { use circle::a; fn endless<N>(x: f32[N]) -> y: f32[N] { y[i] = a(x[i]); } }
        mod circle { functions! { use self::b; fn a(v) { b(v) } } functions! { use self::a; fn b(v) { a(v) } } }
        schedule! { S: k for tilewright::devices::vulkan_1_1 {} }
        schedule! { BROKEN: broken for tilewright::devices::vulkan_1_1 {} }
        schedule! { ENDLESS: endless for tilewright::devices::vulkan_1_1 {} }";
    let package = Package::new("functions", &[("lib.rs", kernels), ("maths.rs", maths)]);
    let source = package.source("lib.rs").expect("it is read");
    let names: Vec<String> = source.kernels().into_iter().map(|kernel| kernel.name).collect();
    assert_eq!(names, ["k", "broken", "endless"]);
    let subject = source.subject("S").expect("it is found");
    let explained = explain(&subject, &Given::default());
    assert!(explained.errors.is_empty(), "{:?}", explained.errors);
    let files: Vec<&str> = subject.excerpts.iter().map(|e| e.path.rsplit('/').next().unwrap_or_default()).collect();
    assert_eq!(files, ["lib.rs", "lib.rs", "maths.rs", "maths.rs", "maths.rs"]);
    assert!(source.unscheduled("k", &subject.profile, &[]).is_ok());
    let why = [package.refusal("lib.rs", "BROKEN"), package.refusal("lib.rs", "ENDLESS")];
    assert!(why[0].contains("cannot find `maths::sixth`"), "{}", why[0]);
    assert!(why[1].contains("the function `self::a` imports itself"), "{}", why[1]);
}
