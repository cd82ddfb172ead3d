//! Reads functions, closures and the content of `functions!`.

use super::import::{Import, import, tokens};
use super::{Function, Functions, Param, Scoped};
use crate::diag::{Error, SpanId, Spans};
use crate::syntax::expr::{self, Block, ExprKind};
use crate::syntax::kernel::{DIM, GenericKind, generics};
use crate::syntax::{Cursor, Library, Name, Parsed, Prefix};
use proc_macro2::{Delimiter, TokenStream};
use std::sync::Arc;

/// The note for a function that may be meant as a kernel.
const LAST_IS_KERNEL: &str = "the last `fn` of a `kernel!` is the kernel, and each other one is a function";

/// Reads the content of `functions!`, after the [`Library`] of the functions that it imports, if there is one.
pub fn parse(tokens: TokenStream, spans: &mut Spans) -> Parsed<Functions> {
    crate::syntax::parse(tokens, spans, |cursor| {
        let mut functions = Functions::default();
        let library = Library::read(cursor)?;
        items(cursor, &mut functions, &library, false);
        Ok(functions)
    })
}

/// Reads imports and functions into a new scope. If `is_kernel` is true, a kernel is the last item, and is not read.
pub(in crate::syntax) fn items(cursor: &mut Cursor<'_>, functions: &mut Functions, library: &Library, is_kernel: bool) {
    let scope = functions.scopes.len();
    functions.scopes.push(Vec::new());
    while cursor.peek_word("use") {
        match import(cursor) {
            Ok(imports) => {
                for import in imports {
                    if let Err(error) = imported(cursor, functions, scope, library, import) {
                        cursor.report(error);
                    }
                }
            }
            Err(error) => {
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    while if is_kernel { is_before_another(cursor) } else { !cursor.is_empty() } {
        if let Err(error) = item(cursor, is_kernel).and_then(|function| add(functions, scope, function)) {
            cursor.report(error);
            cursor.skip_to_group(Delimiter::Brace);
            cursor.skip_one();
        }
    }
}

/// True if a `fn` follows the next item.
fn is_before_another(cursor: &mut Cursor<'_>) -> bool {
    let found = cursor.ahead(|c| {
        c.skip_to_group(Delimiter::Brace);
        c.skip_one();
        while !c.is_empty() && !c.peek_word("fn") {
            c.skip_one();
        }
        Ok(!c.is_empty())
    });
    found == Some(true)
}

/// Adds an imported function to a scope.
fn imported(
    cursor: &mut Cursor<'_>,
    functions: &mut Functions,
    scope: usize,
    library: &Library,
    import: Import,
) -> Result<(), Error> {
    let function = match tokens(library, &import)? {
        Some(tokens) => {
            let of_import = functions.scopes.len();
            let name = cursor.other(tokens, |c| carried(c, functions))?;
            functions.find(of_import, name.as_str())
        }
        None => None,
    };
    name_in(functions, scope, Scoped { name: import.name, function })
}

/// Reads the tokens that a function's carrier passes on: its own name, which differs from the path's last name if that is another name of the
/// module, and the functions that it needs in braces.
fn carried(cursor: &mut Cursor<'_>, functions: &mut Functions) -> Result<Name, Error> {
    let library = Library::read(cursor)?;
    let name = cursor.name("the function's name")?;
    cursor.inside(Delimiter::Brace, |c| {
        items(c, functions, &library, false);
        Ok(())
    })?;
    Ok(name)
}

/// Adds a function to a scope.
pub(in crate::syntax) fn add(functions: &mut Functions, scope: usize, function: Function) -> Result<(), Error> {
    let scoped = Scoped { name: function.name.clone(), function: Some(functions.all.len()) };
    functions.all.push(Arc::new(Function { scope, ..function }));
    name_in(functions, scope, scoped)
}

fn name_in(functions: &mut Functions, scope: usize, scoped: Scoped) -> Result<(), Error> {
    let Some(names) = functions.scopes.get_mut(scope) else { return Ok(()) };
    if let Some(first) = names.iter().find(|known| known.name.text == scoped.name.text) {
        let error = Error::new(scoped.name.span, format!("the function `{}` is defined twice", scoped.name));
        return Err(error.note_at(first.name.span, "it is defined or imported here").help("choose another name"));
    }
    crate::syntax::limits::functions(names.len(), scoped.name.span)?;
    names.push(scoped);
    Ok(())
}

/// Reads a function with its documentation, attributes and visibility.
fn item(cursor: &mut Cursor<'_>, is_kernel: bool) -> Result<Function, Error> {
    let before = cursor.here();
    let prefix = Prefix::parse(cursor)?;
    if is_kernel && !(prefix.visibility.is_empty() && prefix.attributes.is_empty()) {
        let error = Error::new(before, "a function of a kernel is private to it, and has no attributes");
        let error = error.note(LAST_IS_KERNEL);
        return Err(error.help("define the function by `functions!`, and import it: `use self::name;`"));
    }
    function(cursor)
}

/// Reads `fn name<T: f32 | f16>(a: T, i) -> T { … }`.
pub(in crate::syntax) fn function(cursor: &mut Cursor<'_>) -> Result<Function, Error> {
    let start = cursor.expect_word("fn")?;
    let name = cursor.name("the function's name")?;
    let mut dtypes = Vec::new();
    if cursor.eat("<").is_some() {
        for generic in generics(cursor)? {
            let GenericKind::Dtype(choices) = generic.kind else {
                let error = Error::new(generic.name.span, "a generic of a function is a dtype");
                return Err(error.help(format!("write `{0}: f32 | f16`; a size is a parameter, `{0}`", generic.name)));
            };
            dtypes.push((generic.name, choices));
        }
    }
    let (params, close) = cursor.list(Delimiter::Parenthesis, param)?;
    let result = result(cursor)?;
    let span = cursor.join(start, result.as_ref().map_or(close, |dtype| dtype.span));
    let body = expr::block(cursor)?;
    without_reduction(&name, &body)?;
    Ok(Function { name, generics: dtypes, params, result, body, span, scope: 0 })
}

/// Reads a closure, `|a, b: f32| a + b`, which a `let` gives a name. Returns `None` if none comes next.
pub(in crate::syntax) fn closure(cursor: &mut Cursor<'_>, name: &Name) -> Result<Option<Function>, Error> {
    let is_next = |c: &Cursor<'_>| c.peek("|") || c.peek("||");
    if !is_next(cursor) && !cursor.peek_word("move") {
        return Ok(None);
    }
    cursor.eat_word("move");
    let start = cursor.here();
    let mut params = Vec::new();
    let mut close = cursor.eat("||");
    if close.is_none() {
        cursor.expect("|")?;
        while close.is_none() {
            close = cursor.eat("|");
            if close.is_none() {
                params.push(param(cursor)?);
                if !cursor.peek("|") {
                    cursor.expect(",")?;
                }
            }
        }
    }
    let result = result(cursor)?;
    let span = cursor.join(start, result.as_ref().map(|dtype| dtype.span).or(close).unwrap_or(start));
    let body = if result.is_some() || cursor.peek_group(Delimiter::Brace) {
        expr::block(cursor)?
    } else {
        let value = expr::expr(cursor)?;
        Block { lets: Vec::new(), span: value.span, value: Box::new(value) }
    };
    without_reduction(name, &body)?;
    Ok(Some(Function { name: name.clone(), generics: Vec::new(), params, result, body, span, scope: 0 }))
}

/// Reads a parameter, `v: f32` or `v`.
fn param(cursor: &mut Cursor<'_>) -> Result<Param, Error> {
    let name = cursor.name("a parameter")?;
    let dtype = if cursor.eat(":").is_some() { Some(dtype(cursor, Some(&name))?) } else { None };
    Ok(Param { name, dtype })
}

/// Reads `-> f32`, if it comes next.
fn result(cursor: &mut Cursor<'_>) -> Result<Option<Name>, Error> {
    if cursor.eat("->").is_some() { dtype(cursor, None).map(Some) } else { Ok(None) }
}

/// Reads the dtype of a parameter, or of the result.
fn dtype(cursor: &mut Cursor<'_>, param: Option<&Name>) -> Result<Name, Error> {
    if let Some(at) = cursor.eat("&") {
        return Err(Error::new(at, "the parameters of a function are values").help("write the dtype alone, `v: f32`"));
    }
    let dtype = cursor.name("a dtype")?;
    let what = param.map_or_else(|| "the result of a function".to_owned(), |param| format!("the parameter `{param}`"));
    if cursor.peek_group(Delimiter::Bracket) || cursor.peek(":") {
        let error = Error::new(cursor.here(), format!("{what} is one value, not a tensor"));
        let error = error.note(LAST_IS_KERNEL);
        return Err(error.help("pass elements, `f(x[i])`; a closure in the kernel reads tensors: `let f = |i| x[i];`"));
    }
    if dtype.text == DIM {
        return Err(Error::new(dtype.span, format!("{what} is a value")).help("write `n: i32` for a size or an index"));
    }
    Ok(dtype)
}

/// Refuses a reduction in a body.
fn without_reduction(name: &Name, body: &Block) -> Result<(), Error> {
    let mut found: Option<(SpanId, &str)> = None;
    body.each(&mut |e| {
        if let ExprKind::Reduce(reduce) = &e.kind {
            found.get_or_insert((reduce.head, reduce.op.name()));
        }
    });
    let Some((at, op)) = found else { return Ok(()) };
    let error = Error::new(at, format!("`{op}` is inside the function `{name}`: only definitions have reductions"));
    Err(error.help(format!("define it in the kernel, `let t[i]: f32[N] = {op}(…) {{ … }};`, and pass `t[i]` to `{name}`")))
}
