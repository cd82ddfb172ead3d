//! `tilewright explain`: prints the results of a schedule, as `tilewright_explain` describes them.

use crate::exit::{Exit, Problem};
use crate::options::Explain;
use crate::output;
use crate::{example, prove, variant};
use anstyle::{AnsiColor, Style as Colour};
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::{Source, SourceError, Subject};
use tilewright_explain::{CompareError, ComparisonReport, Explanation, Given, Report, Style, Text, compare, explain, page};

pub(crate) fn run(options: &Explain) -> Result<Exit, Problem> {
    let source = Source::open(&options.file)?;
    let choice = Choice(options.tune.iter().flat_map(|values| values.0.iter().cloned()).collect());
    if !options.compare.is_empty() {
        return compared(options, &source, &choice);
    }
    let dims: Vec<(String, i64)> = options.size.iter().flat_map(|sizes| sizes.0.iter().cloned()).collect();
    if let Some((_, (name, _))) = dims.iter().enumerate().find(|(n, dim)| dims[..*n].iter().any(|(other, _)| *other == dim.0)) {
        return Err(Problem::usage(format!("`{name}` has two values; several sets of sizes are for `--compare`")));
    }
    let (subjects, mut problems) = variant::selected(&source, &options.file, &options.schedule, &options.size)?;
    let told = |subject: &Subject| {
        let example = if dims.is_empty() { example::sizes(&options.file, subject) } else { None };
        let (dims, from) = example.map_or((dims.clone(), None), |(sizes, from)| (sizes.0, Some(from)));
        let given = Given { dims, choice: choice.clone() };
        let told = explain(subject, &given);
        let told = match from {
            Some(from) => told.at_example(&given.dims, from),
            None => told,
        };
        (given, told)
    };
    let (given, mut told): (Vec<Given>, Vec<Explanation>) = subjects.iter().map(told).unzip();
    let mut is_proved = true;
    if options.prove {
        for (subject, told) in subjects.iter().zip(&mut told).filter(|(_, told)| told.errors.is_empty()) {
            match prove::described(&source, subject, &choice) {
                Ok((exact, is_right)) => {
                    told.exact = Some(exact);
                    is_proved &= is_right;
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    if options.brief {
        let versions = told.iter_mut().flat_map(|told| &mut told.versions);
        versions.for_each(|version| _ = version.steps.drain(..version.steps.len().saturating_sub(1)));
    }
    let all = || subjects.iter().zip(&given).zip(&told);
    let reports = || all().map(|((subject, given), told)| Report::new(subject, given, told)).collect::<Vec<_>>();
    if let Some(path) = &options.html {
        let written = std::fs::write(path, page(&reports()));
        written.map_err(|error| Problem::usage(format!("{} cannot be written: {error}", path.display())))?;
    }
    if options.json {
        output::json(&reports());
    } else if options.html.is_none() {
        let texts: Vec<String> = told.iter().map(|told| shown(&told.lines(), &source)).collect();
        output::text(texts.join("\n\n"));
    }
    problems.iter().for_each(|problem| problem.report(false));
    Ok(if problems.is_empty() && is_proved && told.iter().all(|told| told.errors.is_empty()) { Exit::Done } else { Exit::No })
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Problem {
        let text = error.to_string();
        if matches!(error, CompareError::Wrong { .. }) { Problem::no(text) } else { Problem::usage(text) }
    }
}

/// Prints the costs of several schedules next to each other.
fn compared(options: &Explain, source: &Source, choice: &Choice) -> Result<Exit, Problem> {
    let names: Vec<&str> = options.compare.iter().map(String::as_str).collect();
    let sizes: Vec<Vec<(String, i64)>> = options.size.iter().map(|sizes| sizes.0.clone()).collect();
    let profiles = options.profile.iter().map(|name| source.profile_named(name)).collect::<Result<Vec<_>, SourceError>>()?;
    let comparison = compare(source, &names, &sizes, choice, &profiles)?;
    match options.json {
        true => output::json(&ComparisonReport::new(&comparison)),
        false => output::text(shown(&comparison.lines(), source)),
    }
    Ok(Exit::Done)
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
