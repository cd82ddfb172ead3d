//! Devices that hang and are lost on command: `injector.c` stands before the Vulkan loader.

use super::support::{counted, options};
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tilewright::{Device, Options};

/// A device behind an injector of its own.
pub struct Injector {
    library: libloading::Library,
    path: PathBuf,
    /// Messages of the validation layers.
    messages: Arc<AtomicUsize>,
}

impl Injector {
    /// A device with as many queues, by options that are changed.
    pub fn open(queues: u32, change: impl FnOnce(Options) -> Options) -> (Injector, Device) {
        Injector::with(&[("queues", queues)], change)
    }

    /// A device of which these things are said before it is opened.
    pub fn with(said: &[(&str, u32)], change: impl FnOnce(Options) -> Options) -> (Injector, Device) {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tilewright-injector-{}-{}.so", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // A library is loaded once for each path: each test has its own.
        let path = std::env::temp_dir().join(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/runtime/injector/injector.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).args([source, "-ldl", "-lpthread"]);
        assert!(compiler.status().expect("a C compiler is needed, as cc").success());
        // SAFETY: it runs no code when it is loaded.
        let library = unsafe { libloading::Library::new(&path) }.expect("just made");
        let mut injector = Injector { library, path, messages: Arc::default() };
        said.iter().for_each(|(name, value)| injector.set(name, *value));
        // SAFETY: it was compiled for these tests, and calls the system's loader.
        let (device, messages) = counted(change(unsafe { options().library(&injector.path) }));
        injector.messages = messages;
        (injector, device)
    }

    /// A device with as many queues, whose calls wait for a moment only.
    pub fn impatient(queues: u32) -> (Injector, Device) {
        Injector::open(queues, |options| options.timeout(Some(Duration::from_millis(200))))
    }

    /// Says something to it.
    pub fn set(&self, name: &str, value: u32) {
        let name = CString::new(name).expect("a name");
        // SAFETY: the function is of this type.
        unsafe {
            let set: libloading::Symbol<'_, unsafe extern "C" fn(*const std::ffi::c_char, u32)> =
                self.library.get(b"injector_set").expect("there");
            set(name.as_ptr(), value);
        }
    }

    /// Asks it something.
    pub fn get(&self, name: &str) -> u32 {
        let name = CString::new(name).expect("a name");
        // SAFETY: the function is of this type.
        unsafe {
            let get: libloading::Symbol<'_, unsafe extern "C" fn(*const std::ffi::c_char) -> u32> =
                self.library.get(b"injector_get").expect("there");
            get(name.as_ptr())
        }
    }

    /// What it has written down, a line each.
    pub fn written(&self) -> Vec<String> {
        // SAFETY: the function is of this type, and gives a C string that is the library's. No call is under way that writes to it.
        let text = unsafe {
            let written: libloading::Symbol<'_, unsafe extern "C" fn() -> *const std::ffi::c_char> =
                self.library.get(b"injector_written").expect("there");
            CStr::from_ptr(written()).to_string_lossy().into_owned()
        };
        text.lines().map(String::from).collect()
    }

    /// Waits until it says a number.
    pub fn wait_for(&self, name: &str, value: u32) {
        for _ in 0..3000 {
            if self.get(name) == value {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("`{name}` is {}, not {value}, after half a minute", self.get(name));
    }

    /// That the validation layers have said nothing.
    pub fn assert_quiet(&self) {
        assert_eq!(self.messages.load(Ordering::SeqCst), 0, "the validation layers object");
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
