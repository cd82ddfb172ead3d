//! An open device of a runner. The runner is restarted after a failure.

use crate::exit::{Exit, Problem};
use crate::output;
use crate::place::{Reach, start};
use crate::sizes::Sizes;
use crate::variant::Compiled;
use std::collections::HashMap;
use tilewright_runner::message::{Array, Clock, FailureKind, Properties, Request, Statistics, Timed, Value};
use tilewright_runner::{Client, ClientError};

/// The number of consecutive failures after which a runner is given up.
const FAILURES: u32 = 3;

/// The least time of a timed run, in nanoseconds, because reading an H200's clock around each launch costs 0.7 us.
pub(crate) const LEAST: u64 = 200_000;

/// The name of the reference device, under every profile.
const REFERENCE: &str = "reference device";

/// An open device of a runner.
pub(crate) struct Reached {
    runner: Option<String>,
    reach: Reach,
    client: Option<Client>,
    /// The properties of the device.
    pub(crate) device: Properties,
    /// The runner's numbers of the modules that it has loaded.
    loaded: HashMap<String, u32>,
    failures: u32,
    /// The exit code for the last failure of the runner or of its device.
    pub(crate) failed: Option<Exit>,
}

/// The reason why a launch failed.
pub(crate) enum Trouble {
    /// The candidate's fault. Other candidates can still be launched.
    Refused(String),
    /// The candidate is compiled for another device, or for other sizes.
    Unsupported(String),
    /// The runner or the device is given up.
    Over(Problem),
}

impl Reached {
    pub(crate) fn open(runner: Option<&str>, reach: &Reach) -> Result<Reached, Problem> {
        let mut client = start(runner, reach)?;
        let device = client.open_with(reach.device.as_deref(), reach.statistics)?;
        if !device.timestamps && reach.clock() == Clock::Device {
            let text = format!("{} does not support timestamps on its compute queue, so launches cannot be timed", device.name);
            return Err(Problem { exit: Exit::Device, text });
        }
        if device.name.starts_with(REFERENCE) {
            output::message("note: the reference device interprets kernels, so its times do not predict a GPU's");
        }
        let (runner, reach) = (runner.map(str::to_owned), reach.clone());
        Ok(Reached { runner, reach, client: Some(client), device, loaded: HashMap::new(), failures: 0, failed: None })
    }

    /// Returns the runner's name.
    pub(crate) fn name(&self) -> &str {
        self.runner.as_deref().unwrap_or(crate::place::HERE)
    }

    /// Returns the device and its driver, with the clock if it is not the device's.
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

    /// Times launches of a module, in nanoseconds.
    pub(crate) fn time(&mut self, compiled: &Compiled, sizes: &Sizes, timed: Timed) -> Result<Vec<u64>, Trouble> {
        let kernel = self.load(compiled)?;
        let request = Request::Time { kernel, dims: sizes.0.clone(), timed };
        Ok(self.ask(|client| client.time(request))?.1)
    }

    /// Returns the driver's numbers of a module's dispatches.
    pub(crate) fn statistics(&mut self, compiled: &Compiled, sizes: &Sizes, seed: u64) -> Result<Vec<Statistics>, Trouble> {
        let kernel = self.load(compiled)?;
        self.ask(|client| client.statistics(kernel, sizes.0.clone(), seed))
    }

    /// Unloads a module that is not needed any more.
    pub(crate) fn forget(&mut self, compiled: &Compiled) {
        if let (Some(kernel), Some(client)) = (self.loaded.remove(&compiled.module), &mut self.client) {
            // If this fails, the next request reports it.
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
        let device = client.open_with(self.reach.device.as_deref(), self.reach.statistics).map_err(|e| Trouble::Over(e.into()))?;
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
        // The runner has failed, or its device is lost, so the next launch starts a new runner.
        self.client = None;
        self.loaded.clear();
        self.failures += 1;
        let problem = Problem::from(error);
        self.failed = Some(problem.exit);
        Err(if self.failures >= FAILURES { Trouble::Over(problem) } else { Trouble::Refused(problem.text) })
    }
}
