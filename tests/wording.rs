//! Checks the wording of comments and pages: turns of phrase that a reader has to decode are refused, with what to write instead.
//!
//! A rule has a rate for each 1,000 lines. A file with fewer than [`LARGE`] lines may not have any hit. Code in fences
//! or between backticks is ignored.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The number of lines from which a file may have hits at a rule's rate.
const LARGE: usize = 200;

/// A rule about sentences.
struct Rule {
    /// The number of hits that 1,000 lines may have.
    rate: usize,
    /// True if a sentence breaks the rule.
    breaks: fn(&Sentence) -> bool,
    /// The advice: a better form.
    instead: &'static str,
}

const RULES: [Rule; 6] = [
    Rule {
        rate: 10,
        breaks: opens_with_a_riddle,
        instead: "open with a verb or with the name of the thing: `Returns …`, `The extents of …`, `True if …`",
    },
    Rule { rate: 1, breaks: says_of_which, instead: "write two sentences, or `whose`" },
    Rule { rate: 3, breaks: says_is_no, instead: "write `is not a …`" },
    Rule { rate: 2, breaks: says_that_of, instead: "name the thing again" },
    Rule { rate: 4, breaks: says_nothing, instead: "name the thing, or use the verb with `not`" },
    Rule {
        rate: 1,
        breaks: has_private_words,
        instead: "use the field's word: distributed, decomposed, determines, depends on, aliases, is placed at, continues, prefetched, \
                  unrolled, inactive",
    },
];

/// A sentence of a comment or page.
struct Sentence {
    /// The number of its first line.
    line: usize,
    /// True if it opens a paragraph.
    opens: bool,
    /// Its words, with their punctuation. Code between backticks is one word, a backtick.
    words: Vec<String>,
    /// Its text, for the report.
    text: String,
}

impl Sentence {
    /// True if the sentence has one of the phrases. Punctuation between the words of a phrase separates them.
    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            self.words.windows(phrase.len()).any(|words| {
                words.iter().zip(&phrase).enumerate().all(|(n, (word, wanted))| {
                    let inner = if n + 1 < phrase.len() { word.trim_start_matches(['(', '*', '"']) } else { bare(word) };
                    inner.eq_ignore_ascii_case(wanted)
                })
            })
        })
    }
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn opens_with_a_riddle(sentence: &Sentence) -> bool {
    let word = |n: usize| sentence.words.get(n).map_or("", |word| bare(word));
    // A link may be to a page whose title opens so.
    if sentence.words.first().is_none_or(|word| word.starts_with('[')) {
        return false;
    }
    match word(0) {
        "What" | "Whether" | "Those" | "Who" | "Whose" => true,
        // Later in a paragraph, `That axis` names a thing again, and `Where` gives a condition.
        "That" | "Where" => sentence.opens,
        "How" => ["many", "far", "much"].contains(&word(1)),
        "Of" => ["what", "which", "a", "an", "the", "nothing", "one"].contains(&word(1)),
        _ => false,
    }
}

fn says_of_which(sentence: &Sentence) -> bool {
    sentence.has(&["of which", "of whom", "of whose", "of what"])
}

/// True for a phrase such as `it is no axis`. `There is no axis` and `it has no axis` are allowed, because they count.
fn says_is_no(sentence: &Sentence) -> bool {
    let word = |n: usize| sentence.words.get(n).map_or("", |word| bare(word));
    let is_verb = |n: usize| ["is", "are", "was", "were"].contains(&word(n));
    let counts = |n: usize| n > 1 && word(n - 2).eq_ignore_ascii_case("there");
    (1..sentence.words.len())
        .any(|n| sentence.words[n] == "no" && is_verb(n - 1) && !counts(n) && !["longer", "more", "such"].contains(&word(n + 1)))
}

fn says_that_of(sentence: &Sentence) -> bool {
    sentence.has(&["that of", "those of", "such a one"])
}

fn says_nothing(sentence: &Sentence) -> bool {
    let nothing = ["nobody", "nothing is", "nothing of", "nothing else", "nothing that", "nothing says", "nothing but"];
    let what = ["it", "they", "is", "was", "has", "stands", "lies", "comes", "goes"].map(|verb| format!("what {verb}"));
    sentence.has(&nothing) || sentence.has(&what.each_ref().map(String::as_str))
}

fn has_private_words(sentence: &Sentence) -> bool {
    sentence.has(&[
        "dealt",
        "dealing",
        "taken apart",
        "tells of",
        "tells which",
        "hangs on",
        "lie over",
        "lies over",
        "stands at",
        "stands in",
        "stands behind",
        "stands before",
        "go on",
        "goes on",
        "made ahead",
        "fetched ahead",
        "written out",
        "surplus",
        "twins",
    ])
}

/// A line of text: its number, the text without markers, and true if it opens a paragraph.
struct Line<'t> {
    number: usize,
    text: &'t str,
    opens: bool,
}

/// Returns the lines of a Rust file's comments. A comment after code on its line is not included.
fn comments(text: &str) -> Vec<Line<'_>> {
    let (mut lines, mut opens, mut is_code) = (Vec::new(), true, false);
    for (n, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (opens, is_code) = (true, false);
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        if comment.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || comment.is_empty() || comment.starts_with("```") || comment.starts_with("# ") {
            opens = true;
            continue;
        }
        lines.push(Line { number: n + 1, text: comment, opens });
        opens = false;
    }
    lines
}

/// Returns the lines of a page, without fences, tables and headings.
fn prose(text: &str) -> Vec<Line<'_>> {
    let (mut lines, mut opens, mut is_code) = (Vec::new(), true, false);
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.is_empty() || line.starts_with(['|', '#']) || line.starts_with("```") {
            opens = true;
            continue;
        }
        lines.push(Line { number: n + 1, text: line, opens });
        opens = false;
    }
    lines
}

/// Splits lines into sentences. Items of a list are paragraphs that may open with any word of a condition.
fn sentences(lines: &[Line<'_>]) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for line in lines {
        let item = line
            .text
            .strip_prefix("- ")
            .or_else(|| line.text.split_once(". ").filter(|(n, _)| n.parse::<u32>().is_ok()).map(|(_, t)| t));
        if line.opens || item.is_some() {
            (is_open, is_code) = (false, false);
        }
        for (n, word) in item.unwrap_or(line.text).split_whitespace().enumerate() {
            let was_code = is_code;
            is_code ^= word.matches('`').count() % 2 == 1;
            if !is_open {
                let opens = n == 0 && line.opens && item.is_none();
                sentences.push(Sentence { line: line.number, opens, words: Vec::new(), text: String::new() });
            }
            let sentence = sentences.last_mut().unwrap();
            sentence.text = format!("{} {word}", sentence.text).trim_start().to_owned();
            match word.rsplit_once('`') {
                None if was_code => {}
                None => sentence.words.push(word.to_owned()),
                Some(_) if is_code => {}
                Some((_, after)) => sentence.words.push(format!("`{after}")),
            }
            let end = word.trim_end_matches([')', '*', '"', '`']);
            is_open = is_code || !end.ends_with(['.', '!', '?']) || ["e.g.", "i.e."].contains(&end);
        }
    }
    sentences
}

/// Returns the files with an extension, without build outputs and the programs that do not compile, whose errors name lines.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().unwrap().is_dir() {
            let is_skipped = name.starts_with('.') || name == "target" || path.ends_with("tests/ui");
            if !is_skipped {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the sentences of a file that break a rule more often than its rate allows.
fn wrong(name: &str, text: &str) -> Vec<String> {
    let lines = if name.ends_with(".md") { prose(text) } else { comments(text) };
    let sentences = sentences(&lines);
    let mut wrong = Vec::new();
    for rule in RULES {
        let hits: Vec<&Sentence> = sentences.iter().filter(|s| !s.text.ends_with('?') && (rule.breaks)(s)).collect();
        let allowed = if lines.len() < LARGE { 0 } else { lines.len() * rule.rate / 1000 };
        if hits.len() > allowed {
            wrong.extend(hits.iter().map(|hit| format!("{name}:{}: {}\n  {}", hit.line, hit.text, rule.instead)));
        }
    }
    wrong
}

#[test]
fn comments_and_pages_are_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    files(root, &mut found);
    found.sort();
    assert!(found.len() > 500, "only {} files in {}", found.len(), root.display());
    let mut report = String::new();
    for path in &found {
        let name = path.strip_prefix(root).unwrap().to_string_lossy();
        for hit in wrong(&name, &fs::read_to_string(path).unwrap()) {
            writeln!(report, "{hit}").unwrap();
        }
    }
    assert!(report.is_empty(), "sentences to reword:\n{report}");
}

#[test]
fn rules_find_what_they_name() {
    let count = |text: &str| wrong("a.rs", text).len();
    let refused = [
        "/// Whether it is full.",
        "/// That it is full.",
        "/// Full. How many there are.",
        "// Of a tile, the end.",
        "/// Two buffers, one of which\n/// is full.",
        "/// The axis is no tile.",
        "/// The extent is that of the tile.",
        "/// Nothing is known of it.",
        "/// It depends on what it reads.",
        "/// The elements dealt to lanes.",
    ];
    for text in refused {
        assert_eq!(count(text), 1, "{text}");
    }
    let right = [
        "/// True if it is full.",
        "/// Splits the axis. That axis is full.",
        "/// There is no tile, and it has no axis.",
        "/// It is no longer full.",
        "/// Calls `that of` and `dealt`.",
        "/// ```text\n/// Whether it is full.\n/// ```",
        "let whether = 1; // Whether it is full.",
        "// What is a tile?",
    ];
    for text in right {
        assert_eq!(count(text), 0, "{text}");
    }
    let long = "\n/// It is full.".repeat(600);
    assert_eq!([count(&format!("/// Whether it is full.{long}")), count(&format!("/// It is that of the tile.{long}"))], [0, 0]);
    assert_eq!(count(&format!("/// It is one of which is full.{long}\n\n/// One of which is full.")), 2);
}
