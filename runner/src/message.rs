//! What is asked of a runner, and what it answers.
//!
//! A conversation begins with [`Request::Hello`], whose encoding no version changes. Every answer carries the number of its request. A
//! change of any other message is a new [`VERSION`].

use serde::{Deserialize, Serialize};
use tilewright_launch::DType;

/// The version of the messages.
pub const VERSION: u32 = 3;

/// A request and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Which it is, counted from 1.
    pub number: u64,
    /// What is asked.
    pub request: Request,
}

/// An answer and the number of its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Whose answer it is.
    pub number: u64,
    /// The answer, or why there is none.
    pub answer: Result<Answer, Failure>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Who is there. Comes first.
    Hello {
        /// The asker's [`VERSION`].
        version: u32,
    },
    /// What is installed, and which devices there are.
    Diagnose,
    /// Opens a device, in place of the one that was open; with it go all kernels.
    Open {
        /// As `TILEWRIGHT_DEVICE` names it; `None`: what the environment says.
        device: Option<String>,
    },
    /// Loads an encoded launch program.
    Load {
        /// `tilewright_launch::Program::encode`.
        program: Vec<u8>,
    },
    /// Forgets a kernel.
    Unload {
        /// What [`Answer::Loaded`] said.
        kernel: u32,
    },
    /// Runs a kernel once.
    Run {
        /// What [`Answer::Loaded`] said.
        kernel: u32,
        /// In the kernel's order.
        arguments: Vec<Value>,
        /// The shapes of the outputs.
        outputs: Vec<Vec<u64>>,
    },
    /// Times launches with random inputs: by the device's clock, in one submission; or by that of the processor, one submission each.
    Time {
        /// What [`Answer::Loaded`] said.
        kernel: u32,
        /// The symbolic dims by name.
        dims: Vec<(String, i64)>,
        /// How.
        timed: Timed,
    },
}

/// How launches are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Launches that do not count, before those that do: clocks rise, caches fill.
    pub warm_up: u32,
    /// Runs that count.
    pub runs: u32,
    /// What a run takes at least by the device's clock, in nanoseconds: it is as many launches, one after another, and its time is theirs
    /// divided by their number. 0, and by the processor's clock: a run is a launch.
    pub least: u64,
    /// Sets of arguments that the launches take in turn.
    pub sets: u32,
    /// What the inputs are made from.
    pub seed: u64,
    /// The clock.
    pub clock: Clock,
}

/// What times launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The device's timestamps.
    #[default]
    Device,
    /// The time that the processor's cores spend for the runner, all threads: of a driver for the CPU, what a launch takes even where other
    /// processes keep the cores busy.
    Processor,
}

/// What comes back.
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
    /// To [`Request::Load`]: how the kernel is called from now on.
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
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, and what would help.
    pub text: String,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The request makes no sense.
    Request,
    /// There is no such device, or it cannot be opened.
    NoDevice,
    /// The program is made for another device, or for other sizes.
    Unsupported,
    /// The device does not take the program, or these arguments.
    Refused,
    /// The device is lost, or did not end in time: it is to be opened anew.
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
    /// Little-endian; a bool is a byte of 0 or 1.
    pub bytes: Vec<u8>,
}

/// What is installed where a runner runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The operating system and the architecture.
    pub system: String,
    /// Why there is no Vulkan loader.
    pub loader: Option<String>,
    /// Why there is no driver; also `None` where there is no loader.
    pub driver: Option<String>,
    /// Why there is no validation layer; also `None` where there is no loader.
    pub layers: Option<String>,
    /// Tilewright's environment variables that are set.
    pub environment: Vec<(String, String)>,
    /// The devices. The reference device comes last.
    pub devices: Vec<Properties>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Its place among the devices.
    pub index: u64,
    /// Its name, as the driver gives it.
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// The Vulkan version: major, minor.
    pub vulkan: (u32, u32),
    /// The features that it has of those that variants can require, as `profile!` calls them.
    pub features: Vec<String>,
    /// The cooperative matrices that it multiplies, as `M x N x K factor factor sum`; `None`: all.
    pub matrices: Option<Vec<String>>,
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size where none is required.
    pub subgroup: u32,
    /// The smallest and the largest that can be required.
    pub subgroup_range: (u32, u32),
    /// Subgroups in a workgroup.
    pub subgroups: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// Whether launches can be timed.
    pub timestamps: bool,
}
