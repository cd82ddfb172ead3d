//! The Vulkan loader and an instance.

use super::failed;
use super::manifests::explained;
use super::validation::{LAYER, Messages, Messenger};
use crate::device::Options;
use crate::error::{Error, Result};
use ash::{ext, khr, vk};
use std::ffi::CStr;
use std::sync::Arc;

/// The newest version that is requested; devices with 1.1 are accepted.
pub(super) const NEWEST: u32 = vk::API_VERSION_1_3;

/// An instance, with the validation layers if they were requested.
pub(super) struct Instance {
    // Dropped before the instance is destroyed, in `Drop`.
    messenger: Option<Messenger>,
    /// True if it has VK_EXT_debug_utils.
    names: bool,
    /// True if it is destroyed with this struct.
    owned: bool,
    raw: ash::Instance,
    /// Kept as long as the messenger can write to it.
    messages: Arc<Messages>,
    /// Keeps the library loaded.
    entry: ash::Entry,
}

impl Instance {
    pub(super) fn new(options: &Options) -> Result<Instance> {
        let entry = load(options)?;
        let messages = Messages::new(options.on_message.clone());
        let raw = check_version(&entry).and_then(|()| create(&entry, options, &messages));
        let (raw, names) = raw.map_err(|e| explained(&entry, e))?;
        // Built before anything can fail, so that the instance is destroyed if something does.
        let mut instance = Instance { messenger: None, names, owned: true, raw, messages, entry };
        if options.validation {
            instance.messenger = Some(Messenger::new(&instance.entry, &instance.raw, &instance.messages)?);
        }
        Ok(instance)
    }

    /// Wraps an instance of the caller, who destroys it. `names` is true if VK_EXT_debug_utils is enabled.
    pub(super) fn foreign(entry: ash::Entry, raw: ash::Instance, names: bool) -> Instance {
        Instance { messenger: None, names, owned: false, raw, messages: Messages::new(None), entry }
    }

    pub(super) fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    /// Returns the loader's functions.
    pub(super) fn entry(&self) -> &ash::Entry {
        &self.entry
    }

    /// Returns true if validation is on.
    pub(super) fn is_validating(&self) -> bool {
        self.messenger.is_some()
    }

    /// Returns true if objects can have names, and commands labels.
    pub(super) fn has_names(&self) -> bool {
        self.names
    }

    pub(super) fn messages(&self) -> &Messages {
        &self.messages
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.messenger = None;
        if self.owned {
            // SAFETY: devices hold the instance, so none is left.
            unsafe { self.raw.destroy_instance(None) };
        }
    }
}

fn load(options: &Options) -> Result<ash::Entry> {
    let entry = match &options.library {
        // SAFETY: that is the contract of `Options::library`.
        Some(path) => unsafe { ash::Entry::load_from(path) },
        // SAFETY: the system's loader is trusted, as every shared object that the system loads.
        None => unsafe { ash::Entry::load() },
    };
    entry.map_err(|e| Error::NoLoader { reason: e.to_string() })
}

fn check_version(entry: &ash::Entry) -> Result<()> {
    // SAFETY: the entry is loaded.
    let version = unsafe { entry.try_enumerate_instance_version() }.map_err(failed("vkEnumerateInstanceVersion"))?;
    match version {
        Some(version) if version >= vk::API_VERSION_1_1 => Ok(()),
        _ => Err(Error::NoDriver { reason: "it supports only Vulkan 1.0, but 1.1 is needed".to_owned() }),
    }
}

/// Creates an instance, and returns whether it has VK_EXT_debug_utils.
fn create(entry: &ash::Entry, options: &Options, messages: &Arc<Messages>) -> Result<(ash::Instance, bool)> {
    let application = vk::ApplicationInfo::default().engine_name(c"tilewright").api_version(NEWEST);
    // SAFETY (this function): the entry is loaded, and the data that the structs point to lives until the call has returned.
    let extensions = unsafe { entry.enumerate_instance_extension_properties(None) };
    let extensions = extensions.map_err(failed("vkEnumerateInstanceExtensionProperties"))?;
    let mut names = Vec::new();
    let mut info = vk::InstanceCreateInfo::default().application_info(&application);
    if has(&extensions, khr::portability_enumeration::NAME) {
        names.push(khr::portability_enumeration::NAME.as_ptr());
        info = info.flags(vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR);
    }
    // Loaders list it even if no tool is running. The validation layer always provides it.
    let debug_utils = options.validation || has(&extensions, ext::debug_utils::NAME);
    if debug_utils {
        names.push(ext::debug_utils::NAME.as_ptr());
    }
    let layers = [LAYER.as_ptr()];
    let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
    // Receives messages about the creation and destruction of the instance, when no messenger exists.
    let mut messenger = messages.create_info();
    if options.validation {
        check_layer(entry)?;
        info = info.enabled_layer_names(&layers).push_next(&mut messenger);
        // SAFETY: as above.
        let of_layer = unsafe { entry.enumerate_instance_extension_properties(Some(LAYER)) }.unwrap_or_default();
        if has(&of_layer, ext::validation_features::NAME) {
            names.push(ext::validation_features::NAME.as_ptr());
            info = info.push_next(&mut features);
        }
    }
    // SAFETY: as above.
    match unsafe { entry.create_instance(&info.enabled_extension_names(&names), None) } {
        Ok(instance) => Ok((instance, debug_utils)),
        Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => Err(Error::NoDriver { reason: "ERROR_INCOMPATIBLE_DRIVER".to_owned() }),
        Err(vk::Result::ERROR_LAYER_NOT_PRESENT) => Err(Error::NoValidationLayer),
        Err(code) => Err(failed("vkCreateInstance")(code)),
    }
}

fn check_layer(entry: &ash::Entry) -> Result<()> {
    // SAFETY: the entry is loaded.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.map_err(failed("vkEnumerateInstanceLayerProperties"))?;
    let found = layers.iter().any(|l| l.layer_name_as_c_str() == Ok(LAYER));
    if found { Ok(()) } else { Err(Error::NoValidationLayer) }
}

/// Returns true if an extension is in the list.
pub(super) fn has(extensions: &[vk::ExtensionProperties], name: &CStr) -> bool {
    extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name))
}
