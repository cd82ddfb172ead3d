//! Carries out requests: opens a device, loads kernels, runs launches.

use crate::arguments::{Dims, Pool, Set, Sizes};
use crate::diagnosis::diagnose;
use crate::launches::Launches;
use crate::message::{Answer, Array, Clock, Failure, FailureKind, Properties, Request, Statistics, Timed, VERSION, Value};
use crate::rest::Rest;
use crate::spin::Spin;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Device, DeviceKind, DynKernel, Error, Options};
use tilewright_launch::{Argument as Position, Program, Role};

/// The launches whose dispatches are timed for the numbers of a kernel, if the first one is short.
const TIMED: usize = 9;
const SHORT: Duration = Duration::from_millis(50);

/// Answers requests, one after another.
#[derive(Default)]
pub struct Worker {
    device: Option<Device>,
    kernels: HashMap<u32, DynKernel>,
    loaded: u32,
    pool: Pool,
    /// The sizes of the pool's tensors.
    sizes: Sizes,
    rest: Rest,
    /// The kernel that keeps the device busy, once it is needed.
    spin: Option<Spin>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let kind = match &error {
            Error::NoLoader { .. }
            | Error::NoDriver { .. }
            | Error::NoDevice { .. }
            | Error::Manifest { .. }
            | Error::NoValidationLayer => FailureKind::NoDevice,
            Error::DeviceLost { .. } | Error::Timeout { .. } => FailureKind::Lost,
            Error::Environment { .. } => FailureKind::Request,
            Error::Unsupported { .. } | Error::NoVariant { .. } | Error::Unprepared { .. } => FailureKind::Unsupported,
            _ => FailureKind::Refused,
        };
        Failure { kind, text: error.to_string() }
    }
}

impl From<Box<dyn StdError>> for Failure {
    fn from(error: Box<dyn StdError>) -> Failure {
        match error.downcast::<Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Failure { kind: FailureKind::Refused, text: error.to_string() },
        }
    }
}

fn senseless(text: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Request, text: text.into() }
}

impl Worker {
    /// Returns a worker without a device.
    pub fn new() -> Worker {
        Worker::default()
    }

    /// Carries out a request.
    ///
    /// # Errors
    /// Returns the reason why it was not carried out.
    pub fn answer(&mut self, request: Request) -> Result<Answer, Failure> {
        match request {
            Request::Hello { .. } => Ok(Answer::Hello { version: VERSION, package: env!("CARGO_PKG_VERSION").into() }),
            Request::Diagnose => diagnose().map(Answer::Diagnosis),
            Request::Open { device, statistics } => self.open(device, statistics),
            Request::Load { program } => self.load(&program),
            Request::Unload { kernel } => match self.kernels.remove(&kernel) {
                Some(_) => Ok(Answer::Unloaded),
                None => Err(senseless(format!("kernel {kernel} does not exist"))),
            },
            Request::Run { kernel, arguments, outputs } => self.run(kernel, &arguments, &outputs),
            Request::Statistics { kernel, dims, seed } => {
                self.resize(dims);
                self.statistics(kernel, seed)
            }
            Request::Time { kernel, dims, timed } => {
                self.resize(dims);
                let mut time = || self.time(kernel, &timed);
                time().or_else(|failure| {
                    // The tensors of other kernels may have filled the memory.
                    self.pool.clear();
                    if failure.kind == FailureKind::Refused { self.time(kernel, &timed) } else { Err(failure) }
                })
            }
        }
    }

    /// Sets the sizes of later launches. The tensors of other sizes are dropped.
    fn resize(&mut self, dims: Vec<(String, i64)>) {
        if dims != self.sizes {
            self.pool.clear();
            self.sizes = dims;
        }
    }

    fn open(&mut self, wanted: Option<String>, statistics: bool) -> Result<Answer, Failure> {
        self.kernels.clear();
        self.pool.clear();
        self.spin = None;
        self.device = None;
        let mut options = Options::from_env()?;
        if let Some(wanted) = wanted {
            options = options.device(wanted);
        }
        if statistics {
            options = options.statistics(true);
        }
        let device = options.open()?;
        let properties = Properties::from(device.info());
        self.device = Some(device);
        Ok(Answer::Opened(properties))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<Answer, Failure> {
        let device = self.device.as_ref().ok_or_else(|| senseless("no device is open"))?;
        let program = Program::decode(bytes).map_err(|e| senseless(e.to_string()))?;
        // SAFETY: the client vouches for the program. A runner runs any program that its client sends.
        let kernel = unsafe { device.load_programs(vec![program]) }?;
        self.loaded += 1;
        self.kernels.insert(self.loaded, kernel);
        Ok(Answer::Loaded(self.loaded))
    }

    fn run(&self, kernel: u32, arguments: &[Value], outputs: &[Vec<u64>]) -> Result<Answer, Failure> {
        let kernel = self.kernels.get(&kernel).ok_or_else(|| senseless(format!("kernel {kernel} does not exist")))?;
        let program = plain(kernel)?;
        let mut owned = owned(kernel, program, arguments)?;
        let args = owned.iter_mut().map(Owned::argument);
        let roles: Vec<_> = program.tensors.iter().filter(|t| t.role == Role::Output).collect();
        let mut tensors = if roles.iter().any(|t| t.layout.is_some()) {
            kernel.run(args)?
        } else {
            if roles.len() != outputs.len() {
                return Err(senseless(format!("{} shapes are given, but the kernel has {} outputs", outputs.len(), roles.len())));
            }
            let poison = |(t, shape): (&&tilewright_launch::Tensor, &Vec<u64>)| -> Result<AnyTensor, Failure> {
                Ok(Array::poison(t.dtype, shape).map_err(senseless)?.upload(kernel.device())?)
            };
            let mut tensors = roles.iter().zip(outputs).map(poison).collect::<Result<Vec<_>, _>>()?;
            kernel.run_into(args, tensors.iter_mut())?;
            tensors
        };
        let is_update = |owned: Owned| if let Owned::Update(tensor) = owned { Some(tensor) } else { None };
        tensors.extend(owned.into_iter().filter_map(is_update));
        Ok(Answer::Results(tensors.iter().map(Array::download).collect::<Result<_, _>>()?))
    }

    fn time(&mut self, kernel: u32, timed: &Timed) -> Result<Answer, Failure> {
        if timed.sets == 0 || timed.runs == 0 {
            return Err(senseless("`runs` and `sets` must be at least 1"));
        }
        let (kernel, sets) = self.sets(kernel, (0..u64::from(timed.sets)).map(|n| timed.seed.wrapping_add(n)))?;
        let (start, awake) = (Instant::now(), self.wake(timed.clock)?);
        let mut launches = Launches { kernel: &kernel, sets, busy: awake };
        let times = launches.times(timed);
        self.rest.busy(start, Instant::now(), launches.busy);
        let (variant, nanoseconds) = times?;
        Ok(Answer::Times { variant, nanoseconds })
    }

    /// Keeps a GPU that has rested busy, and returns the time for which it was busy.
    fn wake(&mut self, clock: Clock) -> Result<Duration, Failure> {
        let device = self.device.as_ref().ok_or_else(|| senseless("no device is open"))?;
        let wanted = self.rest.until(Instant::now());
        if clock == Clock::Processor || device.info().kind == DeviceKind::Cpu || wanted.is_zero() {
            return Ok(Duration::ZERO);
        }
        let spin = match self.spin.take() {
            Some(spin) => spin,
            None => Spin::new(device)?,
        };
        self.spin.insert(spin).keep_busy(device, wanted)
    }

    fn statistics(&mut self, kernel: u32, seed: u64) -> Result<Answer, Failure> {
        let (kernel, mut sets) = self.sets(kernel, [seed].into_iter())?;
        let mut all = Vec::new();
        for set in &mut sets {
            match kernel.statistics(set.both().0) {
                Err(Error::NoStatistics { .. }) => {}
                found => all.extend(found?),
            }
        }
        let of = |all: tilewright::Statistics| Statistics {
            dispatch: all.dispatch,
            values: all.values.into_iter().map(|one| (one.name, one.value)).collect(),
        };
        let mut all: Vec<Statistics> = all.into_iter().map(of).collect();
        let (start, mut launches) = (Instant::now(), Launches { kernel: &kernel, sets, busy: Duration::ZERO });
        let mut times = launches.dispatches(1);
        if times.is_ok() && launches.busy < SHORT {
            times = launches.dispatches(TIMED);
        }
        self.rest.busy(start, Instant::now(), launches.busy);
        for (dispatch, nanoseconds) in times? {
            let time = ("Nanoseconds".to_owned(), nanoseconds as f64);
            match all.iter_mut().find(|of| of.dispatch == dispatch) {
                Some(of) => of.values.push(time),
                None => all.push(Statistics { dispatch, values: vec![time] }),
            }
        }
        Ok(Answer::Statistics(all))
    }

    /// Returns a kernel, and a set of arguments at the present sizes for each seed.
    fn sets(&mut self, kernel: u32, seeds: impl Iterator<Item = u64>) -> Result<(DynKernel, Vec<Set>), Failure> {
        let kernel = self.kernels.get(&kernel).ok_or_else(|| senseless(format!("kernel {kernel} does not exist")))?;
        let known = |name: &str| self.sizes.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        let dims = Dims::new(plain(kernel)?, &known).map_err(senseless)?;
        let pool = &mut self.pool;
        let sets = seeds.map(|seed| Set::new(kernel, &dims, pool, seed)).collect::<Result<_, _>>()?;
        Ok((kernel.clone(), sets))
    }
}

/// Returns the version of a loaded kernel without additional facts. Its shapes hold for all versions.
fn plain(kernel: &DynKernel) -> Result<&Program, Failure> {
    kernel.variants().last().ok_or_else(|| senseless("the kernel does not have a variant"))
}

enum Owned {
    Read(AnyTensor),
    Update(AnyTensor),
    Scalar(tilewright::Scalar),
    Size(usize),
}

impl Owned {
    fn argument(&mut self) -> Argument<'_> {
        match self {
            Owned::Read(tensor) => (&*tensor).into(),
            Owned::Update(tensor) => tensor.into(),
            Owned::Scalar(scalar) => (*scalar).into(),
            Owned::Size(size) => (*size).into(),
        }
    }
}

/// Uploads the arguments to the device, and packs or prepares those that the kernel takes so.
fn owned(kernel: &DynKernel, program: &Program, arguments: &[Value]) -> Result<Vec<Owned>, Failure> {
    if arguments.len() != program.arguments.len() {
        return Err(senseless(format!(
            "{} arguments are given, but the kernel takes {}",
            arguments.len(),
            program.arguments.len()
        )));
    }
    let mut all = Vec::new();
    for (position, value) in program.arguments.iter().zip(arguments) {
        all.push(match (position, value) {
            (_, Value::Size(n)) => Owned::Size(usize::try_from(*n).map_err(|e| senseless(e.to_string()))?),
            (_, Value::Scalar(array)) => Owned::Scalar(array.scalar().map_err(senseless)?),
            (Position::Tensor(i), Value::Tensor(array)) => {
                let tensor = array.upload(kernel.device())?;
                let wanted = &program.tensors[*i as usize];
                match wanted.role {
                    Role::Update => Owned::Update(tensor),
                    _ if program.preparations.iter().any(|p| p.input == *i) => Owned::Read(kernel.prepare(&wanted.name, &tensor)?),
                    _ if wanted.layout.is_some() => Owned::Read(kernel.pack(&wanted.name, &tensor)?),
                    _ => Owned::Read(tensor),
                }
            }
            (_, Value::Tensor(_)) => return Err(senseless("a tensor is given where the kernel takes a number")),
        });
    }
    Ok(all)
}
