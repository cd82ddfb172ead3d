//! `download_into`: the elements of tensors, views and packed tensors in a slice of the caller.

use crate::{devices, text};
use tilewright::devices::vulkan_1_1;
use tilewright::{bf16, f16, kernel, schedule};

kernel! {
    /// A matrix product.
    pub fn product<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

schedule! {
    /// The result is packed in blocks of four columns.
    PACKED: product for vulkan_1_1 {
        pack(c[i, j] => [j / 4, i, j % 4], when: caller);
    }
}

#[test]
fn every_dtype() {
    for device in devices() {
        macro_rules! round {
            ($($values:expr),*) => {$({
                let values = $values;
                let tensor = device.upload([values.len()], &values).expect("uploads");
                let mut into = [Default::default(); 5];
                tensor.download_into(&mut into).expect("downloads");
                assert_eq!(into, values);
            })*};
        }
        round!(
            [1.5f32, -0.0, f32::INFINITY, 0.25, -3.0],
            [1.5f32, -0.0, 65504.0, 0.25, -3.0].map(f16::from_f32),
            [1.5f32, -0.0, 3e38, 0.25, -3.0].map(bf16::from_f32),
            [i32::MIN, -1, 0, 1, i32::MAX],
            [0u32, 1, 2, 3, u32::MAX],
            [i16::MIN, -1, 0, 1, i16::MAX],
            [0u16, 1, 2, 3, u16::MAX],
            [i8::MIN, -1, 0, 1, i8::MAX],
            [0u8, 1, 2, 3, u8::MAX],
            [i64::MIN, -1, 0, 1, i64::MAX],
            [true, false, false, true, true]
        );
    }
}

#[test]
fn views_and_packed_tensors() {
    for device in devices() {
        let whole: Vec<f32> = (0..105).map(|n| n as f32).collect();
        let tensor = device.upload([7, 15], &whole).expect("uploads");
        let view = tensor.slice(0, 1..6).and_then(|t| t.step_by(1, 4)).and_then(|t| t.permute([1, 0])).expect("a view");
        let mut into = [0.0; 20];
        view.download_into(&mut into).expect("downloads");
        let expected: Vec<f32> = (0..4).flat_map(|j| (1..6).map(move |i| (i * 15 + 4 * j) as f32)).collect();
        assert_eq!(into, expected[..]);

        // 7 columns fill two blocks of four, with a gap.
        let (a, b) = (device.upload([2, 1], &[1.0, 10.0]).expect("uploads"), device.upload([1, 7], &whole[..7]).expect("uploads"));
        let c = device.load(&[PACKED]).and_then(|kernel| kernel.run((&a, &b))).expect("runs");
        let mut into = [0.0; 14];
        c.download_into(&mut into).expect("downloads");
        assert_eq!(into, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    }
}

#[test]
fn no_elements_and_one() {
    for device in devices() {
        device.upload::<f32>([3, 0], &[]).expect("uploads").download_into(&mut []).expect("downloads");
        let mut one = [0u8];
        device.upload([], &[9u8]).expect("uploads").download_into(&mut one).expect("downloads");
        assert_eq!(one, [9]);
    }
}

#[test]
fn other_lengths_and_dtypes_are_refused() {
    let device = &devices()[0];
    let tensor = device.upload([2, 3], &[1.0f32; 6]).expect("uploads");
    let mut into = [7.0f32; 8];
    assert_eq!(text(tensor.download_into(&mut into[..5])), "shape [2, 3] has 6 elements, but there are 5");
    assert_eq!(text(tensor.download_into(&mut into)), "shape [2, 3] has 6 elements, but there are 8");
    assert_eq!(text(tensor.as_any().download_into(&mut [0i32; 6])), "the tensor's elements are f32, not i32");
    assert_eq!(into, [7.0; 8], "a refusal writes nothing");
}
