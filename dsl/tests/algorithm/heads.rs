//! Tests the bindings of a schedule's header, and profiles: the accepted forms and the refused ones.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use tilewright_dsl::algorithm::{Argument, Bindings, Element, check, check_generic};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{Name, kernel, profile};

fn snapshot(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(format!("kernel_{name}"), text));
}

/// Removes the name of the parsed string, because it contains a counter that depends on the other tests.
fn strip(text: &str) -> String {
    // A synthetic span has the default name.
    let text = text.replace("<unspecified>:1:1", "head");
    let mut parts = text.split("<parsed string ");
    let first = parts.next().unwrap().to_string();
    parts.fold(first, |out, part| out + part.split_once(">:").map_or(part, |(_, rest)| rest))
}

const KERNEL: &str =
    "fn k<T: f32 | f16, U: i32, N, S = 1, R = S * 2, M = N / S>(x: T[N], i: U) -> y: T[M] { y[m] = x.clamp()[m + R + i]; }";

#[test]
fn pins() {
    let mut out = String::new();
    for pins in [
        &["T = f32"][..],
        &[],
        &["T = i32"],
        &["T = f32", "U = f32"],
        &["T = f32", "V = f32"],
        &["T = f32", "S = 0"],
        &["T = f32", "S = -1"],
        &["T = f32", "N = 3"],
        &["T = f32", "M = 3"],
        &["T = f32", "TT = 3"],
        &["T = 3"],
        &["S = f32"],
        &["T = f32", "N == 3"],
        &["T = f32", "Q == 3"],
        &["T = f32", "S = 4"],
    ] {
        let mut spans = Spans::new();
        let kernel = kernel::parse(KERNEL.parse().unwrap(), &mut spans).into_result().unwrap();
        let mut bindings = Bindings { span: kernel.name.span, ..Bindings::default() };
        for pin in pins {
            let parts: Vec<&str> = pin.split(' ').collect();
            let name = Name { text: parts[0].into(), span: spans.add(proc_macro2::Span::call_site()) };
            match (parts[1], DType::from_name(parts[2])) {
                ("=", Some(dtype)) => bindings.dtypes.push((name, dtype)),
                ("=", None) => bindings.parameters.push((name, parts[2].parse().unwrap())),
                _ => bindings.dims.push((name, parts[2].parse().unwrap())),
            }
        }
        let verdict = match check(&kernel, &bindings) {
            Ok(program) => format!("parameters {:?}\n", program.parameters),
            Err(errors) => strip(&errors.texts(&spans)),
        };
        writeln!(out, "{}\n{verdict}", pins.join(", ")).unwrap();
    }
    snapshot("pins", out);
}

#[test]
fn signatures() {
    let mut spans = Spans::new();
    let text = "pub fn k<T: f32 | f16, N, S = 1, M = N / S>(x: T[N, 2], s: T, u: &mut i32[N]) -> (y: T[M], z: bool[]) {
        y[m] = x.clamp()[m, 0] * s; z[] = true; u[n] = u[n] + 1;
    }";
    let kernel = kernel::parse(text.parse().unwrap(), &mut spans).into_result().unwrap();
    let signature = check_generic(&kernel).map_err(|e| e.texts(&spans)).unwrap();
    assert_eq!(
        signature.dtypes.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect::<Vec<_>>(),
        [("T", &[DType::F32, DType::F16][..])]
    );
    let arguments: Vec<(&str, &Element, usize)> = signature
        .arguments
        .iter()
        .map(|a| match a {
            Argument::Input(t) => (t.name.as_str(), &t.dtype, t.rank),
            Argument::Update(t) => (t.name.as_str(), &t.dtype, t.rank + 10),
            Argument::Scalar { name, dtype } => (name.as_str(), dtype, 100),
            Argument::Dim(name) => panic!("{name} is not a size"),
        })
        .collect();
    let (t, int) = (Element::Generic("T".into()), Element::Plain(DType::I32));
    assert_eq!(arguments, [("x", &t, 2), ("s", &t, 100), ("u", &int, 11)]);
    assert_eq!(signature.outputs.iter().map(|o| (o.name.as_str(), o.rank)).collect::<Vec<_>>(), [("y", 1), ("z", 0)]);
    assert_eq!((signature.parameters[0].1, signature.dims[0].as_str(), signature.derived[0].as_str()), (1, "N", "M"));
}

fn profiles(texts: &[&str]) -> Result<Profile, String> {
    let mut spans = Spans::new();
    let mut chain = Vec::new();
    for text in texts {
        let parsed = profile::parse(text.parse().unwrap(), &mut spans).into_result();
        chain.push(parsed.map_err(|e| strip(&e.texts(&spans)))?);
    }
    Profile::resolve(&chain).map_err(|e| strip(&e.texts(&spans)))
}

#[test]
fn a_profile_inherits_what_it_does_not_say() {
    let board = "/// A board.
        pub my_board: tilewright::devices::vulkan_1_1 { invocations: 512, local: [512, 512, 64], shared_bytes: 32768, subgroup: 16, features: [address, f16], }";
    let found = profiles(&[board]).unwrap();
    assert_eq!((found.name.as_str(), found.invocations, found.local, found.push_bytes), ("my_board", 512, [512, 512, 64], 128));
    assert!(found.subgroup == Some(16) && found.has(Feature::F16) && !found.has(Feature::Storage16));
    let next = profiles(&["big: my_board { subgroup: none, features: [] }", board]).unwrap();
    assert_eq!((next.name.as_str(), next.invocations, next.subgroup, next.features.len()), ("big", 512, None, 0));
}

#[test]
fn a_profile_names_the_matrices_that_its_subgroups_multiply() {
    let board = "board: tilewright::devices::vulkan_1_1 {
        features: [memory_model, cooperative_matrix],
        matrices: [16 x 8 x 32 f16 f16 f32, 8 x 8 x 8 i8 u8 i32,],
    }";
    let of = |texts: &[&str]| profiles(texts).unwrap().matrices.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(of(&[board]), ["16 x 8 x 32 f16 f16 f32", "8 x 8 x 8 i8 u8 i32"]);
    // Matrices are inherited, replaced or removed, always as a whole list.
    assert_eq!(of(&["next: board { subgroup: 32 }", board]), ["16 x 8 x 32 f16 f16 f32", "8 x 8 x 8 i8 u8 i32"]);
    assert_eq!(of(&["next: board { matrices: [4 x 4 x 4 f32 f32 f32] }", board]), ["4 x 4 x 4 f32 f32 f32"]);
    assert!(of(&["next: board { matrices: [] }", board]).is_empty());
    let rdna3 =
        ["f16 f16 f16", "f16 f16 f32", "bf16 bf16 f32", "i8 i8 i32", "u8 u8 u32"].map(|types| format!("16 x 16 x 16 {types}"));
    assert_eq!(of(&["next: tilewright::devices::amd_rdna3 {}"]), rdna3);
}

#[test]
fn bundled_profiles_have_at_least_what_vulkan_guarantees() {
    let least = Profile::vulkan_1_1();
    for profile in Profile::all_bundled() {
        assert!(
            profile.invocations >= least.invocations
                && profile.shared_bytes >= least.shared_bytes
                && profile.push_bytes >= least.push_bytes
        );
        assert!(profile.local.iter().zip(least.local).all(|(have, least)| *have >= least));
        assert_eq!(Profile::bundled(&profile.name), Some(profile));
    }
}

/// A list that begins with `..` adds to the inherited list, also through another profile.
#[test]
fn features_are_added_to() {
    let of = |chain: &[&str]| profiles(chain).expect("right").features;
    let [bundled, more] = [of(&["b: nvidia_hopper { }"]), of(&["b: nvidia_hopper { features: [.., int64] }"])];
    assert_eq!(more.difference(&bundled).collect::<Vec<_>>(), [&Feature::Int64]);
    assert!(more.is_superset(&bundled));
    assert_eq!(of(&["b: nvidia_hopper { features: [..] }"]), bundled);
    assert_eq!(of(&["b: nvidia_hopper { features: [.., f16,] }"]), bundled);
    assert_eq!(of(&["c: b { features: [.., int64] }", "b: vulkan_1_1 { features: [f16] }"]), [Feature::F16, Feature::Int64].into());
    assert_eq!(of(&["c: b { features: [int64] }", "b: vulkan_1_1 { features: [f16] }"]), [Feature::Int64].into());
}

/// A profile's figures for estimates are inherited, too.
#[test]
fn numbers_for_estimates() {
    let text = "b: nvidia_hopper { banks: 64, matrix_gflops: 500, registers: 128, core_registers: 32768, core_shared_bytes: 1024 }";
    let b = profiles(&[text]).expect("a profile");
    assert_eq!((b.banks, b.matrix_gflops, b.registers), (Some(64), Some(500), Some(128)));
    assert_eq!((b.core_registers, b.core_shared_bytes, b.core_invocations), (Some(32768), Some(1024), Some(2048)));
    assert_eq!((b.cores, b.l2_bytes), (Some(132), Some(50 << 20)));
    let c = profiles(&["c: b { cores: 65536, l2_bytes: 4294967295 }", text]).expect("a profile");
    assert_eq!((c.cores, c.l2_bytes, c.banks), (Some(65536), Some(u32::MAX), Some(64)));
}

#[test]
fn wrong_profiles() {
    let mut out = String::new();
    for text in [
        "b { invocations: 512 }",
        "b: vulkan_1_2 { }",
        "b: vulkan_1_1 { invocation: 512, shared_byte: 1 }",
        "b: vulkan_1_1 { invocations: 0, shared_bytes: 99999999, push_bytes: 130, subgroup: 24, local: [1, 2] }",
        "b: vulkan_1_1 { local: [1, 0, 2], subgroup: all, invocations: [3], features: 3 }",
        "b: vulkan_1_1 { features: [adress, f16, f16, tensor_cores] }",
        "b: vulkan_1_1 { features: [cooperative_matrix] }",
        "b: vulkan_1_1 { features: [.., f16, f16, int65] }",
        "b: vulkan_1_1 { features: [.. int64], local: [.., 1] }",
        "b: vulkan_1_1 { invocations: 8, subgroup: 16 }",
        "b: vulkan_1_1 { invocations: 64, invocations: 128 }",
        "b: vulkan_1_1 { invocations = 64, push_bytes: -4 }",
        "b: vulkan_1_1 { banks: 20, matrix_gflops: 0, registers: none, core_registers: 0, core_shared_bytes: 99999999, core_invocations: 0 }",
        "b: vulkan_1_1 { cores: 0, l2_bytes: 4294967296 }",
        "b: vulkan_1_1 { core: 8, cores: 65537, l2_bytes: none }",
        "b: vulkan_1_1 { fast_dots: [signed] }",
        "b: vulkan_1_1 { fast_dots: 4 }",
        "b: nvidia_ampere { fast_dots: [signed, sined, signed] }",
        "b: vulkan_1_1",
    ] {
        let verdict = profiles(&[text]).map_or_else(|e| e, |p| format!("{p:?}\n"));
        writeln!(out, "{text}\n{verdict}").unwrap();
    }
    snapshot("wrong_profiles", out);
}
