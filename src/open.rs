//! Opening devices: chooses the backend.

use crate::device::{Device, DeviceInfo, Options, folder};
use crate::error::Result;
use crate::exact::Field;
use crate::reference;
use crate::vulkan;
use std::sync::Arc;

impl Options {
    /// Opens the device.
    pub fn open(&self) -> Result<Device> {
        let cache = self.cache.as_deref().map(folder::checked).transpose()?;
        let options = Options { cache, ..self.clone() };
        let backend = match reference::named(options.wanted())? {
            Some(backend) => backend,
            None => match vulkan::open(&options) {
                Err(error) => reference::instead(self, error)?,
                backend => backend?,
            },
        };
        Ok(Device::new(self, backend))
    }

    /// Lists the devices; the reference device is the last.
    pub fn list(&self) -> Result<Vec<DeviceInfo>> {
        let mut devices = match vulkan::list(self) {
            Err(error) if reference::stands_in(self, &error) => Vec::new(),
            devices => devices?,
        };
        devices.push(reference::info(devices.len()));
        Ok(devices)
    }
}

impl Device {
    /// Opens a device with the options of the environment: see [`Options::from_env`].
    pub fn open() -> Result<Device> {
        Options::from_env()?.open()
    }

    /// Opens the reference device for exact arithmetic: floats are elements of a field, and the bits that the host writes are the
    /// names of random elements. [`AnyTensor::elements`](crate::AnyTensor::elements) reads them.
    pub fn exact(field: Arc<Field>) -> Device {
        Device::new(&Options::new(), reference::exact(field))
    }

    /// Lists the devices.
    pub fn all() -> Result<Vec<DeviceInfo>> {
        Options::from_env()?.list()
    }
}
