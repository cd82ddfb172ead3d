//! The reference device as a backend: it interprets a dispatch's SPIR-V on the CPU and reports violations.
//!
//! The crate `tilewright-reference` is the interpreter; this module makes a device of it. [`limits`] defines its limits and
//! features, and [`run`] runs launches. It is opened if there is no Vulkan driver, and a message says so once.

mod limits;
mod run;

use crate::device::backend::{self, Backend, Pipeline, Recorded};
use crate::device::region::Region;
use crate::device::submission::Part;
use crate::device::timing::Timed;
use crate::device::work::Wait;
use crate::device::{DeviceInfo, Options};
use crate::error::{Error, Result};
use run::{Interpreter, RecordedPart};
use std::any::Any;
use std::io::Write;
use std::sync::{Arc, Once};
use std::time::Instant;
use tilewright_launch::{DType, Dispatch, Param, ParamValue, Program, Role};
use tilewright_reference::field::{Element, Field};
use tilewright_reference::{self as reference, Kernel, Memory};

/// The name that selects it.
const NAME: &str = "reference";

/// Opens the reference device if `wanted` selects it.
pub(crate) fn named(wanted: Option<&str>) -> Result<Option<Box<dyn Backend>>> {
    let Some(wanted) = wanted.map(|w| w.trim().to_lowercase()) else { return Ok(None) };
    let profile = match wanted.split_once(':') {
        _ if wanted == NAME || wanted == limits::NAMES[0] => limits::PLAIN,
        Some((NAME, profile)) => profile,
        _ => return Ok(None),
    };
    match limits::info(profile, 0) {
        Some(info) => Ok(Some(Box::new(ReferenceDevice::new(info)))),
        None => Err(Error::NoDevice {
            wanted: format!("is `{wanted}`"),
            available: limits::PROFILES.iter().map(|p| format!("{NAME}:{p}")).collect(),
        }),
    }
}

/// Returns the reference device's entry in the list of devices.
pub(crate) fn info(index: usize) -> DeviceInfo {
    limits::plain(index)
}

/// Returns true if the reference device replaces the missing Vulkan devices.
pub(crate) fn stands_in(options: &Options, error: &Error) -> bool {
    matches!(error, Error::NoLoader { .. } | Error::NoDriver { .. }) && !options.asks_for_vulkan()
}

/// Opens the reference device if Vulkan failed to open a device and either none was requested, or the reference device's index was.
/// Otherwise returns the error.
pub(crate) fn instead(options: &Options, error: Error) -> Result<Box<dyn Backend>> {
    let open = |index| -> Result<Box<dyn Backend>> { Ok(Box::new(ReferenceDevice::new(info(index)))) };
    let index = options.wanted().and_then(|w| w.trim().parse::<usize>().ok());
    match error {
        Error::NoDevice { available, .. } if index == Some(available.len()) => open(available.len()),
        Error::NoDevice { wanted, mut available } => {
            available.push(info(available.len()).to_string());
            Err(Error::NoDevice { wanted, available })
        }
        error if stands_in(options, &error) && index.is_none_or(|i| i == 0) && options.wanted().is_none_or(|_| index.is_some()) => {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                // `eprintln` panics if the message cannot be written.
                let _ = writeln!(
                    std::io::stderr(),
                    "tilewright: {error}. Until then, kernels run on the reference device, which is slow because it checks every \
                     access. (TILEWRIGHT_DEVICE={NAME} selects it without this message.)"
                );
            });
            open(0)
        }
        error => Err(error),
    }
}

/// Opens the reference device for exact arithmetic.
pub(crate) fn exact(field: Arc<Field>) -> Box<dyn Backend> {
    let mut device = ReferenceDevice::new(limits::plain(0));
    device.interpreter.field = Some(field);
    Box::new(device)
}

/// The reference device.
struct ReferenceDevice {
    info: DeviceInfo,
    interpreter: Interpreter,
}

impl ReferenceDevice {
    fn new(info: DeviceInfo) -> ReferenceDevice {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ReferenceDevice { info, interpreter: Interpreter { field: None, threads, start: Instant::now() } }
    }
}

/// A tensor's memory.
struct Buffer(Memory);

impl backend::Buffer for Buffer {
    fn address(&self) -> u64 {
        // A launch passes other addresses to its SPIR-V module: see `Ready::addresses`.
        0
    }
}

/// A decoded dispatch.
struct Ready {
    kernel: Kernel,
    variant: String,
    /// The offsets of addresses in the parameter block, and the buffers that they refer to.
    addresses: Vec<(usize, usize)>,
    /// For each buffer, its name, the bytes of an element, and whether its contents are undefined when this dispatch begins. They
    /// are if the program itself writes the tensor and this is its first dispatch that uses it.
    tensors: Vec<(String, u32, bool)>,
}

impl Pipeline for Ready {}

impl Ready {
    /// Returns a parameter block with the addresses by which the reference device distinguishes a launch's buffers, even if they
    /// are parts of one memory.
    fn with_addresses(&self, mut block: Vec<u8>) -> Vec<u8> {
        for (offset, buffer) in &self.addresses {
            if let Some(place) = block.get_mut(*offset..*offset + 8) {
                place.copy_from_slice(&reference::address(*buffer).to_le_bytes());
            }
        }
        block
    }
}

/// Returns the steps between a tensor's elements if there are gaps between them.
fn steps(region: &Region, element: u32) -> Vec<reference::StridedDim> {
    let each = u64::from(element.max(1));
    let run = reference::StridedDim { count: region.run / each, bytes: each };
    let outer = region.steps.iter().map(|step| reference::StridedDim { count: step.count, bytes: step.bytes });
    if region.steps.is_empty() { Vec::new() } else { outer.chain([run]).collect() }
}

impl Backend for ReferenceDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn shares_temporaries(&self) -> bool {
        false
    }

    fn allocate(&self, bytes: u64, _: &str) -> Result<Box<dyn backend::Buffer>> {
        match if self.interpreter.field.is_some() { Memory::exact(bytes) } else { Memory::new(bytes) } {
            Some(memory) => Ok(Box::new(Buffer(memory))),
            None => Err(Error::OutOfMemory { what: format!("{bytes} bytes for a tensor") }),
        }
    }

    fn write(&self, buffer: &dyn backend::Buffer, region: &Region, bytes: &[u8], _: &mut Wait) -> Result<()> {
        let memory = own(buffer)?;
        region.runs().zip(bytes.chunks(region.run.max(1) as usize)).for_each(|(at, run)| memory.write(at, run));
        Ok(())
    }

    fn read(&self, buffer: &dyn backend::Buffer, region: &Region, bytes: &mut [u8], _: &mut Wait) -> Result<()> {
        let memory = own(buffer)?;
        let mut runs = region.runs().zip(bytes.chunks_mut(region.run.max(1) as usize));
        let unwritten = |byte: u64| Error::Unwritten { byte: byte - region.start };
        runs.try_for_each(|(at, run)| memory.read(at, run).map_err(unwritten))
    }

    fn elements(&self, buffer: &dyn backend::Buffer, region: &Region, dtype: DType) -> Result<Vec<Element>> {
        let memory = own(buffer)?;
        let Some(field) = &self.interpreter.field else { return Err(Error::NotExact { device: self.info.name.clone() }) };
        let places = region.runs().flat_map(|at| (at..at + region.run).step_by(dtype.bytes() as usize));
        let element = |at| memory.element(field, at, dtype).ok_or(Error::Unwritten { byte: at - region.start });
        places.map(element).collect()
    }

    fn clear(&self, buffer: &dyn backend::Buffer, bytes: u64, _: &mut Wait) -> Result<()> {
        own(buffer)?.clear(bytes);
        Ok(())
    }

    fn compile(
        &self,
        program: &Program,
        dispatch: &Dispatch,
        constants: &[u32],
        label: &str,
        _: &Wait,
    ) -> Result<Box<dyn Pipeline>> {
        let subgroup = program.requires.subgroup.unwrap_or(self.info.limits.subgroup);
        let refused = |reason| Error::Words { variant: label.to_owned(), dispatch: dispatch.name.clone(), reason };
        let kernel = Kernel::specialized(dispatch, subgroup, constants).map_err(refused)?;
        let before: Vec<&Dispatch> = program.dispatches.iter().take_while(|d| !std::ptr::eq(*d, dispatch)).collect();
        let tensor = |u: &tilewright_launch::BufferUse| {
            let tensor = program.tensors.get(u.tensor as usize)?;
            let touched = before.iter().any(|d| d.buffers.iter().any(|b| b.tensor == u.tensor));
            let fresh = matches!(tensor.role, Role::Output | Role::Temporary) && !touched;
            Some((tensor.name.clone(), tensor.dtype.bytes(), fresh))
        };
        let tensors = dispatch.buffers.iter().filter_map(tensor).collect();
        let address = |param: &Param| match param.value {
            ParamValue::Address(t) => Some((param.offset as usize, dispatch.buffers.iter().position(|u| u.tensor == t)?)),
            _ => None,
        };
        let addresses = dispatch.params.iter().filter_map(address).collect();
        Ok(Box::new(Ready { kernel, variant: label.to_owned(), addresses, tensors }))
    }

    fn save_cache(&self) {}

    fn most_steps(&self) -> usize {
        usize::MAX
    }

    fn reclaim(&self, _: &Wait) {}

    fn record(&self, part: &Part, timed: Timed, wait: &mut Wait) -> Result<Box<dyn Recorded>> {
        let (interpreter, part, timeout) = (self.interpreter.clone(), part.clone(), wait.timeout());
        Ok(Box::new(RecordedPart { interpreter, part, timed, timeout }))
    }
}

/// Downcasts a buffer to this backend's type.
fn own(buffer: &dyn backend::Buffer) -> Result<&Memory> {
    let any: &dyn Any = buffer;
    any.downcast_ref::<Buffer>().map(|b| &b.0).ok_or_else(|| Error::OtherDevice { what: "a buffer".to_owned() })
}
