//! The nests on the pages are the compiler's.

use crate::page::{Fence, bodies, fences, from_root, pages, unhidden};
use std::fs;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::{Error, SpanId, Spans};
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax;
use tilewright_dsl::syntax::schedule::{DIRECTIVES, Directive, DirectiveKind, Item, Schedule};
use tilewright_tests::root;

/// Returns the nests of an example's last schedule before the directives at `places`, as `show` shows them there, and the last nest.
fn nests(code: &str, places: &[usize]) -> Vec<String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(bodies(code, "kernel").last().unwrap().parse().unwrap(), &mut spans);
    let kernel = kernel.into_result().map_err(|e| e.texts(&spans)).unwrap();
    let mut schedule = schedule(code, &mut spans);
    schedule.items.retain(|item| name(item) != "show");
    for place in places.iter().rev() {
        schedule.items.insert(
            *place,
            Item::Directive(Directive { planned: None, called: "show", kind: DirectiveKind::Show, span: SpanId::NONE }),
        );
    }
    let profile = Profile::bundled(&schedule.profile.last().unwrap().text).unwrap();
    let compiled = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans)).unwrap();
    let nest = |warning: &Error| warning.message.split_once('\n').unwrap().1.trim_end().to_owned() + "\n";
    let lowered = print::plan(&compiled.program).trim_end().to_owned() + "\n";
    compiled.warnings.0.iter().map(nest).chain([lowered]).collect()
}

fn schedule(code: &str, spans: &mut Spans) -> Schedule {
    let tokens = bodies(code, "schedule").last().unwrap().parse().unwrap();
    syntax::parse(tokens, spans, Schedule::parse).into_result().map_err(|e| e.texts(spans)).unwrap()
}

/// Returns the name of a directive in the language.
fn name(item: &Item) -> &'static str {
    match item {
        Item::Directive(directive) => directive.called,
        Item::Statement(statement) => statement.called,
        Item::Block { .. } => "a block",
    }
}
/// A directive's page shows the nest before and after it: the two blocks of text that follow an example (one, if it does not change
/// the nest; a third shows the lowered nest).
#[test]
fn nests_are_what_the_compiler_makes() {
    let (mut checked, mut wrong) = (Vec::new(), Vec::new());
    for path in pages().into_iter().filter(|p| p.parent().unwrap().ends_with("directives")) {
        let directive = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let page = fs::read_to_string(&path).unwrap();
        let fences = fences(&page);
        let examples: Vec<usize> = (0..fences.len()).filter(|n| fences[*n].language == "rust").collect();
        assert!(!examples.is_empty(), "{directive} has no example");
        let mut updated = page.clone();
        let mut made = Vec::new();
        for example in examples.into_iter().rev() {
            let code = &page[fences[example].start..fences[example].end];
            let schedule = schedule(code, &mut Spans::new());
            let at = schedule.items.iter().position(|i| name(i) == directive);
            let at = at.unwrap_or_else(|| panic!("no `{directive}` in its example"));
            let shown: Vec<&Fence> = fences[example + 1..].iter().take_while(|f| f.language == "text").collect();
            assert!(!shown.is_empty(), "{directive} shows no nest");
            let nests = if shown.len() == 1 { nests(code, &[at]) } else { nests(code, &[at, at + 1]) };
            assert!(shown.len() <= nests.len(), "{directive}");
            for (fence, nest) in shown.iter().zip(&nests).rev() {
                updated.replace_range(fence.start..fence.end, nest);
            }
            made.extend(nests);
        }
        if updated != page {
            if std::env::var_os("UPDATE_DOCS").is_some() {
                fs::write(&path, &updated).unwrap();
            }
            wrong.push(format!("{}: the nests are now\n{}", path.display(), made.join("\n")));
        }
        checked.push(directive);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut names = DIRECTIVES.map(|row| row.name);
    names.sort_unstable();
    checked.sort_unstable();
    assert_eq!(checked, names, "a page for each directive");
    let examples = fs::read_to_string(root().join("src/documentation.rs")).unwrap();
    for name in names {
        assert!(examples.contains(&format!("docs/directives/{name}.md")), "the example of {name} is not compiled");
    }
}

/// `ARCHITECTURE.md` shows the nest of one kernel after each step: the first one, those before its first and after its last `promote`, and
/// the lowered one.
#[test]
fn the_path_of_a_kernel_is_what_the_compiler_makes() {
    let path = root().join("ARCHITECTURE.md");
    let page = fs::read_to_string(&path).unwrap();
    let fences = fences(&page);
    let example = fences.iter().position(|fence| fence.language == "rust").expect("an example");
    let code = &page[fences[example].start..fences[example].end];
    let items = schedule(code, &mut Spans::new()).items;
    let promoted = items.iter().position(|item| name(item) == "promote").expect("a `promote`");
    let nests = nests(code, &[0, promoted, items.len()]);
    let shown: Vec<&Fence> = fences[example + 1..].iter().take_while(|fence| fence.language == "text").collect();
    assert_eq!(shown.len(), nests.len());
    let mut updated = page.clone();
    for (fence, nest) in shown.iter().zip(&nests).rev() {
        updated.replace_range(fence.start..fence.end, nest);
    }
    if updated != page && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &updated).unwrap();
    }
    assert!(updated == page, "{}: the nests are now\n{}", path.display(), nests.join("\n"));
}

/// The blocks of text after an example of the book that begin with `dispatch` are the nests of its last schedule: one for each `show`, if
/// it has any, and the lowered one. A line `…` stands for lines that the page leaves out.
#[test]
fn nests_of_the_book_are_what_the_compiler_makes() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for path in pages().into_iter().filter(|path| path.parent().unwrap().ends_with("docs/book")) {
        let page = fs::read_to_string(&path).unwrap();
        let fences = fences(&page);
        let mut updated = page.clone();
        for example in (0..fences.len()).rev().filter(|n| fences[*n].is_compiled()) {
            let is_nest = |fence: &&Fence| fence.language == "text" && fence.text(&page).starts_with("dispatch");
            let shown: Vec<&Fence> =
                fences[example + 1..].iter().take_while(|fence| !fence.is_compiled()).filter(is_nest).collect();
            if shown.is_empty() {
                continue;
            }
            let code = unhidden(fences[example].text(&page));
            let items = schedule(&code, &mut Spans::new()).items;
            let shows = items.iter().enumerate().filter(|(_, item)| name(item) == "show");
            let places: Vec<usize> = shows.enumerate().map(|(before, (at, _))| at - before).collect();
            let nests = nests(&code, &places);
            assert!(shown.len() <= nests.len(), "{}: more nests than `show`s", from_root(&path));
            for (fence, nest) in shown.iter().zip(&nests).rev() {
                checked += 1;
                if !is_part(fence.text(&page), nest) {
                    updated.replace_range(fence.start..fence.end, nest);
                    wrong.push(format!("{}: a nest is now\n{nest}", from_root(&path)));
                }
            }
        }
        if updated != page && std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &updated).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 10, "{checked} nests");
}

/// True if a text is a nest without the lines for which it has `…`.
fn is_part(shown: &str, nest: &str) -> bool {
    let mut rest: Vec<&str> = nest.lines().collect();
    let mut parts =
        shown.split("…\n").map(|part| part.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>());
    let first = parts.next().unwrap();
    if !rest.starts_with(&first) {
        return false;
    }
    rest.drain(..first.len());
    for part in parts {
        let Some(at) = (0..=rest.len().saturating_sub(part.len())).find(|at| rest[*at..].starts_with(&part)) else { return false };
        rest.drain(..at + part.len());
    }
    rest.is_empty() || shown.trim_end().ends_with('…')
}
