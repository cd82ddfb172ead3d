//! Arrays of the crate `ndarray`. The expected elements are those that `ndarray` itself iterates over.

use crate::{devices, text};
use ndarray::{Array, Array0, Array1, Array2, Array3, ArrayD, Axis, Dimension, Ix1, Ix2, Ix3, IxDyn, ShapeBuilder, Zip, arr0, s};
use tilewright::{Device, Tensor, bf16, f16};

/// Returns an array whose elements are all different.
fn counted<D: Dimension>(shape: impl ShapeBuilder<Dim = D>) -> Array<f32, D> {
    let mut next = 0.0;
    Array::from_shape_simple_fn(shape, || {
        next += 1.0;
        next
    })
}

/// Checks that an array is uploaded with its shape and in its logical order, and downloads as it was.
fn is<D: Dimension>(device: &Device, array: &ndarray::ArrayRef<f32, D>) {
    let tensor = device.upload_array(array).expect("uploads");
    assert_eq!(tensor.shape(), array.shape());
    assert_eq!(tensor.download().expect("downloads"), array.iter().copied().collect::<Vec<_>>());
    let back: Array<f32, D> = tensor.download_array().expect("downloads");
    assert_eq!(back, *array);
    assert!(back.is_standard_layout());
}

#[test]
fn any_strides_are_uploaded() {
    for device in devices() {
        let array: Array3<f32> = counted((3, 5, 7));
        is(&device, &array);
        is(&device, &array.view());
        is(&device, &array.t());
        is(&device, &array.slice(s![.., ..;-1, ..]));
        is(&device, &array.slice(s![..;-1, ..;-2, ..;-3]));
        is(&device, &array.slice(s![1.., 1..4, 2..;2]));
        is(&device, &array.slice(s![1, .., 3]));
        is(&device, &array.slice(s![.., 2..2, ..]));
        is(&device, &array.view().permuted_axes([1, 2, 0]));
        is(&device, &array.index_axis(Axis(1), 4));
        is(&device, &array.to_shared());
        is(&device, &counted::<Ix3>((3, 5, 7).f()));
        is(&device, &counted::<Ix2>((1, 9).f()));
        is(&device, &counted::<IxDyn>(IxDyn(&[2, 1, 3, 1, 2])).slice(s![.., .., ..;-1, .., ..]));
        is(&device, &Array2::<f32>::zeros((0, 4)));
        is(&device, &arr0(2.5));
        // One element, repeated by a stride of 0.
        let one = Array1::from_vec(vec![7.0f32]);
        is(&device, &one.broadcast((4, 3)).expect("it is broadcast"));
    }
}

#[test]
fn every_dtype() {
    for device in devices() {
        macro_rules! round {
            ($($values:expr),*) => {$({
                let array = Array2::from_shape_vec((2, 3), $values.to_vec()).expect("six elements");
                let tensor = device.upload_array(&array.t()).expect("uploads");
                assert_eq!(tensor.download_array::<Ix2>().expect("downloads"), array.t());
            })*};
        }
        round!(
            [1.5f32, -0.0, 3.0, 0.25, -3.0, 9.0],
            [1.5f32, -0.0, 3.0, 0.25, -3.0, 9.0].map(f16::from_f32),
            [1.5f32, -0.0, 3.0, 0.25, -3.0, 9.0].map(bf16::from_f32),
            [i32::MIN, -1, 0, 1, 2, i32::MAX],
            [0u32, 1, 2, 3, 4, u32::MAX],
            [i16::MIN, -1, 0, 1, 2, i16::MAX],
            [0u16, 1, 2, 3, 4, u16::MAX],
            [i8::MIN, -1, 0, 1, 2, i8::MAX],
            [0u8, 1, 2, 3, 4, u8::MAX],
            [i64::MIN, -1, 0, 1, 2, i64::MAX],
            [true, false, false, true, true, false]
        );
    }
}

#[test]
fn parts_of_arrays_are_overwritten() {
    for device in devices() {
        let block = device.upload_array(&counted((2, 3))).expect("uploads");
        let expected = counted((2, 3));

        let mut whole = Array2::zeros((2, 3));
        block.download_into_array(&mut whole).expect("downloads");
        assert_eq!(whole, expected);

        let mut mirrored = Array2::zeros((2, 3));
        block.download_into_array(&mut mirrored.slice_mut(s![..;-1, ..;-1])).expect("downloads");
        assert_eq!(mirrored, expected.slice(s![..;-1, ..;-1]));

        let mut columns = Array2::zeros((2, 3).f());
        block.download_into_array(&mut columns).expect("downloads");
        assert_eq!(columns, expected);

        let mut image = Array2::from_elem((5, 9), -1.0);
        block.download_into_array(&mut image.slice_mut(s![1..3, 2..8;2])).expect("downloads");
        let mut wanted = Array2::from_elem((5, 9), -1.0);
        wanted.slice_mut(s![1..3, 2..8;2]).assign(&expected);
        assert_eq!(image, wanted);

        // A view on the device, into a transposed array.
        let view = block.permute([1, 0]).expect("a view");
        let mut across = Array2::zeros((2, 3));
        view.download_into_array(&mut across.view_mut().reversed_axes()).expect("downloads");
        assert_eq!(across, expected);

        let mut none = Array2::<f32>::zeros((0, 3));
        device.zeros::<f32>([0, 3]).and_then(|t| t.download_into_array(&mut none)).expect("downloads");
        let mut one = Array0::zeros(());
        device.upload([], &[4.0f32]).and_then(|t| t.download_into_array(&mut one)).expect("downloads");
        assert_eq!(one, arr0(4.0));
    }
}

#[test]
fn tensors_are_overwritten() {
    for device in devices() {
        let mut tensor = device.zeros::<f32>([3, 2]).expect("it is made");
        let array = counted((2, 3));
        tensor.write_array(&array.t()).expect("writes");
        assert_eq!(tensor.download_array::<Ix2>().expect("downloads"), array.t());
        let mut any = tensor.into_any();
        any.write_array(&array.t().mapv(|x| x * 2.0)).expect("writes");
        assert_eq!(any.download_array::<f32, IxDyn>().expect("downloads"), array.t().mapv(|x| x * 2.0).into_dyn());
    }
}

tilewright::kernel! {
    /// The sum of each row.
    pub fn rows<M, N>(x: f32[M, N]) -> y: f32[M] { y[i] = sum(j in 0..N) { x[i, j] }; }
}

#[test]
fn kernels_compute_with_arrays() {
    for device in devices() {
        let array = counted((7, 13));
        let view = array.slice(s![..;-1, 1..;3]);
        let x: Tensor<f32> = device.upload_array(&view).expect("uploads");
        let y: Array1<f32> = device.load(&[rows::DEFAULT]).and_then(|k| k.run(&x)?.download_array()).expect("runs");
        let mut expected = Array1::zeros(7);
        Zip::from(&mut expected).and(view.rows()).for_each(|sum, row| *sum = row.sum());
        assert_eq!(y, expected);
    }
}

#[test]
fn other_shapes_and_dtypes_are_refused() {
    let device = &devices()[0];
    let tensor = device.upload_array(&counted((2, 3))).expect("uploads");
    assert_eq!(text(tensor.download_array::<Ix1>()), "the tensor has shape [2, 3], and the array has 1 dimension");
    assert_eq!(text(tensor.download_array::<Ix3>()), "the tensor has shape [2, 3], and the array has 3 dimensions");
    let mut other = Array2::from_elem((3, 2), 7.0f32);
    assert_eq!(text(tensor.download_into_array(&mut other)), "the tensor has shape [2, 3], and the array [3, 2]");
    assert_eq!(other, Array2::from_elem((3, 2), 7.0), "a refusal writes nothing");
    let mut deep = ArrayD::<f32>::zeros(IxDyn(&[1, 2, 3]));
    assert_eq!(text(tensor.download_into_array(&mut deep)), "the tensor has shape [2, 3], and the array [1, 2, 3]");
    let mut tensor = tensor;
    assert_eq!(text(tensor.write_array(&other)), "the tensor has shape [2, 3], and the array [3, 2]");
    assert_eq!(tensor.download_array::<Ix2>().expect("downloads"), counted((2, 3)), "a refusal writes nothing");
    let any = tensor.into_any();
    assert_eq!(text(any.download_array::<i32, Ix2>()), "the tensor's elements are f32, not i32");
    assert_eq!(text(any.download_into_array(&mut Array2::from_elem((2, 3), f16::ZERO))), "the tensor's elements are f32, not f16");
}
