//! Lists of directives that the schedules of several devices apply, with a number for what differs between the devices.

pub mod attention;
pub mod attention_mixed;
pub mod conv_f16;
pub mod matrices;
pub mod vectors;
pub mod winograd;
