//! Wakes the tasks that await work. One thread of a device waits for the awaited work, and ends when there is none.

use super::memory::lock;
use super::work::Work;
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The longest wait for one of several works, because another one may end first.
const TURN: Duration = Duration::from_millis(1);

/// The awaited work of a device.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    works: Vec<Arc<Work>>,
    has_thread: bool,
}

/// Watches work that has a waker, until it has ended or its waker was dropped.
pub(crate) fn watch(work: &Arc<Work>) {
    let watch = work.watch();
    let mut watched = lock(&watch.0);
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
    loop {
        let works = {
            let mut watched = lock(&watch.0);
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
