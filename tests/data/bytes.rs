//! `upload_bytes` and `download_bytes`.

use crate::{devices, text};
use tilewright::DType;

const ALL: [DType; 11] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I16,
    DType::U16,
    DType::I8,
    DType::U8,
    DType::I64,
    DType::Bool,
];

/// Returns the bytes of an element on the host.
fn each(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.bytes() as usize }
}

#[test]
fn bytes_of_every_dtype_return_as_they_were() {
    for device in devices() {
        for dtype in ALL {
            for shape in [&[][..], &[5], &[3, 7], &[0, 4], &[2, 1, 3]] {
                let count = shape.iter().product::<usize>() * each(dtype);
                // One byte precedes them, so they are not aligned.
                let file: Vec<u8> = (0..=count).map(|n| if dtype == DType::Bool { n as u8 & 1 } else { (n * 37) as u8 }).collect();
                let tensor = device.upload_bytes(dtype, shape, &file[1..]).expect("uploads");
                assert_eq!((tensor.dtype(), tensor.shape()), (dtype, shape));
                assert_eq!(tensor.download_bytes().expect("downloads"), file[1..], "{dtype}{shape:?}");
            }
        }
    }
}

#[test]
fn bytes_are_the_elements_of_typed_tensors() {
    for device in devices() {
        let floats = [1.5f32, -2.0, f32::MAX];
        let bytes: Vec<u8> = floats.iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(device.upload_bytes(DType::F32, [3], &bytes).and_then(|t| t.download::<f32>()).expect("downloads"), floats);
        assert_eq!(device.upload([3], &floats).and_then(|t| t.as_any().download_bytes()).expect("downloads"), bytes);
        let truths = device.upload_bytes(DType::Bool, [3], &[1, 0, 1]).expect("uploads");
        assert_eq!(truths.download::<bool>().expect("downloads"), [true, false, true]);
        let view = device.upload([2, 3], &[1i16, 2, 3, 4, 5, 6]).and_then(|t| t.permute([1, 0])).expect("a view");
        let expected: Vec<u8> = [1i16, 4, 2, 5, 3, 6].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(view.as_any().download_bytes().expect("downloads"), expected);
    }
}

#[test]
fn other_bytes_are_refused() {
    let device = &devices()[0];
    assert_eq!(
        text(device.upload_bytes(DType::F32, [2, 3], &[0; 20])),
        "a tensor of f32 and shape [2, 3]: it has 24 bytes, but there are 20"
    );
    assert_eq!(
        text(device.upload_bytes(DType::Bool, [4], &[0, 1, 2, 3])),
        "a tensor of bool and shape [4]: byte 2 is 2, but a bool is 0 or 1"
    );
    assert_eq!(
        text(device.upload_bytes(DType::U8, [usize::MAX, 2], &[])),
        format!("the elements of shape {:?}: {}, and the limit is 2130706432", [usize::MAX, 2], u64::MAX)
    );
}
