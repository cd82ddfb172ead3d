//! What is printed.

use std::time::Duration;

/// A measured variant.
pub struct Row {
    /// The kernel.
    pub kernel: &'static str,
    /// The variant.
    pub variant: String,
    /// The profile that it is for.
    pub profile: String,
    /// The dims that were asked for, and their values.
    pub dims: Vec<(String, i64)>,
    /// Arithmetic operations of a launch.
    pub operations: f64,
    /// Bytes of inputs and outputs of a launch.
    pub bytes: f64,
    /// The time of each launch, sorted.
    pub times: Vec<Duration>,
}

impl Row {
    fn seconds(&self) -> f64 {
        self.times.get(self.times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn shape(&self) -> String {
        self.dims.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// For people.
    pub fn print(&self) {
        let (kernel, variant, profile, shape) = (self.kernel, &self.variant, &self.profile, self.shape());
        let milliseconds = self.seconds() * 1e3;
        let (flops, bytes) = (self.operations / self.seconds() / 1e9, self.bytes / self.seconds() / 1e9);
        println!(
            "{kernel:<10} {variant:<16} {profile:<14} {shape:<32} {milliseconds:>10.4} ms {flops:>10.1} GFLOP/s {bytes:>8.1} GB/s"
        );
    }

    /// For programs.
    pub fn print_json(&self, device: &str) {
        let dims = self.dims.iter().map(|(name, value)| format!("{}:{value}", quote(name))).collect::<Vec<_>>().join(",");
        let first = self.times.first().map_or(f64::NAN, Duration::as_secs_f64);
        println!(
            "{{\"device\":{},\"kernel\":{},\"variant\":{},\"profile\":{},\"dims\":{{{dims}}},\"runs\":{},\"median_s\":{:e},\"min_s\":{:e},\
             \"operations\":{:e},\"bytes\":{:e}}}",
            quote(device),
            quote(self.kernel),
            quote(&self.variant),
            quote(&self.profile),
            self.times.len(),
            self.seconds(),
            first,
            self.operations,
            self.bytes,
        );
    }
}

/// A JSON string.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
