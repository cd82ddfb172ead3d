//! Explains failures of the loader. Older loaders (1.3.239, for example) stop at a malformed manifest of a driver or a layer, even
//! if other drivers are present, and report that they are out of memory. They give the cause only in messages.

use super::validation::Messages;
use crate::error::Error;
use ash::{ext, vk};

/// Returns an error of the loader, or the malformed manifest that caused it.
pub(super) fn explained(entry: &ash::Entry, error: Error) -> Error {
    if !matches!(error, Error::OutOfMemory { .. }) {
        return error;
    }
    let messages = Messages::new(None);
    let mut messenger = messages.create_info().message_type(vk::DebugUtilsMessageTypeFlagsEXT::GENERAL);
    let names = [ext::debug_utils::NAME.as_ptr()];
    let info = vk::InstanceCreateInfo::default().enabled_extension_names(&names).push_next(&mut messenger);
    // SAFETY: the entry is loaded, and the data that the structs point to lives until the calls have returned.
    if let Ok(instance) = unsafe { entry.create_instance(&info, None) } {
        unsafe { instance.destroy_instance(None) };
    }
    messages.take().iter().find_map(|m| malformed(m)).map_or(error, |file| Error::Manifest { file: file.to_owned() })
}

/// Returns the file that a message reports as malformed.
fn malformed(message: &str) -> Option<&str> {
    let (_, file) = message.split_once("Failed to parse JSON file ")?;
    file.split(", this is usually").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_parsed_are_named() {
        let said =
            "loader_get_json: Failed to parse JSON file /a b/c, d.json, this is usually because something ran out of memory.";
        assert_eq!(malformed(said), Some("/a b/c, d.json"));
        assert_eq!(malformed("loader_get_json: Failed to open JSON file /nowhere.json"), None);
    }
}
