//! Runs a kernel of Tilewright on wgpu's device, between two compute passes of wgpu: a shader in WGSL fills an image, the kernel blurs it,
//! and another shader darkens the result. The buffers and the command encoder are wgpu's. The result is checked against plain Rust.
//!
//! wgpu passes the kernel's SPIR-V through to Vulkan (`Features::PASSTHROUGH_SHADERS`). [`launch`] has all that a program needs for
//! that, and [`passes`] the two shaders.

mod launch;
mod messages;
mod passes;

use launch::Launch;
use passes::Pass;
use tilewright::program::{LaunchArgument, LaunchDescription, LaunchLimits, Role};
use tilewright::{Error, kernel, schedule};

kernel! {
    /// Blurs an image by a window of 3 x 3 with weights. Pixels beyond the edge are the nearest ones in it.
    pub fn blur<H, W, C>(image: f32[H, W, C], weights: f32[3, 3]) -> blurred: f32[H, W, C] {
        blurred[y, x, c] = sum(dy in 0..3, dx in 0..3) {
            image.clamp()[y + dy - 1, x + dx - 1, c] * weights[dy, dx]
        };
    }
}

schedule! {
    /// Tiles of 4 x 8 pixels and 4 channels, an invocation for each element. The profile has no `address`, so buffers are bound by descriptor, as wgpu does it.
    pub TILED: blur for tilewright::devices::vulkan_1_1 {
        tile(y: 4, x: 8, c: 4) => workgroup(z, y, x);
        tile(y: 1, x: 1, c: 1) => thread(z, y, x);
    }
}

/// The height, width and channels of the image. The width is not a multiple of a tile.
const SHAPE: [usize; 3] = [120, 203, 4];
const WEIGHTS: [f32; 9] = [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    messages::listen()?;
    run()?;
    Ok(messages::check()?)
}

fn run() -> Result<(), Failure> {
    let (adapter, device, queue) = pollster::block_on(open())?;
    println!("wgpu's device is {}", adapter.get_info().name);
    let limits = device.limits();
    let limits = LaunchLimits {
        grid: [limits.max_compute_workgroups_per_dimension; 3],
        storage_buffer_bytes: limits.max_storage_buffer_binding_size,
        storage_buffer_offset: u64::from(limits.min_storage_buffer_offset_alignment),
    };
    let arguments = [LaunchArgument::from(&SHAPE), LaunchArgument::from(&[3, 3])];
    let description = LaunchDescription::new(&TILED.program()?, arguments, &limits)?;
    let buffers: Vec<wgpu::Buffer> = description.tensors.iter().map(|tensor| buffer(&device, tensor.bound_bytes)).collect();
    let of = |role: Role, nth: usize| description.tensors.iter().enumerate().filter(move |(_, t)| t.role == role).nth(nth);
    let place = |role, nth| of(role, nth).map(|(n, _)| &buffers[n]).ok_or("the kernel has two inputs and an output");
    let (image, weights, blurred) = (place(Role::Input, 0)?, place(Role::Input, 1)?, place(Role::Output, 0)?);
    queue.write_buffer(weights, 0, &bytes(&WEIGHTS));

    let fill = Pass::new(&device, passes::FILL, image);
    let darken = Pass::new(&device, passes::DARKEN, blurred);
    // SAFETY: the description is of a program that the compiler made, and has not changed.
    let launch = unsafe { Launch::new(&device, &description, &buffers) }?;
    let read = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("result"),
        size: blurred.size(),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let elements = SHAPE.iter().product::<usize>() as u32;
    fill.record(&mut encoder, elements);
    launch.record(&mut encoder);
    darken.record(&mut encoder, elements);
    encoder.copy_buffer_to_buffer(blurred, 0, &read, 0, blurred.size());
    queue.submit([encoder.finish()]);

    let got = download(&device, &read)?;
    check(&got)?;
    println!("{elements} elements are right");
    Ok(())
}

/// Opens wgpu's device, with the features that the kernel needs: SPIR-V that is passed through, and push constants, which wgpu calls
/// immediates.
async fn open() -> Result<(wgpu::Adapter, wgpu::Device, wgpu::Queue), Failure> {
    let mut instance = wgpu::InstanceDescriptor::new_without_display_handle();
    instance.backends = wgpu::Backends::VULKAN;
    // With Vulkan's validation layer, if it is installed: `messages` keeps its errors.
    instance.flags = wgpu::InstanceFlags::VALIDATION;
    let adapter = wgpu::Instance::new(instance).request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
    let limits = wgpu::Limits { max_immediate_size: 128, ..wgpu::Limits::default() };
    let descriptor = wgpu::DeviceDescriptor {
        required_features: wgpu::Features::PASSTHROUGH_SHADERS | wgpu::Features::IMMEDIATES,
        required_limits: limits,
        // SAFETY: the program passes the modules of Tilewright's compiler only.
        experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = adapter.request_device(&descriptor).await?;
    Ok((adapter, device, queue))
}

fn buffer(device: &wgpu::Device, bytes: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn download(device: &wgpu::Device, buffer: &wgpu::Buffer) -> Result<Vec<f32>, Failure> {
    let (send, receive) = std::sync::mpsc::channel();
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| send.send(result).unwrap_or_default());
    device.poll(wgpu::PollType::wait_indefinitely())?;
    receive.recv()??;
    let mapped = buffer.slice(..).get_mapped_range()?;
    Ok(mapped.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| f32::from_le_bytes(*word)).collect())
}

/// Compares the result with plain loops. All values are integers below 2^24, so f32 holds them exactly.
fn check(got: &[f32]) -> Result<(), Failure> {
    let [height, width, channels] = SHAPE;
    let image = |y: usize, x: usize, c: usize| passes::filled((y * width + x) * channels + c);
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let mut sum = 0.0;
                for (n, weight) in WEIGHTS.iter().enumerate() {
                    let inside = |at: usize, shift: usize, size: usize| (at + shift).saturating_sub(1).min(size - 1);
                    sum += weight * image(inside(y, n / 3, height), inside(x, n % 3, width), c);
                }
                let (wanted, at) = (passes::darkened(sum), (y * width + x) * channels + c);
                if got.get(at) != Some(&wanted) {
                    return Err(format!("element [{y}, {x}, {c}] is {:?}, and should be {wanted}", got.get(at)).into());
                }
            }
        }
    }
    Ok(())
}

/// Returns the error of a description that wgpu cannot run.
fn unsupported(reason: impl Into<String>) -> Failure {
    Failure::from(Error::AshDevice { reason: reason.into() })
}
