//! An open device behind a runner, which is started anew where it has failed.

use crate::exit::{Exit, Problem};
use crate::place::{Reach, start};
use crate::sizes::Sizes;
use crate::variant::Compiled;
use std::collections::HashMap;
use tilewright_runner::message::{Array, Clock, FailureKind, Properties, Request, Timed, Value};
use tilewright_runner::{Client, ClientError};

/// Failures of a runner one after another, before it is given up.
const FAILURES: u32 = 3;

/// What a timed run takes at least, in nanoseconds: to read an H200's clock around each launch costs 0.7 us.
pub(crate) const LEAST: u64 = 200_000;

/// What the reference device is called, under every profile.
const REFERENCE: &str = "reference device";

/// A device.
pub(crate) struct Reached {
    runner: Option<String>,
    reach: Reach,
    client: Option<Client>,
    /// The device.
    pub(crate) device: Properties,
    /// What the runner calls the modules that it has loaded.
    loaded: HashMap<String, u32>,
    failures: u32,
    /// How the last failure of the runner, or of its device, would end this program.
    pub(crate) failed: Option<Exit>,
}

/// Why a launch did not end well.
pub(crate) enum Trouble {
    /// It is the candidate's: others can go on.
    Refused(String),
    /// It is made for another device, or for other sizes.
    Unsupported(String),
    /// The runner or the device is given up.
    Over(Problem),
}

impl Reached {
    pub(crate) fn open(runner: Option<&str>, reach: &Reach) -> Result<Reached, Problem> {
        let mut client = start(runner, reach)?;
        let device = client.open(reach.device.as_deref())?;
        if !device.timestamps && reach.clock() == Clock::Device {
            let text = format!("{} has no timestamps on its compute queue: nothing can be timed on it", device.name);
            return Err(Problem { exit: Exit::Device, text });
        }
        if device.name.starts_with(REFERENCE) {
            anstream::eprintln!("note: the reference device interprets kernels: its times say nothing of a GPU's");
        }
        let (runner, reach) = (runner.map(str::to_owned), reach.clone());
        Ok(Reached { runner, reach, client: Some(client), device, loaded: HashMap::new(), failures: 0, failed: None })
    }

    /// How the runner is called.
    pub(crate) fn name(&self) -> &str {
        self.runner.as_deref().unwrap_or(crate::place::HERE)
    }

    /// The device, its driver, and the clock if it is another than the device's.
    pub(crate) fn clocked(&self) -> [String; 2] {
        let clock = if self.reach.cpu { ", by the processor's time" } else { "" };
        [self.device.name.clone(), format!("{}{clock}", self.device.driver)]
    }

    /// Runs a module once.
    pub(crate) fn run(
        &mut self,
        compiled: &Compiled,
        arguments: Vec<Value>,
        outputs: Vec<Vec<u64>>,
    ) -> Result<Vec<Array>, Trouble> {
        let kernel = self.load(compiled)?;
        self.ask(|client| client.run(kernel, arguments, outputs))
    }

    /// Nanoseconds of launches of a module.
    pub(crate) fn time(&mut self, compiled: &Compiled, sizes: &Sizes, timed: Timed) -> Result<Vec<u64>, Trouble> {
        let kernel = self.load(compiled)?;
        let request = Request::Time { kernel, dims: sizes.0.clone(), timed };
        Ok(self.ask(|client| client.time(request))?.1)
    }

    /// Forgets a module that is not needed any more.
    pub(crate) fn forget(&mut self, compiled: &Compiled) {
        if let (Some(kernel), Some(client)) = (self.loaded.remove(&compiled.module), &mut self.client) {
            // Where this fails, the next request will say so.
            let _ = client.unload(kernel);
        }
    }

    fn load(&mut self, compiled: &Compiled) -> Result<u32, Trouble> {
        if self.client.is_none() {
            self.restart()?;
        }
        if let Some(kernel) = self.loaded.get(&compiled.module) {
            return Ok(*kernel);
        }
        let bytes = compiled.bytes().map_err(Trouble::Refused)?;
        let kernel = self.ask(|client| client.load(bytes))?;
        self.loaded.insert(compiled.module.clone(), kernel);
        Ok(kernel)
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        let mut client = start(self.runner.as_deref(), &self.reach).map_err(Trouble::Over)?;
        let device = client.open(self.reach.device.as_deref()).map_err(|e| Trouble::Over(e.into()))?;
        if (&device.name, &device.driver) != (&self.device.name, &self.device.driver) {
            let text = format!("the runner `{}` now has {}, and had {}", self.name(), device.name, self.device.name);
            return Err(Trouble::Over(Problem { exit: Exit::Runner, text }));
        }
        self.client = Some(client);
        Ok(())
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Client) -> Result<T, ClientError>) -> Result<T, Trouble> {
        let Some(client) = &mut self.client else { return Err(Trouble::Refused("the runner is not there".to_owned())) };
        let error = match ask(client) {
            Ok(answer) => {
                self.failures = 0;
                return Ok(answer);
            }
            Err(error) => error,
        };
        match &error {
            ClientError::Failed(failure) if failure.kind == FailureKind::Unsupported => {
                return Err(Trouble::Unsupported(failure.text.clone()));
            }
            ClientError::Failed(failure) if failure.kind != FailureKind::Lost => {
                return Err(Trouble::Refused(failure.text.clone()));
            }
            _ => {}
        }
        // The runner has failed, or its device is lost: the next launch begins with new ones.
        self.client = None;
        self.loaded.clear();
        self.failures += 1;
        let problem = Problem::from(error);
        self.failed = Some(problem.exit);
        Err(if self.failures >= FAILURES { Trouble::Over(problem) } else { Trouble::Refused(problem.text) })
    }
}
