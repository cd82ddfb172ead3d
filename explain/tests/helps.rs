//! Follows each help that says what to write, in the programs that do not compile: the test makes the change, and the program
//! compiles.
//!
//! A help is followed if it names a whole directive, or the first argument of the faulty one (`promote(p => p_s[j, *], …)`), or
//! says to leave the directive out. Other helps concern several places, or depend on the author's intention.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tilewright_explain::source::Source;
use tilewright_explain::{Given, explain};

/// The places, which a help names as a part of a directive.
const PLACES: [&str; 4] = ["workgroup", "subgroup", "thread", "lane"];

/// An error: its position, its message, and its help.
struct Wrong {
    at: usize,
    message: String,
    help: String,
}

/// Returns the errors of a schedule, if there is one of that name.
fn errors(source: &Source, schedule: &str, text: &str) -> Option<Vec<Wrong>> {
    let told = explain(&source.subject(schedule).ok()?, &Given::default());
    Some(told.errors.iter().filter_map(|error| wrong(&source.place(error), text)).collect())
}

/// Parses an error that is in this file.
fn wrong(error: &str, text: &str) -> Option<Wrong> {
    let mut lines = error.lines();
    let (place, message) = lines.next()?.split_once(": error: ")?;
    let help = lines.find_map(|line| line.trim().strip_prefix("help: "))?;
    let mut numbers = place.rsplit(':').map(|n| n.parse::<usize>());
    let (column, line) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let before: usize = text.lines().take(line.checked_sub(1)?).map(|line| line.len() + 1).sum();
    Some(Wrong { at: before + column.checked_sub(1)?, message: message.into(), help: help.into() })
}

/// Returns the range of the directive around a position, from its first character to its semicolon.
fn directive(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = text[..at].rfind(['{', '}', ';']).map(|n| n + 1)?;
    let start = start + (text[start..].len() - text[start..].trim_start().len());
    // A block ends a list of directives, not a directive.
    let end = start + text[start..].find(';')? + 1;
    (start <= at && at < end).then_some((start, end))
}

/// Splits the arguments of a call at commas outside of brackets.
fn arguments(call: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = call.split_once('(')?;
    let inner = rest.trim_end_matches(';').trim().strip_suffix(')')?;
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (n, c) in inner.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inner[start..n].trim());
                start = n + 1;
            }
            _ => {}
        }
    }
    parts.push(inner[start..].trim());
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some((name, parts))
}

/// Returns the programs that a help says to write, each with the changed text.
fn followed(text: &str, wrong: &Wrong) -> Vec<(String, String)> {
    let Some((start, end)) = directive(text, wrong.at) else { return Vec::new() };
    let found = &text[start..end];
    let with = |new: &str| (new.to_owned(), format!("{}{new}{}", &text[..start], &text[end..]));
    if wrong.help.starts_with("leave this out") {
        return vec![with("")];
    }
    let Some((name, own)) = arguments(found) else { return Vec::new() };
    let snippets: Vec<&str> = wrong.help.split('`').skip(1).step_by(2).collect();
    let says_to_write = wrong.help.starts_with("write `") || wrong.help.contains("of the reads to promote");
    let call = |snippet: &&str| {
        let (other, given) = arguments(snippet).filter(|(name, _)| !PLACES.contains(name))?;
        // The axis is declared serial in another directive.
        let serial = format!("serial({});", given.join(", "));
        if other == "unroll" && text.contains(&serial) {
            return Some((snippet.to_string(), text.replace(&serial, &format!("{};", snippet.trim_end_matches(';')))));
        }
        let new = match given.as_slice() {
            [first, "…"] if other == name => format!("{other}({first}, {});", own.get(1..)?.join(", ")),
            whole if whole.iter().all(|part| !part.contains('…')) => format!("{other}({});", whole.join(", ")),
            _ => return None,
        };
        Some(with(&new))
    };
    if says_to_write {
        let blocks = snippets.iter().filter_map(|snippet| Some((snippet.to_string(), with_block(text, end, snippet)?)));
        return snippets.iter().filter_map(call).chain(blocks).collect();
    }
    // Axes that are left over intentionally.
    let serial = snippets.iter().find(|snippet| snippet.starts_with("serial(") && wrong.help.contains("if that is intended"));
    let block = snippets.iter().find_map(|snippet| snippet.strip_suffix("{ … }"));
    let place = match block {
        Some(block) => text[end..].find(block).map(|found| end + found + block.len() + 1),
        None => Some(end),
    };
    serial
        .zip(place)
        .map(|(serial, at)| (serial.to_string(), format!("{} {serial};{}", &text[..at], &text[at..])))
        .into_iter()
        .collect()
}

/// Returns the program with the directives of a block, for example `s { unroll(q); }`, added to the stage's block, if there is one
/// after `from`, or to a new block at the schedule's end.
fn with_block(text: &str, from: usize, snippet: &str) -> Option<String> {
    let (stage, rest) = snippet.split_once(" { ")?;
    let directives = rest.strip_suffix(" }")?;
    let is_name = stage.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name || directives.contains('…') {
        return None;
    }
    let schedule = text[..from].rfind("schedule!")?;
    let end = from + text[from..].find("\n}")?;
    let body = text[schedule..end].rfind(" for ").and_then(|at| Some(schedule + at + text[schedule + at..].find('{')?))?;
    let own = text[body..end].find(&format!(" {stage} {{")).map(|at| body + at + stage.len() + 3);
    // The schedule's last brace closes its body, and the brace before it ends the line above.
    let close = text[..end].rfind('}')?;
    Some(match own {
        // After the block's own directives, because these make the axes.
        Some(at) => {
            let close = at + text[at..].find('}')?;
            format!("{}{directives} {}", &text[..close], &text[close..])
        }
        None => format!("{}{snippet}\n{}", &text[..close], &text[close..]),
    })
}

/// Returns the number of helps of a program that were followed, and the changes that did not compile. The program and its changes are
/// read from `new`, a file outside of the tests' package, because a file is searched in all crates of its package.
fn failures(file: &Path, new: &Path) -> (usize, Vec<String>) {
    let text = fs::read_to_string(file).expect("a program");
    let (mut count, mut failures) = (0, Vec::new());
    fs::write(new, &text).expect("a file");
    let Ok(source) = Source::open(new) else { return (0, failures) };
    for schedule in source.schedules() {
        for wrong in errors(&source, schedule, &text).unwrap_or_default() {
            for (written, program) in followed(&text, &wrong) {
                count += 1;
                fs::write(new, &program).expect("a file");
                let left = Source::open(new).ok().and_then(|source| errors(&source, schedule, &program));
                let left = left.map(|left| left.iter().map(|w| format!("{} / {}", w.message, w.help)).collect::<Vec<_>>());
                if left.as_ref().is_some_and(Vec::is_empty) {
                    continue;
                }
                let left = left.map_or("no schedule".into(), |left| left.join("\n  "));
                let (file, Wrong { message, help, .. }) = (file.display(), &wrong);
                failures.push(format!("{file}, {schedule}: {message}\n  help: {help}\n  written: {written}\n  {left}"));
            }
        }
    }
    (count, failures)
}

#[test]
fn helps_can_be_followed() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helps");
    let _ = fs::remove_dir_all(&copy);
    let files = |folder: &str| -> Vec<PathBuf> {
        fs::create_dir_all(copy.join(folder)).expect("a folder");
        let found = fs::read_dir(ui.join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut found: Vec<PathBuf> = found.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
        found.sort();
        found
    };
    let of_copy = |file: &Path| copy.join(file.strip_prefix(&ui).expect("a program of the folder"));
    for file in files("support") {
        fs::copy(&file, of_copy(&file)).expect("a copy");
    }
    fs::write(copy.join("Cargo.toml"), "").expect("a file");
    let programs: Vec<PathBuf> = ["directives", "promote", "compute_at", "pipeline"].into_iter().flat_map(files).collect();
    let (next, all) = (AtomicUsize::new(0), Mutex::new((0, Vec::new())));
    let work = || {
        while let Some(file) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (count, failures) = failures(file, &of_copy(file));
            let mut all = all.lock().expect("no thread has panicked");
            all.0 += count;
            all.1.extend(failures);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (count, failures) = all.into_inner().expect("no thread has panicked");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 10, "{count} helps were followed");
}
