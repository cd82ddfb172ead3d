//! Lines of code. A line that is longer than its column continues below, with a mark, at a deeper indentation than its beginning.

use super::html::{Element, element, text};

/// Returns a line of code, which the style sheet wraps by the line's own indentation.
pub(super) fn code_line(name: &'static str, class: &str, said: &str) -> Element {
    let indentation = said.chars().take_while(|c| *c == ' ').count();
    let line =
        element(name).attribute("class", format!("{class} code").trim()).attribute("style", format!("--indent: {indentation}"));
    line.with(text(said))
}
