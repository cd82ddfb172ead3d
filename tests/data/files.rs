//! `.npy` files. NumPy wrote the files of the folder `npy/` (`npy/make.py`).

use crate::{devices, text};
use std::fs;
use std::io::{self, Read, Write};
use tilewright::{Device, Element, Error, bf16, f16};
use tilewright_tests::root;

fn file(name: &str) -> Vec<u8> {
    let path = root().join(format!("tests/data/npy/{name}.npy"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks that a file of NumPy's is read as these elements, and written with the same bytes.
fn is<T: Element + PartialEq + std::fmt::Debug>(device: &Device, name: &str, shape: &[usize], elements: &[T]) {
    let bytes = file(name);
    let tensor = device.read_npy::<T>(&bytes[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((tensor.shape(), &tensor.download().expect("downloads")[..]), (shape, elements), "{name}");
    let any = device.read_npy_any(&bytes[..]).expect("it is read");
    assert_eq!((any.dtype(), any.shape()), (T::DTYPE, shape), "{name}");
    let mut written = Vec::new();
    tensor.write_npy(&mut written).expect("it is written");
    assert!(written == bytes, "{name}: {}", String::from_utf8_lossy(&written));
}

#[test]
fn files_of_every_dtype_are_numpys() {
    for device in devices() {
        let shape = &[2, 3];
        is(&device, "f4", shape, &[-2.0f32, -1.0, 0.0, 1.0, 100.0, 127.0]);
        is(&device, "f2", shape, &[-2.0f32, -1.0, 0.0, 1.0, 100.0, 127.0].map(f16::from_f32));
        is(&device, "i1", shape, &[-2i8, -1, 0, 1, 100, 127]);
        is(&device, "i2", shape, &[-2i16, -1, 0, 1, 100, 127]);
        is(&device, "i4", shape, &[-2i32, -1, 0, 1, 100, 127]);
        is(&device, "i8", shape, &[-2i64, -1, 0, 1, 100, 127]);
        is(&device, "u1", shape, &[2u8, 1, 0, 1, 100, 127]);
        is(&device, "u2", shape, &[2u16, 1, 0, 1, 100, 127]);
        is(&device, "u4", shape, &[2u32, 1, 0, 1, 100, 127]);
        is(&device, "b1", shape, &[true, true, false, true, true, true]);
        is(&device, "row", &[24], &(0..24).map(|n| n as f32).collect::<Vec<_>>());
        is(&device, "scalar", &[], &[2.5f32]);
        is::<i32>(&device, "empty", &[0, 3], &[]);
    }
}

#[test]
fn other_orders_and_versions_are_read() {
    let counted: Vec<f32> = (0..24).map(|n| n as f32).collect();
    for device in devices() {
        for name in ["fortran", "big", "version-2", "version-3"] {
            let tensor = device.read_npy::<f32>(&file(name)[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((tensor.shape(), tensor.download().expect("downloads")), (&[2, 3, 4][..], counted.clone()), "{name}");
        }
        let tensor = device.read_npy::<i16>(&file("fortran-big")[..]).expect("it is read");
        assert_eq!(tensor.download().expect("downloads"), (0..24).collect::<Vec<i16>>());
    }
}

#[test]
fn views_are_written_in_row_major_order() {
    for device in devices() {
        let view = device.upload([3, 2], &[1i32, 4, 2, 5, 3, 6]).and_then(|t| t.permute([1, 0])).expect("a view");
        let mut written = Vec::new();
        view.write_npy(&mut written).expect("it is written");
        assert_eq!(device.read_npy::<i32>(&written[..]).and_then(|t| t.download()).expect("it is read"), [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn arrays_follow_one_another() {
    let device = &devices()[0];
    let bytes = file("two");
    let mut reader = &bytes[..];
    assert_eq!(device.read_npy::<i32>(&mut reader).and_then(|t| t.download()).expect("it is read"), [1, 2]);
    assert_eq!(device.read_npy::<f32>(&mut reader).and_then(|t| t.download()).expect("it is read"), [3.0]);
    assert!(reader.is_empty());
}

#[test]
fn other_contents_are_refused() {
    let device = &devices()[0];
    let read = |bytes: &[u8]| text(device.read_npy_any(bytes));
    assert_eq!(text(device.read_npy::<f32>(&file("i4")[..])), "cannot read a .npy file: its elements are i32, not f32");
    assert_eq!(
        read(&file("f8")),
        "cannot read a .npy file: its elements are `<f8`, which no tensor has; `array.astype(\"float32\")` converts them in NumPy"
    );
    assert_eq!(
        read(&file("raw")),
        "cannot read a .npy file: its elements are `|V2`, which no tensor has; save bfloat16 as `array.astype(\"float32\")`"
    );
    assert_eq!(read(&file("structures")), "cannot read a .npy file: its elements are structures, which no tensor has");
    assert_eq!(read(b"PK\x03\x04 of an .npz"), "cannot read a .npy file: it does not begin with the magic number of the format");
    let mut truth = file("b1");
    *truth.last_mut().expect("it has elements") = 2;
    assert_eq!(read(&truth), "cannot read a .npy file: byte 5 is 2, but a bool is 0 or 1");
    let whole = file("row");
    assert_eq!(read(&whole[..whole.len() - 1]), "cannot read a .npy file: it ends after 95 of the 96 bytes of its elements");
    assert_eq!(read(&whole[..100]), "cannot read a .npy file: it ends within its header");
    // The header claims 8 GB, but 2 bytes follow. So much memory is not allocated.
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2130706432,), }\n";
    let huge = [b"\x93NUMPY\x01\x00", &[text.len() as u8, 0][..], text.as_bytes(), &[0, 0]].concat();
    assert_eq!(read(&huge), "cannot read a .npy file: it ends after 2 of the 8522825728 bytes of its elements");
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (65536, 65536), }\n";
    let more = [b"\x93NUMPY\x01\x00", &[text.len() as u8, 0][..], text.as_bytes()].concat();
    assert_eq!(read(&more), "the elements of shape [65536, 65536]: 4294967296, and the limit is 2130706432");
}

#[test]
fn bfloat16_is_not_written() {
    let device = &devices()[0];
    let tensor = device.upload([2], &[bf16::ONE; 2]).expect("uploads");
    let mut written = Vec::new();
    assert_eq!(
        text(tensor.write_npy(&mut written)),
        "cannot write a .npy file: the format lacks bf16; convert the elements to f32 by `as f32` in a kernel"
    );
    assert!(written.is_empty());
}

/// A file that fails after some bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("the disk is on fire")) } else { self.0.read(into) }
    }
}

impl Write for Failing<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn failures_of_the_file_are_errors() {
    let device = &devices()[0];
    let whole = file("row");
    for end in [0, 9, 60, 150] {
        let error = device.read_npy::<f32>(Failing(&whole[..end])).expect_err("it fails");
        assert!(matches!(error, Error::File { .. }), "{end}: {error}");
        assert_eq!(error.to_string(), "cannot read a .npy file: the disk is on fire");
    }
    let tensor = device.upload([1], &[1u8]).expect("uploads");
    assert_eq!(text(tensor.write_npy(Failing(&[]))), "cannot write a .npy file: the disk is full");
}
