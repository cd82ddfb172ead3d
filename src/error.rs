//! What can go wrong between opening a device and reading a result.

use std::fmt;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something did not work, and what would.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An environment variable that this crate reads, with a value that means nothing to it.
    #[error("the environment variable {name} is {value:?}; it should be {wanted}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// No Vulkan loader on this machine.
    #[error("no Vulkan loader was found ({reason}); {INSTALL}")]
    NoLoader {
        /// What the system said.
        reason: String,
    },
    /// A loader, but no driver that it can use.
    #[error("the Vulkan loader found no driver ({reason}); {INSTALL}")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// The Vulkan loader stops at a malformed manifest of a driver or a layer, whatever other drivers there are. Newer loaders pass
    /// over it.
    #[error(
        "the Vulkan loader stops at the malformed manifest {file}: repair or remove it, or use a newer loader, which passes over it"
    )]
    Manifest {
        /// The manifest.
        file: String,
    },
    /// There are devices, but not the one asked for, or none that will do.
    #[error("no device {wanted}; there {are}", are = Listed(available))]
    NoDevice {
        /// What was asked for.
        wanted: String,
        /// The devices there are, one line each.
        available: Vec<String>,
    },
    /// Validation was asked for and its layer is not installed.
    #[error(
        "TILEWRIGHT_VALIDATION asks for the layer VK_LAYER_KHRONOS_validation, which is not installed \
         (Debian and Ubuntu: apt install vulkan-validationlayers)"
    )]
    NoValidationLayer,
    /// The validation layers complained.
    #[error("the Vulkan validation layers report: {}", messages.join("\n"))]
    Validation {
        /// Their messages.
        messages: Vec<String>,
    },
    /// A call stopped waiting, as [`Options::timeout`](crate::Options::timeout) says. What it waited for may go on: until it has
    /// ended, what it uses is [`Error::InFlight`].
    #[error("{what} has not ended after {after:?}, the timeout of this device (`Options::timeout`, `TILEWRIGHT_TIMEOUT`)")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        after: std::time::Duration,
    },
    /// What is asked for is in use by work that a call stopped waiting for, by [`Error::Timeout`]. Once that work has ended, the
    /// same call succeeds.
    #[error("{what} is in use by work that had not ended at the timeout, and still has not")]
    InFlight {
        /// What is in use.
        what: String,
    },
    /// The device is gone: a driver crash, a hang or a removed device. Its tensors are lost, and every later call gives this
    /// error again; open it anew.
    #[error("the device was lost during {during}")]
    DeviceLost {
        /// What was going on.
        during: &'static str,
    },
    /// Not enough memory.
    #[error("out of memory: {what}")]
    OutOfMemory {
        /// What was wanted.
        what: String,
    },
    /// Any other failure of a Vulkan call.
    #[error("{call} failed: {code}")]
    Vulkan {
        /// The call.
        call: &'static str,
        /// Its result.
        code: String,
    },
    /// Bytes that are no launch program.
    #[error(transparent)]
    Decode(#[from] tilewright_launch::DecodeError),
    /// A launch program that contradicts itself: no compiler of this version made it.
    #[error("the launch program of `{variant}` is malformed: {reason}")]
    Malformed {
        /// The variant.
        variant: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A variant whose schedule did not compile.
    #[error("the schedule `{variant}` did not compile: see the error at its `schedule!`")]
    Broken {
        /// The variant.
        variant: &'static str,
    },
    /// An empty list of variants.
    #[error("there is no variant to load: the list is empty")]
    NothingToLoad,
    /// The device meets no variant's requirements.
    #[error("`{kernel}`: no variant runs on {device}{}", Reasons(reasons))]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// Each variant and the first requirement that is not met.
        reasons: Vec<(String, String)>,
    },
    /// Variants that cannot be loaded together.
    #[error("`{first}` and `{second}` cannot be loaded together: {reason}")]
    Disagree {
        /// One variant.
        first: String,
        /// The other.
        second: String,
        /// Where they differ.
        reason: String,
    },
    /// An argument of the wrong number, kind or dtype.
    #[error("`{kernel}`: {message}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// A shape that the kernel does not take.
    #[error("`{kernel}`: {message}")]
    Shape {
        /// The kernel.
        kernel: String,
        /// Which tensor has which shape, and what it should be.
        message: String,
    },
    /// Sizes for which a fact of the kernel does not hold: one that its `where` states, or one that it needs for its indices.
    #[error("`{kernel}` {message}")]
    Needs {
        /// The kernel.
        kernel: String,
        /// Which fact, and what the sizes are.
        message: String,
    },
    /// No variant takes these arguments.
    #[error("`{kernel}`: no variant takes these arguments{}", Reasons(reasons))]
    NoVariant {
        /// The kernel.
        kernel: String,
        /// Each variant and the first thing that keeps it from being taken.
        reasons: Vec<(String, String)>,
    },
    /// Memory that a launch writes is also read or written by it under another name.
    #[error("`{kernel}`: `{written}` is written, but shares memory with `{other}`")]
    Overlap {
        /// The kernel.
        kernel: String,
        /// The tensor written.
        written: String,
        /// The tensor that it overlaps.
        other: String,
    },
    /// A shape whose elements are not as many as those given.
    #[error("shape {shape:?} has {wanted} elements, but there are {got}")]
    Elements {
        /// The shape.
        shape: Vec<usize>,
        /// Its number of elements.
        wanted: String,
        /// The number there is.
        got: usize,
    },
    /// A part or an order of a tensor's elements that it does not have.
    #[error("a view of a tensor of shape {shape:?}: {message}")]
    View {
        /// The tensor's shape.
        shape: Vec<usize>,
        /// What there is not, and what there is.
        message: String,
    },
    /// A dtype other than that of the tensor.
    #[error("the tensor's elements are {got}, not {wanted}")]
    DType {
        /// What was asked for.
        wanted: tilewright_launch::DType,
        /// What there is.
        got: tilewright_launch::DType,
    },
    /// A layout other than that of the tensor.
    #[error("the tensor is {got}, not {wanted}")]
    Layout {
        /// What was asked for.
        wanted: String,
        /// What there is.
        got: String,
    },
    /// What a packed or prepared tensor cannot do.
    #[error("a tensor that is {layout} cannot be {what}")]
    Packed {
        /// What was asked of it.
        what: &'static str,
        /// Its layout.
        layout: String,
    },
    /// A launch or tensor beyond what the device takes.
    #[error("{what}: {size}, where the device allows {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Things of two devices in one launch.
    #[error("{what} belongs to another device")]
    OtherDevice {
        /// What does.
        what: String,
    },
    /// A tensor without contents: the batch that made it has not run.
    #[error("{what} has no contents: the batch that writes it has not run")]
    NotSubmitted {
        /// The tensor.
        what: String,
    },
    /// A tensor that will never have contents: the batch that was to write it ended with an error before the launch that writes it was
    /// seen to end. For example, a batch of many launches is several submissions, and the first came to the timeout.
    #[error("{what} will never have contents: its batch failed before the launch that writes it had ended")]
    NeverWritten {
        /// The tensor.
        what: String,
    },
    /// A listener of [`Options::on_message`](crate::Options::on_message) uses a device. The validation layers call it while they hold their
    /// locks, so the call would wait for itself.
    #[error("a listener of `Options::on_message` cannot use a device: note the message, and act once the listener has returned")]
    InListener,
    /// A path that cannot be the folder of the pipeline cache.
    #[error("{folder:?} cannot be the folder of the pipeline cache: {reason}")]
    CacheFolder {
        /// The path.
        folder: std::path::PathBuf,
        /// The reason, and what to pass instead.
        reason: String,
    },
    /// A kernel did what it must not, as found by the reference device. Compiled schedules never do: it is a fault of the
    /// compiler.
    #[error("`{variant}`, dispatch `{dispatch}`: {fault}")]
    Fault {
        /// The kernel and the variant.
        variant: String,
        /// The dispatch.
        dispatch: String,
        /// What was found.
        fault: Box<tilewright_reference::Fault>,
    },
    /// A tensor's contents are asked for, and the reference device knows that nothing has written them all.
    #[error("the tensor is read at byte {byte}, which nothing has written")]
    Unwritten {
        /// The first byte that has no value.
        byte: u64,
    },
    /// Words that the reference device cannot run.
    #[error("`{variant}`, dispatch `{dispatch}`: {reason}")]
    Words {
        /// The kernel and the variant.
        variant: String,
        /// The dispatch.
        dispatch: String,
        /// Why.
        reason: tilewright_reference::DecodeError,
    },
    /// The queue of the device has no timestamps.
    #[error("{device} has no timestamps on its compute queue: nothing can be timed on it")]
    NoTimestamps {
        /// The device.
        device: String,
    },
}

const INSTALL: &str =
    "install one: on Debian and Ubuntu `apt install mesa-vulkan-drivers libvulkan1`, or the driver of the GPU's vendor";

/// One reason a line.
struct Reasons<'a>(&'a [(String, String)]);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(variant, reason)| write!(f, "\n  `{variant}`: {reason}"))
    }
}

/// The devices there are.
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
