//! The requests to a runner, and its answers.
//!
//! A conversation begins with [`Request::Hello`], whose encoding is the same in all versions. Every answer carries the number of its
//! request. A change of any other message requires a new [`VERSION`].

use serde::{Deserialize, Serialize};
use tilewright_launch::DType;

/// The version of the messages.
pub const VERSION: u32 = 4;

/// A request and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberedRequest {
    /// The number of the request, counted from 1.
    pub number: u64,
    /// The request.
    pub request: Request,
}

/// An answer and the number of its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The number of the request.
    pub number: u64,
    /// The answer, or the reason why there is none.
    pub answer: Result<Answer, Failure>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Asks for the runner's version. Must be the first request.
    Hello {
        /// The client's [`VERSION`].
        version: u32,
    },
    /// Asks for the installed tools, and the devices.
    Diagnose,
    /// Opens a device in place of the open one. The loaded kernels are forgotten.
    Open {
        /// The device's name, as in `TILEWRIGHT_DEVICE`. `None` for the environment's choice.
        device: Option<String>,
        /// True to make the driver keep its numbers of dispatches, such as registers.
        statistics: bool,
    },
    /// Loads an encoded launch program.
    Load {
        /// The bytes of `tilewright_launch::Program::encode`.
        program: Vec<u8>,
    },
    /// Forgets a kernel.
    Unload {
        /// The number from [`Answer::Loaded`].
        kernel: u32,
    },
    /// Runs a kernel once.
    Run {
        /// The number from [`Answer::Loaded`].
        kernel: u32,
        /// The arguments, in the kernel's order.
        arguments: Vec<Value>,
        /// The shapes of the outputs.
        outputs: Vec<Vec<u64>>,
    },
    /// Times launches with random inputs. The device's clock times them in one submission, the processor's clock in one submission for each
    /// launch.
    Time {
        /// The number from [`Answer::Loaded`].
        kernel: u32,
        /// The symbolic dims by name.
        dims: Vec<(String, i64)>,
        /// The parameters of the measurement.
        timed: Timed,
    },
    /// Asks for the driver's numbers of the dispatches of a launch.
    Statistics {
        /// The number from [`Answer::Loaded`].
        kernel: u32,
        /// The symbolic dims by name.
        dims: Vec<(String, i64)>,
        /// The seed of the random inputs. With the seed of a measurement, its inputs are used again.
        seed: u64,
    },
}

/// The parameters of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Launches before those that count, because clocks rise and caches fill during the first ones.
    pub warm_up: u32,
    /// Runs that count.
    pub runs: u32,
    /// The least time of a run by the device's clock, in nanoseconds. A run consists of enough launches in a row to take that long, and its
    /// time is divided by their number. With 0, or with the processor's clock, a run is one launch.
    pub least: u64,
    /// Sets of arguments that the launches take in turn.
    pub sets: u32,
    /// The seed of the random inputs.
    pub seed: u64,
    /// The clock.
    pub clock: Clock,
}

/// A clock that times launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The device's timestamps.
    #[default]
    Device,
    /// The processor time of all threads of the runner. For a driver for the CPU, this is the cost of a launch even if other processes keep
    /// the cores busy.
    Processor,
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Request::Hello`].
    Hello {
        /// The runner's [`VERSION`].
        version: u32,
        /// The version of its package.
        package: String,
    },
    /// To [`Request::Diagnose`].
    Diagnosis(Diagnosis),
    /// To [`Request::Open`].
    Opened(Properties),
    /// To [`Request::Load`]: the number of the kernel in later requests.
    Loaded(u32),
    /// To [`Request::Unload`].
    Unloaded,
    /// To [`Request::Run`]: the outputs, then the tensors that are updated, each in the kernel's order.
    Results(Vec<Array>),
    /// To [`Request::Time`].
    Times {
        /// The version that ran.
        variant: String,
        /// Nanoseconds of each launch, in order.
        nanoseconds: Vec<u64>,
    },
    /// To [`Request::Statistics`]: the dispatches, in order. Empty if the device does not keep these numbers.
    Statistics(Vec<Statistics>),
}

/// The driver's numbers of a dispatch, and the median of its nanoseconds by the device's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// The name of the dispatch.
    pub dispatch: String,
    /// The names and values, in the driver's order.
    pub values: Vec<(String, f64)>,
}

/// The reason why a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The event, and a way to avoid it.
    pub text: String,
}

/// The kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The request is invalid.
    Request,
    /// The device does not exist, or it cannot be opened.
    NoDevice,
    /// The program is made for another device, or for other sizes.
    Unsupported,
    /// The device refuses the program or its arguments.
    Refused,
    /// The device is lost, or did not end in time. It must be opened again.
    Lost,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A tensor's elements.
    Tensor(Array),
    /// A scalar, as an array of one element and no dimensions.
    Scalar(Array),
    /// A size.
    Size(u64),
}

/// Elements, row-major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Their type.
    pub dtype: DType,
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The elements, little-endian. A bool is a byte of 0 or 1.
    pub bytes: Vec<u8>,
}

/// The software that is installed on a runner's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The operating system and the architecture.
    pub system: String,
    /// The reason why a Vulkan loader is missing.
    pub loader: Option<String>,
    /// The reason why a driver is missing. `None` also if the loader is missing.
    pub driver: Option<String>,
    /// The reason why a validation layer is missing. `None` also if the loader is missing.
    pub layers: Option<String>,
    /// Tilewright's environment variables that are set.
    pub environment: Vec<(String, String)>,
    /// The devices. The reference device comes last.
    pub devices: Vec<Properties>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Its index among the devices.
    pub index: u64,
    /// Its name, as the driver gives it.
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// The Vulkan version: major, minor.
    pub vulkan: (u32, u32),
    /// The features that variants can require and the device has, named as in `profile!`.
    pub features: Vec<String>,
    /// The cooperative matrices that it multiplies, as `M x N x K factor factor sum`. `None` for all.
    pub matrices: Option<Vec<String>>,
    /// The dot products of bytes that the device computes fast, named as in `profile!`.
    pub fast_dots: Vec<String>,
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size of dispatches that do not require one.
    pub subgroup: u32,
    /// The smallest and the largest subgroup size that can be required.
    pub subgroup_range: (u32, u32),
    /// Subgroups in a workgroup.
    pub subgroups: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// True if launches can be timed.
    pub timestamps: bool,
}
