//! Judges a case: it is refused with an error, runs and is right, or is a finding.

use crate::case::{Case, Pair};
use crate::compare::compare;
use crate::compile::{Refusal, Variant, choices, rule, variant};
use crate::memory::Most;
use crate::validate::validate;
use cpu_time::{ProcessTime, ThreadTime};
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use tilewright::{Cause, Device, DeviceKind, Error, Options};
use tilewright_check::{Fill, Inputs};
use tilewright_dsl::length::is_long;
use tilewright_dsl::lower::launch::size;
use tilewright_dsl::nest::{Block, Exec, Node, NodeKind, Program};
use tilewright_prove::launch::{admits, dim_values, inputs, launch};
use tilewright_prove::views::fit;
use tilewright_prove::{Outcome, Subject, run_with};
use tilewright_reference::FaultKind;

/// The most processor time for a compilation.
const MOST: Duration = Duration::from_secs(1);

/// The most time that a driver may take to compile a variant, because all launches in the meantime may wait for it.
const DRIVER: Duration = Duration::from_secs(5);

/// The most steps of an invocation that are waited for.
const LONG: i128 = 1 << 20;

/// The most steps of a launch that are waited for, of all invocations together. The reference device takes a microsecond for each.
const MOST_STEPS: i128 = 1 << 24;

/// The devices that judge cases.
pub struct Judge {
    reference: Device,
    vulkan: Option<Device>,
    options: Options,
    /// Write-locked while the driver's time is measured, and read-locked by all other uses of the driver.
    driver: RwLock<()>,
}

/// Options for judging a case.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// True to run it on Vulkan, too.
    pub vulkan: bool,
    /// True to compile it twice, and compare the results.
    pub twice: bool,
}

/// The result of judging a case.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It does not compile, with an error message.
    Refused(Refusal),
    /// It is right.
    Right(Ran),
    /// A bug was found.
    Found(Find),
}

/// Counts of the launches of a case.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Launches on the reference device.
    pub launches: u32,
    /// Launches on Vulkan.
    pub on_vulkan: u32,
    /// The reasons of refused launches: sizes that a fact or a shape excludes.
    pub refused: Vec<String>,
    /// Launches whose results were equal to the algorithm's in exact arithmetic.
    pub exact: u32,
    /// The reasons of launches about whose results exact arithmetic shows nothing.
    pub not_shown: Vec<String>,
    /// Launches that have a result with more than a third of its elements unbounded.
    pub vague: u32,
}

/// A finding, which is a bug of the compiler, the runtime or a driver.
#[derive(Clone, Debug)]
pub struct Find {
    /// The kind of finding.
    pub kind: Kind,
    /// The description.
    pub text: String,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The compiler, or the runtime, panicked.
    Panic,
    /// Our compiler or the driver's took too long.
    Slow,
    /// Two compilations of the same text differ.
    Undetermined,
    /// The verifier, or the backend, refused a nest that the directives had accepted.
    Defect,
    /// `spirv-val` refused a SPIR-V module.
    Words,
    /// The evaluation says that the algorithm is wrong, but the compiler accepted it.
    Evaluation,
    /// A launch was refused for no known reason.
    Launch,
    /// The reference device reported a fault.
    Fault,
    /// The validation layers reported a message.
    Validation,
    /// A wrong value.
    Value,
    /// A value that differs in exact arithmetic, although it is within the bound of the error.
    Exact,
    /// Another error of a device.
    Device,
}

impl Find {
    fn new(kind: Kind, text: impl Into<String>) -> Find {
        Find { kind, text: text.into() }
    }

    /// Returns a key that is the same for findings that probably have the same cause.
    pub fn key(&self) -> String {
        match self.kind {
            Kind::Value | Kind::Slow => format!("{:?}", self.kind),
            kind => format!("{kind:?}: {}", rule(&self.text)),
        }
    }
}

/// The launches of a pair.
struct Launches<'a> {
    pair: &'a Pair,
    /// True if indices may pass 2^31.
    large: bool,
    /// Returns true for a launch whose sizes the runtime may refuse.
    open: &'a dyn Fn(usize) -> bool,
}

/// Returns a verdict, even if judging panics.
fn caught(judge: impl FnOnce() -> Verdict) -> Verdict {
    let judged = catch_unwind(AssertUnwindSafe(judge));
    // proc-macro2 keeps the places of tokens by thread. They are not needed after a case.
    proc_macro2::extra::invalidate_current_thread_spans();
    judged.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Verdict::Found(Find::new(Kind::Panic, said.unwrap_or_else(|| "a panic".into())))
    })
}

impl Judge {
    /// Opens the devices.
    ///
    /// # Errors
    /// If a device is missing.
    pub fn open(vulkan: bool) -> Result<Judge, Error> {
        let reference = Options::new().device("reference").open()?;
        let layers = std::env::var("TILEWRIGHT_VALIDATION").as_deref() != Ok("0");
        // There is no timeout, because the fuzzer reports cases that hang.
        let options = Options::from_env()?.validation(layers).cache(None).timeout(None);
        let device = if vulkan { Some(options.open()?) } else { None };
        Ok(Judge { reference, vulkan: device, options, driver: RwLock::new(()) })
    }

    /// Judges a case.
    pub fn judge(&self, case: &Case, orders: Orders) -> Verdict {
        caught(|| self.judged(case, orders))
    }

    fn judged(&self, case: &Case, orders: Orders) -> Verdict {
        let pair = case.pair();
        let start = ThreadTime::now();
        let compiled = variant(&pair.kernel, &pair.schedule, &pair.profile);
        let took = start.elapsed();
        // Places are counted from the first token that a thread has read. They are reset, so that the next text has the same places
        // as if it were the first.
        proc_macro2::extra::invalidate_current_thread_spans();
        if took > MOST {
            return Verdict::Found(Find::new(Kind::Slow, format!("{} ms for a compilation", took.as_millis())));
        }
        if orders.twice
            && let Some(find) = differs(&compiled, &variant(&pair.kernel, &pair.schedule, &pair.profile))
        {
            return Verdict::Found(find);
        }
        let variant = match compiled {
            Ok(variant) => variant,
            Err(refusal) if refusal.is_defect => {
                return Verdict::Found(Find::new(Kind::Defect, refusal.message));
            }
            Err(refusal) => return Verdict::Refused(refusal),
        };
        if orders.twice
            && let Some(find) = tuned_otherwise(case)
        {
            return Verdict::Found(find);
        }
        let launches = Launches { pair: &pair, large: case.large, open: &|n| case.has_open_sizes(n) };
        match self.run(&launches, &variant, orders.vulkan) {
            Ok(ran) => Verdict::Right(ran),
            Err(find) => Verdict::Found(find),
        }
    }

    /// Judges a deep pair ([`crate::deep`]): the time and memory of its compilation, and its values.
    pub fn judge_deep(&self, pair: &Pair, most: Most, vulkan: bool) -> (Verdict, Duration, i64) {
        let (mut took, mut bytes) = (Duration::ZERO, 0);
        let verdict = caught(|| {
            let compiled;
            (compiled, took, bytes) = most.measured(|| variant(&pair.kernel, &pair.schedule, &pair.profile));
            if let Some(text) = most.exceeded(took, bytes) {
                return Verdict::Found(Find::new(Kind::Slow, text));
            }
            let variant = match compiled {
                Ok(variant) => variant,
                Err(refusal) if refusal.is_defect => return Verdict::Found(Find::new(Kind::Defect, refusal.message)),
                Err(refusal) => return Verdict::Refused(refusal),
            };
            match self.run(&Launches { pair, large: true, open: &|_| false }, &variant, vulkan) {
                Ok(ran) => Verdict::Right(ran),
                Err(find) => Verdict::Found(find),
            }
        });
        (verdict, took, bytes)
    }

    fn run(&self, of: &Launches<'_>, variant: &Variant, vulkan: bool) -> Result<Ran, Find> {
        validate(variant).map_err(|text| Find::new(Kind::Words, text))?;
        crate::positions::check(variant, &mut Rng::with_seed(of.pair.values)).map_err(|text| Find::new(Kind::Launch, text))?;
        let mut ran = Ran::default();
        let case = of.pair;
        for (n, dims) in case.dims.iter().enumerate() {
            let dims: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
            let fill = |name: &str| case.fills.iter().find(|(n, _)| n == name).map_or(Fill::Small, |(_, fill)| *fill);
            let mut random = Rng::with_seed(case.values.wrapping_add(n as u64));
            match inputs(&variant.algorithm, &dims, &case.scalars, &fill, &mut random) {
                Ok(inputs) => self.launches(of, n, variant, &inputs, vulkan, &mut ran)?,
                Err(why) => ran.refused.push(rule(&why)),
            }
        }
        Ok(ran)
    }

    /// Runs one launch on each device.
    fn launches(
        &self,
        of: &Launches<'_>,
        n: usize,
        variant: &Variant,
        inputs: &Inputs,
        vulkan: bool,
        ran: &mut Ran,
    ) -> Result<(), Find> {
        let dims = &of.pair.dims[n];
        let algorithm = &variant.algorithm;
        if let Some(reason) = beyond(variant, inputs, dims) {
            ran.refused.push(reason.to_owned());
            return Ok(());
        }
        let mut wanted = None;
        for device in std::iter::once(&self.reference).chain(self.vulkan.iter().filter(|_| vulkan)) {
            let own = std::ptr::eq(device, &self.reference);
            let shared = (!own).then(|| self.driver.read().unwrap_or_else(PoisonError::into_inner));
            let (start, processor) = (Instant::now(), ThreadTime::now());
            // SAFETY: the compiler made this program.
            let loaded = unsafe { device.load_programs(vec![variant.program.clone()]) };
            let launched = loaded.and_then(|kernel| launch(&kernel, &variant.program, algorithm, inputs));
            let took = start.elapsed();
            drop(shared);
            if !own && took > DRIVER {
                ready_in(variant, processor.elapsed())?;
                // A time that load on the host cannot explain is not measured again, because this would delay all other cases as
                // long.
                let is_certain = device.info().kind != DeviceKind::Cpu && took > 4 * DRIVER;
                ready_in(variant, if is_certain { took } else { self.made_ready(variant, inputs) })?;
            }
            let results = match launched {
                Ok(results) => results,
                Err(error) => match excused(&error, of, n, variant) {
                    Some(reason) => {
                        ran.refused.push(reason);
                        continue;
                    }
                    None => return Err(of_error(&error, dims)),
                },
            };
            if wanted.is_none() {
                let values = tilewright_check::wanted(algorithm, variant.decomposed.as_ref(), &inputs.given);
                wanted = Some(values.map_err(|text| Find::new(Kind::Evaluation, text))?);
            }
            let Some(wanted) = &wanted else { continue };
            for (id, values) in results {
                let buffer = &algorithm.buffers[id];
                let unknown = compare(buffer, &wanted[&id], &values).map_err(|text| {
                    let on = if own { "the reference device" } else { "Vulkan" };
                    Find::new(Kind::Value, format!("{text} at {dims:?} on {on}"))
                })?;
                ran.vague += u32::from(unknown * 3 > values.len());
            }
            if own {
                ran.launches += 1;
                exactly(variant, inputs, of.pair.values, ran)
                    .map_err(|text| Find::new(Kind::Exact, format!("{text} at {dims:?}")))?;
            } else {
                ran.on_vulkan += 1;
            }
        }
        Ok(())
    }
}

/// Runs a variant in exact arithmetic, and compares the results for equality.
fn exactly(variant: &Variant, inputs: &Inputs, seed: u64, ran: &mut Ran) -> Result<(), String> {
    let nests = variant.specialized.iter().chain([&variant.nest]).collect();
    let subject = Subject::new(&variant.program, &variant.algorithm, nests);
    match run_with(&subject, inputs.clone(), seed)?.outcome {
        Outcome::Equal => ran.exact += 1,
        Outcome::NotShown(reasons) => ran.not_shown.extend(reasons.into_iter().next()),
        Outcome::Different { tensor, index, wanted, got } => return Err(format!("`{tensor}`{index:?} is {got}, not {wanted}")),
        Outcome::Fault(fault) => return Err(fault),
    }
    Ok(())
}

/// Returns why a launch of these sizes is not run, because it would last too long on any device.
fn beyond(variant: &Variant, inputs: &Inputs, dims: &[(String, i64)]) -> Option<&'static str> {
    if !fit(&variant.program, inputs, &variant.algorithm) {
        return Some("views among more elements than are made");
    }
    (steps(variant, dims, &|_| true) > MOST_STEPS).then_some("more steps than are waited for")
}

/// Checks that a driver compiled a variant in time, or that the compiler has warned that it may not.
fn ready_in(variant: &Variant, took: Duration) -> Result<(), Find> {
    let most = if variant.program.dispatches.iter().any(is_long) { 4 * DRIVER } else { DRIVER };
    match took > most {
        true => Err(Find::new(Kind::Slow, format!("the driver takes {} ms for it", took.as_millis()))),
        false => Ok(()),
    }
}

/// Measurements of the driver's compiler.
impl Judge {
    /// Returns the time that the driver takes to compile a variant, on a separate device while no other case uses the driver. Some
    /// drivers compile in the thread that makes a pipeline. Others compile in another thread at the first launch, and other
    /// launches wait for it. (A driver that compiles in the calling thread may use a cached result here, but then the processor
    /// time was already measured.)
    fn made_ready(&self, variant: &Variant, inputs: &Inputs) -> Duration {
        let _alone = self.driver.write().unwrap_or_else(PoisonError::into_inner);
        // Returns the lesser of the elapsed time and this program's processor time, so that load by other programs or by other
        // threads here does not count.
        let timed = |work: &mut dyn FnMut() -> Result<(), Error>| -> Result<Duration, Error> {
            let (start, processor) = (Instant::now(), ProcessTime::now());
            work()?;
            Ok(start.elapsed().min(processor.elapsed()))
        };
        let measured = self.options.open().and_then(|device| {
            let mut kernel = None;
            let loading = timed(&mut || {
                // SAFETY: the compiler made this program.
                kernel = Some(unsafe { device.load_programs(vec![variant.program.clone()]) }?);
                Ok(())
            })?;
            let mut run = || kernel.as_ref().map_or(Ok(()), |k| launch(k, &variant.program, &variant.algorithm, inputs).map(drop));
            let (first, second) = (timed(&mut run)?, timed(&mut run)?);
            Ok(loading + first.saturating_sub(second))
        });
        // Errors are ignored, because the launch itself reports them.
        measured.unwrap_or_default()
    }
}

/// Finds bugs in other choices of tuned constants: refusals by the verifier or by `spirv-val`.
fn tuned_otherwise(case: &Case) -> Option<Find> {
    if !case.schedule.blocks.iter().flat_map(|b| &b.directives).any(|d| d.name == "tune") {
        return None;
    }
    let pair = case.pair();
    let all = choices(&pair.kernel, &pair.schedule, &pair.profile).unwrap_or_default();
    all.into_iter().find_map(|(choice, compiled)| match compiled {
        Err(refusal) if refusal.is_defect => Some(Find::new(Kind::Defect, format!("{}\nwhere {choice}", refusal.message))),
        Err(_) => None,
        Ok(variant) => validate(&variant).err().map(|text| Find::new(Kind::Words, format!("{text}\nwhere {choice}"))),
    })
}

/// Returns the reason of a refusal that is correct because of the sizes or the device.
fn excused(error: &Error, of: &Launches<'_>, n: usize, variant: &Variant) -> Option<String> {
    match error {
        Error::Unsupported { reasons, .. } => Some(rule(reasons.first().map_or("", |(_, reason)| reason))),
        Error::NoVariant { reasons, .. } => {
            let (_, first) = reasons.first()?;
            let reason = rule(&first.message);
            if reasons.len() <= variant.program.specialized.len() {
                return Some("the device loads only some of the versions".to_owned());
            }
            if is_of_sizes(first.cause, of) {
                return Some(reason);
            }
            // A fact of the schedule, or one that is checked at launch, does not hold.
            let dims: Vec<(&str, i64)> = of.pair.dims[n].iter().map(|(name, n)| (name.as_str(), *n)).collect();
            (admits(&variant.program, &dims) != Some(true)).then_some(reason)
        }
        Error::Needs { message, .. } => {
            let dims: Vec<(&str, i64)> = of.pair.dims[n].iter().map(|(name, n)| (name.as_str(), *n)).collect();
            (admits(&variant.program, &dims) != Some(true)).then(|| rule(message))
        }
        // The preparation's own facts do not hold. They are not among the facts of the launch.
        Error::Unprepared { reasons, .. } => {
            let dims: Vec<(&str, i64)> = of.pair.dims[n].iter().map(|(name, n)| (name.as_str(), *n)).collect();
            let unmet = variant.program.preparations.iter().any(|p| admits(&p.program, &dims) != Some(true));
            (unmet || reasons.iter().any(|reason| is_of_sizes(reason.cause, of))).then(|| rule(&error.to_string()))
        }
        Error::TooLarge { .. } => Some(rule(&error.to_string())),
        // Tiles of tiles of a short axis can have far more steps than points, and all of them are counted.
        Error::Fault { fault, .. } if matches!(fault.kind, FaultKind::Endless { .. }) => {
            let of_one = |exec| !matches!(exec, Exec::Bind(..));
            (steps(variant, &of.pair.dims[n], &of_one) > LONG).then(|| "more steps than are waited for".to_owned())
        }
        Error::Shape { message, .. } => (of.open)(n).then(|| rule(message)),
        _ => None,
    }
}

/// True if sizes can be the only cause of a refusal. Large cases are made to have indices of more than 32 bits. The gaps of views depend
/// on the sizes, so they can exceed a limit in every case.
fn is_of_sizes(cause: Cause, of: &Launches<'_>) -> bool {
    matches!(cause, Cause::Bytes | Cause::Strides) || of.large && cause == Cause::Index
}

/// Returns the number of executions of leaves, and of loops without iterations, in the loops that `counts` selects. A loop whose
/// length depends on another loop's counter counts with the largest dim.
fn steps(variant: &Variant, dims: &[(String, i64)], counts: &dyn Fn(Exec) -> bool) -> i128 {
    let dims: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let values = dim_values(&variant.program, &dims).unwrap_or_default();
    let of = |nest: &Program| nest.plan.iter().map(|dispatch| steps_of(nest, &values, &dispatch.body, counts)).sum::<i128>();
    std::iter::once(&variant.nest).chain(&variant.prepared).map(of).sum()
}

fn steps_of(nest: &Program, dims: &[i64], block: &Block, counts: &dyn Fn(Exec) -> bool) -> i128 {
    let longest = dims.iter().copied().max().unwrap_or(1);
    let length = |extent| match size(nest, extent) {
        Some(size) => size.eval(dims).unwrap_or(1),
        None => longest,
    };
    let of = |node: &Node| {
        let times = match &node.kind {
            NodeKind::Compute(_) => return 1,
            NodeKind::Loop(l) if counts(l.exec) => length(nest.axes[l.axis].extent),
            _ => 1,
        };
        let inner = node.blocks().map(|inner| steps_of(nest, dims, inner, counts));
        i128::from(times.max(1)).saturating_mul(inner.fold(0, i128::saturating_add))
    };
    block.iter().map(of).fold(0, i128::saturating_add)
}

fn of_error(error: &Error, dims: &[(String, i64)]) -> Find {
    let kind = match error {
        Error::Fault { .. } | Error::Unwritten { .. } | Error::Words { .. } => Kind::Fault,
        Error::Validation { .. } => Kind::Validation,
        Error::NoVariant { .. } | Error::Needs { .. } | Error::Shape { .. } | Error::Argument { .. } | Error::Unprepared { .. } => {
            Kind::Launch
        }
        _ => Kind::Device,
    };
    Find::new(kind, format!("{error}\nat {dims:?}"))
}

/// Returns the difference between two compilations of one text.
fn differs(first: &Result<Variant, Refusal>, second: &Result<Variant, Refusal>) -> Option<Find> {
    let text = match (first, second) {
        (Ok(a), Ok(b)) if a.program == b.program => return None,
        (Err(a), Err(b)) if a.text == b.text => return None,
        (Ok(_), Ok(_)) => "two compilations give different programs".to_owned(),
        (Err(a), Err(b)) => format!("two compilations are refused for different reasons\n{}\n{}", a.text, b.text),
        (Ok(_), Err(e)) | (Err(e), Ok(_)) => format!("one compilation of two is refused\n{}", e.text),
    };
    Some(Find::new(Kind::Undetermined, text))
}
