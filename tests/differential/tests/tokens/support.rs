//! Runs the macros completely, on a thread whose stack is not larger than rustc's, with a watchdog.

use proc_macro2::TokenStream;
use quote::quote;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tilewright_codegen::cost;
use tilewright_dsl::expand;

/// The stack size of a program's main thread, and of rustc's.
const STACK: usize = 8 << 20;
/// The time after which a compilation counts as hanging. It takes milliseconds, but the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a function that must end. `what` describes it in the panic if it does not.
pub(crate) fn watched<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || drop(send.send(run()))).expect("a thread");
    match receive.recv_timeout(PATIENCE) {
        Ok(value) => value,
        Err(RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("it sent nothing");
            let reason = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            panic!("{}: {what}", reason.unwrap_or("it panicked"))
        }
        Err(RecvTimeoutError::Timeout) => {
            eprintln!("no end after {PATIENCE:?}: {what}");
            std::process::exit(1)
        }
    }
}

/// Returns the macros' expansions of an item of each kind, and of the chain that they form.
pub(crate) fn expanded(kernel: TokenStream, schedule: TokenStream, profile: TokenStream) -> String {
    let alone = expand::kernel(kernel.clone(), tilewright_spirv::compile, cost::text);
    let head = expand::schedule(schedule.clone());
    let board = expand::profile(profile.clone());
    let resolved = expand::define_profile(quote!(profile { #profile } profiles { { vulkan_1_1 } }));
    let chain = quote!(schedule { #schedule } kernel { #kernel } profiles { { vulkan_1_1 } { #profile } });
    let made = expand::compile(chain, tilewright_spirv::compile, cost::text);
    quote!(#alone #head #board #resolved #made).to_string()
}

/// Returns the profile for tests that do not depend on it.
pub(crate) fn board() -> TokenStream {
    quote!(pub p: vulkan_1_1 { invocations: 256, local: [256, 256, 64], features: [address, f16, storage_16] })
}
