//! Views as arguments: contiguous ones for dense variants, and those with gaps for variants that declare `strided`. (The harness
//! passes a tensor with free strides as a view of a larger, poisoned tensor, and checks that nothing around it has changed.)

use crate::harness::{check, devices, nest, profiles, refused, try_variant, variant};
use tilewright::{Argument, Device, DynKernel, Tensor};
use tilewright_dsl::launch::{Program, Size};
use tilewright_dsl::profile::Profile;

const ADD: &str = "fn add<N, M>(x: f32[N, M], y: f32[N, M]) -> z: f32[N, M] { z[i, j] = x[i, j] + y[i, j]; }";
const TILED: &str = "tile(i: 4, j: 32) => workgroup(y, x); distribute(i => thread(y)); tile(j: 4) => thread(x); vectorize(j, 4);";
const SIZES: &[&[(&str, i64)]] = &[&[("N", 9), ("M", 40)], &[("N", 1), ("M", 4)], &[("N", 5), ("M", 64)], &[("N", 0), ("M", 8)]];
const ODD: &[&[(&str, i64)]] = &[&[("N", 9), ("M", 41)], &[("N", 1), ("M", 1)], &[("N", 7), ("M", 3)], &[("N", 3), ("M", 0)]];

fn load(device: &Device, programs: Vec<Program>) -> DynKernel {
    // SAFETY: the compiler made these programs.
    unsafe { device.load_programs(programs) }.expect("it loads")
}

/// Runs a test with the programs of these schedules, on each device.
fn each(kernel: &str, schedules: &[&str], profile: &Profile, test: impl Fn(&Device, &DynKernel)) {
    let programs: Vec<Program> = schedules.iter().map(|s| variant(kernel, s, profile).program).collect();
    devices().iter().for_each(|device| test(device, &load(device, programs.clone())));
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|n| n as f32).collect()
}

fn run(kernel: &DynKernel, tensors: &[&Tensor<f32>]) -> tilewright::Result<Tensor<f32>> {
    let outputs = kernel.run(tensors.iter().map(|t| Argument::from(*t)))?;
    outputs.into_iter().next().expect("one output").typed()
}

/// Returns the alignment of each use of a tensor.
fn aligned(program: &Program, name: &str) -> Vec<u32> {
    let at = program.tensors.iter().position(|t| t.name == name).expect("a tensor");
    program.dispatches.iter().flat_map(|d| &d.buffers).filter(|u| u.tensor as usize == at).map(|u| u.align).collect()
}

#[test]
fn gaps_in_inputs_and_outputs() {
    for strided in ["strided(x);", "strided(z);", "strided(x, y, z);", "strided(x[0, 1]);", "strided(x[1], z[0, 1]);"] {
        check(ADD, &format!("V: add for p {{ {strided} }}"), ODD);
        check(
            ADD,
            &format!("V: add for p {{ {strided} tile(i: 2, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); }}"),
            ODD,
        );
    }
}

#[test]
fn wide_accesses_of_strides_that_facts_make_multiples() {
    let facts = "M % 4 == 0, x.stride(0) % 4 == 0, z.stride(0) % 4 == 0";
    let schedule = format!("V: add for p where {facts} {{ strided(x, z); {TILED} }}");
    check(ADD, &schedule, SIZES);
    for profile in profiles() {
        let program = variant(ADD, &schedule, &profile).program;
        for name in ["x", "y", "z"] {
            assert_eq!(aligned(&program, name), [16], "{name}");
        }
    }
    refused(ADD, &format!("V: add for p where M % 4 == 0 {{ strided(x); {TILED} }}"), "`x.stride(0) % 4 == 0` is missing");
    refused(ADD, &format!("V: add for p where M % 4 == 0 {{ strided(z[0, 1]); {TILED} }}"), "`z` is not contiguous along `j`");
}

/// Channels of an image, and rows and columns of it, with an intermediate stage, copies in shared memory, and reads that may lie
/// outside.
#[test]
fn a_convolution_of_a_part_of_an_image() {
    let conv = "fn conv<H, W, C, K>(x: f32[H, W, C], w: f32[3, 3, C, K]) -> y: f32[H, W, K] {
        y[i, j, k] = sum(a in 0..3, b in 0..3, c in 0..C) { x.pad(0.0)[i + a - 1, j + b - 1, c] * w[a, b, c, k] };
    }";
    let sizes: &[&[(&str, i64)]] = &[
        &[("H", 7), ("W", 9), ("C", 4), ("K", 8)],
        &[("H", 5), ("W", 4), ("C", 8), ("K", 12)],
        &[("H", 1), ("W", 3), ("C", 4), ("K", 4)],
    ];
    check(
        conv,
        "V: conv for p { strided(x, y); tile(i: 2, j: 4, k: 4) => workgroup(z, y, x); distribute(i, j, k => thread(z, y, x)); }",
        sizes,
    );
    check(
        conv,
        "V: conv for p where C <= 8, K % 4 == 0, y.stride(0) % 4 == 0, y.stride(1) % 4 == 0 {
            strided(x, y);
            tile(i: 2, j: 4, k: 16) => workgroup(z, y, x); promote(x, at: workgroup, to: shared);
            distribute(i, j => thread(z, y)); tile(k: 4) => thread(x); vectorize(k, 4);
        }",
        sizes,
    );
}

#[test]
fn updates_reductions_halves_and_atomics() {
    let update = "fn k<N, M>(a: f32, x: f16[N, M], y: &mut f32[N, M]) { y[i, j] = a * x[i, j] as f32 + y[i, j]; }";
    for profile in profiles() {
        for schedule in [
            "V: k for p { strided(x, y); }",
            "V: k for p where M % 4 == 0, x.stride(0) % 4 == 0, y.stride(0) % 4 == 0 {
                strided(x, y); tile(i: 1, j: 32) => workgroup(y, x); tile(j: 4) => thread(x); vectorize(j, 4);
            }",
        ] {
            let variant = variant(update, schedule, &profile);
            [[9i64, 40], [1, 8], [3, 4]].iter().for_each(|[n, m]| variant.check(&[("N", *n), ("M", *m)], &[1.5]));
        }
    }
    let sum = "fn k<N, M>(x: i32[N, M]) -> y: i32[N] { y[i] = sum(k in 0..M) { x[i, k] }; }";
    check(sum, "V: k for p { strided(x, y[0]); distribute(i => workgroup(x)); distribute(k => workgroup(y), by: atomic); }", ODD);
    check(
        sum,
        "V: k for p { strided(x[0, 1]); tile(i: 1) => workgroup(x); tile(k: 16 => k_o); distribute(k => thread(x), by: tree); }",
        ODD,
    );
}

/// Inputs that are packed at each launch, and inputs that are prepared once, can be views too.
#[test]
fn packed_and_prepared_inputs_with_gaps() {
    let product = "fn k<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
    let sizes: &[&[(&str, i64)]] = &[&[("M", 5), ("N", 7), ("K", 6)], &[("M", 1), ("N", 4), ("K", 9)]];
    for when in ["dispatch", "prepare"] {
        check(product, &format!("V: k for p {{ strided(b, c); pack(b[k, j] => [j / 4, k, j % 4], when: {when}); }}"), sizes);
    }
    check(product, "V: k for p { strided(a, c); pack(c[i, j] => [j / 4, i, j % 4], when: dispatch); }", sizes);
    let why = "`b` is strided, and cannot be packed by the caller";
    refused(product, "V: k for p { strided(b); pack(b[k, j] => [j, k], when: caller); }", why);
}

#[test]
fn versions_under_facts_of_strides() {
    let schedule = "V: add for p where M % 4 == 0 {
        strided(x); tile(i: 4, j: 32) => workgroup(y, x); distribute(i => thread(y)); tile(j: 4) => thread(x); vectorize(j, 4, unaligned: scalar);
        specialize(x.stride(0) % 4 == 0);
    }";
    each(ADD, &[schedule], &profiles()[0], |device, kernel| {
        let whole = device.upload([6, 12], &numbers(72)).expect("uploads");
        let other = device.upload([5, 8], &[0.5f32; 40]).expect("uploads");
        let even = whole.slice(1, 4..).expect("a view").slice(0, 1..).expect("a view");
        let taken = kernel.variant_for([Argument::from(&even), (&other).into()]).expect("a version");
        assert_eq!(taken, "V where x.stride(0) % 4 == 0");
        let wanted: Vec<f32> = even.download().expect("downloads").iter().map(|v| v + 0.5).collect();
        assert_eq!(run(kernel, &[&even, &other]).expect("runs").download().expect("downloads"), wanted);
        let odd = device.upload([5, 9], &numbers(45)).expect("uploads").slice(1, 1..).expect("a view");
        assert_eq!(kernel.variant_for([Argument::from(&odd), (&other).into()]).expect("a version"), "V");
        let wanted: Vec<f32> = odd.download().expect("downloads").iter().map(|v| v + 0.5).collect();
        assert_eq!(run(kernel, &[&odd, &other]).expect("runs").download().expect("downloads"), wanted);
    });
}

/// A variant without `strided` takes tensors without gaps, where it can load them. Otherwise the error names the missing fact.
#[test]
fn what_a_dense_variant_takes() {
    let wide = format!("WIDE: add for p where M % 4 == 0 {{ {TILED} }}");
    let narrow = "NARROW: add for p where M >= 1 { tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); }";
    each(ADD, &[&wide], &profiles()[0], |device, kernel| {
        let (whole, other) =
            (device.upload([7, 8], &numbers(56)).expect("uploads"), device.upload([2, 8], &[1.0f32; 16]).expect("uploads"));
        let rows = whole.slice(0, 3..5).expect("a view");
        assert_eq!(
            run(kernel, &[&rows, &other]).expect("runs").download().expect("downloads"),
            numbers(56)[24..40].iter().map(|v| v + 1.0).collect::<Vec<_>>()
        );
        let askew =
            device.upload([17], &numbers(17)).expect("uploads").slice(0, 1..).expect("a view").reshape([2, 8]).expect("no gaps");
        let reason = "`add`: no variant takes these arguments\n  `WIDE`: `x` is a view that begins at byte 4 of its memory, but \
                      the variant takes multiples of 16 bytes (4 elements of f32), the size of its widest load or store";
        assert_eq!(run(kernel, &[&askew, &other]).expect_err("askew").to_string(), reason);
        let columns = device.upload([2, 16], &numbers(32)).expect("uploads").slice(1, 4..12).expect("a view");
        let reason = "`add`: no variant takes these arguments\n  `WIDE`: `y` is a view whose axis 0 has a stride of 16 elements, \
                      but the variant takes 8: the stride of a tensor without gaps; `strided(y)` in the schedule allows others";
        assert_eq!(run(kernel, &[&other, &columns]).expect_err("gaps").to_string(), reason);
    });
    // Another variant may take it.
    each(ADD, &[&wide, narrow], &profiles()[0], |device, kernel| {
        let askew =
            device.upload([17], &numbers(17)).expect("uploads").slice(0, 1..).expect("a view").reshape([2, 8]).expect("no gaps");
        assert_eq!(kernel.variant_for([Argument::from(&askew), (&askew).into()]).expect("a variant"), "NARROW");
        let wanted: Vec<f32> = numbers(17)[1..].iter().map(|v| 2.0 * v).collect();
        assert_eq!(run(kernel, &[&askew, &askew]).expect("runs").download().expect("downloads"), wanted);
    });
    // Descriptors begin at multiples that the device chooses.
    each(ADD, &[narrow], &profiles()[1], |device, kernel| {
        let by = device.info().limits.storage_buffer_offset as usize / 4;
        let whole = device.upload([3, by], &numbers(3 * by)).expect("uploads");
        let row = whole.slice(0, 2..).expect("a view");
        let wanted: Vec<f32> = numbers(3 * by)[2 * by..].iter().map(|v| 2.0 * v).collect();
        assert_eq!(run(kernel, &[&row, &row]).expect("runs").download().expect("downloads"), wanted);
        let askew = whole.slice(0, ..1).expect("a view").slice(1, 1..).expect("a view");
        let error = run(kernel, &[&askew, &askew]).expect_err("askew").to_string();
        assert!(error.contains("begins at byte 4") && error.contains("because this device binds buffers"), "{error}");
    });
}

#[test]
fn a_transposed_view_is_as_good_as_another_kernel() {
    let copy = "fn copy<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j]; }";
    each(copy, &["V: copy for p { strided(x[0, 1], y[0, 1]); }"], &profiles()[0], |device, kernel| {
        let matrix = device.upload([3, 5], &numbers(15)).expect("uploads");
        let across = matrix.permute([1, 0]).expect("a view");
        let wanted: Vec<f32> = (0..5).flat_map(|j| (0..3).map(move |i| (5 * i + j) as f32)).collect();
        assert_eq!(across.download().expect("downloads"), wanted);
        assert_eq!(run(kernel, &[&across]).expect("runs").download().expect("downloads"), wanted);
        // Writes every second column of another tensor.
        let target = device.upload([5, 6], &[-1.0f32; 30]).expect("uploads");
        let mut second = target.step_by(1, 2).expect("a view").into_any();
        kernel.run_into([Argument::from(&across)], [&mut second]).expect("runs");
        let spread: Vec<f32> = wanted.iter().flat_map(|v| [*v, -1.0]).collect();
        assert_eq!(target.download().expect("downloads"), spread);
        // Between interleaved parts of one tensor.
        let mut odd = target.slice(1, 1..).expect("a view").step_by(1, 2).expect("a view").into_any();
        kernel.run_into([Argument::from(&second)], [&mut odd]).expect("they are apart");
        assert_eq!(target.download().expect("downloads"), wanted.iter().flat_map(|v| [*v, *v]).collect::<Vec<_>>());
    });
}

/// Strides that are not free follow from the axes further in, even if that is a single dim.
#[test]
fn some_strides_of_several() {
    let kernel = "fn k<N, H, C>(x: f32[N, H, C]) -> y: f32[C, H, N] { y[c, h, n] = x[n, h, c] + 1.0; }";
    let sizes: &[&[(&str, i64)]] =
        &[&[("N", 3), ("H", 5), ("C", 7)], &[("N", 1), ("H", 4), ("C", 1)], &[("N", 2), ("H", 0), ("C", 3)]];
    for list in ["x[0]", "x[1]", "x[2]", "x[0, 2], y", "x[1, 2], y[1]", "y[2]", "x[0], y[0]"] {
        check(kernel, &format!("V: k for p {{ strided({list}); }}"), sizes);
    }
}

/// If the axis whose stride is free has one element, the axis outside it has the same stride.
#[test]
fn a_free_stride_of_an_axis_of_one_element() {
    let kernel = "fn k<N, M>(x: f32[N, M, 1]) -> y: f32[M, N] { y[j, i] = x[i, j, 0] + 1.0; }";
    for list in ["x[2]", "x[0, 2]", "x[1, 2]", "x[1]"] {
        check(kernel, &format!("V: k for p {{ strided({list}, y); }}"), ODD);
    }
}

/// The program describes the strides for the launch, and the nest does not use them.
#[test]
fn strides_are_dims_of_the_launch() {
    let schedule = "V: add for p { strided(x, z[0]); }";
    let program = variant(ADD, schedule, &profiles()[0]).program;
    let names: Vec<&str> = program.dims.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["N", "M", "x.stride(0)", "z.stride(0)"]);
    assert_eq!(program.tensors[0].strides, Some(vec![Size::Dim(2), Size::Const(1)]));
    assert_eq!(program.tensors[1].strides, None);
    assert_eq!(nest(ADD, schedule), nest(ADD, "V: add for p { }"));
    assert!(try_variant(ADD, "V: add for p where x.stride(0) == M { strided(x); }", &profiles()[0]).is_ok());
}
