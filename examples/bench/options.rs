//! The command line.

use clap::Parser;

/// Times kernels by the device's clock: the median of many launches in one submission, with barriers between them.
#[derive(Parser)]
pub struct Options {
    /// The kernels to time; all of them if none is named.
    pub kernels: Vec<String>,
    /// Sets a dim that a kernel's inputs have: `--dim M=1024 --dim N=1024`.
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Only variants whose names contain this text, in any case.
    #[arg(long, value_name = "TEXT")]
    pub variant: Option<String>,
    /// Launches of each variant.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Sets of arguments that the launches take in turn.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub sets: u32,
    /// Lists kernels, their variants and dims, and times nothing.
    #[arg(long)]
    pub list: bool,
    /// Times the processor instead, all threads: of lavapipe, what the device takes even where others keep the processor busy.
    #[arg(long)]
    pub cpu: bool,
    /// Prints one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

fn dim(text: &str) -> Result<(String, i64), String> {
    let (name, size) = text.split_once('=').ok_or("write NAME=SIZE")?;
    let size = size.parse::<i64>().map_err(|e| format!("`{size}`: {e}"))?;
    if size < 0 { Err("a dim is at least 0".into()) } else { Ok((name.into(), size)) }
}
