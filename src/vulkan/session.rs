//! Sessions: the objects that a submission needs, reused by later submissions.

use super::context::Context;
use super::failed;
use super::memory::{Buffer, Heap, Purpose};
use super::queues::{Moment, NextSubmission, Ticket};
use crate::device::memory::lock;
use crate::device::parking::{Flight, Wait};
use crate::error::Result;
use ash::vk;
use std::sync::{Arc, Mutex};

/// The sessions of a device that are not in use.
pub(super) struct Sessions {
    idle: Mutex<Vec<Session>>,
    context: Arc<Context>,
    heap: Arc<Heap>,
}

impl Sessions {
    pub(super) fn new(context: Arc<Context>, heap: Arc<Heap>) -> Sessions {
        Sessions { idle: Mutex::default(), context, heap }
    }

    /// Records commands with `record`, runs them, waits, and lets `read` access the results. `what` names the commands in errors.
    /// With `since`, each queue that takes submissions first ends one that was begun after that moment.
    ///
    /// If the wait is over before the commands have ended, their submission is left in `wait`.
    pub(super) fn run<T>(
        &self,
        wait: &mut Wait,
        since: Option<Moment>,
        what: impl Fn() -> String,
        record: impl FnOnce(&mut Session) -> Result<()>,
        read: impl FnOnce(&Session) -> Result<T>,
    ) -> Result<T> {
        // Bound outside of the `match`, whose scrutinee would hold the lock throughout.
        let idle = lock(&self.idle).pop();
        let mut session = match idle {
            Some(session) => session,
            None => Session::new(self.context.clone(), self.heap.clone())?,
        };
        let ticket = loop {
            match self.context.queues.place(since)? {
                NextSubmission::Own(ticket) => break ticket,
                NextSubmission::Empty(ticket) => {
                    let before = || format!("the work that precedes {}", what());
                    session = Submission { ticket, session, runs: Runs::Nothing }.run(wait, before, |_| Ok(()))?;
                }
            }
        };
        let mut session = Submission { ticket, session, runs: Runs::Own }.run(wait, what, record)?;
        session.holds.clear();
        let result = read(&session)?;
        // A session is reused only after a success, because after a failure its state is unknown.
        lock(&self.idle).push(session);
        Ok(result)
    }
}

/// A session with a place in a queue.
struct Submission {
    // Dropped before the session, so that the submission does not count as at work when the session's objects are destroyed.
    ticket: Ticket,
    session: Session,
    runs: Runs,
}

/// The commands of a submission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// No commands. The submission ends when all earlier ones in its queue have ended.
    Nothing,
    /// The commands that the caller records.
    Own,
}

impl Submission {
    /// Records commands, submits them, and waits until they have ended. If the wait is over before, the submission is left in
    /// `wait`.
    fn run(
        mut self,
        wait: &mut Wait,
        what: impl Fn() -> String,
        record: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<Session> {
        self.session.begin()?;
        record(&mut self.session)?;
        self.session.end()?;
        let submitted = self.session.submit(&self.ticket).map_err(|code| ("vkQueueSubmit", code));
        let ended = submitted.and_then(|()| self.session.wait(wait).map_err(|code| ("vkWaitForFences", code)));
        if let Err((call, code)) = ended {
            // Commands that were not submitted are not running, except that this is unknown if the device was lost.
            if submitted.is_ok() || code == vk::Result::ERROR_DEVICE_LOST {
                self.ticket.leave();
                match self.runs {
                    Runs::Own => wait.leave(self),
                    Runs::Nothing => wait.leave_before(self),
                }
            }
            return Err(if code == vk::Result::TIMEOUT { wait.over(what()) } else { failed(call)(code) });
        }
        self.ticket.ended();
        Ok(self.session)
    }
}

/// A submission that no call waits for.
impl Flight for Submission {
    fn has_ended(&self) -> Result<bool> {
        self.session.has_ended()
    }
}

/// A command buffer with the objects that it needs.
pub(super) struct Session {
    commands_pool: vk::CommandPool,
    pub(super) commands: vk::CommandBuffer,
    fence: vk::Fence,
    descriptors: vk::DescriptorPool,
    /// The sets and the buffers that `descriptors` holds.
    descriptor_room: (u32, u32),
    pub(super) queries: vk::QueryPool,
    query_room: u32,
    /// Buffers for the commands' own use, at most one for each purpose.
    kept: Vec<(Purpose, Buffer)>,
    /// Buffers that the commands use and that are kept alive only here.
    holds: Vec<Arc<Buffer>>,
    pub(super) context: Arc<Context>,
    heap: Arc<Heap>,
}

impl Session {
    fn new(context: Arc<Context>, heap: Arc<Heap>) -> Result<Session> {
        // Built before anything can fail, so that whatever was made is destroyed: destroying a null handle does nothing.
        let mut session = Session {
            commands_pool: vk::CommandPool::null(),
            commands: vk::CommandBuffer::null(),
            fence: vk::Fence::null(),
            descriptors: vk::DescriptorPool::null(),
            descriptor_room: (0, 0),
            queries: vk::QueryPool::null(),
            query_room: 0,
            kept: Vec::new(),
            holds: Vec::new(),
            context,
            heap,
        };
        let context = session.context.clone();
        let device = &context.device;
        let pool =
            vk::CommandPoolCreateInfo::default().queue_family_index(context.family).flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY (this file): the device lives, and the objects are the session's, which one thread uses at a time.
        session.commands_pool = unsafe { device.create_command_pool(&pool, None) }.map_err(failed("vkCreateCommandPool"))?;
        let allocate = vk::CommandBufferAllocateInfo::default().command_pool(session.commands_pool).command_buffer_count(1);
        let buffers = unsafe { device.allocate_command_buffers(&allocate) }.map_err(failed("vkAllocateCommandBuffers"))?;
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }.map_err(failed("vkCreateFence"));
        session.commands = buffers.first().copied().unwrap_or_default();
        session.fence = fence?;
        Ok(session)
    }

    fn begin(&mut self) -> Result<()> {
        let device = &self.context.device;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: no submission of this session is pending, because a session is reused only after its submission has ended.
        unsafe {
            device
                .reset_command_pool(self.commands_pool, vk::CommandPoolResetFlags::empty())
                .map_err(failed("vkResetCommandPool"))?;
            device.begin_command_buffer(self.commands, &info).map_err(failed("vkBeginCommandBuffer"))
        }?;
        // Makes the writes of earlier submissions visible.
        self.barrier(Stages::Device, Stages::Device);
        Ok(())
    }

    /// Keeps a buffer alive while the commands may use it.
    pub(super) fn hold(&mut self, buffer: &Arc<Buffer>) {
        self.holds.push(buffer.clone());
    }

    fn end(&self) -> Result<()> {
        // Makes the writes of this submission visible to the host once the fence is signalled.
        self.barrier(Stages::Device, Stages::Host);
        let device = &self.context.device;
        // SAFETY: recording, begun by `begin`; no submission uses the fence.
        unsafe {
            device.end_command_buffer(self.commands).map_err(failed("vkEndCommandBuffer"))?;
            device.reset_fences(&[self.fence]).map_err(failed("vkResetFences"))
        }
    }

    /// Submits the recorded commands.
    fn submit(&self, ticket: &Ticket) -> Result<(), vk::Result> {
        // SAFETY: `end` was called.
        unsafe { self.context.queues.submit(&self.context.device, ticket, self.commands, self.fence) }
    }

    /// Waits for the submission, as long as `wait` allows.
    fn wait(&self, wait: &Wait) -> Result<(), vk::Result> {
        let nanos = wait.timeout().map_or(u64::MAX, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
        // SAFETY: the fence is the session's.
        unsafe { self.context.device.wait_for_fences(&[self.fence], true, nanos) }
    }

    /// True if the submission has ended. A lost device is an error, because it may not have run the submission.
    fn has_ended(&self) -> Result<bool> {
        // SAFETY: the fence is the session's.
        unsafe { self.context.device.get_fence_status(self.fence) }.map_err(failed("vkGetFenceStatus"))
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
}

impl Stages {
    fn stages(self) -> vk::PipelineStageFlags {
        match self {
            Stages::Device => vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER,
            Stages::Compute => vk::PipelineStageFlags::COMPUTE_SHADER,
            Stages::Host => vk::PipelineStageFlags::HOST,
        }
    }

    fn writes(self) -> vk::AccessFlags {
        match self {
            Stages::Device => vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE,
            Stages::Compute => vk::AccessFlags::SHADER_WRITE,
            Stages::Host => vk::AccessFlags::HOST_WRITE,
        }
    }

    fn all(self) -> vk::AccessFlags {
        let reads = match self {
            Stages::Device => vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ,
            Stages::Compute => vk::AccessFlags::SHADER_READ,
            Stages::Host => return vk::AccessFlags::HOST_READ,
        };
        self.writes() | reads
    }
}
