//! Devices that hang or are lost on command. `injector.c` is placed before the Vulkan loader.

use super::support::{counted, options};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tilewright::{Device, Options};

/// A device with its own injector.
pub struct Injector {
    library: libloading::Library,
    path: PathBuf,
    /// The number of messages from the validation layers.
    messages: Arc<AtomicUsize>,
}

impl Injector {
    /// Opens a device with this many queues, with changed options.
    pub fn open(queues: u32, change: impl FnOnce(Options) -> Options) -> (Injector, Device) {
        Injector::with(&[("queues", queues)], change)
    }

    /// Opens a device, with these values of the injector set first.
    pub fn with(said: &[(&str, u32)], change: impl FnOnce(Options) -> Options) -> (Injector, Device) {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tilewright-injector-{}-{}.so", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Each test has its own copy, because a library is loaded once for each path.
        let path = std::env::temp_dir().join(name);
        let sources =
            ["injector.c", "statistics.c"].map(|file| Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/injector").join(file));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).args(sources).args(["-ldl", "-lpthread"]);
        assert!(compiler.status().expect("a C compiler is needed, as cc").success());
        // SAFETY: the library runs no code when it is loaded.
        let library = unsafe { libloading::Library::new(&path) }.expect("just made");
        let mut injector = Injector { library, path, messages: Arc::default() };
        said.iter().for_each(|(name, value)| injector.set(name, *value));
        // SAFETY: the library was compiled for these tests, and calls the system's loader.
        let (device, messages) = counted(change(unsafe { options().library(&injector.path) }));
        injector.messages = messages;
        (injector, device)
    }

    /// Opens a device with this many queues, whose calls wait only for a moment.
    pub fn impatient(queues: u32) -> (Injector, Device) {
        Injector::open(queues, |options| options.timeout(Some(Duration::from_millis(200))))
    }

    /// Sets a value of the injector.
    pub fn set(&self, name: &str, value: u32) {
        let name = CString::new(name).expect("a name");
        // SAFETY: the function is of this type.
        unsafe {
            let set: libloading::Symbol<'_, unsafe extern "C" fn(*const std::ffi::c_char, u32)> =
                self.library.get(b"injector_set").expect("there");
            set(name.as_ptr(), value);
        }
    }

    /// Returns a value of the injector.
    pub fn get(&self, name: &str) -> u32 {
        let name = CString::new(name).expect("a name");
        // SAFETY: the function is of this type.
        unsafe {
            let get: libloading::Symbol<'_, unsafe extern "C" fn(*const std::ffi::c_char) -> u32> =
                self.library.get(b"injector_get").expect("there");
            get(name.as_ptr())
        }
    }

    /// Returns the lines that the injector has recorded.
    pub fn written(&self) -> Vec<String> {
        // SAFETY: the function is of this type, and returns a C string that belongs to the library. No call that writes to it is
        // running.
        let text = unsafe {
            let written: libloading::Symbol<'_, unsafe extern "C" fn() -> *const std::ffi::c_char> =
                self.library.get(b"injector_written").expect("there");
            CStr::from_ptr(written()).to_string_lossy().into_owned()
        };
        text.lines().map(String::from).collect()
    }

    /// Waits until a value of the injector equals `value`.
    pub fn wait_for(&self, name: &str, value: u32) {
        for _ in 0..3000 {
            if self.get(name) == value {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("`{name}` is {}, not {value}, after half a minute", self.get(name));
    }

    /// Asserts that the validation layers have reported nothing.
    pub fn assert_quiet(&self) {
        assert_eq!(self.messages.load(Ordering::SeqCst), 0, "the validation layers object");
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
