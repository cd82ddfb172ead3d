//! Lists of directives that the schedules of several devices apply, with a number for what differs between the devices.

pub mod attention;
pub mod attention_mixed;
pub mod attention_split;
pub mod bits;
pub mod conv_f16;
pub mod conv_f32;
pub mod matrices;
pub mod quantized;
pub mod rows;
pub mod thin;
pub mod vectors;
pub mod winograd;
