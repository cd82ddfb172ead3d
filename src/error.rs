//! The errors of the runtime.

use std::env::consts::OS;
use std::fmt;
use std::sync::Arc;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the runtime. The message says what failed, and where possible what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable that this crate reads has a value that it does not know.
    #[error("the environment variable {name} is {value:?}; it should be {wanted}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values that are accepted.
        wanted: &'static str,
    },
    /// This machine has no Vulkan loader.
    #[error("no Vulkan loader was found ({reason}); {}", install(OS))]
    NoLoader {
        /// The system's message.
        reason: String,
    },
    /// The Vulkan loader found no driver that it can use.
    #[error("the Vulkan loader found no driver ({reason}); {}", install(OS))]
    NoDriver {
        /// The loader's message.
        reason: String,
    },
    /// The Vulkan loader stops at a malformed manifest of a driver or a layer, even if other drivers are present. Newer loaders
    /// skip it.
    #[error("the Vulkan loader stops at the malformed manifest {file}: repair or remove it, or use a newer loader, which skips it")]
    Manifest {
        /// The manifest.
        file: String,
    },
    /// No device matches the request, or none is usable.
    #[error("no device {wanted}; there {are}", are = Listed(available))]
    NoDevice {
        /// The request.
        wanted: String,
        /// The available devices, one line each.
        available: Vec<String>,
    },
    /// Validation was requested, but its layer is not installed.
    #[error(
        "TILEWRIGHT_VALIDATION asks for the layer VK_LAYER_KHRONOS_validation, which is not installed \
         (Debian and Ubuntu: apt install vulkan-validationlayers)"
    )]
    NoValidationLayer,
    /// The validation layers reported messages.
    #[error("the Vulkan validation layers report: {}", messages.join("\n"))]
    Validation {
        /// Their messages.
        messages: Vec<String>,
    },
    /// A call stopped waiting after [`Options::timeout`](crate::Options::timeout). The work that it waited for may continue on the
    /// device. Later calls that need its tensors wait for it again.
    #[error("{what} has not ended after {after:?}, the timeout of this device (`Options::timeout`, `TILEWRIGHT_TIMEOUT`)")]
    Timeout {
        /// The work that the call waited for.
        what: String,
        /// The time after which it stopped.
        after: std::time::Duration,
    },
    /// The device was lost: by a driver crash, a hang, or because it was removed. Its tensors are lost, and every later call
    /// returns this error. To continue, open the device again.
    #[error("the device was lost during {during}")]
    DeviceLost {
        /// The operation during which it was lost.
        during: &'static str,
    },
    /// The device or the host does not have enough memory.
    #[error("out of memory: {what}")]
    OutOfMemory {
        /// The allocation that failed.
        what: String,
    },
    /// A recording does not have the launch that was to be changed.
    #[error("the recording has no launch {launch}: it has {count}, numbered from 0")]
    NoLaunch {
        /// The requested launch.
        launch: usize,
        /// The number of launches.
        count: usize,
    },
    /// Any other failure of a Vulkan call.
    #[error("{call} failed: {code}")]
    Vulkan {
        /// The call.
        call: &'static str,
        /// The result code.
        code: String,
    },
    /// The bytes are not a launch program.
    #[error(transparent)]
    Decode(#[from] tilewright_launch::DecodeError),
    /// The launch program contradicts itself, so it was not made by this version's compiler.
    #[error("the launch program of `{variant}` is malformed: {reason}")]
    Malformed {
        /// The variant.
        variant: String,
        /// The contradiction.
        reason: String,
    },
    /// The variant's schedule did not compile.
    #[error("the schedule `{variant}` did not compile: see the error at its `schedule!`")]
    Broken {
        /// The variant.
        variant: &'static str,
    },
    /// The list of variants is empty.
    #[error("cannot load an empty list of variants")]
    NothingToLoad,
    /// The device does not meet the requirements of any variant.
    #[error("`{kernel}`: no variant runs on {device}{}", Reasons(reasons))]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// Each variant and the first requirement that is not met.
        reasons: Vec<(String, String)>,
    },
    /// Two variants cannot be loaded together.
    #[error("`{first}` and `{second}` cannot be loaded together: {reason}")]
    Disagree {
        /// One variant.
        first: String,
        /// The other.
        second: String,
        /// The difference.
        reason: String,
    },
    /// The number of arguments is wrong, or an argument has the wrong kind or dtype.
    #[error("`{kernel}`: {message}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The mistake, and the expected argument.
        message: String,
    },
    /// A tensor has a shape that the kernel does not take.
    #[error("`{kernel}`: {message}")]
    Shape {
        /// The kernel.
        kernel: String,
        /// The tensor, its shape, and the expected shape.
        message: String,
    },
    /// A fact of the kernel does not hold for the sizes of the launch. The fact is stated after `where`, or the kernel's indices
    /// need it.
    #[error("`{kernel}` {message}")]
    Needs {
        /// The kernel.
        kernel: String,
        /// The fact and the sizes.
        message: String,
    },
    /// No variant takes these arguments.
    #[error("`{kernel}`: no variant takes these arguments{}", Reasons(reasons))]
    NoVariant {
        /// The kernel.
        kernel: String,
        /// Each variant and the first reason for which it does not take the arguments.
        reasons: Vec<(String, Refusal)>,
    },
    /// No variant that prepares this input takes the tensor: see [`DynKernel::prepare`](crate::DynKernel::prepare).
    #[error("`{kernel}`: `{input}` cannot be prepared: {}", reasons.iter().map(|r| r.message.as_str()).collect::<Vec<_>>().join("; "))]
    Unprepared {
        /// The kernel.
        kernel: String,
        /// The input.
        input: String,
        /// The first reason of each variant.
        reasons: Vec<Refusal>,
    },
    /// A launch writes memory that it also reads or writes through another argument.
    #[error("`{kernel}`: `{written}` is written, but shares memory with `{other}`")]
    Overlap {
        /// The kernel.
        kernel: String,
        /// The tensor written.
        written: String,
        /// The tensor that it overlaps.
        other: String,
    },
    /// A shape has another number of elements than were given.
    #[error("shape {shape:?} has {wanted} elements, but there are {got}")]
    Elements {
        /// The shape.
        shape: Vec<usize>,
        /// Its number of elements.
        wanted: String,
        /// The number of elements that were given.
        got: usize,
    },
    /// A copy between a tensor and a host tensor of different shapes.
    #[error("a copy needs equal shapes: the tensor has {tensor:?}, and the host tensor has {host:?}")]
    HostShape {
        /// The tensor's shape.
        tensor: Vec<usize>,
        /// The host tensor's shape.
        host: Vec<usize>,
    },
    /// Bytes are not the elements of a tensor: see [`Device::upload_bytes`](crate::Device::upload_bytes).
    #[error("a tensor of {dtype} and shape {shape:?}: {reason}")]
    Bytes {
        /// The element type.
        dtype: tilewright_launch::DType,
        /// The shape.
        shape: Vec<usize>,
        /// The difference.
        reason: String,
    },
    /// The shape of an array is not the tensor's, or an array cannot have the tensor's shape.
    #[error("the tensor has shape {shape:?}, and the array {array}")]
    Array {
        /// The tensor's shape.
        shape: Vec<usize>,
        /// The array's shape or number of dimensions.
        array: String,
    },
    /// A `.npy` file has contents that no tensor has, or a tensor has elements that no `.npy` file has.
    #[error("cannot {action} a .npy file: {reason}")]
    Npy {
        /// `read` or `write`.
        action: &'static str,
        /// The reason, and where possible what to do.
        reason: String,
    },
    /// Reading or writing a file failed.
    #[error("cannot {action} a .npy file: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// A view selects elements that the tensor does not have, or a shape that the tensor cannot be viewed in.
    #[error("a view of a tensor of shape {shape:?}: {message}")]
    View {
        /// The tensor's shape.
        shape: Vec<usize>,
        /// The missing part, and the parts that exist.
        message: String,
    },
    /// A tensor was converted to a dtype other than its own.
    #[error("the tensor's elements are {got}, not {wanted}")]
    DType {
        /// The requested dtype.
        wanted: tilewright_launch::DType,
        /// The tensor's dtype.
        got: tilewright_launch::DType,
    },
    /// A tensor was converted to a layout other than its own.
    #[error("the tensor is {got}, not {wanted}")]
    Layout {
        /// The requested layout.
        wanted: String,
        /// The tensor's layout.
        got: String,
    },
    /// A packed or prepared tensor does not support the operation.
    #[error("a tensor that is {layout} cannot be {what}")]
    Packed {
        /// The operation.
        what: &'static str,
        /// Its layout.
        layout: String,
    },
    /// A launch or a tensor exceeds a limit of the device, or of the runtime.
    #[error("{what}: {size}, and the limit is {limit}")]
    TooLarge {
        /// The quantity that is too large.
        what: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A Vulkan device of the caller cannot be used: see [`Device::from_ash`](crate::Device::from_ash).
    #[error("the Vulkan device cannot be used: {reason}")]
    AshDevice {
        /// The reason, and the change that is needed.
        reason: String,
    },
    /// A buffer of the caller cannot hold a tensor: see [`Device::tensor_over`](crate::Device::tensor_over).
    #[error("the buffer cannot hold a tensor of shape {shape:?}: {reason}")]
    AshBuffer {
        /// The tensor's shape.
        shape: Vec<usize>,
        /// The reason, and the change that is needed.
        reason: String,
    },
    /// The tensor's buffer is the caller's and lacks the usage that a copy needs.
    #[error("the tensor's buffer was created without `BufferUsageFlags::{usage}`, which `{call}` needs")]
    BufferUsage {
        /// The missing usage.
        usage: &'static str,
        /// The function.
        call: &'static str,
    },
    /// A launch uses objects of two devices.
    #[error("{what} belongs to another device")]
    OtherDevice {
        /// The object of another device.
        what: String,
    },
    /// The tensor has no contents yet, because the batch that writes it has not been submitted.
    #[error("{what} is uninitialized: the batch that writes it has not run")]
    NotSubmitted {
        /// The tensor.
        what: String,
    },
    /// The memory is in use by a batch in a command buffer of the program: see [`BatchCommands`](crate::BatchCommands).
    #[error("{what} is in use by a command buffer: call `BatchCommands::ended` once it has ended")]
    InCommands {
        /// The memory that is in use.
        what: String,
    },
    /// The tensor will never have contents, because its batch ended with an error before the launch that writes it was seen to end.
    /// For example, a batch of many launches is several submissions, and the first reached the timeout.
    #[error("{what} will never have contents: its batch failed before the launch that writes it had ended")]
    NeverWritten {
        /// The tensor.
        what: String,
    },
    /// A listener of [`Options::on_message`](crate::Options::on_message) used a device. The validation layers call it while they
    /// hold their locks, so the call would deadlock.
    #[error("a listener of `Options::on_message` cannot use a device: store the message, and act after the listener has returned")]
    InListener,
    /// The path cannot be the folder of the pipeline cache.
    #[error("{folder:?} cannot be the folder of the pipeline cache: {reason}")]
    CacheFolder {
        /// The path.
        folder: std::path::PathBuf,
        /// The reason, and what to pass instead.
        reason: String,
    },
    /// A kernel violated a rule, for example by an access out of bounds. The reference device finds this, and so does a kernel that
    /// checks its accesses ([`Options::checks`](crate::Options::checks)). Compiled schedules never do this, so it is a bug of the
    /// compiler.
    #[error("`{variant}`, dispatch `{dispatch}`: {fault}")]
    Fault {
        /// The kernel and the variant.
        variant: String,
        /// The dispatch.
        dispatch: String,
        /// The violation.
        fault: Box<tilewright_reference::Fault>,
    },
    /// A tensor was read, and the reference device found that some of its elements were never written.
    #[error("the tensor is read at byte {byte}, which was never written")]
    Unwritten {
        /// The first byte that was never written.
        byte: u64,
    },
    /// Elements of a field were asked of a device whose arithmetic is not exact.
    #[error("{device} does not compute in exact arithmetic: open a device by `Device::exact`")]
    NotExact {
        /// The name of the device.
        device: String,
    },
    /// The driver's numbers of a dispatch were requested from a device that does not keep them.
    #[error(
        "{device} keeps no statistics of dispatches: open it with `Options::statistics` (`TILEWRIGHT_STATISTICS=1`); the driver needs \
         VK_KHR_pipeline_executable_properties"
    )]
    NoStatistics {
        /// The name of the device.
        device: String,
    },
    /// The reference device cannot run the SPIR-V module.
    #[error("`{variant}`, dispatch `{dispatch}`: {reason}")]
    Words {
        /// The kernel and the variant.
        variant: String,
        /// The dispatch.
        dispatch: String,
        /// The reason.
        reason: tilewright_reference::DecodeError,
    },
    /// Checks cannot be added to the SPIR-V module ([`Options::checks`](crate::Options::checks)).
    #[error("`{variant}`, dispatch `{dispatch}`: checks cannot be added: {reason}")]
    NotChecked {
        /// The kernel and the variant.
        variant: String,
        /// The dispatch.
        dispatch: String,
        /// The reason.
        reason: tilewright_reference::DecodeError,
    },
    /// The device's compute queue does not support timestamps.
    #[error("{device} does not support timestamps on its compute queue, so launches cannot be timed")]
    NoTimestamps {
        /// The device.
        device: String,
    },
}

/// Returns how to install a loader and a driver on an operating system, named as in [`OS`].
fn install(os: &str) -> &'static str {
    match os {
        "macos" => {
            "install MoltenVK and the loader: the Vulkan SDK from vulkan.lunarg.com, or `brew install molten-vk vulkan-loader`; the loader is \
             libvulkan.dylib, and programs find Homebrew's with DYLD_FALLBACK_LIBRARY_PATH=/opt/homebrew/lib (on Intel: /usr/local/lib)"
        }
        "windows" => "install the driver of the GPU's vendor, which brings the loader vulkan-1.dll",
        "android" => "the loader libvulkan.so and the driver are parts of the system: this device or emulator has no Vulkan",
        _ => "install one: on Debian and Ubuntu `apt install mesa-vulkan-drivers libvulkan1`, or the driver of the GPU's vendor",
    }
}

/// The reason for which a variant does not take the arguments of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The cause.
    pub cause: Cause,
    /// The explanation.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Refusal {
        Refusal { cause, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The causes of a [`Refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// A shape is not one that the kernel takes.
    Shape,
    /// A fact of the kernel does not hold. Every variant of it needs the fact.
    Need,
    /// A fact of the schedule, or one that the compiler assumed, does not hold.
    Fact,
    /// An index can exceed 32 bits.
    Index,
    /// A fact or an index depends on the free strides of a view, and does not hold or can exceed 32 bits for these.
    Strides,
    /// The schedule does not take a view with these strides, or one that begins there.
    View,
    /// A result would have too many elements.
    Elements,
    /// The variant cannot access so many bytes of one tensor on this device.
    Bytes,
    /// An input was prepared, but not for this variant.
    Preparation,
}

/// Prints one reason per line.
struct Reasons<'a, R>(&'a [(String, R)]);

impl<R: fmt::Display> fmt::Display for Reasons<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(variant, reason)| write!(f, "\n  `{variant}`: {reason}"))
    }
}

/// Prints the available devices.
struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("are none"),
            [one] => write!(f, "is\n  {one}"),
            more => {
                f.write_str("are")?;
                more.iter().try_for_each(|d| write!(f, "\n  {d}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_own_advice() {
        for (os, advice) in [
            ("linux", "apt install mesa-vulkan-drivers libvulkan1"),
            ("freebsd", "the driver of the GPU's vendor"),
            ("macos", "brew install molten-vk vulkan-loader"),
            ("macos", "DYLD_FALLBACK_LIBRARY_PATH=/opt/homebrew/lib"),
            ("windows", "vulkan-1.dll"),
            ("android", "libvulkan.so"),
        ] {
            assert!(install(os).contains(advice), "{os}: {}", install(os));
        }
        let error = Error::NoLoader { reason: "libvulkan.so.1: cannot open".to_owned() }.to_string();
        assert!(error.starts_with("no Vulkan loader was found (libvulkan.so.1: cannot open); "), "{error}");
        assert!(error.ends_with(install(OS)), "{error}");
    }
}
