//! Runs a trained network on handwritten digits: weights from a safetensors file, and images from a `.npy` file. The launch is recorded once, and
//! submitted for each part of the images, as a server does.
//!
//! ```text
//! cargo run --release -p tilewright-digits
//! ```
//!
//! `train.py` trained the network with scikit-learn, and stored scikit-learn's own results. The program fails if a logarithm of a
//! probability differs from scikit-learn's by more than [`TOLERANCE`], or if the number of right classes is another one.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

mod kernel;

use kernel::classify;
use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use std::error::Error;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tilewright::{DType, Device, Tensor};

/// The greatest difference from scikit-learn's logarithms of probabilities, which are from -33 to 0. scikit-learn computes in f64, and
/// sums of 128 products in f32 are off by less than this.
const TOLERANCE: f32 = 1e-4;

/// The images of a launch.
const PART: usize = 128;

/// The folder of the files that `train.py` writes.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/digits");

/// The results, compared with the labels and with scikit-learn.
struct Report {
    images: usize,
    right: usize,
    /// The number of right classes that `train.py` counted.
    right_there: usize,
    /// The greatest difference of a logarithm of a probability.
    difference: f32,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let device = Device::open()?;
    println!("device     {}", device.info());
    let Report { images, right, right_there, difference } = report(&device)?;
    println!("right      {right} of {images} images, {:.1} %", 100.0 * right as f64 / images as f64);
    println!("difference {difference:.1e} at most from the logarithms of scikit-learn's probabilities");
    if right != right_there {
        return Err(format!("scikit-learn has {right_there} right classes").into());
    }
    if difference > TOLERANCE {
        return Err(format!("the difference is more than {TOLERANCE:.1e}").into());
    }
    Ok(())
}

/// Classifies all images, part by part.
fn report(device: &Device) -> Result<Report, Box<dyn Error>> {
    let path = Path::new(FOLDER).join("network.safetensors");
    let file = fs::read(&path).map_err(|e| about(&path, e))?;
    let network = SafeTensors::deserialize(&file).map_err(|e| about(&path, e))?;
    let weight = |name| tensor(device, &network, name).map_err(|e| about(&path, e));
    let weights = [weight("layer1.weight")?, weight("layer1.bias")?, weight("layer2.weight")?, weight("layer2.bias")?];
    let [weight_1, bias_1, weight_2, bias_2] = &weights;

    let images: Tensor<u8> = array(device, "images.npy")?;
    let &[count, height, width] = images.shape() else { return Err("the images have three dimensions".into()) };
    let (images, pixels) = (images.download()?, height * width);
    let kernel = device.load(&[kernel::PLANNED])?;
    let mut x = device.zeros::<u8>([PART, pixels])?;
    let mut batch = device.batch();
    let outputs = batch.run(&kernel, (&x, weight_1, bias_1, weight_2, bias_2))?;
    let classify::Outputs { log_probability, class } = outputs.into();
    let mut recording = batch.record()?;

    let mut input = device.host::<u8>(x.shape())?;
    let (mut logarithms, mut digits) = (device.host::<f32>(log_probability.shape())?, device.host::<i32>(class.shape())?);
    let (mut got, mut classes) = (Vec::new(), Vec::new());
    for part in images.chunks(PART * pixels) {
        let count = part.len() / pixels;
        input.write()?[..part.len()].copy_from_slice(part);
        // The device runs these one after another. Only `read` waits.
        x.copy_from(&input)?;
        recording.submit()?;
        log_probability.copy_to(&mut logarithms)?;
        class.copy_to(&mut digits)?;
        got.extend_from_slice(&logarithms.read()?[..count * logarithms.len() / PART]);
        classes.extend_from_slice(&digits.read()?[..count]);
    }
    let (got, classes) = (Array2::from_shape_vec((count, got.len() / count.max(1)), got)?, Array1::from(classes));
    let expected: Array2<f32> = array(device, "log-probabilities.npy")?.download_array()?;
    let labels: Array1<u8> = array(device, "labels.npy")?.download_array()?;
    if got.dim() != expected.dim() || classes.dim() != labels.dim() {
        return Err("the stored results are of other images".into());
    }
    // NaN is not a small difference.
    let differences = (&got - &expected).mapv(|d: f32| if d.is_nan() { f32::INFINITY } else { d.abs() });
    Ok(Report {
        images: count,
        right: classes.iter().zip(&labels).filter(|(class, label)| **class == i32::from(**label)).count(),
        right_there: counted(&file, &path)?,
        difference: differences.into_iter().fold(0.0, f32::max),
    })
}

/// Uploads a tensor of a safetensors file. Its bytes are little-endian, and need no alignment.
fn tensor(device: &Device, file: &SafeTensors<'_>, name: &str) -> Result<Tensor<f32>, Box<dyn Error>> {
    let view = file.tensor(name)?;
    let dtype = match view.dtype() {
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I8 => DType::I8,
        Dtype::U8 => DType::U8,
        other => return Err(format!("`{name}` has elements of {other:?}").into()),
    };
    Ok(device.upload_bytes(dtype, view.shape(), view.data())?.typed()?)
}

/// Uploads an array of a `.npy` file.
fn array<T: tilewright::Element>(device: &Device, name: &str) -> Result<Tensor<T>, Box<dyn Error>> {
    let path: PathBuf = Path::new(FOLDER).join(name);
    let file = File::open(&path).map_err(|e| about(&path, e))?;
    device.read_npy(file).map_err(|e| about(&path, e))
}

/// Returns the number of right classes in the metadata of the safetensors file.
fn counted(file: &[u8], path: &Path) -> Result<usize, Box<dyn Error>> {
    let (_, header) = SafeTensors::read_metadata(file).map_err(|e| about(path, e))?;
    let right = header.metadata().as_ref().and_then(|all| all.get("right"));
    Ok(right.ok_or_else(|| about(path, "it has no number of right classes"))?.parse()?)
}

fn about(path: &Path, error: impl std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {error}", path.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright::Options;

    #[test]
    fn every_device_agrees_with_scikit_learn() {
        let options = Options::from_env().expect("the environment is right").cache(None);
        for options in [options, Options::new().device("reference")] {
            let device = options.open().expect("a device");
            let Report { images, right, right_there, difference } = report(&device).expect("it runs");
            assert_eq!((images, right, right_there), (797, 755, 755), "{}", device.info());
            assert!(difference <= TOLERANCE, "{}: {difference:e}", device.info());
        }
    }
}
