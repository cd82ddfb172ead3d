//! Reads the schedules of this crate from its source files, for its tests and its benchmark.

use std::path::{Path, PathBuf};
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::variant;
use tilewright_explain::source::{Source, Subject, Tokens};

/// A schedule.
pub struct Written {
    /// Its file and name.
    pub place: String,
    /// The tokens that it is compiled from.
    pub tokens: Tokens,
}

/// Returns every schedule, ordered by file.
pub fn schedules() -> Vec<Written> {
    schedules_in(&|_| true)
}

/// Returns every schedule of the files whose text is selected. The whole crate is read once.
pub fn schedules_in(is_selected: &dyn Fn(&str) -> bool) -> Vec<Written> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.retain(|file| is_selected(&std::fs::read_to_string(file).expect("a source file")));
    files.sort();
    let (mut found, mut first) = (Vec::new(), None::<Source>);
    for file in files {
        let source =
            first.as_ref().map_or_else(|| Source::open(&file), |first| first.beside(&file)).unwrap_or_else(|e| panic!("{e}"));
        let place = file.strip_prefix(&root).unwrap_or(&file).with_extension("").display().to_string();
        for name in source.schedules() {
            let tokens = source.tokens(name).unwrap_or_else(|e| panic!("{e}"));
            found.push(Written { place: format!("{place}::{name}"), tokens });
        }
        first.get_or_insert(source);
    }
    found
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("this crate's sources").flatten() {
        let path = entry.path();
        match path.extension() {
            // Other files are records of tunings.
            Some(extension) if extension == "rs" => files.push(path),
            _ if path.is_dir() => collect(&path, files),
            _ => {}
        }
    }
}

/// Compiles like the macro: from tokens to syntax trees, and from these to a program.
pub fn compile(tokens: &Tokens) -> (Subject, variant::Variant) {
    let subject = tokens.parse().unwrap_or_else(|e| panic!("{e}"));
    let (kernel, schedule) = (&subject.kernel, &subject.schedule);
    let made = variant::compile(
        kernel,
        schedule,
        &subject.profile,
        &Choice::default(),
        &|at| subject.place(at),
        tilewright_spirv::compile,
    );
    let made = made.unwrap_or_else(|e| panic!("{}", e.texts(&subject.spans)));
    (subject, made)
}
