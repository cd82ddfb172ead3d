//! The thread that destroys Vulkan objects where a drop would wait.
//!
//! Functions that destroy objects may wait for the device. For example, lavapipe's `vkDestroyPipeline` waits for the running
//! kernel, which may never end. [`Context::destroy`] and [`Context::free`] decide whether an object is destroyed here or at once.
//! An object that is sent here keeps its device open. So if the driver never destroys the object, it is leaked together with its
//! device.
//!
//! [`Context::destroy`]: super::context::Context::destroy
//! [`Context::free`]: super::context::Context::free

use crate::device::memory::lock;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// A function that destroys an object.
type End = Box<dyn FnOnce() + Send>;

/// The thread that destroys objects. It is started for the first object.
#[derive(Default)]
pub(super) struct Destroyer(Mutex<Option<Sender<End>>>);

impl Destroyer {
    /// Destroys an object in the thread, after the objects that were sent before.
    pub(super) fn later(&self, end: impl FnOnce() + Send + 'static) {
        let mut thread = lock(&self.0);
        if thread.is_none() {
            *thread = start();
        }
        let end: End = Box::new(end);
        match thread.as_ref().map(|thread| thread.send(end)) {
            Some(Ok(())) => {}
            // The object is leaked, because its drop may wait.
            Some(Err(unsent)) => std::mem::forget(unsent),
            None => log::warn!("the thread that destroys objects of the device cannot be started: an object is leaked"),
        }
    }

    /// Waits until the thread has destroyed all objects that were sent, but not beyond `limit`.
    pub(super) fn finish(&self, limit: Option<Duration>) {
        let Some(thread) = lock(&self.0).clone() else { return };
        let (send, done) = sync_channel(1);
        let sent = thread.send(Box::new(move || send.send(()).unwrap_or_default()));
        match limit {
            _ if sent.is_err() => {}
            Some(limit) => drop(done.recv_timeout(limit)),
            None => drop(done.recv()),
        }
    }
}

/// Starts a thread, which ends when its sender is dropped.
fn start() -> Option<Sender<End>> {
    let (send, receive) = channel::<End>();
    let work = move || receive.into_iter().for_each(|end| end());
    Builder::new().name("tilewright-destroy".to_owned()).spawn(work).ok().map(|_| send)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn what_waits_holds_nobody_and_order_is_kept() {
        let destroyer = Destroyer::default();
        destroyer.finish(None);
        let (open, gate) = channel::<()>();
        let ended = Arc::new(AtomicU32::new(0));
        destroyer.later(move || gate.recv().unwrap_or_default());
        for n in 0..3 {
            let ended = ended.clone();
            destroyer.later(move || assert_eq!(ended.fetch_add(1, Ordering::SeqCst), n));
        }
        destroyer.finish(Some(Duration::from_millis(10)));
        assert_eq!(ended.load(Ordering::SeqCst), 0, "the first one waits");
        drop(open);
        destroyer.finish(None);
        assert_eq!(ended.load(Ordering::SeqCst), 3);
    }
}
