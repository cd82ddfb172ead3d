//! Views: parts of tensors and permutations of their axes, in the same memory.

use super::programs::*;
use super::support::*;
use tilewright::{AnyTensor, Argument, Device, Element, Error, Options, Tensor, f16};
use tilewright_launch::Addressing;

/// Returns the tests' device, the same with staging buffers, and the reference device.
fn devices() -> [Device; 3] {
    let staged = options().staging(true).open().expect("opens");
    [device(), staged, Options::new().device("reference").open().expect("it needs nothing")]
}

fn view<T>(made: tilewright::Result<T>) -> T {
    made.expect("a view")
}

fn of<T: Element>(tensor: &AnyTensor) -> Vec<T> {
    tensor.download().expect("downloads")
}

/// Returns the elements at all coordinates of `shape`, in order.
fn at<T: Copy>(values: &[T], shape: [usize; 3], place: impl Fn([usize; 3]) -> usize) -> Vec<T> {
    let [a, b, c] = shape;
    (0..a * b * c).map(|n| values[place([n / (b * c), n / c % b, n % c])]).collect()
}

fn parts_of<T: Element + PartialEq + std::fmt::Debug>(device: &Device, make: impl Fn(usize) -> T) {
    let values: Vec<T> = (0..4 * 5 * 6).map(make).collect();
    let whole: Tensor<T> = device.upload([4, 5, 6], &values).expect("uploads");
    let check = |view: &Tensor<T>, shape: [usize; 3], strides: [usize; 3], place: &dyn Fn([usize; 3]) -> usize| {
        assert_eq!((view.shape(), view.strides()), (&shape[..], strides.to_vec()));
        assert_eq!(view.download().expect("downloads"), at(&values, shape, place), "{view:?}");
    };
    check(&view(whole.slice(0, 1..3)), [2, 5, 6], [30, 6, 1], &|[a, b, c]| 30 * (a + 1) + 6 * b + c);
    check(&view(whole.slice(1, 2..)), [4, 3, 6], [30, 6, 1], &|[a, b, c]| 30 * a + 6 * (b + 2) + c);
    check(&view(whole.slice(2, 3..=4)), [4, 5, 2], [30, 6, 1], &|[a, b, c]| 30 * a + 6 * b + c + 3);
    check(&view(whole.step_by(1, 2)), [4, 3, 6], [30, 12, 1], &|[a, b, c]| 30 * a + 12 * b + c);
    check(&view(whole.step_by(2, 4)), [4, 5, 2], [30, 6, 4], &|[a, b, c]| 30 * a + 6 * b + 4 * c);
    check(&view(whole.permute([2, 0, 1])), [6, 4, 5], [1, 30, 6], &|[a, b, c]| a + 30 * b + 6 * c);
    let chain = view(view(view(view(whole.slice(2, 1..)).permute([1, 2, 0])).slice(0, 1..4)).step_by(1, 3));
    check(&chain, [3, 2, 4], [6, 3, 30], &|[a, b, c]| 6 * (a + 1) + 3 * b + 1 + 30 * c);
    assert_eq!(chain.as_any().offset(), 7);
    let one = view(whole.select(1, 3));
    assert_eq!((one.shape(), one.strides()), (&[4, 6][..], vec![30, 1]));
    let wanted: Vec<T> = (0..24).map(|n| values[n / 6 * 30 + 18 + n % 6]).collect();
    assert_eq!(one.download().expect("downloads"), wanted);
    // A view without gaps can be reshaped, and the new view begins at the same element.
    let rows = view(view(whole.select(0, 2)).slice(0, 1..4));
    assert!(rows.as_any().is_dense());
    assert_eq!(view(view(rows.reshape([9, 2])).slice(0, 8..)).download().expect("downloads"), values[60 + 6 + 16..][..2]);
    let none = view(view(whole.slice(2, 5..)).slice(0, 4..));
    assert_eq!((none.shape(), none.as_any().offset(), none.download().expect("nothing").len()), (&[0, 5, 1][..], 0, 0));
    // Elements around a view stay unchanged.
    let mut changed = view(view(whole.slice(1, 1..3)).slice(2, 5..));
    let new: Vec<T> = (0..8).map(|n| values[n]).collect();
    changed.write(&new).expect("writes");
    let mut wanted = values.clone();
    (0..8).for_each(|n| wanted[n / 2 * 30 + (n % 2 + 1) * 6 + 5] = new[n]);
    assert_eq!(whole.download().expect("downloads"), wanted);
}

#[test]
fn parts_are_read_and_written_by_the_host() {
    for device in devices() {
        parts_of(&device, |n| n as f32 - 40.5);
        parts_of(&device, |n| f16::from_f32(n as f32));
        parts_of(&device, |n| n as u8);
    }
}

#[test]
fn what_a_tensor_has_not_is_no_view_of_it() {
    let device = Options::new().device("reference").open().expect("it needs nothing");
    let x = device.upload([3, 4], &[0.0f32; 12]).expect("uploads");
    let told = |made: tilewright::Result<Tensor<f32>>| match made.expect_err("no view") {
        error @ Error::View { .. } => error.to_string(),
        other => panic!("{other}"),
    };
    let of = |what: &str| format!("a view of a tensor of shape [3, 4]: {what}");
    assert_eq!(told(x.slice(2, ..)), of("axis 2 does not exist"));
    assert_eq!(told(x.slice(1, 2..5)), of("axis 1 has 4 coordinates, so the range 2..5 is invalid"));
    #[allow(clippy::reversed_empty_ranges, reason = "the range is the error under test")]
    let reversed = 3..2;
    assert_eq!(told(x.slice(1, reversed)), of("axis 1 has 4 coordinates, so the range 3..2 is invalid"));
    assert_eq!(told(x.slice(0, ..=usize::MAX)), of("the range of axis 0 does not fit a `usize`"));
    assert_eq!(told(x.select(0, 3)), of("axis 0 has 3 coordinates, so coordinate 3 is out of bounds"));
    assert_eq!(told(x.step_by(0, 0)), of("a step is at least 1"));
    assert_eq!(told(x.permute([0, 0])), of("[0, 0] is not an order of its axes, which names each of 0 to 1 once"));
    let across = x.permute([1, 0]).expect("a view");
    assert_eq!(
        told(across.reshape([12])),
        "a view of a tensor of shape [4, 3]: it has strides [1, 4], but only a row-major tensor without gaps can be reshaped"
    );
    assert!(matches!(x.slice(1, ..2).expect("a view").reshape([4]), Err(Error::Elements { .. })));
    let far = x.step_by(1, usize::MAX).expect("one column");
    assert_eq!((far.shape(), far.strides()), (&[3, 1][..], vec![4, 1]));
}

/// Odd offsets and lengths, with every way in which SPIR-V accesses memory.
#[test]
fn launches_take_parts_and_touch_nothing_else() {
    for device in devices() {
        for way in WAYS {
            let kernel = load(&device, vec![axpy(way)]).expect("loads");
            let by =
                if way.addressing == Addressing::Address { 1 } else { device.info().limits.storage_buffer_offset as usize / 4 };
            let (n, values) = (37, numbers(8 * by + 200, 3));
            let whole = device.upload([values.len()], &values).expect("uploads").into_any();
            let part = |at: usize| view(whole.slice(0, at * by..at * by + n));
            let (x, y) = (part(1), part(3));
            let wanted: Vec<f32> = (0..n).map(|i| 2.0 * values[by + i] + values[3 * by + i]).collect();
            assert_eq!(of::<f32>(&kernel.run(args(&x, &y, 2.0)).expect("runs")[0]), wanted, "{way:?}");
            // Writes another part of the same tensor.
            let target = 4 * by + n;
            let target = target.next_multiple_of(by);
            let mut out = view(whole.slice(0, target..target + n));
            kernel.run_into(args(&x, &y, 2.0), [&mut out]).expect("they are apart");
            let mut all = values.clone();
            all[target..target + n].copy_from_slice(&wanted);
            assert_eq!(of::<f32>(&whole), all, "{way:?}");
        }
    }
}

#[test]
fn what_is_written_overlaps_nothing() {
    for device in devices() {
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let whole = device.upload([64], &numbers(64, 4)).expect("uploads").into_any();
        let part = |at: usize| view(whole.slice(0, at..at + 16));
        let (x, y) = (part(0), part(16));
        for at in [1, 15, 16, 17, 31] {
            let error = kernel.run_into(args(&x, &y, 1.0), [&mut part(at)]).expect_err("it overlaps").to_string();
            let other = if at < 16 { "x" } else { "y" };
            assert_eq!(error, format!("`axpy`: `out` is written, but shares memory with `{other}`"));
        }
        kernel.run_into(args(&x, &y, 1.0), [&mut part(32)]).expect("it is behind both");
        let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
        let mut later = part(8);
        let error = bump.run([Argument::from(&x), (&mut later).into(), 1.0f32.into()]).expect_err("it overlaps");
        assert!(matches!(error, Error::Overlap { .. }), "{error}");
    }
}

/// Launches of a batch that write parts of one tensor, and read parts that others have written.
#[test]
fn batches_order_parts_by_their_bytes() {
    for device in devices() {
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let (parts, n) = (7, 20_001);
        let whole = device.upload([parts + 1, n], &vec![1.0f32; (parts + 1) * n]).expect("uploads").into_any();
        let row = |at: usize| view(whole.select(0, at));
        let ones = device.upload([n], &vec![1.0f32; n]).expect("uploads").into_any();
        let mut batch = device.batch();
        for at in 0..parts {
            batch.run_dyn_into(&kernel, args(&row(at), &ones, 2.0), [&mut row(at + 1)]).expect("recorded");
        }
        // Writes the first part again, from the last.
        batch.run_dyn_into(&kernel, args(&row(parts), &ones, 0.0), [&mut row(0)]).expect("recorded");
        finish(batch).expect("runs");
        let wanted = std::iter::successors(Some(1.0f32), |value| Some(2.0 * value + 1.0));
        for (at, wanted) in wanted.take(parts + 1).enumerate() {
            assert!(of::<f32>(&row(at)).iter().all(|v| *v == wanted), "row {at}");
        }
    }
}

#[test]
fn a_view_keeps_the_memory_and_waits_as_the_tensor_does() {
    for device in devices() {
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let part = {
            let whole = device.upload([3, 8], &numbers(24, 5)).expect("uploads");
            view(whole.select(0, 1)).into_any()
        };
        // Tensors made meanwhile use other memory.
        let others: Vec<_> = (0..8).map(|_| device.upload([3, 8], &[9.0f32; 24]).expect("uploads")).collect();
        assert_eq!(of::<f32>(&part), numbers(24, 5)[8..16]);
        let ones = view(others[0].select(0, 2)).into_any();
        let mut batch = device.batch();
        let new = batch.run_dyn(&kernel, args(&part, &ones, 1.0)).expect("recorded").remove(0);
        let early = view(new.slice(0, 2..4));
        assert!(matches!(early.download::<f32>(), Err(Error::NotSubmitted { .. })));
        drop((part, others, new));
        finish(batch).expect("runs");
        assert_eq!(of::<f32>(&early), [numbers(24, 5)[10] + 9.0, numbers(24, 5)[11] + 9.0]);
    }
}

/// The reference device limits accesses to the view that a kernel is given, and not to the memory behind it.
#[test]
fn what_leaves_a_view_is_a_fault() {
    let device = Options::new().device("reference").open().expect("it needs nothing");
    for way in WAYS {
        let kernel = load(&device, vec![axpy_past_the_end(way)]).expect("loads");
        let whole = device.upload([1024], &numbers(1024, 6)).expect("uploads").into_any();
        let (x, y) = (view(whole.slice(0, 256..266)), view(whole.slice(0, 512..522)));
        let mut out = view(whole.slice(0, 768..778));
        let error = kernel.run_into(args(&x, &y, 1.0), [&mut out]).expect_err("one element too many").to_string();
        assert!(error.contains("reads `x`[10], which is out of bounds: there are 10 elements"), "{error}");
    }
}

#[test]
fn a_dense_variant_names_the_stride_that_it_needs() {
    for device in devices() {
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let whole = device.upload([8], &numbers(8, 7)).expect("uploads").into_any();
        let (even, four) = (view(whole.step_by(0, 2)), view(whole.slice(0, 4..)));
        let reason = |name: &str| {
            format!(
                "`axpy`: no variant takes these arguments\n  `AXPY`: `{name}` is a view whose axis 0 has a stride of 2 elements, \
                 but the variant takes 1: the stride of a tensor without gaps; `strided({name})` in the schedule allows others"
            )
        };
        assert_eq!(kernel.run(args(&even, &four, 1.0)).expect_err("gaps").to_string(), reason("x"));
        let error = kernel.run_into(args(&four, &four, 1.0), [&mut view(whole.step_by(0, 2))]).expect_err("gaps").to_string();
        assert_eq!(error, reason("out"));
        // A view of one element has no stride.
        let one = view(view(whole.step_by(0, 5)).slice(0, 1..));
        assert_eq!(of::<f32>(&kernel.run(args(&one, &one, 1.0)).expect("runs")[0]), [2.0 * numbers(8, 7)[5]]);
    }
}
