//! Sessions: the objects that a submission needs, reused by later submissions.

use super::context::Context;
use super::failed;
use super::idle::{Identity, Idle};
use super::memory::{Buffer, Heap, Purpose};
use super::queues::{Moment, Point, Ticket};
use super::signal::Signal;
use super::submit::Own;
use crate::device::backend::NotSubmitted;
use crate::device::memory::lock;
use crate::device::timing::Span;
use crate::device::work::{Flight, Wait};
use crate::error::Result;
use ash::vk;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The sessions of a device that are not in use.
pub(super) struct Sessions {
    idle: Arc<Idle>,
    context: Arc<Context>,
    heap: Arc<Heap>,
}

/// Reads the results of commands that have ended.
pub(super) type Read = Box<dyn FnOnce(&Session) -> Result<Vec<Span>> + Send>;

/// The work of the host when a submission has ended.
pub(super) enum End {
    Nothing,
    Read(Read),
    /// Drops an object that the commands use.
    Drop(#[expect(dead_code, reason = "it is only dropped")] Arc<dyn Any + Send + Sync>),
}

impl Sessions {
    pub(super) fn new(context: Arc<Context>, heap: Arc<Heap>) -> Sessions {
        Sessions { idle: Arc::default(), context, heap }
    }

    /// Returns a session that records commands.
    pub(super) fn begin(&self) -> Result<Box<Session>> {
        let mut session = self.take()?;
        session.begin(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
        session.open();
        Ok(session)
    }

    /// Returns a session with the ended commands of some steps, which `record` records if no session keeps them.
    pub(super) fn begin_or_repeat(
        &self,
        steps: &[Own<'_>],
        record: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<Box<Session>> {
        if let Some(session) = self.idle.with(steps) {
            return Ok(session);
        }
        let mut session = self.take()?;
        session.begin(vk::CommandBufferUsageFlags::empty())?;
        session.open();
        record(&mut session)?;
        session.close();
        session.end()?;
        session.identity = session.is_small().then(|| Identity::of(steps));
        Ok(session)
    }

    /// Returns a session that records commands which can be submitted again while they run.
    pub(super) fn begin_repeatable(&self) -> Result<Box<Session>> {
        let mut session = self.take()?;
        session.begin(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE)?;
        Ok(session)
    }

    /// Ends the commands of a session, for submissions by other sessions.
    pub(super) fn end_repeatable(&self, mut session: Box<Session>) -> Result<Commands> {
        session.end()?;
        Ok(Commands { raw: session.commands, session: Some(session), idle: self.idle.clone() })
    }

    /// Returns a session for new commands.
    fn take(&self) -> Result<Box<Session>> {
        self.idle.take().map_or_else(|| Session::new(self.context.clone(), self.heap.clone()), Ok)
    }

    /// Submits commands that were recorded and ended, one after another, behind other submissions. `kept` lives until they have ended.
    pub(super) fn submit_again(
        &self,
        commands: &[vk::CommandBuffer],
        kept: Arc<dyn Any + Send + Sync>,
        after: &[Arc<dyn Flight>],
    ) -> Result<Submission, NotSubmitted> {
        let refused = |error| NotSubmitted { error, flight: None };
        // This session gives only its fence.
        let session = self.idle.take_any().map_or_else(|| self.take(), Ok).map_err(refused)?;
        let queues = points(after);
        self.submit_to(self.context.queues.place(&queues), (session, commands), &queues, End::Drop(kept))
    }

    /// Submits the commands that a session has recorded, behind other submissions. If they have not ended, they end here.
    pub(super) fn submit(
        &self,
        mut session: Box<Session>,
        after: &[Arc<dyn Flight>],
        end: End,
    ) -> Result<Submission, NotSubmitted> {
        let refused = |error| NotSubmitted { error, flight: None };
        if !session.has_ended {
            session.close();
            session.end().map_err(refused)?;
        }
        let (queues, commands) = (points(after), [session.commands]);
        self.submit_to(self.context.queues.place(&queues), (session, &commands), &queues, end)
    }

    /// Submits commands with the fence of a session to the queue of a ticket.
    fn submit_to(
        &self,
        ticket: Ticket,
        (session, commands): (Box<Session>, &[vk::CommandBuffer]),
        after: &[Point],
        end: End,
    ) -> Result<Submission, NotSubmitted> {
        // SAFETY: the commands were ended; the session is not in use, so its fence is not signalled.
        let (signal, result) =
            unsafe { self.context.queues.submit(&self.context.device, &ticket, after, (commands, session.fence)) };
        let (context, point) = (self.context.clone(), result.ok());
        let parts = Mutex::new(Some(Parts { ticket, session, end }));
        let submission = Submission { signal, point, context, ended: Mutex::default(), parts, idle: self.idle.clone() };
        match result {
            Ok(_) => Ok(submission),
            Err(code) => {
                let error = failed("vkQueueSubmit")(code);
                // Commands that were not submitted are not running, except that this is unknown if the device was lost.
                let flight: Option<Arc<dyn Flight>> =
                    if code == vk::Result::ERROR_DEVICE_LOST { Some(Arc::new(submission)) } else { None };
                Err(NotSubmitted { error, flight })
            }
        }
    }

    /// Makes every queue end a submission that was begun after a moment.
    pub(super) fn catch_up(&self, since: Moment, wait: &mut Wait, what: impl Fn() -> String) -> Result<()> {
        while let Some(ticket) = self.context.queues.behind(since) {
            let mut session = self.begin()?;
            session.close();
            session.end()?;
            let commands = [session.commands];
            let submission = self.submit_to(ticket, (session, &commands), &[], End::Nothing).map_err(|refused| refused.error)?;
            match self.wait(&submission, wait) {
                Ok(true) => drop(submission.finish()?),
                Ok(false) => {
                    wait.leave_before(Arc::new(submission));
                    return Err(wait.over(format!("the work that precedes {}", what())));
                }
                Err(error) => {
                    wait.leave_before(Arc::new(submission));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Records commands with `record`, runs them and waits. `what` names the commands in errors. Then `read` reads their results.
    ///
    /// If the wait is over before the commands have ended, their submission is left in `wait`.
    pub(super) fn run(
        &self,
        wait: &mut Wait,
        what: impl Fn() -> String,
        record: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<()> {
        let mut session = self.begin()?;
        record(&mut session)?;
        let submission = match self.submit(session, &[], End::Nothing) {
            Ok(submission) => submission,
            Err(NotSubmitted { error, flight }) => {
                flight.into_iter().for_each(|flight| wait.leave(flight));
                return Err(error);
            }
        };
        match self.wait(&submission, wait) {
            Ok(true) => submission.finish().map(drop),
            Ok(false) => {
                wait.leave(Arc::new(submission));
                Err(wait.over(what()))
            }
            Err(error) => {
                wait.leave(Arc::new(submission));
                Err(error)
            }
        }
    }

    /// Waits for a submission as long as `wait` allows. Returns true if it has ended.
    pub(super) fn wait(&self, submission: &Submission, wait: &Wait) -> Result<bool> {
        let ended = submission.wait(wait.deadline());
        if !matches!(ended, Ok(true)) {
            submission.set_late();
        }
        ended
    }
}

/// Recorded commands, which sessions submit with fences of their own. They live until these submissions have ended.
pub(super) struct Commands {
    pub(super) raw: vk::CommandBuffer,
    session: Option<Box<Session>>,
    idle: Arc<Idle>,
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.session.take().into_iter().for_each(|session| self.idle.give(session));
    }
}

/// Returns the places of the submissions that were not seen to end.
fn points(after: &[Arc<dyn Flight>]) -> SmallVec<[Point; 4]> {
    let submissions = after.iter().filter_map(|flight| flight.as_any().downcast_ref::<Submission>());
    submissions.filter_map(Submission::point).collect()
}

/// A submission to a queue, with its session.
pub(super) struct Submission {
    /// The signal of its end.
    signal: Signal,
    /// Its place in its queue. `None` if it is not known whether it was submitted.
    point: Option<Point>,
    parts: Mutex<Option<Parts>>,
    /// The session, after the submission has ended and its results were read, and whether it can be reused. It is kept until the submission is
    /// dropped, because only then no other thread waits for its fence.
    ended: Mutex<Option<(Box<Session>, bool)>>,
    idle: Arc<Idle>,
    context: Arc<Context>,
}

/// The parts of a submission that was not seen to end.
struct Parts {
    // Dropped before the session, so that the submission does not count as running when the session's objects are destroyed.
    ticket: Ticket,
    session: Box<Session>,
    end: End,
}

impl Submission {
    /// Returns its place in its queue, if it was not seen to end.
    fn point(&self) -> Option<Point> {
        self.point.filter(|_| lock(&self.parts).is_some())
    }
}

impl Flight for Submission {
    fn wait(&self, deadline: Option<Instant>) -> Result<bool> {
        let mut begun = None;
        // A blocked thread takes tens of microseconds to run again, so short submissions are polled.
        loop {
            if self.context.has_ended(self.signal)? {
                return Ok(true);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(false);
            }
            if now.duration_since(*begun.get_or_insert(now)) >= self.context.spins {
                let left = deadline.map(|deadline| deadline.duration_since(now).as_nanos());
                return self.context.block(self.signal, left.map_or(u64::MAX, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX)));
            }
            std::hint::spin_loop();
        }
    }

    fn finish(&self) -> Result<Vec<Span>> {
        let Some(Parts { ticket, mut session, end }) = lock(&self.parts).take() else { return Ok(Vec::new()) };
        ticket.ended();
        session.holds.clear();
        let result = match end {
            End::Read(read) => read(&session),
            End::Nothing | End::Drop(_) => Ok(Vec::new()),
        };
        // A session is reused only after a success, because after a failure its state is unknown.
        *lock(&self.ended) = Some((session, result.is_ok()));
        self.context.check_messages()?;
        result
    }

    fn set_late(&self) {
        if let Some(parts) = &mut *lock(&self.parts) {
            parts.ticket.set_late();
        }
    }

    fn queue(&self) -> Option<usize> {
        self.point.map(Point::queue)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        let Some((session, can_be_reused)) = lock(&self.ended).take() else { return };
        // No other thread waits for the fence.
        if can_be_reused && session.reset_fence().is_ok() {
            self.idle.give(session);
        }
    }
}

/// A command buffer with the objects that it needs.
pub(super) struct Session {
    commands_pool: vk::CommandPool,
    pub(super) commands: vk::CommandBuffer,
    /// Null if the queues have timeline semaphores.
    fence: vk::Fence,
    descriptors: vk::DescriptorPool,
    /// The sets and the buffers that `descriptors` holds.
    descriptor_room: (u32, u32),
    pub(super) queries: vk::QueryPool,
    query_room: u32,
    /// Buffers for the commands' own use, at most one for each purpose.
    kept: Vec<(Purpose, Buffer)>,
    /// True if its commands have ended, so that they can be submitted.
    has_ended: bool,
    /// The identity of its commands, if they are kept.
    pub(super) identity: Option<Identity>,
    /// Buffers that the commands use and that are kept alive only here.
    holds: Vec<Arc<Buffer>>,
    pub(super) context: Arc<Context>,
    heap: Arc<Heap>,
}

impl Session {
    fn new(context: Arc<Context>, heap: Arc<Heap>) -> Result<Box<Session>> {
        // Built before anything can fail, so that whatever was made is destroyed: destroying a null handle does nothing.
        let mut session = Session::over(context, heap, vk::CommandBuffer::null());
        let context = session.context.clone();
        let device = &context.device;
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(context.family);
        // SAFETY (this file): the device lives, and the objects are the session's, which one thread uses at a time.
        session.commands_pool = unsafe { device.create_command_pool(&pool, None) }.map_err(failed("vkCreateCommandPool"))?;
        let allocate = vk::CommandBufferAllocateInfo::default().command_pool(session.commands_pool).command_buffer_count(1);
        let buffers = unsafe { device.allocate_command_buffers(&allocate) }.map_err(failed("vkAllocateCommandBuffers"))?;
        session.commands = buffers.first().copied().unwrap_or_default();
        if !context.queues.has_timelines() {
            let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) };
            session.fence = fence.map_err(failed("vkCreateFence"))?;
        }
        Ok(session)
    }

    /// Returns a session that records into a command buffer of the caller, who submits it. It only owns the objects that the commands
    /// use.
    pub(super) fn over(context: Arc<Context>, heap: Arc<Heap>, commands: vk::CommandBuffer) -> Box<Session> {
        Box::new(Session {
            commands_pool: vk::CommandPool::null(),
            commands,
            fence: vk::Fence::null(),
            descriptors: vk::DescriptorPool::null(),
            descriptor_room: (0, 0),
            queries: vk::QueryPool::null(),
            query_room: 0,
            kept: Vec::new(),
            has_ended: false,
            identity: None,
            holds: Vec::new(),
            context,
            heap,
        })
    }

    fn begin(&mut self, usage: vk::CommandBufferUsageFlags) -> Result<()> {
        (self.has_ended, self.identity) = (false, None);
        let device = &self.context.device;
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        // SAFETY: no submission of this session is pending, because a session is reused only after its submission has ended.
        unsafe {
            device
                .reset_command_pool(self.commands_pool, vk::CommandPoolResetFlags::empty())
                .map_err(failed("vkResetCommandPool"))?;
            device.begin_command_buffer(self.commands, &info).map_err(failed("vkBeginCommandBuffer"))
        }
    }

    /// Makes the writes of earlier submissions visible to the commands of a submission.
    pub(super) fn open(&self) {
        self.barrier(Stages::Device, Stages::Device);
    }

    /// Makes the writes of a submission visible to the host once its end is signalled.
    pub(super) fn close(&self) {
        self.barrier(Stages::Device, Stages::Host);
    }

    /// Keeps a buffer alive while the commands may use it.
    pub(super) fn hold(&mut self, buffer: &Arc<Buffer>) {
        self.holds.push(buffer.clone());
    }

    fn end(&mut self) -> Result<()> {
        let device = &self.context.device;
        // SAFETY: recording, begun by `begin`.
        unsafe { device.end_command_buffer(self.commands) }.map_err(failed("vkEndCommandBuffer"))?;
        self.has_ended = true;
        Ok(())
    }

    /// True if it holds few objects, so that many such sessions can keep their commands.
    fn is_small(&self) -> bool {
        self.descriptor_room.0 <= 64 && self.query_room <= 64
    }

    fn reset_fence(&self) -> Result<()> {
        if self.fence == vk::Fence::null() {
            return Ok(());
        }
        // SAFETY: no submission uses the fence.
        unsafe { self.context.device.reset_fences(&[self.fence]) }.map_err(failed("vkResetFences"))
    }

    /// Records a barrier: earlier commands are finished and their writes visible before later commands begin.
    pub(super) fn barrier(&self, from: Stages, to: Stages) {
        let barrier = vk::MemoryBarrier::default().src_access_mask(from.writes()).dst_access_mask(to.all());
        // SAFETY: recording.
        unsafe {
            let (none, flags) = (&[], vk::DependencyFlags::empty());
            self.context.device.cmd_pipeline_barrier(self.commands, from.stages(), to.stages(), flags, &[barrier], none, &[]);
        }
    }

    /// Returns an empty pool with room for `sets` descriptor sets, with `buffers` storage buffers in all.
    pub(super) fn descriptor_pool(&mut self, sets: u32, buffers: u32) -> Result<vk::DescriptorPool> {
        let device = &self.context.device;
        let (has_sets, has_buffers) = self.descriptor_room;
        if sets <= has_sets && buffers <= has_buffers {
            // SAFETY: no submission that uses its sets is pending.
            unsafe { device.reset_descriptor_pool(self.descriptors, vk::DescriptorPoolResetFlags::empty()) }
                .map_err(failed("vkResetDescriptorPool"))?;
            return Ok(self.descriptors);
        }
        let room = (sets.next_power_of_two().max(16), buffers.next_power_of_two().max(64));
        let size = [vk::DescriptorPoolSize::default().ty(vk::DescriptorType::STORAGE_BUFFER).descriptor_count(room.1)];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(room.0).pool_sizes(&size);
        // SAFETY: as above.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }.map_err(failed("vkCreateDescriptorPool"))?;
        let old = std::mem::replace(&mut self.descriptors, pool);
        self.context.free(move |device| unsafe { device.destroy_descriptor_pool(old, None) });
        self.descriptor_room = room;
        Ok(pool)
    }

    /// Makes room for `count` timestamps, and resets them.
    pub(super) fn reset_queries(&mut self, count: u32) -> Result<()> {
        let device = &self.context.device;
        if count > self.query_room {
            let room = count.next_power_of_two();
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(room);
            // SAFETY: no submission that uses it is pending.
            let pool = unsafe { device.create_query_pool(&info, None) }.map_err(failed("vkCreateQueryPool"))?;
            let old = std::mem::replace(&mut self.queries, pool);
            self.context.free(move |device| unsafe { device.destroy_query_pool(old, None) });
            self.query_room = room;
        }
        // SAFETY: recording.
        unsafe { device.cmd_reset_query_pool(self.commands, self.queries, 0, count) };
        Ok(())
    }

    /// Makes sure that there is a buffer of at least `bytes` bytes for a purpose.
    pub(super) fn keep(&mut self, purpose: Purpose, bytes: u64) -> Result<()> {
        if self.kept(purpose).is_none_or(|buffer| buffer.bytes < bytes) {
            self.kept.retain(|(of, _)| *of != purpose);
            self.kept.push((purpose, Buffer::new(&self.heap, bytes.next_power_of_two().max(4096), purpose)?));
        }
        Ok(())
    }

    /// Returns the buffer for a purpose.
    pub(super) fn kept(&self, purpose: Purpose) -> Option<&Buffer> {
        self.kept.iter().find(|(of, _)| *of == purpose).map(|(_, buffer)| buffer)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (queries, descriptors, fence, commands) = (self.queries, self.descriptors, self.fence, self.commands_pool);
        // SAFETY: made by `new`, destroyed once. A session whose submission has not ended is not dropped.
        self.context.free(move |device| unsafe {
            device.destroy_query_pool(queries, None);
            device.destroy_descriptor_pool(descriptors, None);
            device.destroy_fence(fence, None);
            device.destroy_command_pool(commands, None);
        });
    }
}

/// The stages that access memory, for barriers.
#[derive(Clone, Copy)]
pub(super) enum Stages {
    /// Dispatches and copies.
    Device,
    /// Dispatches.
    Compute,
    /// The host.
    Host,
    /// All stages, including the host: the caller's commands before and after a batch in its command buffer.
    Any,
}

impl Stages {
    fn stages(self) -> vk::PipelineStageFlags {
        match self {
            Stages::Device => vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER,
            Stages::Compute => vk::PipelineStageFlags::COMPUTE_SHADER,
            Stages::Host => vk::PipelineStageFlags::HOST,
            Stages::Any => vk::PipelineStageFlags::ALL_COMMANDS | vk::PipelineStageFlags::HOST,
        }
    }

    fn writes(self) -> vk::AccessFlags {
        match self {
            Stages::Device => vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE,
            Stages::Compute => vk::AccessFlags::SHADER_WRITE,
            Stages::Host => vk::AccessFlags::HOST_WRITE,
            Stages::Any => vk::AccessFlags::MEMORY_WRITE,
        }
    }

    fn all(self) -> vk::AccessFlags {
        let reads = match self {
            Stages::Device => vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ,
            Stages::Compute => vk::AccessFlags::SHADER_READ,
            Stages::Host => return vk::AccessFlags::HOST_READ,
            Stages::Any => vk::AccessFlags::MEMORY_READ,
        };
        self.writes() | reads
    }
}
