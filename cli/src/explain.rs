//! `tilewright explain`: what a schedule became, as `tilewright_explain` tells it.

use crate::exit::{Exit, Problem};
use crate::options::Explain;
use crate::output;
use anstyle::{AnsiColor, Style as Colour};
use serde_json::json;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::{Source, SourceError};
use tilewright_explain::{CompareError, Explanation, Given, Report, Style, Text, compare, explain, page};

pub(crate) fn run(options: &Explain) -> Result<Exit, Problem> {
    let source = Source::open(&options.file)?;
    let choice = Choice(options.tune.iter().flat_map(|values| values.0.iter().cloned()).collect());
    if !options.compare.is_empty() {
        return compared(options, &source, &choice);
    }
    let dims: Vec<(String, i64)> = options.size.iter().flat_map(|sizes| sizes.0.iter().cloned()).collect();
    let mut names: Vec<&str> = options.schedules.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = source.schedules();
    }
    if names.is_empty() {
        return Err(Problem::usage(format!("{} has no schedules", options.file.display())));
    }
    let (mut right, mut reports) = (true, Vec::new());
    for (n, name) in names.into_iter().enumerate() {
        let (subject, given) = (source.subject(name)?, Given { dims: dims.clone(), choice: choice.clone() });
        let mut told = explain(&subject, &given);
        if options.brief {
            told.versions.iter_mut().for_each(|version| _ = version.steps.drain(..version.steps.len().saturating_sub(1)));
        }
        right &= told.errors.is_empty();
        unknown_dims(&told, &dims);
        if options.json || options.html.is_some() {
            reports.push(Report::new(&subject, &given, &told));
        } else {
            let separated = if n > 0 { "\n\n" } else { "" };
            output::text(format_args!("{separated}{}", shown(&told.lines(), &source)));
        }
    }
    if let Some(path) = &options.html {
        let written = std::fs::write(path, page(&reports));
        written.map_err(|error| Problem::usage(format!("{} cannot be written: {error}", path.display())))?;
    }
    if options.json {
        output::json(&reports);
    }
    Ok(if right { Exit::Done } else { Exit::No })
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Problem {
        let text = error.to_string();
        if matches!(error, CompareError::Wrong { .. }) { Problem::no(text) } else { Problem::usage(text) }
    }
}

/// Shows what the schedules cost beside each other.
fn compared(options: &Explain, source: &Source, choice: &Choice) -> Result<Exit, Problem> {
    let names: Vec<&str> = options.compare.iter().map(String::as_str).collect();
    let sizes: Vec<Vec<(String, i64)>> = options.size.iter().map(|sizes| sizes.0.clone()).collect();
    let profiles = options.profile.iter().map(|name| source.profile_named(name)).collect::<Result<Vec<_>, SourceError>>()?;
    let lines = compare(source, &names, &sizes, choice, &profiles)?.lines();
    match options.json {
        true => output::json(&json!({ "compared": names, "lines": plain(&lines, source) })),
        false => output::text(shown(&lines, source)),
    }
    Ok(Exit::Done)
}

/// Names on the command line that the kernel does not have.
fn unknown_dims(told: &Explanation, dims: &[(String, i64)]) {
    let Some(program) = told.versions.first().and_then(|version| version.program.as_ref()) else { return };
    let symbolic = crate::sizes::symbolic(program);
    for (name, _) in dims.iter().filter(|(name, _)| !symbolic.contains(&name.as_str())) {
        anstream::eprintln!("{}: no symbolic dim is called {name}; there are {}", told.kernel, symbolic.join(", "));
    }
}

/// Lines without colours.
fn plain(lines: &[Text], source: &Source) -> Vec<String> {
    lines.iter().map(|line| line.0.iter().map(|(_, part)| source.place(part)).collect()).collect()
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
