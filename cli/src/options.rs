//! The command line.

use crate::place::Reach;
use crate::plan::Kernels;
use crate::sizes::{self, Sizes};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use std::time::Duration;
use tilewright_explain::source::Bound;

const EXITS: &str = "\
Exit codes:
  0  done
  1  done, and the answer is no: a schedule is wrong, a record or a plan is stale, something is missing, not all was measured
  2  the command line, or a file that it names, is invalid
  3  there is no such device, or it is lost
  4  a runner does not start, hangs, has died, or sends an invalid answer
130  `bench` was interrupted, and has printed its results so far

Environment: NO_COLOR switches colours off; TILEWRIGHT_DEVICE, TILEWRIGHT_CACHE, TILEWRIGHT_TIMEOUT and others hold as for every program of
Tilewright.";

/// The longest budget. The number is limited, because the clock cannot count to every time that a duration can hold.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a factor, for example `2.5`.
fn parse_factor(text: &str) -> Result<f64, String> {
    let factor: Option<f64> = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    factor.ok_or_else(|| format!("`{text}` is not a number above 0"))
}

/// Reads a factor by which a schedule is slower, for example `20`, or `0` for none.
fn parse_slower(text: &str) -> Result<f64, String> {
    let factor: Option<f64> = text.parse().ok().filter(|factor: &f64| factor.is_finite() && (*factor == 0.0 || *factor > 1.0));
    factor.ok_or_else(|| format!("`{text}` is neither a number above 1 nor 0"))
}

/// Reads a budget, for example `10m`.
fn parse_budget(text: &str) -> Result<Duration, String> {
    let budget = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if budget <= LONGEST { Ok(budget) } else { Err("a budget is at most 366 days".to_owned()) }
}

/// Reads the value of a generic, for example `T=f16`.
fn parse_bound(text: &str) -> Result<Bound, String> {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if is_word(name) && is_word(value) => Ok(Bound { name: name.into(), value: value.into() }),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Lists devices, makes crates, and plans, tunes, times and explains schedules.
///
/// Kernels and schedules are parsed from a crate's files; the crate is not built.
#[derive(Parser)]
#[command(name = "tilewright", version, after_help = EXITS)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Devices(Devices),
    Doctor(Doctor),
    New(New),
    Tune(Tune),
    Bench(Bench),
    Explain(Explain),
    Plan(Plan),
    Prove(Prove),
    /// Prints a script that completes this program's command lines in a shell.
    #[command(after_help = "Example:\n  tilewright completions bash > ~/.local/share/bash-completion/completions/tilewright")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Answers requests for launches on standard input and output, as `tilewright-runner` does.
    Runner,
}

impl Command {
    /// True if results and errors are printed for programs.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Devices(options) => options.json,
            Command::Doctor(options) => options.json,
            Command::New(options) => options.json,
            Command::Tune(options) => options.json,
            Command::Bench(options) => options.json,
            Command::Explain(options) => options.json,
            Command::Plan(options) => options.json,
            Command::Prove(options) => options.json,
            Command::Completions { .. } | Command::Runner => false,
        }
    }
}

/// Lists the devices and their properties.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tilewright devices\n  tilewright devices --json | jq '.[].name'\n  tilewright devices --runner \"ssh board tilewright-runner\""
)]
pub(crate) struct Devices {
    /// A command that starts a runner elsewhere.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) runner: Option<String>,
    /// The most time that the runner may take for one answer.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = humantime::parse_duration)]
    pub(crate) answer_within: Duration,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints the devices that can be used, the missing tools, and for each device the known defects of its driver and the profiles that it meets.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tilewright doctor\n  tilewright doctor src/schedules/board.rs --runner \"ssh board tilewright-runner\"\n\nExit code 1: the loader or a driver is missing, or no device meets a profile of FILE."
)]
pub(crate) struct Doctor {
    /// A Rust file. The profiles that it defines or its schedules name are compared with the devices, after the bundled ones.
    pub(crate) file: Option<PathBuf>,
    /// A command that starts a runner elsewhere; several runners are examined one after another.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) runner: Vec<String>,
    /// The most time that a runner may take for one answer.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = humantime::parse_duration)]
    pub(crate) answer_within: Duration,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Makes a crate with a kernel, two schedules and a test.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tilewright new my-kernels\n  tilewright new my-kernels --git https://github.com/tilewright/tilewright"
)]
pub(crate) struct New {
    /// The crate's folder, which is created.
    #[arg(value_name = "NAME")]
    pub(crate) path: PathBuf,
    /// The crate's name, if it differs from the folder's.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The checkout of Tilewright that the crate depends on; by default the one that this program was built from. A program from the registry
    /// takes the release of its version, and any other the public repository.
    #[arg(long, value_name = "FOLDER", conflicts_with = "git")]
    pub(crate) checkout: Option<PathBuf>,
    /// The git repository that the crate depends on instead.
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Searches for the best values of a schedule's tuned constants on a device.
///
/// All choices of the schedule's `tune` lines are compiled. Choices that make the same module are one candidate; a candidate that reads and
/// writes much more memory than another is left out. Each candidate is checked against the plain evaluation of the kernel, at a small size.
/// Then it is timed by the device's clock, in turn with the others. Finally, the best one runs in turn with the present default.
#[derive(Args)]
#[command(after_help = "Examples:
  tilewright tune src/schedules.rs --size M=1024,N=1024,K=1024
  tilewright tune src/schedules.rs --schedule TILED --size M=4096,N=4096,K=4096 --size M=64,N=4096,K=4096 --budget 10m --write
  tilewright tune src/schedules.rs --check
  tilewright tune src/schedules.rs --size M=512,N=512,K=512 --runner \"ssh board tilewright-runner\" --json

`--write` changes the defaults of the `tune` lines and nothing else in FILE, and writes the record FILE.tuned.json (of `a.rs`: `a.tuned.json`),
which belongs into version control. `--check` compiles what the record lists, needs no device, and ends with code 1 where a module has changed.")]
pub(crate) struct Tune {
    /// A Rust file with schedules.
    pub(crate) file: PathBuf,
    /// The schedules to tune; by default all schedules of the file that have `tune` lines.
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Vec<String>,
    /// Tunes the planned schedules of the file's kernels, and prints the best of each.
    #[arg(long, requires = "profile", conflicts_with_all = ["schedule", "write", "check"])]
    pub(crate) plan: bool,
    /// The kernels whose plans are tuned; by default all kernels of the file.
    #[arg(long, value_name = "NAME", requires = "plan")]
    pub(crate) kernel: Vec<String>,
    /// The profile of the plans: a bundled one, or a path in the file.
    #[arg(long = "for", value_name = "PROFILE", requires = "plan")]
    pub(crate) profile: Option<String>,
    /// The value of a generic of planned kernels: T=f16. By default a dtype is the first choice that the profile supports.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_bound, requires = "plan")]
    pub(crate) bind: Vec<Bound>,
    /// Sizes to tune for: M=4096,N=4096. All sets have the same weight.
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    pub(crate) size: Vec<Sizes>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// A command that starts a runner elsewhere; with several, the values that are best for all of them are searched for.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) runner: Vec<String>,
    /// The most time for the whole command.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_budget)]
    pub(crate) budget: Duration,
    /// Writes the best values into the file, and a record next to it.
    #[arg(long, conflicts_with = "check")]
    pub(crate) write: bool,
    /// Only reports whether the record next to the file is stale.
    #[arg(long, conflicts_with_all = ["size", "device", "cpu", "runner"])]
    pub(crate) check: bool,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measures all correct candidates, including those that the cost speaks against.
    #[arg(long)]
    pub(crate) all: bool,
    /// Also measures versions whose facts allow no size that is small enough to check.
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Repeats earlier measurements.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The number of threads that compile; by default the number of cores.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// The seed of the random inputs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Times the schedules of a file, the ready kernels, or a table of ready kernels at several sizes, by the device's clock.
#[derive(Args)]
#[command(after_help = "Examples:
  tilewright bench src/schedules.rs --size M=1024,N=1024,K=1024
  tilewright bench catalog --kernel matmul --kernel softmax --svg chart.svg
  tilewright bench src/schedules.rs --size M=512,N=512,K=512 --json > before.json
  tilewright bench src/schedules.rs --size M=512,N=512,K=512 --against before.json
  tilewright bench table --torch anchors.jsonl
  tilewright bench catalog --kernel matmul --runner \"ssh board tilewright-runner\" --runner \"ssh tower tilewright-runner\"

The share of the roofline is the least time that the kernel's arithmetic or its tensors' bytes can take, over the time measured. The time of the
arithmetic is by the rates of a profile that fits the device, the time of the bytes is measured. Ctrl-C prints the results so far; a second one ends the
program at once.")]
pub(crate) struct Bench {
    /// A Rust file with schedules; or `catalog`: the ready kernels of tilewright-schedules; or `table`: the best schedule of ready kernels
    /// at several sizes.
    pub(crate) what: String,
    /// The schedules to time; by default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Vec<String>,
    /// The kernels to time; by default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Vec<String>,
    /// Sizes: M=4096,N=4096. Each set is timed; kernels of the catalog have sizes of their own.
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    pub(crate) size: Vec<Sizes>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// A command that starts a runner elsewhere; several runners are timed one after another.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) runner: Vec<String>,
    /// The number of launches of each schedule that count.
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..100_000))]
    pub(crate) runs: u32,
    /// The number of sets of arguments that the launches use in turn.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..100))]
    pub(crate) sets: u32,
    /// The seed of the random inputs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Drops a schedule whose first launch takes this many times as long as the fastest schedule of the kernel. 0 drops none.
    #[arg(long, value_name = "FACTOR", default_value = "20", value_parser = parse_slower)]
    pub(crate) slower: f64,
    /// The most time for all schedules of a kernel at the same sizes. Further schedules are not measured. For the table, 30s by default.
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) row_within: Option<Duration>,
    /// The rows of the table to time; by default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) row: Vec<String>,
    /// Compares the table with times that scripts/anchors.py printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) torch: Option<PathBuf>,
    /// Prints the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Also prints the driver's numbers of each dispatch, such as registers and spills, if it keeps them.
    #[arg(long)]
    pub(crate) statistics: bool,
    /// Lists the schedules that could be timed, and times none.
    #[arg(long)]
    pub(crate) list: bool,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draws a chart.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Compares with a run that `--json` printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
}

/// Shows the nest of a schedule after every directive, its ledger, its cost, and notes on it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tilewright explain src/schedules.rs\n  tilewright explain src/schedules.rs --schedule TILED --size M=1024,N=1024,K=1024 --tune ROWS=4 --brief\n  tilewright explain src/schedules.rs --compare TILED PLAIN --size M=1024,N=1024,K=1024\n  tilewright explain src/schedules.rs --schedule TILED --html tiled.html"
)]
pub(crate) struct Explain {
    /// A Rust file with schedules.
    pub(crate) file: PathBuf,
    /// The schedules to explain; by default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Vec<String>,
    /// The schedules of one kernel whose costs to compare, two or more.
    #[arg(long, value_name = "SCHEDULE", num_args = 1.., conflicts_with_all = ["schedule", "brief"])]
    pub(crate) compare: Vec<String>,
    /// Sizes, for numbers instead of expressions: N=1,IH=225. With `--compare`, each further set is compared, too.
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    pub(crate) size: Vec<Sizes>,
    /// Another profile whose rates are applied to the compared schedules: a bundled one, or a path in the file.
    #[arg(long, value_name = "PROFILE", requires = "compare")]
    pub(crate) profile: Vec<String>,
    /// Values of tuned constants, instead of their defaults: B=128
    #[arg(long, value_name = "VALUES", value_parser = sizes::parse)]
    pub(crate) tune: Vec<Sizes>,
    /// Shows only the last nest, without the steps that lead to it.
    #[arg(long)]
    pub(crate) brief: bool,
    /// Also runs the schedules in exact arithmetic, as `tilewright prove` does, and shows the verdicts.
    #[arg(long, conflicts_with = "compare")]
    pub(crate) prove: bool,
    /// Writes a page with all results, for a browser.
    #[arg(long, value_name = "OUT", conflicts_with = "compare")]
    pub(crate) html: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compares schedules with their kernels in exact arithmetic.
///
/// The reference device runs the compiled SPIR-V with floats as elements of a prime field, without rounding. Each result is
/// compared with the kernel's own formula for equality, at sizes around the boundaries of all tiles, until each block of the modules
/// has run. docs/exactness.md says what the verdicts mean.
#[derive(Args)]
#[command(after_help = "Examples:
  tilewright prove src/schedules/hopper.rs
  tilewright prove src/schedules/hopper.rs --schedule FAST --size M=129,N=65,K=33")]
pub(crate) struct Prove {
    /// A Rust file with schedules.
    pub(crate) file: PathBuf,
    /// The schedules to prove; by default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Vec<String>,
    /// The sizes to run: M=129,N=65. By default they are chosen from the schedule's tiles.
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    pub(crate) size: Vec<Sizes>,
    /// Values of tuned constants, instead of their defaults: B=128
    #[arg(long, value_name = "VALUES", value_parser = sizes::parse)]
    pub(crate) tune: Vec<Sizes>,
    /// Runs all chosen sizes, also after each block has run.
    #[arg(long)]
    pub(crate) all: bool,
    /// The factor by which the usual limit of work at one size is multiplied.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = parse_factor)]
    pub(crate) work: f64,
    /// The seed of the random elements.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints the schedules that the planner writes for kernels, as a Rust file.
///
/// The schedule `{}` leaves all directives to the planner, which writes several versions. This command prints each version as a
/// schedule, in the order in which a launch tries them, with the reason for each directive. They compile to the same SPIR-V as `{}`.
#[derive(Args)]
#[command(after_help = "Examples:
  tilewright plan src/kernels.rs --for vulkan_1_1
  tilewright plan src/kernels.rs --kernel matmul --for nvidia_hopper --write src/schedules/hopper.rs
  tilewright plan src/kernels.rs --kernel matmul --for nvidia_hopper --check src/schedules/hopper.rs
  tilewright plan src/kernels.rs --kernel gelu --for boards::small --bind T=f16
  tilewright plan src/kernels.rs --kernel matmul --for nvidia_hopper --tune --write src/schedules/hopper.rs

`--check` compares the schedules of the file with a new plan, and ends with code 1 where they differ. It does not compare the lines before
the first schedule, so that these may be edited.")]
pub(crate) struct Plan {
    /// A Rust file with kernels.
    pub(crate) file: PathBuf,
    /// The kernels to plan; by default all kernels of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Vec<String>,
    /// The profile: a bundled one, or a path in the file.
    #[arg(long = "for", value_name = "PROFILE")]
    pub(crate) profile: String,
    /// The value of a generic: T=f16. By default a dtype is the first choice that the profile supports.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_bound)]
    pub(crate) bind: Vec<Bound>,
    /// Writes the schedules to a file. A file that is not a plan is not replaced.
    #[arg(long, value_name = "OUT", conflicts_with = "check")]
    pub(crate) write: Option<PathBuf>,
    /// Replaces a file that is not a plan, too.
    #[arg(long, requires = "write")]
    pub(crate) force: bool,
    /// Writes tuned constants instead of numbers, for `tilewright tune`.
    #[arg(long)]
    pub(crate) tune: bool,
    /// Only prints how a planned file differs from a new plan.
    #[arg(long, value_name = "OUT")]
    pub(crate) check: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Bench {
    /// True if the table is timed.
    pub(crate) fn is_table(&self) -> bool {
        self.what == "table"
    }
}

impl Plan {
    /// Returns the kernels that are planned.
    pub(crate) fn kernels(&self) -> Kernels<'_> {
        Kernels { file: &self.file, names: &self.kernel, profile: &self.profile, bind: &self.bind }
    }
}

impl Tune {
    /// Returns the kernels whose plans are tuned, if the option says so.
    pub(crate) fn kernels(&self) -> Option<Kernels<'_>> {
        let profile = self.profile.as_deref().filter(|_| self.plan)?;
        Some(Kernels { file: &self.file, names: &self.kernel, profile, bind: &self.bind })
    }
}
