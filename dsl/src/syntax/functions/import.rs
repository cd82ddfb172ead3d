//! Reads `use maths::{cube, lerp as mix};` before functions and kernels: the functions that they import.

use crate::diag::{Error, Spans};
use crate::syntax::library::ItemPath;
use crate::syntax::{Cursor, Library, Name};
use proc_macro2::{Delimiter, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;

/// A function that is imported.
#[derive(Clone, Debug)]
pub struct Import {
    /// The function's path.
    pub path: ItemPath,
    /// Its name here.
    pub name: Name,
}

/// Returns the imports at the start of an item's own tokens. An import that cannot be read ends them, because the parser reports it.
pub fn imports(own: &TokenStream) -> Vec<Import> {
    let mut found = Vec::new();
    let read = |cursor: &mut Cursor<'_>| {
        while cursor.peek_word("use") {
            found.extend(import(cursor)?);
        }
        cursor.skip_all();
        Ok(())
    };
    crate::syntax::parse(own.clone(), &mut Spans::new(), read);
    found
}

/// Returns the paths of imports.
pub fn paths(own: &TokenStream) -> Vec<ItemPath> {
    imports(own).into_iter().map(|import| import.path).collect()
}

/// Reads a `use`.
pub(super) fn import(cursor: &mut Cursor<'_>) -> Result<Vec<Import>, Error> {
    let mut found = Vec::new();
    cursor.expect_word("use")?;
    tree(cursor, ItemPath::default(), &mut found)?;
    cursor.expect(";")?;
    Ok(found)
}

/// Reads the rest of a path, or several in braces.
fn tree(cursor: &mut Cursor<'_>, mut path: ItemPath, found: &mut Vec<Import>) -> Result<(), Error> {
    let at = cursor.tokens_of(|c| Ok(c.eat("::")))?.0;
    path.tokens.extend(at);
    loop {
        if cursor.peek_group(Delimiter::Brace) {
            let (read, _) = cursor.list(Delimiter::Brace, |c| {
                let mut inner = Vec::new();
                tree(c, path.clone(), &mut inner)?;
                Ok(inner)
            })?;
            found.extend(read.into_iter().flatten());
            return Ok(());
        }
        if cursor.peek("*") {
            let error = Error::new(cursor.here(), "functions are imported by their names");
            return Err(error.help("write `use maths::{cube, lerp};`"));
        }
        let Some(text) = cursor.peek_name() else { return Err(cursor.expected("the path of a function")) };
        let ident = cursor.with(syn::Ident::parse_any)?;
        let span = cursor.spans().add(ident.span());
        path.tokens.extend(ident.to_token_stream());
        path.names.push(text.clone());
        if cursor.eat("::").is_some() {
            path.tokens.extend(quote_spanned!(ident.span()=> ::));
            continue;
        }
        if ["crate", "self", "super"].contains(&text.as_str()) {
            let error = Error::new(span, format!("`{text}` is not a function"));
            return Err(error.help("write the name of a function: `use maths::cube;`"));
        }
        let name = if cursor.eat_word("as").is_some() { cursor.name("a name")? } else { Name { text: super::plain(&text), span } };
        found.push(Import { path, name });
        return Ok(());
    }
}

/// Returns the tokens of an imported function, or the error that they are not given. The inner `None` is a function with errors.
pub(super) fn tokens(library: &Library, import: &Import) -> Result<Option<TokenStream>, Error> {
    let path = import.path.text();
    library
        .find(&path)
        .cloned()
        .ok_or_else(|| Error::new(import.name.span, format!("the function `{path}` is not given with this item")))
}
