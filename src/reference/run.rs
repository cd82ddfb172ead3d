//! Launches of the reference device. The thread that submits a launch interprets it, after the launches that it follows.

use super::{Ready, own, steps};
use crate::device::backend::{Described, LaunchStep, NotSubmitted, Recorded};
use crate::device::memory::lock;
use crate::device::submission::Part;
use crate::device::timing::{Span, Timed};
use crate::device::work::{Flight, Wait};
use crate::error::{Error, Result};
use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tilewright_reference::field::Field;
use tilewright_reference::{self as reference, Launch, RunError};

/// Interprets steps.
#[derive(Clone)]
pub(super) struct Interpreter {
    /// The field in which it computes, if its arithmetic is exact.
    pub(super) field: Option<Arc<Field>>,
    pub(super) threads: usize,
    /// The start of its clock.
    pub(super) start: Instant,
}

/// A part that is ready to be interpreted.
pub(super) struct RecordedPart {
    pub(super) interpreter: Interpreter,
    pub(super) part: Part,
    pub(super) timed: Timed,
    pub(super) timeout: Option<Duration>,
}

impl Recorded for RecordedPart {
    fn submit(self: Box<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted> {
        Ok(Arc::new(Run { of: *self, after: Mutex::new(after.to_vec()), result: Mutex::default(), ended: Condvar::new() }))
    }
}

/// A submission, which [`Flight::run`] interprets.
struct Run {
    of: RecordedPart,
    /// The submissions that it follows.
    after: Mutex<Vec<Arc<dyn Flight>>>,
    result: Mutex<Option<Result<Vec<Span>>>>,
    ended: Condvar,
}

impl Flight for Run {
    fn run(&self) {
        let mut end = End { run: self, result: Err(Error::DeviceLost { during: "a launch of the reference device" }) };
        end.result = self.interpret();
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<bool> {
        let mut result = lock(&self.result);
        while result.is_none() {
            result = match deadline.map(|d| d.saturating_duration_since(Instant::now())) {
                None => self.ended.wait(result).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return Ok(false),
                Some(left) => self.ended.wait_timeout(result, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        Ok(true)
    }

    fn finish(&self) -> Result<Vec<Span>> {
        lock(&self.result).clone().unwrap_or_else(|| Ok(Vec::new()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sets the result when it is dropped, so that a panic ends the submission.
struct End<'a> {
    run: &'a Run,
    result: Result<Vec<Span>>,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        *lock(&self.run.result) = Some(std::mem::replace(&mut self.result, Ok(Vec::new())));
        self.run.ended.notify_all();
    }
}

impl Run {
    /// Interprets the steps after the submissions that they follow.
    fn interpret(&self) -> Result<Vec<Span>> {
        let RecordedPart { interpreter, part, timed, timeout } = &self.of;
        let wait = Wait::new(*timeout);
        let (mut spans, deadline) = (Vec::new(), wait.deadline());
        let late = || wait.over(Described::steps(part.steps()));
        for earlier in std::mem::take(&mut *lock(&self.after)) {
            if !earlier.wait(deadline)? {
                return Err(late());
            }
        }
        for step in part.steps() {
            let begin = interpreter.now();
            interpreter.run(step, deadline)?.ok_or_else(late)?;
            if *timed != Timed::Nothing {
                spans.push(Span { begin, end: interpreter.now() });
            }
        }
        Ok(spans)
    }
}

impl Interpreter {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Runs a step; `None` if the deadline passed before its end.
    fn run(&self, step: &LaunchStep, deadline: Option<Instant>) -> Result<Option<()>> {
        let ready: &dyn Any = &*step.pipeline;
        let other = || Error::OtherDevice { what: format!("`{}`", step.name) };
        let ready: &Ready = ready.downcast_ref().ok_or_else(other)?;
        let steps: Vec<Vec<reference::StridedDim>> =
            step.uses.iter().zip(&ready.tensors).map(|(used, (_, element, _))| steps(&used.region, *element)).collect();
        let mut buffers = Vec::new();
        for ((used, (name, element, fresh)), steps) in step.uses.iter().zip(&ready.tensors).zip(&steps) {
            let (memory, region) = (own(used.memory.buffer())?, &used.region);
            if *fresh {
                region.runs().for_each(|at| memory.forget(at, region.run));
            }
            let (at, bytes, element, reads, writes) = (region.start, region.bytes(), *element, used.reads, used.writes);
            buffers.push(reference::Buffer { memory, at, bytes, steps, name, element, reads, writes });
        }
        let blocks: Vec<Vec<u8>> = step.pieces.iter().map(|piece| ready.with_addresses(piece.params.clone())).collect();
        let pieces = step.pieces.iter().zip(&blocks).map(|(p, params)| reference::Piece { groups: p.groups, params });
        let pieces: Vec<_> = pieces.collect();
        let budget = reference::BUDGET;
        let launch = Launch { buffers: &buffers, pieces: &pieces, threads: self.threads, budget, deadline };
        let run = match &self.field {
            Some(field) => ready.kernel.run_exactly(&launch, field),
            None => ready.kernel.run(&launch),
        };
        match run {
            Ok(_) => Ok(Some(())),
            Err(RunError::Late) => Ok(None),
            Err(RunError::Fault(fault)) => {
                Err(Error::Fault { variant: ready.variant.clone(), dispatch: step.name.to_string(), fault })
            }
            Err(RunError::TooLarge { groups, limit }) => {
                Err(Error::TooLarge { what: format!("the workgroups of `{}`", step.name), size: groups, limit })
            }
            Err(other @ RunError::OutOfMemory { .. }) => Err(Error::OutOfMemory { what: other.to_string() }),
        }
    }
}
