//! Collects the messages of the validation layers.

use super::failed;
use crate::device::Listener;
use crate::device::listening::LISTENING;
use crate::device::memory::lock;
use crate::error::{Error, Result};
use ash::{ext, vk};
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// The layer's name.
pub(super) const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Messages that no call has reported yet.
pub(super) struct Messages {
    list: Mutex<Vec<String>>,
    listener: Option<Listener>,
}

impl Messages {
    pub(super) fn new(listener: Option<Listener>) -> Arc<Messages> {
        Arc::new(Messages { list: Mutex::default(), listener })
    }

    /// Returns the messages so far as an error. Each message is reported once.
    pub(super) fn check(&self) -> Result<()> {
        let messages = self.take();
        if messages.is_empty() { Ok(()) } else { Err(Error::Validation { messages }) }
    }

    /// Removes and returns the messages so far.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.list))
    }

    fn add(&self, message: String) {
        log::error!("{message}");
        if let Some(listener) = &self.listener {
            let outer = LISTENING.replace(true);
            // A panic is caught here, because it must not unwind through the C code that calls this function.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(&message)));
            LISTENING.set(outer);
        }
        lock(&self.list).push(message);
    }

    /// Returns the parameters of a messenger that writes to `self`, which must outlive the messenger.
    pub(super) fn create_info(self: &Arc<Messages>) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
        vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
            // GENERAL is left out, because it is the loader's log about this machine's drivers.
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE)
            .pfn_user_callback(Some(callback))
            .user_data(Arc::as_ptr(self).cast_mut().cast())
    }
}

unsafe extern "system" fn callback(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes valid data; `create_info` put the pointer there, and its owner outlives the messenger.
    let (data, messages) = unsafe { (data.as_ref(), messages.cast::<Messages>().as_ref()) };
    if let (Some(data), Some(messages)) = (data, messages)
        && !data.p_message.is_null()
    {
        // SAFETY: a message is a C string.
        let text = unsafe { CStr::from_ptr(data.p_message) }.to_string_lossy();
        // SAFETY: the layer passes as many labels as it says.
        messages.add(within(&text, unsafe { labels(data) }));
    }
    vk::FALSE
}

/// Returns the labels that are open at the cause of a message, outermost first.
///
/// # Safety
/// The lists must have the lengths that are given with them, and names must be C strings.
unsafe fn labels(data: &vk::DebugUtilsMessengerCallbackDataEXT<'_>) -> Vec<String> {
    if data.p_cmd_buf_labels.is_null() {
        return Vec::new();
    }
    // SAFETY: by this function's contract.
    let labels = unsafe { std::slice::from_raw_parts(data.p_cmd_buf_labels, data.cmd_buf_label_count as usize) };
    let named = labels.iter().filter(|label| !label.p_label_name.is_null());
    // SAFETY: as above.
    named.map(|label| unsafe { CStr::from_ptr(label.p_label_name) }.to_string_lossy().into_owned()).collect()
}

/// Adds the dispatch that was being recorded to a message.
fn within(message: &str, labels: Vec<String>) -> String {
    // Newer layers name the dispatch themselves.
    let missing: Vec<String> = labels.into_iter().filter(|label| !message.contains(label.as_str())).collect();
    if missing.is_empty() { message.to_owned() } else { format!("{message} (in `{}`)", missing.join("`, `")) }
}

/// A registered messenger.
pub(super) struct Messenger {
    functions: ext::debug_utils::Instance,
    raw: vk::DebugUtilsMessengerEXT,
}

impl Messenger {
    /// Registers a messenger. `messages` must outlive it, and it must not outlive `instance`.
    pub(super) fn new(entry: &ash::Entry, instance: &ash::Instance, messages: &Arc<Messages>) -> Result<Messenger> {
        let functions = ext::debug_utils::Instance::new(entry, instance);
        // SAFETY: the instance lives and has the extension.
        let raw = unsafe { functions.create_debug_utils_messenger(&messages.create_info(), None) };
        Ok(Messenger { raw: raw.map_err(failed("vkCreateDebugUtilsMessengerEXT"))?, functions })
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once.
        unsafe { self.functions.destroy_debug_utils_messenger(self.raw, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn messages_end_with_the_dispatch() {
        let labels = || vec!["conv::V, 1 of 2: y".to_owned()];
        assert_eq!(within("a hazard", labels()), "a hazard (in `conv::V, 1 of 2: y`)");
        assert_eq!(within("a hazard in conv::V, 1 of 2: y", labels()), "a hazard in conv::V, 1 of 2: y");
        assert_eq!(within("a hazard", Vec::new()), "a hazard");
    }
}
