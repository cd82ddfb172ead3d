//! The parsers' position in the tokens: syn's [`ParseStream`], the table of spans, and the errors so far.

use super::Name;
use crate::diag::{Error, Errors, SpanId, Spans};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::discouraged::AnyDelimiter;
use syn::parse::{ParseBuffer, ParseStream, Parser};

/// The greatest nesting depth of parentheses, braces and prefixes. It bounds the recursion of the parser, because the parser's stack frames
/// are large.
const NESTING: u32 = 64;

/// The greatest height of a tree. A chain of operators counts, because its tree is as high as the chain is long.
const HEIGHT: u32 = 256;

/// The result of parsing: a tree, as far as it could be read, and the errors.
#[derive(Debug)]
pub struct Parsed<T> {
    /// The tree. With errors, the part of it that could be read.
    pub tree: Option<T>,
    /// The errors. If there are none, `tree` is present.
    pub errors: Errors,
}

impl<T> Parsed<T> {
    /// Returns the tree if there are no errors.
    pub fn into_result(self) -> Result<T, Errors> {
        match self.tree {
            Some(tree) if self.errors.is_empty() => Ok(tree),
            _ => Err(self.errors),
        }
    }
}

/// Reads all tokens with a parser. Tokens that the parser leaves are an error.
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

/// A position in the tokens.
pub struct Cursor<'a> {
    stream: ParseStream<'a>,
    spans: &'a mut Spans,
    errors: &'a mut Errors,
    /// The place of the closing delimiter, at which the tokens end.
    end: SpanId,
    depth: u32,
    /// The height of the highest tree since [`Cursor::deeper`] began.
    height: u32,
}

impl<'a> Cursor<'a> {
    /// Returns the table of spans.
    pub fn spans(&mut self) -> &mut Spans {
        self.spans
    }

    /// Records an error. The parser continues.
    pub fn report(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Returns the span from `first` to `last`.
    pub fn join(&mut self, first: SpanId, last: SpanId) -> SpanId {
        self.spans.join(first, last)
    }

    /// True if there are no more tokens.
    pub fn is_empty(&self) -> bool {
        self.stream.is_empty()
    }

    /// Reads with one of syn's parsers.
    pub fn with<T>(&mut self, parser: impl FnOnce(ParseStream<'_>) -> syn::Result<T>) -> Result<T, Error> {
        parser(self.stream).map_err(|e| Error::new(self.spans.add(e.span()), e.to_string()))
    }

    /// Returns the place of the next token or, at the end, of the closing delimiter.
    pub fn here(&mut self) -> SpanId {
        if self.stream.is_empty() { self.end } else { self.spans.add(self.stream.span()) }
    }

    /// Returns the error that `what` was expected here, with the token that was found.
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
        // A whole group can have many lines.
        let opened = self.stream.cursor().token_tree().and_then(|(tree, _)| match tree {
            TokenTree::Group(group) => Some(group.span_open()),
            _ => None,
        });
        let at = match opened {
            Some(open) => self.spans.add(open),
            None => self.here(),
        };
        Error::new(at, format!("expected {what}, found {found}"))
    }

    /// Returns the characters of the next punctuation, as Rust groups them: `=>`, `..=`, `+`.
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

    /// True if this whole punctuation comes next. For example, `=` does not match the start of `=>`.
    pub fn peek(&self, operator: &str) -> bool {
        self.peek_operator().is_some_and(|next| next == operator)
    }

    /// True if this word comes next.
    pub fn peek_word(&self, word: &str) -> bool {
        self.peek_name().is_some_and(|next| next == word)
    }

    /// Returns the next token if it is a name or a keyword.
    pub fn peek_name(&self) -> Option<String> {
        self.stream.cursor().ident().map(|(ident, _)| ident.to_string())
    }

    /// True if the token after the next one is this word.
    pub fn peek_word_after(&self, word: &str) -> bool {
        let second = self.stream.cursor().token_tree().and_then(|(_, rest)| rest.ident());
        second.is_some_and(|(next, _)| next == word)
    }

    /// True if a group with this delimiter comes next.
    pub fn peek_group(&self, delimiter: Delimiter) -> bool {
        self.stream.cursor().group(delimiter).is_some()
    }

    /// Returns the tokens in the next braces before a `;`.
    pub fn braces_ahead(&self) -> Option<TokenStream> {
        let mut rest = self.stream.cursor();
        loop {
            match rest.token_tree()? {
                (TokenTree::Group(group), _) if group.delimiter() == Delimiter::Brace => return Some(group.stream()),
                (TokenTree::Punct(punct), _) if punct.as_char() == ';' => return None,
                (_, next) => rest = next,
            }
        }
    }

    /// True if the number of a member comes next: a list in brackets, followed by the list of its indices.
    pub fn peek_member(&self) -> bool {
        let Some((_, _, rest)) = self.stream.cursor().group(Delimiter::Bracket) else { return false };
        rest.group(Delimiter::Bracket).is_some() || outside(rest).is_some()
    }

    /// True if the parentheses after the next `after` tokens begin with `name in`, as the ranges of a reduction do.
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

    /// Returns `pad` or `clamp` if `.pad(…)[…]` or `.clamp()[…]` comes next.
    pub fn peek_outside(&self) -> Option<&'static str> {
        outside(self.stream.cursor())
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

    /// Takes this punctuation, or fails.
    pub fn expect(&mut self, operator: &str) -> Result<SpanId, Error> {
        self.eat(operator).ok_or_else(|| self.expected(&format!("`{operator}`")))
    }

    /// Takes this word, or fails.
    pub fn expect_word(&mut self, word: &str) -> Result<SpanId, Error> {
        self.eat_word(word).ok_or_else(|| self.expected(&format!("`{word}`")))
    }

    /// Takes a name: an identifier that is not a keyword. `what` describes the expected name in the error.
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

    /// Reads the contents of a group and the places of its delimiters. Tokens that the parser leaves in the group are an error.
    pub fn group<T>(
        &mut self,
        delimiter: Delimiter,
        parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>,
    ) -> Result<(Option<T>, SpanId), Error> {
        let (content, whole, end) = self.opened(delimiter)?;
        let depth = self.depth;
        let mut inside = Cursor { stream: &content, spans: &mut *self.spans, errors: &mut *self.errors, end, depth, height: 0 };
        let tree = parser(&mut inside);
        let (tree, height) = (inside.finish(tree), inside.height);
        self.height = self.height.max(height);
        Ok((tree, whole))
    }

    /// Takes a group. Returns its contents, the places of both delimiters, and the place of the closing one.
    fn opened(&mut self, delimiter: Delimiter) -> Result<(ParseBuffer<'a>, SpanId, SpanId), Error> {
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
        Ok((content, self.spans.add_range(span.open(), span.close()), self.spans.add(span.close())))
    }

    /// Takes all tokens that are left.
    pub fn rest(&mut self) -> TokenStream {
        self.stream.parse().unwrap_or_default()
    }

    /// Reads with a parser, and returns the tokens that it took, too.
    pub fn tokens_of<T>(&mut self, parser: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<(TokenStream, T), Error> {
        let mut from = self.stream.cursor();
        let tree = parser(self)?;
        let mut tokens = TokenStream::new();
        while from != self.stream.cursor() {
            let Some((token, next)) = from.token_tree() else { break };
            tokens.extend([token]);
            from = next;
        }
        Ok((tokens, tree))
    }

    /// Reads other tokens with a parser, as if they were next. Tokens that the parser leaves are an error.
    pub fn other<T>(&mut self, tokens: TokenStream, parser: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let (end, depth) = (self.end, self.depth);
        let read = |stream: ParseStream<'_>| {
            let mut cursor = Cursor { stream, spans: &mut *self.spans, errors: &mut *self.errors, end, depth, height: 0 };
            let tree = match parser(&mut cursor) {
                Ok(_) if !cursor.is_empty() => Err(cursor.unexpected()),
                tree => tree,
            };
            cursor.skip_all();
            Ok(tree)
        };
        let read = Parser::parse2(read, tokens);
        read.unwrap_or_else(|error| Err(Error::new(self.spans.add(error.span()), error.to_string())))
    }

    /// Reads the contents of a group. An error in the group fails the call.
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

    /// Reads items up to the end, separated by commas. If an item cannot be read, the error is recorded and reading continues with the next
    /// one.
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

    /// Reads the items of a group, separated by commas. The first item that cannot be read fails the whole list, because a list with a gap
    /// would cause further errors where the number of items matters.
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

    /// True if there are no errors so far.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Skips to one of these operators, or to the end. Groups are skipped whole.
    pub fn skip_to(&mut self, stops: &[&str]) {
        while !self.is_empty() && !stops.iter().any(|stop| self.peek(stop)) {
            self.skip_one();
        }
    }

    /// Skips to a group with this delimiter, or to the end.
    pub fn skip_to_group(&mut self, delimiter: Delimiter) {
        while !self.is_empty() && !self.peek_group(delimiter) {
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

    /// Runs a parser of an expression one level deeper. Exceeding `NESTING` is an error.
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

    /// Records that the trees read since [`Cursor::deeper`] began are now children of another one. Exceeding `HEIGHT` is an error.
    pub fn higher(&mut self) -> Result<(), Error> {
        self.height += 1;
        if self.height > HEIGHT { Err(self.too_much(HEIGHT)) } else { Ok(()) }
    }

    fn too_much(&mut self, limit: u32) -> Error {
        let error = Error::new(self.here(), format!("this expression nests more than {limit} levels deep"));
        error.help("give parts of it names with `let`")
    }

    /// Returns the error that the next token is unexpected.
    fn unexpected(&mut self) -> Error {
        self.expected("the end")
    }

    fn token(&mut self) -> Option<TokenTree> {
        self.stream.parse().ok()
    }

    /// Records the error of a failed parser, or of tokens that it left, and skips to the end.
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

/// Returns `pad` or `clamp` if `.pad(…)[…]` or `.clamp()[…]` comes next.
fn outside(next: syn::buffer::Cursor<'_>) -> Option<&'static str> {
    let (dot, rest) = next.punct()?;
    let (method, rest) = rest.ident()?;
    let (_, _, rest) = rest.group(Delimiter::Parenthesis)?;
    rest.group(Delimiter::Bracket)?;
    ["pad", "clamp"].into_iter().find(|known| dot.as_char() == '.' && method == known)
}

/// True for Rust's keywords, which are not names in kernels either.
fn is_keyword(text: &str) -> bool {
    const KEYWORDS: [&str; 39] = [
        "_", "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for",
        "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static",
        "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
    ];
    KEYWORDS.contains(&text)
}
