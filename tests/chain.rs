//! Tests the chain from a schedule through its kernel and its profile to the compiler: every way in which a Rust program can name
//! the three, in this crate and in another one (`chain-kernels`), under strict lints. Compiling is most of the test; it also
//! compares the program that each variant was compiled from.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused, rust_2018_idioms)]

use tilewright::{Variant, kernel, profile, schedule};

/// Returns the names from which a variant was compiled: kernel, variant, profile.
fn origin<K>(variant: Variant<K>) -> (String, String, String) {
    let program = variant.program().expect("the variant is whole");
    (program.kernel, program.variant, program.profile)
}

/// Runs a variant with one input and one output, both `f32[N]`, and returns the output.
fn run<K>(variant: Variant<K>, x: &[f32]) -> Vec<f32>
where
    K: tilewright::Kernel<Outputs = tilewright::Tensor<f32>>,
    for<'a> K::Args<'a>: From<&'a tilewright::Tensor<f32>>,
{
    let device = tilewright::Device::open().expect("a device");
    let loaded = device.load(&[variant]).expect("the variant loads");
    let x = device.upload([x.len()], x).expect("the input uploads");
    loaded.run(&x).expect("the kernel runs").download().expect("the output downloads")
}

fn is<K>(variant: Variant<K>, kernel: &str, name: &str, profile: &str) {
    assert_eq!(origin(variant), (kernel.to_owned(), name.to_owned(), profile.to_owned()));
    assert_eq!(variant.name(), name);
}

mod before {
    // A schedule may precede its kernel and its profile.
    tilewright::schedule! { pub(crate) EARLY: super::after::late for super::after::late_board {} }
}

mod after {
    tilewright::kernel! { pub(crate) fn late<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 1.0; } }
    tilewright::profile! { pub(crate) late_board: tilewright::devices::vulkan_1_1 { invocations: 64, local: [64, 64, 64] } }
}

#[test]
fn use_before_definition() {
    is(before::EARLY, "late", "EARLY", "late_board");
    assert_eq!(run(before::EARLY, &[1.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
}

mod lines {
    tilewright::schedule! {
        pub(crate) LOOPED: chain_kernels::saxpy<T = f32> for tilewright::devices::vulkan_1_1 {
            tile(i: 64) => workgroup(x);
            serial(i);
        }
    }
}

mod applied {
    use chain_kernels as library;

    // The list that it applies follows it, and is private to this module.
    tilewright::schedule! {
        pub(crate) OF_OTHERS: library::saxpy<T = f32> for tilewright::devices::vulkan_1_1 { apply own::EIGHTS; }
    }
    mod own {
        tilewright::schedule! { pub(super) EIGHTS { apply chain_kernels::TILES<TILE = 256, EACH = 8>; } }
    }
    pub(crate) mod by_hand {
        tilewright::schedule! {
            pub(crate) OF_OTHERS: chain_kernels::saxpy<T = f32> for tilewright::devices::vulkan_1_1 {
                tile(i: 256) => workgroup(x);
                tile(i: 8) => thread(x);
                unroll(i);
            }
        }
    }
}

#[test]
fn schedules_apply_directives_of_other_crates() {
    let applied = applied::OF_OTHERS.program().expect("the variant is whole");
    let by_hand = applied::by_hand::OF_OTHERS.program().expect("the variant is whole");
    assert_eq!(applied.dispatches[0].local, [32, 1, 1]);
    assert_eq!(applied.dispatches[0].spirv, by_hand.dispatches[0].spirv);
}

mod functions {
    // They follow the kernel that imports them.
    tilewright::kernel! {
        use self::own::{offset, twice};
        use chain_kernels::maths::{cube, sixth_power as sixth};
        pub(crate) fn mixed<N>(x: f32[N]) -> y: f32[N] {
            y[i] = {
                let at = |d| x.clamp()[offset(i, d)];
                twice(cube(at(1))) + sixth(at(0))
            };
        }
    }
    mod own {
        tilewright::functions! {
            use chain_kernels::maths::more::sixth;
            pub(super) fn twice(v) { let w = v + v; w + 0.0 * sixth(v) }
            pub(crate) fn offset(i, by) { i + by }
            #[cfg(any())]
            pub(crate) fn left_out(v) { v }
        }
    }
    tilewright::schedule! { pub(crate) MIXED: mixed for tilewright::devices::vulkan_1_1 {} }
    tilewright::schedule! { pub(crate) HALVES: chain_kernels::halves for tilewright::devices::vulkan_1_1 {} }
}

#[test]
fn kernels_call_functions_of_other_modules_and_crates() {
    assert_eq!(run(functions::MIXED, &[1.0, 2.0, 3.0]), [17.0, 118.0, 783.0]);
    assert_eq!(run(functions::mixed::DEFAULT, &[1.0, 2.0]), [17.0, 80.0]);
    assert_eq!(run(functions::HALVES, &[1.0, 2.0, 4.0]), [0.5, 0.5, 4.0]);
}

/// Returns the number of the first line that contains a text.
fn line(file: &str, text: &str) -> u32 {
    file.lines().zip(1..).find(|(line, _)| line.contains(text)).map(|(_, n)| n).expect("it is there")
}

#[test]
fn lines_lead_into_the_files_of_schedule_and_kernel() {
    let program = lines::LOOPED.program().expect("the variant is whole");
    let dispatch = &program.dispatches[0];
    assert_eq!(dispatch.entry(), Some(c"saxpy::LOOPED::z"));
    assert_eq!(dispatch.lines.files, [file!(), "tests/crates/kernels/src/lib.rs"]);
    let mut named: Vec<_> = dispatch.lines.changes.iter().map(|l| (l.file, l.line)).collect();
    named.sort_unstable();
    named.dedup();
    let tile = line(include_str!("chain.rs"), "tile(i: 64) => workgroup(x);");
    let definition = line(include_str!("crates/kernels/src/lib.rs"), "z[i] = alpha * x[i] + y[i];");
    // The `tile` creates the loop, and another directive makes it serial.
    assert!(matches!(named[..], [(0, at), (1, other)] if [tile, tile + 1].contains(&at) && other == definition), "{named:?}");
}

mod globs {
    use chain_kernels::names::*;
    use tilewright::devices::*;
    use tilewright::*;

    schedule! { pub(crate) VEC: vec for vulkan_1_1 {} }
    schedule! { pub(crate) PRINT: println for vulkan_1_1 {} }
    schedule! { pub(crate) ASSERT: assert for mesa_lavapipe {} }
}

#[test]
fn kernels_with_the_names_of_macros_by_a_glob() {
    is(globs::VEC, "vec", "VEC", "vulkan_1_1");
    is(globs::PRINT, "println", "PRINT", "vulkan_1_1");
    is(globs::ASSERT, "assert", "ASSERT", "mesa_lavapipe");
    assert_eq!(run(globs::PRINT, &[0.5; 3]), vec![1.5; 3]);
}

schedule! { CORE: chain_kernels::crates::core for tilewright::devices::vulkan_1_1 {} }
schedule! { STD: chain_kernels::crates::std for ::tilewright::devices::vulkan_1_1 {} }
schedule! { TILEWRIGHT: ::chain_kernels::crates::tilewright for tilewright::devices::vulkan_1_1 {} }

#[test]
fn kernels_with_the_names_of_crates() {
    assert_eq!(run(CORE, &[1.0]), [4.0]);
    assert_eq!(run(STD, &[1.0]), [5.0]);
    assert_eq!(run(TILEWRIGHT, &[1.0]), [6.0]);
}

schedule! { SINGLE: chain_kernels::clashes::single for tilewright::devices::vulkan_1_1 {} }
schedule! { ITEMS: chain_kernels::clashes::items<Kernel = f32, Args = f32> for tilewright::devices::vulkan_1_1 {} }
schedule! { F32: chain_kernels::clashes::f32 for tilewright::devices::vulkan_1_1 {} }
schedule! { VEC: chain_kernels::clashes::Vec for tilewright::devices::vulkan_1_1 {} }
schedule! { GEN: chain_kernels::clashes::r#gen for tilewright::devices::vulkan_1_1 {} }
schedule! {
    PACKED: chain_kernels::clashes::keywords for tilewright::devices::vulkan_1_1 {
        pack(box[c] => [c / 4, c % 4], when: caller);
    }
}

#[test]
fn names_that_rust_or_the_expansion_has() {
    assert_eq!(run(SINGLE, &[1.0]), [4.0]);
    assert_eq!(run(chain_kernels::clashes::single::DEFAULT, &[1.0]), [4.0]);
    assert_eq!(run(F32, &[1.0]), [7.0]);
    assert_eq!(run(VEC, &[1.0]), [8.0]);
    assert_eq!(run(GEN, &[1.0]), [9.0]);
    let device = tilewright::Device::open().expect("a device");
    let x = device.upload([1], &[1.0f32]).expect("the input uploads");
    let items = device.load(&[ITEMS]).expect("it loads").run((&x, 0.5)).expect("it runs");
    assert_eq!(items.download().expect("it downloads"), [1.5]);
    let variants = device.load(&[chain_kernels::clashes::variants::DEFAULT]).expect("it loads");
    let arguments = chain_kernels::clashes::variants::Args { None: &x, Ok: &x };
    let results: chain_kernels::clashes::variants::Outputs = variants.run(arguments).expect("it runs").into();
    assert_eq!((results.Some.download().expect("it"), results.Err.download().expect("it")), (vec![2.0], vec![3.0]));
    let many = device.load(&[chain_kernels::clashes::many::DEFAULT]).expect("it loads").run(&x).expect("it runs");
    assert_eq!((many.None.download().expect("it"), many.value_0.download().expect("it")), (vec![1.0], vec![9.0]));
    // A packed argument whose name is a keyword is packed by its name in the kernel.
    let packed = device.load(&[PACKED]).expect("it loads");
    let boxed = packed.pack_box(&x).expect("it packs");
    let arguments = chain_kernels::clashes::keywords::Args { r#box: &boxed, r#gen: &x, x: &x, r#fn: &x };
    let sum = packed.run(arguments).expect("it runs").download().expect("it downloads");
    assert_eq!(sum, [4.0]);
}

mod renamed {
    use chain_kernels as library;
    use chain_kernels::saxpy as axpy;
    use library::board as small;
    tilewright::profile! {
        /// Extends a profile of another crate under another name.
        pub(crate) mine: small { subgroup: 8 }
    }
    tilewright::profile! { smaller: mine { invocations: 32, local: [32, 32, 32] } }
    tilewright::schedule! { pub(crate) MINE: axpy<T = f32> for mine {} }
    tilewright::schedule! { pub(crate) SMALLER: library::saxpy<T = f32> for self::smaller {} }
}

#[test]
fn a_kernel_and_a_profile_of_another_crate() {
    is(renamed::MINE, "saxpy", "MINE", "mine");
    is(renamed::SMALLER, "saxpy", "SMALLER", "smaller");
    is(chain_kernels::SAXPY, "saxpy", "SAXPY", "board");
    is(chain_kernels::INNER, "inner", "INNER", "tiny");
    for limit in [renamed::SMALLER.program(), renamed::MINE.program()] {
        assert!(limit.expect("whole").requires.invocations <= 64, "the profiles' limits hold");
    }
}

schedule! { ONE: chain_kernels::one::shift for tilewright::devices::vulkan_1_1 {} }
schedule! { TWO: chain_kernels::two::shift for tilewright::devices::vulkan_1_1 {} }

#[test]
fn kernels_that_a_macro_stamped_out() {
    // The macro's argument is one operand: 2 * (0.5 + 0.5), not 2 * 0.5 + 0.5.
    assert_eq!(run(ONE, &[1.0]), [3.0]);
    assert_eq!(run(TWO, &[1.0]), [5.0]);
}

macro_rules! scheduled {
    ($($name:ident: $kernel:path, $tile:expr;)*) => {$(
        schedule! { $name: $kernel for tilewright::devices::vulkan_1_1 { tile(i: $tile) => workgroup(x); distribute(i => thread(x)); } }
    )*};
}

scheduled! {
    TILED_8: chain_kernels::twice::a::same, 8;
    TILED_16: chain_kernels::twice::b::same, 16;
}

#[test]
fn schedules_that_a_macro_stamped_out() {
    is(TILED_8, "same", "TILED_8", "vulkan_1_1");
    is(TILED_16, "same", "TILED_16", "vulkan_1_1");
    let local = |v: tilewright::Result<tilewright::__private::launch::Program>| v.expect("whole").dispatches[0].local;
    assert_eq!(local(TILED_8.program()), [8, 1, 1]);
    assert_eq!(local(TILED_16.program()), [16, 1, 1]);
}

mod elsewhere {
    chain_kernels::made_elsewhere! { narrow, NARROW }
}

#[test]
fn paths_with_a_dollar_crate() {
    is(elsewhere::NARROW, "saxpy", "NARROW", "narrow");
}

#[test]
fn everything_in_a_function_body() {
    use tilewright::devices::vulkan_1_1 as root;
    kernel! { fn inner<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; } }
    profile! { local: root { invocations: 64, local: [64, 64, 64] } }
    schedule! { INNER: inner for local {} }
    is(INNER, "inner", "INNER", "local");
    assert_eq!(run(INNER, &[1.5]), [3.0]);
}

#[test]
fn everything_public_in_a_function_body() {
    use tilewright::devices::vulkan_1_1 as root;
    kernel! { pub fn inner<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 3.0; } }
    profile! { pub local: root { invocations: 64, local: [64, 64, 64] } }
    schedule! { pub INNER: inner for local {} }
    is(INNER, "inner", "INNER", "local");
    assert_eq!(run(INNER, &[1.5]), [4.5]);
}

mod configured {
    #[cfg(any())]
    tilewright::schedule! { pub(crate) ABSENT: nowhere::kernel for nowhere::profile {} }
    tilewright::schedule! {
        #[cfg(any())]
        pub(crate) ABSENT: nowhere::kernel for nowhere::profile {}
    }
    tilewright::kernel! {
        #[cfg(all())]
        pub(super) fn choice<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }
    }
    tilewright::kernel! {
        #[cfg(any())]
        pub(super) fn choice<N>(x: f32[N]) -> y: f32[N] { y[i] = 2.0 * x[i]; }
    }
}

schedule! {
    #[allow(dead_code)]
    CHOSEN: configured::choice for tilewright::devices::vulkan_1_1 {}
}

#[test]
fn attributes_are_heeded() {
    assert_eq!(run(CHOSEN, &[7.0]), [7.0]);
}

#[test]
fn default_schedules() {
    is(chain_kernels::names::vec::DEFAULT, "vec", "DEFAULT", "vulkan_1_1");
    assert_eq!(run(chain_kernels::names::println::DEFAULT, &[1.0, 2.0]), [2.0, 3.0]);
}

schedule! { RESAMPLE: chain_kernels::signatures::resample<T = f32> for tilewright::devices::vulkan_1_1 {} }

#[test]
fn sizes_are_arguments() -> tilewright::Result<()> {
    use chain_kernels::signatures::{grid, resample};
    use tilewright::Argument;
    let device = tilewright::Device::open()?;
    let grid = device.load(&[grid::DEFAULT])?;
    let y = grid.run((2, 3))?;
    assert_eq!((y.shape(), y.download()?), (&[2, 3][..], vec![0, 1, 2, 3, 4, 5]));
    let named = grid.run(grid::Args { rows: 0, COLUMNS: 4 })?;
    assert_eq!(named.shape(), [0, 4]);
    let mut into = device.zeros([3, 1])?;
    grid.run_into((3, 1), &mut into)?;
    assert_eq!(into.download()?, [0, 1, 2]);
    let said = |result: tilewright::Result<()>| result.expect_err("it is wrong").to_string();
    assert_eq!(said(grid.run_into((3, 2), &mut into)), "`grid`: `y` has shape [3, 1], but should have [rows, COLUMNS] = [3, 2]");
    let most = "and a dim is at most 2130706432";
    assert_eq!(said(grid.run((usize::MAX, 0)).map(drop)), format!("`grid`: `rows` is 18446744073709551615, {most}"));
    assert_eq!(said(grid.run((0, 1 << 31)).map(drop)), format!("`grid`: `COLUMNS` is 2147483648, {most}"));
    let any = |arguments: [Argument<'_>; 2]| grid.as_dyn().run(arguments);
    let number = any([2i32.into(), 3usize.into()]).expect_err("it is wrong").to_string();
    assert_eq!(number, "`grid`: `rows` is a size, a `usize`, but was given a number of type i32");
    assert_eq!(any([2usize.into(), 3usize.into()])?.len(), 1);
    assert_eq!(grid.variant_for((2, 3))?, "DEFAULT");

    let resample = device.load(&[RESAMPLE])?;
    let x = device.upload([2], &[1.0, 2.0])?;
    assert_eq!(resample.run((&x, 4, 2.0))?.download()?, [2.0, 2.0, 4.0, 4.0]);
    let mut batch = device.batch();
    let y = batch.run(&resample, resample::Args { x: &x, n: 3, by: 1.0 })?;
    batch.submit()?.wait()?;
    assert_eq!(y.download()?, [1.0, 1.0, 2.0]);
    let none = device.upload([0], &[0.0f32; 0])?;
    let error = resample.run((&none, 0, 1.0)).expect_err("a fact does not hold");
    assert!(matches!(error, tilewright::Error::Needs { .. }));
    assert_eq!(error.to_string(), "`resample` needs `N >= 1`; N is 0");
    Ok(())
}

schedule! { POWERS: chain_kernels::signatures::powers<T = f32> for tilewright::devices::vulkan_1_1 {} }

#[test]
fn results_have_names() -> tilewright::Result<()> {
    use chain_kernels::signatures::{powers, split};
    let device = tilewright::Device::open()?;
    let x = device.upload([2], &[1.5, 2.25])?;
    let split::Outputs { low, whole } = device.load(&[split::DEFAULT])?.run(&x)?.into();
    assert_eq!((low.download()?, whole.download()?), (vec![0.5, 0.25], vec![1, 2]));
    let powers = device.load(&[POWERS])?;
    let powers::Outputs { a, mut b, mut c, mut d, mut e, mut f, mut g, mut h, mut i } = powers.run(&x)?;
    assert_eq!((a.download()?, h.download()?, i.download()?), (vec![1.5, 2.25], vec![8.0; 2], vec![0, 1]));
    let x = device.upload([2], &[0.5, 0.75])?;
    let mut into = device.zeros([2])?;
    let all =
        powers::OutputsMut { a: &mut into, b: &mut b, c: &mut c, d: &mut d, e: &mut e, f: &mut f, g: &mut g, h: &mut h, i: &mut i };
    powers.run_into(&x, all)?;
    assert_eq!(into.download()?, [0.5, 0.75]);
    Ok(())
}

/// A crate that depends on Tilewright under another name only.
#[test]
fn a_crate_that_renames_tilewright() {
    is(renamed_kernels::PACKED, "product", "PACKED", "board");
    let device = tilewright::Device::open().expect("a device");
    let load = |values: &[f32]| device.upload([2, 3], values).expect("the input uploads");
    let (a, mut b) = (load(&[1.0, 5.0, 3.0, -4.0, -6.0, -5.0]), load(&[1.0; 6]));
    let mixed = device.load(&[renamed_kernels::mixed::DEFAULT]).expect("the variant loads");
    let renamed_kernels::mixed::Outputs { rows, best } = mixed.run((0.5, &a, &mut b)).expect("the kernel runs").into();
    assert_eq!(rows.download().expect("downloads"), [9.0, -15.0]);
    assert_eq!(best.download().expect("downloads"), [1, 0]);
    assert_eq!(b.download().expect("downloads"), [2.0, 6.0, 4.0, -3.0, -5.0, -4.0]);
    let product = device.load(&[renamed_kernels::PACKED]).expect("the variant loads");
    let weights = device.upload([3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]).expect("the weights upload");
    let weights = product.pack_b(&weights).expect("the weights are packed");
    assert_eq!(product.run((&a, &weights)).expect("the kernel runs").download().expect("downloads"), [4.0, 8.0, -9.0, -11.0]);
}
