//! Devices: their options and limits, and access to their memory. [`crate::open`] opens them.

pub(super) mod access;
pub(super) mod backend;
pub(super) mod checks;
pub(super) mod commands;
mod environment;
pub(super) mod folder;
pub(super) mod listening;
pub(super) mod memory;
pub(super) mod pending;
pub(super) mod region;
pub(super) mod slots;
pub(super) mod statistics;
pub(super) mod submission;
pub(super) mod timing;
pub(super) mod watch;
pub(super) mod work;

use crate::error::{Error, Result};
use crate::exact;
use access::{Access, Refusal};
use backend::{Backend, Pipeline};
use checks::Checks;
use memory::{Memory, Quota, allocated, lock};
use region::Region;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tilewright_launch::{DType, Dispatch, DotSigns, Feature, Matrices, Program};
use work::{Common, Wait, Work, Works};

/// A device that runs kernels. Clones are handles of the same device, which is closed when the last handle and the last of its
/// tensors and kernels are dropped.
///
/// Threads can share it. Their launches run in parallel if the device has several queues ([`Options::queues`]). Launches that
/// access the same tensor, at least one of them to write it, run one after another, in the order in which they were submitted. With a
/// single queue, all launches run one after another.
///
/// [`Loaded::run`](crate::Loaded::run) waits for its launch, and [`Loaded::submit`](crate::Loaded::submit) does not. A call that reads or writes
/// a tensor on the host waits for the launches that use it.
///
/// No wait is longer than [`Options::timeout`]. Work that has not ended by then continues on the device, and keeps its memory. Later calls
/// that need the memory wait for it again. Dropping never waits. If work still runs when the device is dropped, that work and the driver's
/// device are leaked, but the process can exit.
#[derive(Clone)]
pub struct Device(Arc<Shared>);

struct Shared {
    // Declared before the backend, so that they are dropped first.
    works: Works,
    common: Arc<Common>,
    quota: Arc<Quota>,
    /// Orders the submissions.
    order: Mutex<()>,
    /// The number of accesses of the host that run or wait.
    accesses: AtomicUsize,
    timeout: Option<Duration>,
    backend: Box<dyn Backend>,
}

/// The identity, features and limits of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its index in [`Device::all`].
    pub index: usize,
    /// Its name, as the driver gives it.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The driver and its version.
    pub driver: String,
    /// The Vulkan version that it implements: major, minor.
    pub api_version: (u32, u32),
    /// The features that it has, out of those that a variant can require.
    pub features: Vec<Feature>,
    /// The features that it could have, but that the program that opened it did not enable. Empty, unless the device comes from
    /// [`Device::from_ash`].
    pub disabled: Vec<Disabled>,
    /// The cooperative matrices that it multiplies; `None` if it multiplies all that a variant can require.
    pub matrices: Option<Vec<Matrices>>,
    /// The dot products of bytes that it reports as faster than their products and sums.
    pub fast_dots: Vec<DotSigns>,
    /// Its limits.
    pub limits: Limits,
}

/// A feature that a device could have, and that is not enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// The feature.
    pub feature: Feature,
    /// The reason, and the line that enables it.
    pub enable: String,
}

/// The limits of a device that matter to kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// Workgroups in x, y, z of one dispatch.
    pub grid: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size if a variant does not require one.
    pub subgroup: u32,
    /// The smallest and the largest subgroup size that a variant can require; both are [`Limits::subgroup`] if it cannot require
    /// any.
    pub subgroup_range: (u32, u32),
    /// Subgroups in a workgroup.
    pub subgroups: u32,
    /// Bytes of push constants.
    pub push_constant_bytes: u32,
    /// Storage buffers that a dispatch can bind.
    pub storage_buffers: u32,
    /// Bytes of a storage buffer that is bound by descriptor.
    pub storage_buffer_bytes: u64,
    /// The alignment in bytes of the offset at which such a buffer can begin in its memory.
    pub storage_buffer_offset: u64,
    /// True if the compute queue has timestamps.
    pub timestamps: bool,
}

impl Limits {
    /// Bytes of a tensor that a kernel can address on every device if its profile lacks `int64`, because some drivers compute an
    /// element's offset within a buffer in 32 bits (`docs/drivers.md`).
    pub const ADDRESSED_BYTES: u64 = 1 << 32;
}

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU of a virtual machine.
    Virtual,
    /// A driver that runs on the CPU.
    Cpu,
    /// None of these.
    Other,
}

impl DeviceKind {
    /// The name by which `TILEWRIGHT_DEVICE` selects it.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Discrete => "discrete",
            DeviceKind::Integrated => "integrated",
            DeviceKind::Virtual => "virtual",
            DeviceKind::Cpu => "cpu",
            DeviceKind::Other => "other",
        }
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.api_version;
        write!(f, "{}: {} ({}, {}, Vulkan {major}.{minor})", self.index, self.name, self.kind.name(), self.driver)
    }
}

/// A callback for the validation layers' messages.
pub(crate) type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Options for opening a device. [`Device::open`] is `Options::from_env()?.open()`.
#[derive(Clone)]
pub struct Options {
    pub(crate) device: Option<String>,
    pub(crate) validation: bool,
    pub(crate) debug: bool,
    pub(crate) checks: Checks,
    pub(crate) statistics: bool,
    pub(crate) staging: bool,
    pub(crate) queues: Option<NonZeroU32>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) memory: Option<u64>,
    pub(crate) library: Option<PathBuf>,
    pub(crate) on_message: Option<Listener>,
    pub(crate) timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("device", &self.device).field("validation", &self.validation).finish_non_exhaustive()
    }
}

impl Options {
    /// Returns the default options, which ignore the environment: no validation, no cache on disk, a timeout of 60 seconds.
    pub fn new() -> Options {
        Options {
            device: None,
            validation: false,
            debug: false,
            checks: Checks::Off,
            statistics: false,
            staging: false,
            cache: None,
            memory: None,
            library: None,
            on_message: None,
            queues: None,
            timeout: Some(Duration::from_secs(60)),
        }
    }

    /// Reads the options from environment variables:
    ///
    /// - `TILEWRIGHT_DEVICE`: see [`Options::device`];
    /// - `TILEWRIGHT_VALIDATION`: `1` turns the Khronos validation layer on;
    /// - `TILEWRIGHT_DEBUG`: `1` gives the driver and its tools the lines of the schedule: see [`Options::debug`];
    /// - `TILEWRIGHT_CHECK`: `on` makes kernels check their accesses, and `bounds` only their indices: see [`Options::checks`];
    /// - `TILEWRIGHT_STATISTICS`: `1` makes the driver keep its numbers of each dispatch: see [`Options::statistics`];
    /// - `TILEWRIGHT_STAGING`: `1` copies through staging buffers even where memory is shared with the host;
    /// - `TILEWRIGHT_CACHE`: the folder of the pipeline cache, or `off`; by default it is `tilewright` in the platform's
    ///   folder for caches. An empty value is an error, because it could mean either;
    /// - `TILEWRIGHT_TIMEOUT`: see [`Options::timeout`]; a number of seconds, or `off`;
    /// - `TILEWRIGHT_QUEUES`: see [`Options::queues`]; a whole number from 1 on.
    ///
    /// Switches are `1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`, in upper or lower case. Any other variable with an empty
    /// value counts as not set. Any other value is [`Error::Environment`].
    pub fn from_env() -> Result<Options> {
        environment::options(&|name| std::env::var_os(name))
    }

    /// Selects the device: an index into [`Device::all`], a kind (`cpu`, `integrated`, `discrete`, `virtual`), or a part of the
    /// name in upper or lower case. The default is the first discrete device, else the first integrated, virtual, or CPU device.
    ///
    /// `reference` is the reference device, which needs no driver: it interprets a kernel's SPIR-V on the CPU, slowly, and reports
    /// each violation, for example an access out of bounds. `reference:` followed by the name of a bundled profile
    /// (`reference:vulkan_1_1`) is the reference device with that profile's limits and features. The reference device is the default if there is no
    /// Vulkan driver and no device was requested.
    pub fn device(mut self, wanted: impl Into<String>) -> Options {
        self.device = Some(wanted.into());
        self
    }

    /// Turns the Khronos validation layer on. Its warnings and errors become [`Error::Validation`] of the call that caused
    /// them, or of the next.
    pub fn validation(mut self, on: bool) -> Options {
        self.validation = on;
        self
    }

    /// Gives the driver and its tools the source lines of kernels and schedules (`OpLine`), and a label around each dispatch, so that
    /// debuggers and profilers can show them. It is on if [`Options::validation`] is. If it is off, the SPIR-V lacks lines, so that a
    /// comment added above a schedule does not make a driver compile its kernels again. Objects always have names (VK_EXT_debug_utils,
    /// `docs/debugging.md`).
    pub fn debug(mut self, on: bool) -> Options {
        self.debug = on;
        self
    }

    /// Makes kernels check their own accesses on a Vulkan device. An access out of bounds, or a race, becomes [`Error::Fault`] of the call
    /// that waits for the launch, with the line of the schedule. An access out of bounds is moved to the start of its tensor. The results of
    /// that launch are lost. The reference device always checks its accesses, and more than these (`docs/debugging.md`).
    ///
    /// Checks are added to the SPIR-V module when a kernel is loaded. On an H100, [`Checks::Bounds`] makes the bundled schedules 1.0 to 2.5
    /// times as slow, and [`Checks::All`] up to 140 times.
    pub fn checks(mut self, checks: Checks) -> Options {
        self.checks = checks;
        self
    }

    /// Makes the driver keep its numbers of each dispatch that it compiles, such as registers and spilled bytes, for
    /// [`DynKernel::statistics`](crate::DynKernel::statistics). Drivers may compile more slowly then. It needs
    /// VK_KHR_pipeline_executable_properties, which lavapipe lacks.
    pub fn statistics(mut self, on: bool) -> Options {
        self.statistics = on;
        self
    }

    /// Copies through staging buffers even where memory is shared with the host.
    pub fn staging(mut self, on: bool) -> Options {
        self.staging = on;
        self
    }

    /// Sets how long a call waits for the device, for the driver's compiler, or for other threads' work on the same tensors. After
    /// that it returns [`Error::Timeout`]. `None` waits for ever. The default is 60 seconds.
    ///
    /// The limit applies to each single wait. For example, a launch may wait for other threads first, then, with NVIDIA's driver
    /// and a new pipeline, for each queue, and then for the device. If the device has a single queue, the time includes the
    /// launches of other threads that were submitted before.
    pub fn timeout(mut self, limit: Option<Duration>) -> Options {
        self.timeout = limit;
        self
    }

    /// Sets how many of the device's queues launches use at most. `None`, the default, means 8.
    ///
    /// With several queues, the launches of several threads run in parallel, and a short launch does not wait for a long one. There
    /// is one exception: with NVIDIA's driver, the first launch of a pipeline waits for the current work of each queue
    /// (`docs/drivers.md`), and that can end in [`Error::Timeout`]. One queue is faster if many threads make launches of some
    /// microseconds.
    ///
    /// With one queue (lavapipe has only one), launches run in the order in which they are submitted. A short launch waits until a
    /// long launch of another thread has ended, and can reach its own timeout before. With several queues, a launch that exceeds the timeout
    /// delays only launches that need its tensors. A device without timeline semaphores (Vulkan 1.2, or VK_KHR_timeline_semaphore) uses one
    /// queue.
    pub fn queues(mut self, most: Option<NonZeroU32>) -> Options {
        self.queues = most;
        self
    }

    /// Sets the folder of the pipeline cache; `None` keeps no cache on disk. If the path is empty or names a file, opening the
    /// device returns [`Error::CacheFolder`]. A relative path is resolved against the working directory when the device is opened.
    ///
    /// The folder has a file for each driver, which processes share. When a file exceeds 128 MiB, it is started anew. All files
    /// together are at most 512 MiB: the least recently used files are deleted first, and files that were not used for 90 days are
    /// deleted, too. Other files in the folder are left alone.
    pub fn cache(mut self, folder: Option<PathBuf>) -> Options {
        self.cache = folder;
        self
    }

    /// Limits the bytes that tensors and the temporaries of launches may occupy together. `None`, the default, allows all memory
    /// that the device has left. An allocation beyond the limit is [`Error::OutOfMemory`].
    ///
    /// The memory that a device has left is the budget that its driver gives this process (VK_EXT_memory_budget), or else the size
    /// of its memory. The reference device allocates the host's memory, as far as the system permits.
    pub fn memory(mut self, bytes: Option<u64>) -> Options {
        self.memory = bytes;
        self
    }

    /// Uses the Vulkan loader at this path, a shared object, instead of the system's.
    ///
    /// # Safety
    /// The file must be a Vulkan loader, or a driver that can be loaded as one. Its initialization code must not harm this process,
    /// and its functions must behave as the Vulkan specification says.
    pub unsafe fn library(mut self, path: impl Into<PathBuf>) -> Options {
        self.library = Some(path.into());
        self
    }

    /// Calls `call` with each message of the validation layers as it arrives. This includes messages when the device is closed,
    /// which no call can report.
    ///
    /// The layers call the listener while they hold their locks, so it cannot use a device: functions of a device return
    /// [`Error::InListener`] in it. It must not wait for another thread that uses a device, either. Tensors and kernels can be
    /// dropped in it.
    pub fn on_message(mut self, call: impl Fn(&str) + Send + Sync + 'static) -> Options {
        self.on_message = Some(Arc::new(call));
        self
    }

    pub(crate) fn wanted(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// True if Vulkan was explicitly requested: by a loader's path, or by validation.
    pub(crate) fn asks_for_vulkan(&self) -> bool {
        self.library.is_some() || self.validation
    }
}

impl Device {
    /// Makes a device of a backend.
    pub(crate) fn new(options: &Options, backend: Box<dyn Backend>) -> Device {
        Device(Arc::new(Shared {
            works: Works::default(),
            common: Arc::default(),
            quota: Quota::new(options.memory),
            order: Mutex::default(),
            accesses: AtomicUsize::new(0),
            timeout: options.timeout,
            backend,
        }))
    }

    /// Returns the identity, features and limits of this device.
    pub fn info(&self) -> &DeviceInfo {
        self.0.backend.info()
    }

    /// Returns the backend as its own type, if it is of this type.
    pub(crate) fn backend<B: Backend>(&self) -> Option<&B> {
        let backend: &dyn std::any::Any = &*self.0.backend;
        backend.downcast_ref()
    }

    pub(crate) fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Allocates memory for a tensor of `bytes` bytes. Tools show it by `name`.
    pub(crate) fn allocate(&self, bytes: u64, name: &str) -> Result<Arc<Memory>> {
        let bytes = allocated(bytes);
        self.reap()?;
        let allocate = || {
            let share = self.0.quota.take(bytes)?;
            Ok(Arc::new(Memory::new(self.call(|backend| backend.allocate(bytes, name))?, share)))
        };
        match allocate() {
            // Freeing may help, because memory is kept for temporaries, and dropped memory may not be free yet.
            Err(Error::OutOfMemory { .. }) => {
                let kept = lock(&self.0.common.temporaries).drain();
                drop(kept);
                self.0.backend.reclaim(&Wait::new(self.0.timeout));
                allocate()
            }
            other => other,
        }
    }

    /// Allocates pinned memory of the host. `None` if the device shares the host's memory.
    pub(crate) fn allocate_pinned(&self, bytes: u64, name: &str) -> Result<Option<Arc<Memory>>> {
        let bytes = allocated(bytes);
        self.reap()?;
        let Some(buffer) = self.call(|backend| backend.allocate_pinned(bytes, name))? else { return Ok(None) };
        // `Options::memory` limits the device's memory only.
        Ok(Some(Arc::new(Memory::new(buffer, Quota::new(None).take(bytes)?))))
    }

    /// Waits until the host can access some memory. `what` names the memory in errors.
    pub(crate) fn access(&self, memory: &Arc<Memory>, writes: bool, what: impl FnOnce() -> String) -> Result<()> {
        self.alone(memory, writes, what, |_, _| Ok(()))
    }

    /// True if temporaries of a launch may share memory.
    pub(crate) fn shares_temporaries(&self) -> bool {
        self.0.backend.shares_temporaries()
    }

    /// Returns memory for a temporary. The caller returns it by [`Device::give_temporaries`] once it is unused.
    pub(crate) fn take_temporary(&self, bytes: u64) -> Result<Arc<Memory>> {
        let kept = lock(&self.0.common.temporaries).take(allocated(bytes));
        kept.map_or_else(|| self.allocate(bytes, "a temporary"), Ok)
    }

    /// Takes temporaries back.
    pub(crate) fn give_temporaries(&self, memory: impl IntoIterator<Item = Arc<Memory>>) {
        let excess = lock(&self.0.common.temporaries).give(memory);
        // Dropped without the lock, because a driver's message may call a listener that drops a batch.
        drop(excess);
    }

    /// Compiles a dispatch.
    pub(crate) fn compile(&self, program: &Program, dispatch: &Dispatch, constants: &[u32]) -> Result<Arc<dyn Pipeline>> {
        let label = format!("{}/{}", program.kernel, program.variant);
        let wait = Wait::new(self.0.timeout);
        self.call(|backend| backend.compile(program, dispatch, constants, &label, &wait)).map(Arc::from)
    }

    /// Saves compiled pipelines for later processes.
    pub(crate) fn save_cache(&self) {
        if self.usable().is_ok() {
            self.0.backend.save_cache();
        }
    }

    /// Reads a region of some memory. `what` names the memory in errors.
    pub(crate) fn read(
        &self,
        memory: &Arc<Memory>,
        region: &Region,
        bytes: &mut [u8],
        what: impl FnOnce() -> String,
    ) -> Result<()> {
        self.alone(memory, false, what, |backend, wait| backend.read(memory.buffer(), region, bytes, wait))
    }

    /// Reads the elements in a region of some memory, in exact arithmetic. `what` names the memory in errors.
    pub(crate) fn elements(
        &self,
        memory: &Arc<Memory>,
        region: &Region,
        dtype: DType,
        what: impl FnOnce() -> String,
    ) -> Result<Vec<exact::Element>> {
        let mut elements = Vec::new();
        self.alone(memory, false, what, |backend, _| {
            elements = backend.elements(memory.buffer(), region, dtype)?;
            Ok(())
        })?;
        Ok(elements)
    }

    /// Writes a region of some memory. `what` names the memory in errors.
    pub(crate) fn write(&self, memory: &Arc<Memory>, region: &Region, bytes: &[u8], what: impl FnOnce() -> String) -> Result<()> {
        self.alone(memory, true, what, |backend, wait| backend.write(memory.buffer(), region, bytes, wait))
    }

    /// Fills the first bytes of some memory with zeros. `what` names the memory in errors.
    pub(crate) fn clear(&self, memory: &Arc<Memory>, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        self.alone(memory, true, what, |backend, wait| backend.clear(memory.buffer(), bytes, wait))
    }

    /// Calls the backend while an access to one piece of memory is held.
    fn alone(
        &self,
        memory: &Arc<Memory>,
        writes: bool,
        what: impl FnOnce() -> String,
        call: impl FnOnce(&dyn Backend, &mut Wait) -> Result<()>,
    ) -> Result<()> {
        self.reap()?;
        let _counted = Counted::new(&self.0.accesses);
        let mut wait = Wait::new(self.0.timeout);
        let access = match Access::new(memory.clone(), writes, wait.deadline()) {
            Ok(access) => access,
            Err(Refusal::Late) => return Err(wait.over(format!("other work on {}", what()))),
            Err(Refusal::Failed(error)) => return Err(error),
        };
        if memory.is_recorded(writes) {
            return Err(Error::InCommands { what: what() });
        }
        memory.check_contents()?;
        let result = self.call(|backend| call(backend, &mut wait));
        self.leave(wait, Some(access));
        result
    }

    /// Keeps the submissions that a call left behind. `access` is the call's access to memory that they use.
    fn leave(&self, wait: Wait, access: Option<Access>) {
        let left = wait.left();
        for flight in left.before {
            self.0.works.push(Work::submitted(&self.0.common, flight), 0);
        }
        for flight in left.own {
            let work = Work::submitted(&self.0.common, flight);
            // Before another thread can settle the work.
            access.iter().for_each(|access| access.leave_to(&work));
            self.0.works.push(work, 0);
        }
    }

    /// Settles the submissions that have ended, which frees the memory and the pipelines that they used.
    pub(crate) fn reap(&self) -> Result<()> {
        self.call(|_| self.0.works.reap())?;
        self.0.common.unseen()
    }

    /// Checks that the device can be called. After the device was lost, this is always an error.
    fn usable(&self) -> Result<()> {
        listening::check_not_listening()?;
        self.0.common.lost.get().map_or(Ok(()), |during| Err(Error::DeviceLost { during }))
    }

    /// Calls the backend, if it can be called.
    fn call<T>(&self, call: impl FnOnce(&dyn Backend) -> Result<T>) -> Result<T> {
        self.usable()?;
        let result = call(&*self.0.backend);
        if let Err(Error::DeviceLost { during }) = &result {
            let _ = self.0.common.lost.set(during);
        }
        result
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Its thread may still hold work, which keeps the device open.
        self.common.finish_watching();
    }
}

/// A guard that counts an access of the host.
struct Counted<'a>(&'a AtomicUsize);

impl Counted<'_> {
    fn new(accesses: &AtomicUsize) -> Counted<'_> {
        accesses.fetch_add(1, Ordering::SeqCst);
        Counted(accesses)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.info())
    }
}
