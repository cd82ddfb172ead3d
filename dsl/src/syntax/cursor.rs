//! The parsers' place in the tokens: syn's [`ParseStream`], the table of spans, and the errors so far.

use super::Name;
use crate::diag::{Error, Errors, SpanId, Spans};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::discouraged::AnyDelimiter;
use syn::parse::{ParseStream, Parser};

/// How deep parentheses, braces and prefixes nest, at most: the parser's recursion, whose frames are large.
const NESTING: u32 = 64;

/// How high a tree is, at most: a chain of operators is as high as it is long.
const HEIGHT: u32 = 256;

/// What parsing gave: a tree as far as there is one, and what was wrong.
#[derive(Debug)]
pub struct Parsed<T> {
    /// The tree; with errors, what could be read of it.
    pub tree: Option<T>,
    /// What is wrong; where it is empty there is a tree.
    pub errors: Errors,
}

impl<T> Parsed<T> {
    /// The tree, if nothing is wrong.
    pub fn into_result(self) -> Result<T, Errors> {
        match self.tree {
            Some(tree) if self.errors.is_empty() => Ok(tree),
            _ => Err(self.errors),
        }
    }
}

/// Reads all tokens with a parser; those that it leaves are an error.
pub fn parse<T>(tokens: TokenStream, spans: &mut Spans, parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>) -> Parsed<T> {
    let mut errors = Errors::new();
    let end = tokens.clone().into_iter().last().map_or(SpanId::NONE, |t| spans.add(t.span()));
    let read = |stream: ParseStream<'_>| {
        let mut cursor = Cursor { stream, spans: &mut *spans, errors: &mut errors, end, depth: 0, height: 0 };
        let tree = parser(&mut cursor);
        Ok(cursor.finish(tree))
    };
    match Parser::parse2(read, tokens) {
        Ok(tree) => Parsed { tree, errors },
        Err(error) => {
            let span = spans.add(error.span());
            errors.push(Error::new(span, error.to_string()));
            Parsed { tree: None, errors }
        }
    }
}

/// A place in the tokens.
pub struct Cursor<'a> {
    stream: ParseStream<'a>,
    spans: &'a mut Spans,
    errors: &'a mut Errors,
    /// Where the tokens end: the closing delimiter.
    end: SpanId,
    depth: u32,
    /// The height of the highest tree since [`Cursor::deeper`] began.
    height: u32,
}

impl Cursor<'_> {
    /// The table of spans.
    pub fn spans(&mut self) -> &mut Spans {
        self.spans
    }

    /// Notes an error; the parser goes on.
    pub fn report(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// The place from one to another.
    pub fn join(&mut self, first: SpanId, last: SpanId) -> SpanId {
        self.spans.join(first, last)
    }

    /// Whether there are no more tokens.
    pub fn is_empty(&self) -> bool {
        self.stream.is_empty()
    }

    /// Reads with a parser of syn's.
    pub fn with<T>(&mut self, parser: impl FnOnce(ParseStream<'_>) -> syn::Result<T>) -> Result<T, Error> {
        parser(self.stream).map_err(|e| Error::new(self.spans.add(e.span()), e.to_string()))
    }

    /// Where the next token stands; at the end, the closing delimiter.
    pub fn here(&mut self) -> SpanId {
        if self.stream.is_empty() { self.end } else { self.spans.add(self.stream.span()) }
    }

    /// That something else was expected here.
    pub fn expected(&mut self, what: &str) -> Error {
        let found = match self.stream.cursor().token_tree() {
            None => "the end".into(),
            Some((TokenTree::Group(group), _)) => match group.delimiter() {
                Delimiter::Parenthesis => "`(`".into(),
                Delimiter::Brace => "`{`".into(),
                Delimiter::Bracket => "`[`".into(),
                Delimiter::None => "other tokens".into(),
            },
            Some((TokenTree::Punct(punct), _)) => format!("`{}`", self.peek_operator().unwrap_or(punct.to_string())),
            Some((token, _)) => format!("`{token}`"),
        };
        Error::new(self.here(), format!("expected {what}, found {found}"))
    }

    /// The characters that the next token's punctuation is made of, as Rust reads it: `=>`, `..=`, `+`.
    pub fn peek_operator(&self) -> Option<String> {
        const LONG: [&str; 24] = [
            "..=", "<<=", ">>=", "...", "=>", "->", "..", "::", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=",
            "/=", "%=", "&=", "|=", "^=",
        ];
        let mut text = String::new();
        let mut rest = self.stream.cursor();
        while let Some((punct, next)) = rest.punct() {
            text.push(punct.as_char());
            if punct.spacing() == Spacing::Alone || text.len() == 3 {
                break;
            }
            rest = next;
        }
        let longest = LONG.iter().find(|l| text.starts_with(**l));
        longest.map(|l| l.to_string()).or_else(|| text.chars().next().map(String::from))
    }

    /// Whether this punctuation comes next, whole: `=` is not the start of `=>`.
    pub fn peek(&self, operator: &str) -> bool {
        self.peek_operator().is_some_and(|next| next == operator)
    }

    /// Whether this word comes next.
    pub fn peek_word(&self, word: &str) -> bool {
        self.peek_name().is_some_and(|next| next == word)
    }

    /// The next token, if it is a name or a keyword.
    pub fn peek_name(&self) -> Option<String> {
        self.stream.cursor().ident().map(|(ident, _)| ident.to_string())
    }

    /// Whether this word is the second token from here.
    pub fn peek_word_after(&self, word: &str) -> bool {
        let second = self.stream.cursor().token_tree().and_then(|(_, rest)| rest.ident());
        second.is_some_and(|(next, _)| next == word)
    }

    /// Whether a group comes next.
    pub fn peek_group(&self, delimiter: Delimiter) -> bool {
        self.stream.cursor().group(delimiter).is_some()
    }

    /// Whether `name in` stands at the beginning of the parentheses that come next: the head of a reduction.
    pub fn peek_ranges(&self, after: usize) -> bool {
        let mut rest = self.stream.cursor();
        for _ in 0..after {
            let Some((_, next)) = rest.token_tree() else { return false };
            rest = next;
        }
        let Some((inside, _, _)) = rest.group(Delimiter::Parenthesis) else { return false };
        let Some((_, after_name)) = inside.ident() else { return false };
        after_name.ident().is_some_and(|(word, _)| word == "in")
    }

    /// `pad` or `clamp`, if `.pad(…)[…]` or `.clamp()[…]` comes next.
    pub fn peek_outside(&self) -> Option<&'static str> {
        let (dot, rest) = self.stream.cursor().punct()?;
        let (method, rest) = rest.ident()?;
        let (_, _, rest) = rest.group(Delimiter::Parenthesis)?;
        rest.group(Delimiter::Bracket)?;
        ["pad", "clamp"].into_iter().find(|known| dot.as_char() == '.' && method == known)
    }

    /// Takes this punctuation if it comes next.
    pub fn eat(&mut self, operator: &str) -> Option<SpanId> {
        if !self.peek(operator) {
            return None;
        }
        let (mut first, mut last) = (None, None);
        for _ in operator.chars() {
            let token = self.token()?;
            first.get_or_insert(token.span());
            last = Some(token.span());
        }
        Some(self.spans.add_range(first?, last?))
    }

    /// Takes this word if it comes next.
    pub fn eat_word(&mut self, word: &str) -> Option<SpanId> {
        if !self.peek_word(word) {
            return None;
        }
        let span = self.token()?.span();
        Some(self.spans.add(span))
    }

    /// Takes this punctuation.
    pub fn expect(&mut self, operator: &str) -> Result<SpanId, Error> {
        self.eat(operator).ok_or_else(|| self.expected(&format!("`{operator}`")))
    }

    /// Takes this word.
    pub fn expect_word(&mut self, word: &str) -> Result<SpanId, Error> {
        self.eat_word(word).ok_or_else(|| self.expected(&format!("`{word}`")))
    }

    /// Takes a name: an identifier that is no keyword. `what` says which one is expected, for the error.
    pub fn name(&mut self, what: &str) -> Result<Name, Error> {
        let Some(text) = self.peek_name() else { return Err(self.expected(what)) };
        if is_keyword(&text) {
            return Err(self.expected(what).note(format!("`{text}` is a keyword")));
        }
        let ident = self.with(syn::Ident::parse_any)?;
        // As in Rust, `r#x` is `x`. A raw keyword keeps its prefix.
        let text = text.strip_prefix("r#").filter(|plain| !is_keyword(plain)).map_or(text.clone(), str::to_owned);
        Ok(Name { text, span: self.spans.add(ident.span()) })
    }

    /// Reads what stands in a group, and the places of its delimiters. What the parser leaves there is an error.
    pub fn group<T>(
        &mut self,
        delimiter: Delimiter,
        parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>,
    ) -> Result<(Option<T>, SpanId), Error> {
        if !self.peek_group(delimiter) {
            let what = match delimiter {
                Delimiter::Parenthesis => "`(`",
                Delimiter::Brace => "`{`",
                Delimiter::Bracket => "`[`",
                Delimiter::None => "a group",
            };
            return Err(self.expected(what));
        }
        let opened = self.stream.parse_any_delimiter();
        let (_, span, content) = opened.map_err(|e| Error::new(self.spans.add(e.span()), e.to_string()))?;
        let whole = self.spans.add_range(span.open(), span.close());
        let end = self.spans.add(span.close());
        let depth = self.depth;
        let mut inside = Cursor { stream: &content, spans: &mut *self.spans, errors: &mut *self.errors, end, depth, height: 0 };
        let tree = parser(&mut inside);
        let (tree, height) = (inside.finish(tree), inside.height);
        self.height = self.height.max(height);
        Ok((tree, whole))
    }

    /// Reads what stands in a group; an error in it is this parser's.
    pub fn inside<T>(
        &mut self,
        delimiter: Delimiter,
        parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>,
    ) -> Result<(T, SpanId), Error> {
        let mut failed = None;
        let (tree, span) = self.group(delimiter, |c| match parser(c) {
            Ok(tree) if c.is_empty() => Ok(Some(tree)),
            Ok(_) => {
                failed = Some(c.unexpected());
                c.skip_all();
                Ok(None)
            }
            Err(error) => {
                failed = Some(error);
                c.skip_all();
                Ok(None)
            }
        })?;
        match (tree.flatten(), failed) {
            (Some(tree), _) => Ok((tree, span)),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::new(span, "this cannot be read")),
        }
    }

    /// Items up to the end, with commas between them. An item that cannot be read is an error, and the next ones follow.
    pub fn commas<T>(&mut self, mut item: impl FnMut(&mut Cursor<'_>) -> Result<T, Error>) -> Vec<T> {
        let mut items = Vec::new();
        while !self.is_empty() {
            match item(self) {
                Ok(tree) => items.push(tree),
                Err(error) => {
                    self.report(error);
                    self.skip_to(&[","]);
                }
            }
            if self.is_empty() || self.eat(",").is_some() {
                continue;
            }
            let error = self.expected("`,`");
            self.report(error);
            self.skip_to(&[","]);
            self.eat(",");
        }
        items
    }

    /// Items in a group, with commas between them. The first one that cannot be read is the whole list's error: where
    /// their number counts, a list with a gap would be wrong in another way.
    pub fn list<T>(
        &mut self,
        delimiter: Delimiter,
        mut item: impl FnMut(&mut Cursor<'_>) -> Result<T, Error>,
    ) -> Result<(Vec<T>, SpanId), Error> {
        self.inside(delimiter, |c| {
            let mut items = Vec::new();
            while !c.is_empty() {
                items.push(item(c)?);
                if !c.is_empty() {
                    c.expect(",")?;
                }
            }
            Ok(items)
        })
    }

    /// Parses ahead without moving the cursor. Returns `None` if the parser fails.
    pub fn ahead<T>(&mut self, parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>) -> Option<T> {
        let (stream, mut errors) = (self.stream.fork(), Errors::new());
        let (end, depth) = (self.end, self.depth);
        let mut cursor = Cursor { stream: &stream, spans: &mut *self.spans, errors: &mut errors, end, depth, height: 0 };
        let tree = parser(&mut cursor).ok();
        tree.filter(|_| errors.is_empty())
    }

    /// Whether nothing was wrong so far.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Skips to one of these operators, or to the end. Groups are skipped whole.
    pub fn skip_to(&mut self, stops: &[&str]) {
        while !self.is_empty() && !stops.iter().any(|stop| self.peek(stop)) {
            self.skip_one();
        }
    }

    /// Skips one name, group or operator.
    pub fn skip_one(&mut self) {
        let operator = self.peek_operator();
        if operator.and_then(|o| self.eat(&o)).is_none() {
            self.token();
        }
    }

    /// Skips to the end.
    pub fn skip_all(&mut self) {
        self.skip_to(&[]);
    }

    /// Runs a parser of an expression one level deeper; too deep is an error.
    pub fn deeper<T>(&mut self, parser: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= NESTING {
            return Err(self.too_much(NESTING));
        }
        let around = std::mem::take(&mut self.height);
        self.depth += 1;
        let tree = parser(self);
        self.depth -= 1;
        self.height = self.height.max(around);
        tree
    }

    /// Notes that what was read since [`Cursor::deeper`] began became part of one more tree; too high is an error.
    pub fn higher(&mut self) -> Result<(), Error> {
        self.height += 1;
        if self.height > HEIGHT { Err(self.too_much(HEIGHT)) } else { Ok(()) }
    }

    fn too_much(&mut self, limit: u32) -> Error {
        let error = Error::new(self.here(), format!("this expression nests more than {limit} levels deep"));
        error.help("give parts of it names with `let`")
    }

    /// That the next token does not belong here.
    fn unexpected(&mut self) -> Error {
        self.expected("the end")
    }

    fn token(&mut self) -> Option<TokenTree> {
        self.stream.parse().ok()
    }

    /// Notes what failed, or what is left, and takes all that is left.
    fn finish<T>(&mut self, tree: Result<T, Error>) -> Option<T> {
        let tree = match tree {
            Ok(tree) => Some(tree),
            Err(error) => {
                self.report(error);
                self.skip_all();
                None
            }
        };
        if !self.is_empty() {
            let error = self.unexpected();
            self.report(error);
            self.skip_all();
        }
        tree
    }
}

/// Rust's keywords that are no names here either.
fn is_keyword(text: &str) -> bool {
    const KEYWORDS: [&str; 39] = [
        "_", "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for",
        "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static",
        "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
    ];
    KEYWORDS.contains(&text)
}
