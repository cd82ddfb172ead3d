//! The body of `kernel!`: functions, then `/// docs pub fn name<generics>(params) -> outputs where facts { statements }`.

use super::expr::{self, BinaryOp, Expr, ExprKind};
use super::{Cursor, Functions, Library, Name, Parsed, Prefix, families, foreign, functions, together};
use crate::diag::{Error, SpanId, Spans};
use proc_macro2::{Delimiter, TokenStream};

/// A kernel's algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// The functions before it and in its body, and those that they import.
    pub functions: Functions,
    /// Documentation, attributes, visibility.
    pub prefix: Prefix,
    /// Its name.
    pub name: Name,
    /// The generics between `<` and `>`, then the arguments of type `dim`, which are dims too.
    pub generics: Vec<Generic>,
    /// The arguments.
    pub params: Vec<Param>,
    /// The tensors that it defines for its caller.
    pub outputs: Vec<Output>,
    /// The facts about sizes and tensors that it states for all its schedules.
    pub facts: Vec<Expr>,
    /// The body.
    pub statements: Vec<Statement>,
    /// True if all of the kernel could be read. Otherwise later checks do not report missing parts, because the reason has been reported
    /// already.
    pub whole: bool,
}

/// A generic.
#[derive(Clone, Debug, PartialEq)]
pub struct Generic {
    /// Its name.
    pub name: Name,
    /// The kind, with the possible values.
    pub kind: GenericKind,
}

/// The kinds of generics.
#[derive(Clone, Debug, PartialEq)]
pub enum GenericKind {
    /// `T: f32 | f16`: one of these dtypes.
    Dtype(Vec<Name>),
    /// `N`: a dim known at launch.
    Dim,
    /// `S = 1`, `OH = (IH - FH) / S + 1`: a parameter or a derived dim.
    Value(Expr),
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// True for `&mut`, an argument that is updated in place.
    pub update: bool,
    /// Its type.
    pub ty: Type,
}

/// The type of an argument that is a size.
pub const DIM: &str = "dim";

impl Param {
    /// True for a size, `n: dim`.
    pub fn is_dim(&self) -> bool {
        self.ty.dtype.text == DIM && self.ty.shape.is_none() && !self.update
    }
}

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
}

/// `f32[N, C]`, or `f32`.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The dtype or its generic.
    pub dtype: Name,
    /// The shape. `None` for a scalar.
    pub shape: Option<Vec<Dimension>>,
    /// The place in the source.
    pub span: SpanId,
}

/// A dimension of a shape: `N`, or the range `-1..N + 1` of the indices of an intermediate.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The first index. `None` for a size, whose first index is 0.
    pub start: Option<Expr>,
    /// The size, or the end of the range.
    pub end: Expr,
    /// True for `..=`.
    pub inclusive: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `y[i, j] = …;`, `let s[i, j]: f32[N, M] = …;`
    Define(Define),
    /// `const W: f32[2, 2] = […];`
    Const {
        /// The name.
        name: Name,
        /// The type.
        ty: Type,
        /// The value: numbers, nested in arrays as the shape says.
        value: Expr,
    },
    /// `let c = …;`
    Let(expr::Let),
}

/// A definition of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Define {
    /// The tensor.
    pub name: Name,
    /// The indices on the left side. In a correct definition, they are axes.
    pub index: Vec<Expr>,
    /// The type, which only intermediates have.
    pub ty: Option<Type>,
    /// The value.
    pub value: Expr,
    /// The operator of a compound assignment such as `+=`, and its place. It is refused after names are resolved, so that the error can
    /// show the line to write.
    pub compound: Option<(BinaryOp, SpanId)>,
    /// True if the tensor is defined together with the tensor of the definition before: `(a[i], b[i]) = …`.
    pub joined: bool,
    /// The place of the left side.
    pub span: SpanId,
}

/// Reads the body of `kernel!`.
pub fn parse(tokens: TokenStream, spans: &mut Spans) -> Parsed<Kernel> {
    super::parse(tokens, spans, kernel)
}

/// Reads a kernel.
pub fn kernel(cursor: &mut Cursor<'_>) -> Result<Kernel, Error> {
    let mut functions = Functions::default();
    let library = Library::read(cursor)?;
    functions::items(cursor, &mut functions, &library, true);
    let prefix = Prefix::parse(cursor)?;
    cursor.expect_word("fn")?;
    let name = cursor.name("the kernel's name")?;
    let mut kernel = Kernel { functions, prefix, name, ..Kernel::default() };
    // The rest is optional, so that the caller can still generate the item of a kernel with errors.
    if let Err(error) = rest(cursor, &mut kernel) {
        cursor.report(error);
        cursor.skip_all();
    }
    kernel.whole &= cursor.is_clean() && kernel.functions.are_whole();
    Ok(kernel)
}

fn rest(cursor: &mut Cursor<'_>, kernel: &mut Kernel) -> Result<(), Error> {
    if cursor.eat("<").is_some() {
        kernel.generics = generics(cursor)?;
    }
    kernel.params = cursor.group(Delimiter::Parenthesis, |c| Ok(c.commas(param)))?.0.unwrap_or_default();
    let sizes = kernel.params.iter().filter(|p| p.is_dim());
    kernel.generics.extend(sizes.map(|p| Generic { name: p.name.clone(), kind: GenericKind::Dim }));
    if cursor.eat("->").is_some() {
        kernel.outputs = outputs(cursor)?;
    }
    kernel.facts = expr::facts(cursor)?;
    let functions = &mut kernel.functions;
    let (body, _) = cursor.group(Delimiter::Brace, |c| Ok(statements(c, functions)))?;
    (kernel.statements, kernel.whole) = body.unwrap_or_default();
    super::limits::kernel(kernel).map_or(Ok(()), Err)
}

/// Reads the generics and the `>` that ends them.
pub(super) fn generics(cursor: &mut Cursor<'_>) -> Result<Vec<Generic>, Error> {
    let mut generics = Vec::new();
    loop {
        if cursor.eat(">").is_some() {
            return Ok(generics);
        }
        match generic(cursor) {
            Ok(generic) => generics.push(generic),
            Err(error) => {
                cursor.report(error);
                cursor.skip_to(&[",", ">"]);
            }
        }
        if cursor.eat(",").is_none() && !cursor.peek(">") {
            return Err(cursor.expected("`,` or `>`"));
        }
    }
}

fn generic(cursor: &mut Cursor<'_>) -> Result<Generic, Error> {
    if cursor.peek_word("const") {
        let error = Error::new(cursor.here(), "a dim cannot have a type");
        return Err(error.help("write the name alone, `N`, or with its value, `S = 1`"));
    }
    let name = cursor.name("a generic: `T: f32 | f16`, `N`, or `S = 1`")?;
    let kind = if cursor.eat(":").is_some() {
        if name.text == DIM {
            return Err(Error::new(name.span, "`dim` is the type of a size").help("choose another name for the dtype"));
        }
        let mut choices = vec![cursor.name("a dtype")?];
        while cursor.eat("|").is_some() {
            choices.push(cursor.name("a dtype")?);
        }
        GenericKind::Dtype(choices)
    } else if cursor.eat("=").is_some() {
        GenericKind::Value(expr::arithmetic(cursor)?)
    } else {
        GenericKind::Dim
    };
    Ok(Generic { name, kind })
}

fn param(cursor: &mut Cursor<'_>) -> Result<Param, Error> {
    let name = cursor.name("an argument's name")?;
    cursor.expect(":")?;
    let update = match cursor.eat("&") {
        None => false,
        Some(span) => {
            if cursor.eat_word("mut").is_none() {
                return Err(
                    Error::new(span, "inputs are not references").help("write the type alone, or `&mut` for an update in place")
                );
            }
            true
        }
    };
    let param = Param { name, update, ty: ty(cursor)? };
    if param.ty.dtype.text == DIM && !param.is_dim() {
        let what = if param.update { "a size is not updated" } else { "`dim` is the type of one size, not of a tensor's elements" };
        let error = Error::new(param.ty.span, what);
        return Err(error.help(format!("write `{}: dim`; a tensor of whole numbers is `i32[…]`", param.name)));
    }
    Ok(param)
}

/// Reads `f32[N, C]`, or `f32`.
pub fn ty(cursor: &mut Cursor<'_>) -> Result<Type, Error> {
    let dtype = cursor.name("a dtype")?;
    if !cursor.peek_group(Delimiter::Bracket) {
        return Ok(Type { span: dtype.span, dtype, shape: None });
    }
    let (shape, close) = cursor.list(Delimiter::Bracket, dimension)?;
    let span = cursor.join(dtype.span, close);
    Ok(Type { dtype, shape: Some(shape), span })
}

/// Reads `N`, or `-1..N + 1`.
fn dimension(cursor: &mut Cursor<'_>) -> Result<Dimension, Error> {
    let first = expr::expr(cursor)?;
    let inclusive = cursor.eat("..=").is_some();
    if !inclusive && cursor.eat("..").is_none() {
        return Ok(Dimension { start: None, end: first, inclusive });
    }
    Ok(Dimension { start: Some(first), end: expr::expr(cursor)?, inclusive })
}

fn outputs(cursor: &mut Cursor<'_>) -> Result<Vec<Output>, Error> {
    if !cursor.peek_group(Delimiter::Parenthesis) {
        return Ok(vec![output(cursor)?]);
    }
    Ok(cursor.group(Delimiter::Parenthesis, |c| Ok(c.commas(output)))?.0.unwrap_or_default())
}

fn output(cursor: &mut Cursor<'_>) -> Result<Output, Error> {
    let name = cursor.name("an output's name")?;
    if cursor.eat(":").is_none() {
        return Err(cursor.expected("`:`").help(format!("an output has a name: `-> y: {name}[…]`")));
    }
    Ok(Output { name, ty: ty(cursor)? })
}

/// Reads the statements, and the functions among them. The flag is true if all of them could be read.
fn statements(cursor: &mut Cursor<'_>, functions: &mut Functions) -> (Vec<Statement>, bool) {
    let (mut statements, mut whole) = (Vec::new(), true);
    while !cursor.is_empty() {
        if cursor.peek_word("fn") {
            if let Err(error) = functions::function(cursor).and_then(|function| functions::add(functions, 0, function)) {
                whole = false;
                cursor.report(error);
                cursor.skip_to_group(Delimiter::Brace);
                cursor.skip_one();
            }
            continue;
        }
        if families::is_next(cursor) {
            match families::unrolled(cursor) {
                Ok((members, all)) => {
                    statements.extend(members);
                    whole &= all;
                }
                Err(error) => {
                    whole = false;
                    cursor.report(error);
                    cursor.skip_to_group(Delimiter::Brace);
                    cursor.skip_one();
                }
            }
            continue;
        }
        if foreign::refused(cursor) {
            whole = false;
            continue;
        }
        if together::is_next(cursor) {
            match together::definitions(cursor) {
                Ok(definitions) => statements.extend(definitions),
                Err(error) => {
                    whole = false;
                    cursor.report(error);
                    cursor.skip_to(&[";"]);
                    cursor.eat(";");
                }
            }
            continue;
        }
        match statement(cursor) {
            Ok(statement) => statements.push(statement),
            Err(error) => {
                whole = false;
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    (statements, whole)
}

/// Parses a statement of the body.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, Error> {
    if cursor.peek_word("const") {
        return constant(cursor);
    }
    let start = cursor.eat_word("let");
    if start.is_some() && cursor.peek_word("mut") {
        let error = Error::new(cursor.here(), "`mut` is not supported in kernels: a name keeps its value");
        return Err(error.help("an argument that is updated in place is `x: &mut f32[N]`"));
    }
    if let Some(error) = start.and_then(|_| foreign::pattern(cursor)).or_else(|| foreign::several(cursor)) {
        return Err(error);
    }
    let name = cursor.name("a definition: `y[i, j] = …;`, `let s[i]: f32[N] = …;` or `const W: f32[2] = […];`")?;
    if let Some(error) = foreign::macro_call(cursor, &name) {
        return Err(error);
    }
    let name = families::member(cursor, name)?;
    if cursor.peek_group(Delimiter::Bracket) {
        return define(cursor, start.unwrap_or(name.span), start.is_some(), name);
    }
    if start.is_none() {
        return Err(not_a_definition(cursor, &name));
    }
    let dtype = match cursor.eat(":") {
        None => None,
        Some(_) => match ty(cursor)? {
            Type { dtype, shape: None, .. } => Some(dtype),
            Type { dtype, shape: Some(shape), span } => {
                let error = Error::new(span, format!("the definition of the tensor `{name}` names no axes"));
                let axes = ["i", "j", "k", "l"].into_iter().map(String::from).chain((4..).map(|n| format!("i{n}")));
                let axes = axes.take(shape.len()).collect::<Vec<_>>().join(", ");
                let shape = if shape.is_empty() { "[]" } else { "[…]" };
                return Err(error.help(format!("write `let {name}[{axes}]: {dtype}{shape} = …;`")));
            }
        },
    };
    if let Some((_, at)) = compound(cursor) {
        let error = Error::new(at, format!("`{name}` is a value, which does not change"));
        return Err(error.help(format!("write `let {name} = …;`")));
    }
    expr::let_value(cursor, name, dtype).map(Statement::Let)
}

/// Explains a statement that begins with a name without indices.
fn not_a_definition(cursor: &mut Cursor<'_>, name: &Name) -> Error {
    let axes = cursor.ahead(|c| {
        let (axes, _) = c.list(Delimiter::Parenthesis, |c| c.name("an axis"))?;
        c.expect("=")?;
        Ok(axes.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))
    });
    cursor.expected("`[`").help(match axes {
        Some(axes) => format!("the axes are in brackets: `{name}[{axes}] = …;`"),
        None => format!("a definition names its axes, `{name}[i, j] = …;`; a value gets a name by `let {name} = …;`"),
    })
}

/// Reads a definition, after `let s` or `y`.
fn define(cursor: &mut Cursor<'_>, start: SpanId, is_let: bool, name: Name) -> Result<Statement, Error> {
    let (index, close) = cursor.list(Delimiter::Bracket, expr::expr)?;
    let span = cursor.join(start, close);
    let mut found = None;
    if cursor.eat(":").is_some() {
        found = Some(ty(cursor)?);
    }
    match &found {
        Some(ty) if !is_let => {
            let error = Error::new(ty.span, format!("the type of `{name}` is given where it is declared"));
            return Err(error.help(format!("write `{name}[…] = …;`, or `let {name}[…]: …` for an intermediate")));
        }
        Some(ty) if ty.shape.is_none() => {
            let error = Error::new(ty.span, format!("the tensor `{name}` needs a shape"));
            return Err(error.help(format!("write `{}[…]`, one size for each axis", ty.dtype)));
        }
        None if is_let => {
            let error = cursor.expected("`:`").note("an intermediate has a dtype and a shape");
            return Err(error.help(format!("write `let {name}[i, j]: f32[N, M] = …;`")));
        }
        _ => {}
    }
    let compound = compound(cursor);
    if compound.is_none() {
        cursor.expect("=")?;
    }
    let value = expr::expr(cursor)?;
    cursor.expect(";")?;
    Ok(Statement::Define(Define { name, index, ty: found, value, compound, joined: false, span }))
}

/// Parses the operator of a compound assignment, such as `+=`.
fn compound(cursor: &mut Cursor<'_>) -> Option<(BinaryOp, SpanId)> {
    let operator = cursor.peek_operator()?;
    let op = BinaryOp::from_symbol(operator.strip_suffix('=')?)?;
    Some((op, cursor.eat(&operator)?))
}

/// Reads `const W: f32[2, 2] = [[1, 0], [0, 1]];`.
fn constant(cursor: &mut Cursor<'_>) -> Result<Statement, Error> {
    cursor.expect_word("const")?;
    let name = cursor.name("a constant's name")?;
    if cursor.eat(":").is_none() {
        return Err(cursor.expected("`:`").help(format!("a constant has a type: `const {name}: f32[2] = [1.0, 2.0];`")));
    }
    let ty = ty(cursor)?;
    cursor.expect("=")?;
    let value = expr::expr(cursor)?;
    cursor.expect(";")?;
    Ok(Statement::Const { name, ty, value })
}

impl Expr {
    /// Returns the name if the expression is only a name.
    pub fn as_name(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }
}
