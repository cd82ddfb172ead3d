//! Wakes the tasks that await work. One thread of a device waits for the awaited work, and ends when there is none.

use super::memory::lock;
use super::work::Work;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, ThreadId};
use std::time::{Duration, Instant};

/// The longest wait for one of several works, because another one may end first.
const TURN: Duration = Duration::from_millis(1);

/// The awaited work of a device.
#[derive(Default)]
pub(crate) struct Watch {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
struct Watched {
    works: Vec<Arc<Work>>,
    /// The thread that waits.
    thread: Option<ThreadId>,
    has_thread: bool,
}

impl Watch {
    /// Waits until the thread has ended its turn and the watch, if no work is awaited. A task that the thread wakes does not wait for it.
    pub(crate) fn finish(&self) {
        let watched = lock(&self.watched);
        let is_busy = |watched: &mut Watched| watched.has_thread && watched.thread != Some(std::thread::current().id());
        drop(self.changed.wait_timeout_while(watched, Duration::from_secs(1), is_busy));
    }
}

/// Notes the end of the thread when it is dropped, also after a panic of a task that it wakes.
struct Thread<'a>(&'a Watch);

impl Drop for Thread<'_> {
    fn drop(&mut self) {
        let mut watched = lock(&self.0.watched);
        if std::thread::panicking() {
            watched.has_thread = false;
        }
        drop(watched);
        self.0.changed.notify_all();
    }
}

/// Watches work that has a waker, until it has ended or its waker was dropped.
pub(crate) fn watch(work: &Arc<Work>) {
    let watch = work.watch();
    let mut watched = lock(&watch.watched);
    if !watched.works.iter().any(|known| Arc::ptr_eq(known, work)) {
        watched.works.push(work.clone());
    }
    if !watched.has_thread {
        let own = watch.clone();
        watched.has_thread = Builder::new().name("tilewright-watch".to_owned()).spawn(move || turns(&own)).is_ok();
        // Without a thread, the task asks again.
        if !watched.has_thread {
            let works = std::mem::take(&mut watched.works);
            drop(watched);
            works.iter().for_each(|work| work.wake_all());
        }
    }
}

/// Waits for the watched work in turns.
fn turns(watch: &Watch) {
    let _thread = Thread(watch);
    loop {
        let works = {
            let mut watched = lock(&watch.watched);
            watched.thread = Some(std::thread::current().id());
            watched.works.retain(|work| !work.has_settled() && work.is_awaited());
            watched.has_thread = !watched.works.is_empty();
            watched.works.clone()
        };
        let Some((first, others)) = works.split_first() else { return };
        // An error of the driver is returned to the task that is woken.
        if first.wait(Instant::now().checked_add(TURN)).is_err() {
            first.wake_all();
        }
        for work in others {
            if work.wait(Some(Instant::now())).is_err() {
                work.wake_all();
            }
        }
    }
}
