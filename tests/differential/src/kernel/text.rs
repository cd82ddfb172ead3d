//! Prints a kernel's tree as the text that `kernel!` takes.

use super::combined;
use super::tree::{
    Argument, ArgumentKind, Expr, ExprKind, Function, FunctionForm, Generic, GenericKind, Kernel, Outside, Range, Role, Stage,
    Table, Type,
};
use std::fmt::{self, Display, Formatter};

/// Joins items with commas.
pub(crate) fn commas<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Is(dtype) => write!(f, "{dtype}"),
            Type::Generic => f.write_str("T"),
        }
    }
}

impl Display for Generic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            GenericKind::Dtype(choices) => {
                let choices: Vec<String> = choices.iter().map(|c| c.to_string()).collect();
                write!(f, "{}: {}", self.name, choices.join(" | "))
            }
            GenericKind::Dim => f.write_str(&self.name),
            GenericKind::Parameter { default, .. } => write!(f, "{} = {default}", self.name),
            GenericKind::Derived(value) => write!(f, "{} = {value}", self.name),
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Argument { name, ty, kind } = self;
        match kind {
            ArgumentKind::Input(shape) => write!(f, "{name}: {ty}[{}]", commas(shape)),
            ArgumentKind::Update(shape) => write!(f, "{name}: &mut {ty}[{}]", commas(shape)),
            ArgumentKind::Scalar => write!(f, "{name}: {ty}"),
            ArgumentKind::Size => write!(f, "{name}: dim"),
        }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Table { name, ty, rows } = self;
        let columns = rows.first().map_or(0, Vec::len);
        let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", row.join(", "))).collect();
        write!(f, "const {name}: {ty}[{}, {columns}] = [{}];", rows.len(), rows.join(", "))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Function { name, params, body, form } = self;
        let param = |(name, ty): &(String, Option<Type>)| ty.map_or_else(|| name.clone(), |ty| format!("{name}: {ty}"));
        let params = commas(params.iter().map(param));
        match form {
            FunctionForm::Item => write!(f, "fn {name}({params}) {{ {body} }}"),
            FunctionForm::Closure => write!(f, "let {name} = |{params}| {body};"),
        }
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Stage { name, role, ty, shape, axes, value, joined: _ } = self;
        match role {
            Role::Intermediate => write!(f, "let {name}[{}]: {ty}[{}] = {value};", axes.join(", "), commas(shape)),
            Role::Output | Role::Update => write!(f, "{name}[{}] = {value};", axes.join(", ")),
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let dots = if self.inclusive { "..=" } else { ".." };
        write!(f, "{} in {}{dots}{}", self.axis, self.low, self.high)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(text) | ExprKind::Name(text) => f.write_str(text),
            ExprKind::Read { tensor, outside, index } => {
                let how = match outside {
                    Outside::Never => String::new(),
                    Outside::Clamp => ".clamp()".into(),
                    Outside::Pad(value) => format!(".pad({value})"),
                };
                write!(f, "{tensor}{how}[{}]", commas(index))
            }
            ExprKind::Prefix(op, a) => write!(f, "({op}{})", Operand(a)),
            ExprKind::Infix(op, a, b) => write!(f, "{} {op} {}", Operand(a), Operand(b)),
            ExprKind::Method(a, name, args) => write!(f, "{}.{name}({})", Operand(a), commas(args)),
            ExprKind::Cast(a) => write!(f, "({} as {})", Operand(a), self.ty),
            ExprKind::If(c, a, b) => write!(f, "(if {c} {{ {a} }} else {{ {b} }})"),
            ExprKind::Let(name, a, b) => write!(f, "{{ let {name} = {a}; {b} }}"),
            ExprKind::Call(name, args) => write!(f, "{name}({})", commas(args)),
            ExprKind::Closure { name, params, body, args } => {
                write!(f, "{{ let {name} = |{}| {body}; {name}({}) }}", commas(params), commas(args))
            }
            ExprKind::Reduce { op, ranges, only, body } => {
                if let Some((bound, result)) = combined::text(op, ranges, only.as_deref(), body) {
                    return write!(f, "{{ {bound} {result} }}");
                }
                write!(f, "{op}({}) ", commas(ranges))?;
                only.iter().try_for_each(|only| write!(f, "where {only} "))?;
                write!(f, "{{ {body} }}")
            }
        }
    }
}

/// An expression that is an operand of an operator or a method.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ExprKind::Infix(..) | ExprKind::Let(..) | ExprKind::Closure { .. } | ExprKind::Reduce { .. } => {
                write!(f, "({})", self.0)
            }
            ExprKind::Literal(text) if text.starts_with('-') => write!(f, "({text})"),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let outputs = self.stages.iter().filter(|s| s.role == Role::Output);
        let outputs: Vec<String> = outputs.map(|s| format!("{}: {}[{}]", s.name, s.ty, commas(&s.shape))).collect();
        let outputs = match outputs.as_slice() {
            [] => String::new(),
            [one] => format!(" -> {one}"),
            several => format!(" -> ({})", several.join(", ")),
        };
        // Dims that are arguments are declared there.
        let generics =
            self.generics.iter().filter(|g| !self.arguments.iter().any(|a| a.kind == ArgumentKind::Size && a.name == g.name));
        let facts = if self.facts.is_empty() { String::new() } else { format!(" where {}", commas(&self.facts)) };
        let of_form = |form| self.functions.iter().filter(move |function| function.form == form);
        of_form(FunctionForm::Item).try_for_each(|function| writeln!(f, "{function}"))?;
        write!(f, "fn k<{}>({}){outputs}{facts} {{", commas(generics), commas(&self.arguments))?;
        self.tables.iter().try_for_each(|table| write!(f, "\n    {table}"))?;
        of_form(FunctionForm::Closure).try_for_each(|function| write!(f, "\n    {function}"))?;
        let is_joined = |first: &Stage, next: &Stage| {
            next.joined && first.role != Role::Intermediate && (&first.shape, &first.axes) == (&next.shape, &next.axes)
        };
        for stages in self.stages.chunk_by(is_joined) {
            match stages {
                [stage] => write!(f, "\n    {stage}")?,
                _ => {
                    let left = commas(stages.iter().map(|stage| format!("{}[{}]", stage.name, stage.axes.join(", "))));
                    let bound = match &stages[0].value.kind {
                        ExprKind::Reduce { op, ranges, only, body } => combined::text(op, ranges, only.as_deref(), body),
                        _ => None,
                    };
                    let values = stages.iter().map(|stage| stage.value.to_string());
                    match bound {
                        Some((bound, _)) => {
                            let values = commas(["c0".to_owned()].into_iter().chain(values.skip(1)));
                            write!(f, "\n    ({left}) = {{ {bound} ({values}) }};")?;
                        }
                        None => write!(f, "\n    ({left}) = ({});", commas(values))?,
                    }
                }
            }
        }
        f.write_str("\n}")
    }
}
