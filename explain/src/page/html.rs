//! Elements of a page, with all text escaped.

use std::fmt;

/// An element.
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, Option<String>)>,
    inner: Vec<Inner>,
}

/// The content of an element.
pub(super) enum Inner {
    Element(Element),
    Text(String),
    /// Unescaped text: a style or a script of this crate.
    Raw(&'static str),
}

/// Returns an empty element.
pub(super) fn element(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), inner: Vec::new() }
}

/// Returns text as content.
pub(super) fn text(text: &str) -> Inner {
    Inner::Text(text.to_owned())
}

/// Returns a sentence of the compiler, with the text between backticks as code.
pub(super) fn sentence(said: &str) -> Vec<Inner> {
    let part = |(n, part): (usize, &str)| if n % 2 == 1 { element("code").with(text(part)).into() } else { text(part) };
    said.split('`').enumerate().map(part).collect()
}

impl From<Element> for Inner {
    fn from(element: Element) -> Inner {
        Inner::Element(element)
    }
}

impl Element {
    /// Adds an attribute.
    pub(super) fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Element {
        self.attributes.push((name, Some(value.into())));
        self
    }

    /// Adds an attribute without a value.
    pub(super) fn flag(mut self, name: &'static str) -> Element {
        self.attributes.push((name, None));
        self
    }

    /// Appends content.
    pub(super) fn with(mut self, inner: impl Into<Inner>) -> Element {
        self.inner.push(inner.into());
        self
    }

    /// Appends several pieces of content.
    pub(super) fn all(self, inner: impl IntoIterator<Item = impl Into<Inner>>) -> Element {
        inner.into_iter().fold(self, Element::with)
    }

    /// Appends a style or a script.
    pub(super) fn raw(self, inner: &'static str) -> Element {
        self.with(Inner::Raw(inner))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            match value {
                Some(value) => write!(f, " {name}=\"{}\"", escaped(value))?,
                None => write!(f, " {name}")?,
            }
        }
        f.write_str(">")?;
        if self.name == "meta" {
            return Ok(());
        }
        for inner in &self.inner {
            match inner {
                Inner::Element(element) => element.fmt(f)?,
                Inner::Text(text) => f.write_str(&escaped(text))?,
                Inner::Raw(text) => f.write_str(text)?,
            }
        }
        write!(f, "</{}>", self.name)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{element, sentence, text};

    #[test]
    fn backticks_are_code() {
        assert_eq!(element("p").all(sentence("write `a < b`;")).to_string(), "<p>write <code>a &lt; b</code>;</p>");
    }

    #[test]
    fn text_is_escaped() {
        let made = element("p").attribute("title", "a \"b\" & <c>").flag("hidden").with(text("1 < 2 && x > y")).to_string();
        assert_eq!(made, "<p title=\"a &quot;b&quot; &amp; &lt;c&gt;\" hidden>1 &lt; 2 &amp;&amp; x &gt; y</p>");
    }
}
