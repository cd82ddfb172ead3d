//! What a schedule of a Rust file became: the nest after every directive, the ledger, the cost.
//!
//! ```text
//! cargo run -p explain -- examples/conv2d/schedules/cpu.rs --dims N=1,IH=225,IW=225,OC=32
//! ```
//!
//! The file and its crate's modules are parsed and not built. Of a schedule that is specialized every version is shown; a tuned constant
//! has its default, or what `--tune B=128` says.
//!
//! ```text
//! cargo run -p explain -- explain/tests/files/convolutions.rs --compare DIRECT F2 F4 --dims N=32,H=16,W=16,IC=256,OC=256 --dims …
//! ```
//!
//! compares what launches of several schedules cost, at each set of sizes. `--json` prints all that is known as JSON (`docs/explain.md`), and
//! `--html OUT` writes it as a page. Colours are left out where `NO_COLOR` is set.

use anstyle::{AnsiColor, Style as Colour};
use clap::Parser;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::{Source, SourceError};
use tilewright_explain::{CompareError, Explanation, Given, Report, Style, Text, compare, explain, json, page};

/// Shows the nest of a schedule after every directive, its ledger and its cost; or compares the costs of several schedules.
#[derive(Parser)]
struct Options {
    /// A Rust file with schedules.
    file: PathBuf,
    /// The schedules to explain; all of the file's if none is named.
    variants: Vec<String>,
    /// The schedules of one kernel whose costs to compare, two or more.
    #[arg(long, value_name = "SCHEDULE", num_args = 1.., conflicts_with_all = ["variants", "brief"])]
    compare: Vec<String>,
    /// Values of symbolic dims, for numbers instead of expressions: N=1,IH=225. Each one more is another set of sizes to compare at.
    #[arg(long, value_parser = sizes)]
    dims: Vec<Sizes>,
    /// Another profile by whose rates the compared schedules are judged, too: the name of a bundled one, or a path in the file.
    #[arg(long)]
    profile: Vec<String>,
    /// Values of tuned constants, instead of their defaults: B=128
    #[arg(long, value_delimiter = ',', value_parser = value)]
    tune: Vec<(String, i64)>,
    /// Only the last nest, not the way to it.
    #[arg(long)]
    brief: bool,
    /// All that is known as JSON, instead of text.
    #[arg(long, conflicts_with = "compare")]
    json: bool,
    /// A page with all that is known, for a browser: the file to write.
    #[arg(long, value_name = "OUT", conflicts_with = "compare")]
    html: Option<PathBuf>,
}

/// A set of sizes.
#[derive(Clone)]
struct Sizes(Vec<(String, i64)>);

fn sizes(text: &str) -> Result<Sizes, String> {
    text.split(',').map(value).collect::<Result<_, _>>().map(Sizes)
}

fn value(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.trim().parse::<u32>().map_err(|e| e.to_string())?;
    Ok((name.trim().into(), value.into()))
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("{}error{:#}: {error}", colour(Style::Bad), colour(Style::Bad));
            ExitCode::FAILURE
        }
    }
}

/// Whether all schedules are right.
fn run(options: &Options) -> Result<bool, CompareError> {
    let source = Source::open(&options.file)?;
    if !options.compare.is_empty() {
        return compared(options, &source).map(|()| true);
    }
    if !options.profile.is_empty() {
        anstream::eprintln!("`--profile` judges schedules that are compared; name them after `--compare`");
        return Ok(false);
    }
    let dims: Vec<(String, i64)> = options.dims.iter().flat_map(|sizes| sizes.0.iter().cloned()).collect();
    let mut variants: Vec<&str> = options.variants.iter().map(String::as_str).collect();
    if variants.is_empty() {
        variants = source.schedules();
    }
    if variants.is_empty() {
        anstream::eprintln!("{} has no schedules", options.file.display());
        return Ok(false);
    }
    let (mut right, mut reports) = (true, Vec::new());
    for (n, name) in variants.into_iter().enumerate() {
        let subject = source.subject(name)?;
        let given = Given { dims: dims.clone(), choice: Choice(options.tune.clone()) };
        let mut told = explain(&subject, &given);
        if options.brief {
            told.versions.iter_mut().for_each(|version| _ = version.steps.drain(..version.steps.len().saturating_sub(1)));
        }
        right &= told.errors.is_empty();
        unknown_dims(&told, &dims);
        if options.json || options.html.is_some() {
            reports.push(Report::new(&subject, &given, &told));
            continue;
        }
        let separated = if n > 0 { "\n\n" } else { "" };
        // A pipe that is closed is no error of ours.
        if write!(anstream::stdout(), "{separated}{}", shown(&told.lines(), &source)).is_err() {
            break;
        }
    }
    Ok(written(options, &reports) && right)
}

/// Prints and writes the reports that are asked for. Whether that went well.
fn written(options: &Options, reports: &[Report]) -> bool {
    if let Some(path) = &options.html
        && let Err(error) = std::fs::write(path, page(reports))
    {
        anstream::eprintln!("{} cannot be written: {error}", path.display());
        return false;
    }
    if options.json {
        match json(reports) {
            // A pipe that is closed is no error of ours.
            Ok(text) => _ = write!(anstream::stdout(), "{text}"),
            Err(error) => {
                anstream::eprintln!("the report cannot be written as JSON: {error}");
                return false;
            }
        }
    }
    true
}

/// Shows what the schedules cost beside each other.
fn compared(options: &Options, source: &Source) -> Result<(), CompareError> {
    let names: Vec<&str> = options.compare.iter().map(String::as_str).collect();
    let sizes: Vec<Vec<(String, i64)>> = options.dims.iter().map(|sizes| sizes.0.clone()).collect();
    let profiles = options.profile.iter().map(|name| source.profile_named(name)).collect::<Result<Vec<_>, SourceError>>()?;
    let table = compare(source, &names, &sizes, &Choice(options.tune.clone()), &profiles)?;
    // A pipe that is closed is no error of ours.
    let _ = write!(anstream::stdout(), "{}", shown(&table.lines(), source));
    Ok(())
}

/// Names on the command line that the kernel does not have.
fn unknown_dims(told: &Explanation, dims: &[(String, i64)]) {
    let Some(program) = told.versions.first().and_then(|version| version.program.as_ref()) else { return };
    let symbolic: Vec<&str> = program.dims.iter().filter(|d| d.derived.is_none()).map(|d| d.name.as_str()).collect();
    for (name, _) in dims.iter().filter(|(name, _)| !symbolic.contains(&name.as_str())) {
        anstream::eprintln!("{}: no symbolic dim is called {name}; there are {}", told.kernel, symbolic.join(", "));
    }
}

fn shown(lines: &[Text], source: &Source) -> String {
    let mut text = String::new();
    for line in lines {
        for (style, part) in &line.0 {
            let colour = colour(*style);
            text += &format!("{colour}{}{colour:#}", source.place(part));
        }
        text.push('\n');
    }
    text
}

fn colour(style: Style) -> Colour {
    let of = |colour: AnsiColor| Colour::new().fg_color(Some(colour.into()));
    match style {
        Style::Plain => Colour::new(),
        Style::Heading => Colour::new().bold().underline(),
        Style::Directive => of(AnsiColor::Cyan).bold(),
        Style::New | Style::Good => of(AnsiColor::Green),
        Style::Faint => Colour::new().dimmed(),
        Style::Fair => of(AnsiColor::Yellow),
        Style::Bad => of(AnsiColor::Red),
    }
}
