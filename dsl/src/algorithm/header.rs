//! Generics, arguments and outputs: the signature of a kernel.

use super::names::Symbol;
use super::{Bindings, Checked, Checker, Poisoned, stated, types};
use crate::diag::{Error, did_you_mean, list};
use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::{Argument, Buffer, BufferId, Condition, Dim, Scalar, Space, State};
use crate::syntax::kernel::{Generic, GenericKind, Type};
use crate::syntax::{Expr, Name};
use tilewright_launch::DType;

/// The most dimensions of a tensor.
const MAX_RANK: usize = 8;

/// The progress of resolving a generic with a value.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Open,
    Running,
    Done,
}

impl Checker<'_> {
    /// Binds the generics and declares arguments and outputs.
    pub(super) fn header(&mut self, bindings: &Bindings) {
        self.check_pins(bindings);
        let kernel = self.kernel;
        for generic in &kernel.generics {
            if let GenericKind::Dtype(choices) = &generic.kind {
                self.bind_dtype(&generic.name, choices, bindings);
            }
        }
        for generic in &kernel.generics {
            if let GenericKind::Dim = &generic.kind {
                self.symbolic(&generic.name, bindings);
            }
        }
        let mut progress = vec![Progress::Open; kernel.generics.len()];
        for n in 0..kernel.generics.len() {
            self.resolve(n, &mut progress, bindings);
        }
        for param in &kernel.params {
            if param.is_dim() {
                // It was declared with the generics. If it is wrong, an error was reported there.
                let dim = self.program.dims.iter().find(|(_, d)| d.name == param.name.text).map(|(id, _)| id);
                self.program.arguments.extend(dim.map(Argument::Dim));
            } else if self.argument(&param.name, param.update, &param.ty).is_err() {
                self.poison(&param.name);
            }
        }
        self.facts();
        self.divide();
        for output in &kernel.outputs {
            match self.tensor(&output.name, &output.ty, Space::Output) {
                Ok(buffer) => self.program.outputs.push(buffer),
                Err(_) => self.poison(&output.name),
            }
        }
        self.has_results();
    }

    /// Records the facts that the kernel states, for all later proofs.
    fn facts(&mut self) {
        let (kernel, first) = (self.kernel, self.program.checks.conditions.len());
        for fact in &kernel.facts {
            let is_poisoned = |name: &String| matches!(self.names.find(name), Some((_, Symbol::Poisoned)));
            let noted = match super::order::names(fact).iter().any(is_poisoned) {
                true => Err(Poisoned),
                false => stated::note(&mut self.program, fact, true).or_else(|error| self.fail(error)),
            };
            // If an intended fact is missing, proofs are skipped, because they may fail without it.
            self.prove &= noted.is_ok();
        }
        for at in first..self.program.checks.conditions.len() {
            let Condition { left, right, text, span, .. } = self.program.checks.conditions[at].clone();
            let is_known = [left, right].iter().all(|side| self.program.exprs.as_int(*side).is_some());
            self.program.owe(text, if is_known { State::Proved } else { State::CheckedAtLaunch }, span);
        }
        for bound in self.program.checks.bounds.clone() {
            self.program.owe(bound.text, State::CheckedAtLaunch, bound.span);
        }
        if self.prove
            && let Some(conditions) = Prover::new(&self.program).contradiction()
        {
            let found: Vec<Condition> =
                conditions.iter().filter_map(|at| self.program.checks.conditions.get(*at)).cloned().collect();
            // A fact that binds a dim to a literal is part of the dim's definition, so the conditions found need not include it.
            let bound = kernel.facts.iter().rev().find(|fact| stated::literal(fact).is_some()).map(|fact| fact.span);
            let span = found.last().map(|c| c.span).or(bound).unwrap_or(kernel.name.span);
            let texts = list(found.iter().map(|c| &c.text));
            let what = if found.len() == 1 { "" } else { "the facts contradict one another: " };
            let error = Error::new(span, format!("{what}no sizes satisfy {texts}"));
            self.errors.push(error.help("every launch would be refused: drop or correct a fact"));
            self.prove = false;
        }
    }

    /// Checks that the kernel computes a result.
    fn has_results(&mut self) {
        let kernel = self.kernel;
        if kernel.whole && kernel.outputs.is_empty() && !kernel.params.iter().any(|p| p.update) {
            let error = Error::new(kernel.name.span, format!("`{}` needs a result", kernel.name));
            self.errors.push(error.help("name an output, `-> y: f32[N]`, or an argument to update, `x: &mut f32[N]`"));
        }
    }

    /// Declares a dtype generic.
    fn bind_dtype(&mut self, name: &Name, choices: &[Name], bindings: &Bindings) {
        let mut dtypes = Vec::new();
        for choice in choices {
            match types::plain(choice) {
                Ok(dtype) if dtypes.contains(&dtype) => {
                    self.errors.push(Error::new(choice.span, format!("`{dtype}` is named twice")));
                }
                Ok(dtype) => dtypes.push(dtype),
                Err(error) => self.errors.push(error),
            }
        }
        let pinned = bindings.dtypes.iter().find(|(n, _)| n.text == name.text);
        let chosen = match (pinned, dtypes.as_slice()) {
            (Some((pin, dtype)), _) if !dtypes.contains(dtype) && !dtypes.is_empty() => {
                let error = Error::new(pin.span, format!("`{name}` is not `{dtype}`"));
                self.errors.push(error.note_at(name.span, format!("it is one of {}", list(&dtypes))));
                None
            }
            (Some((_, dtype)), _) => Some(*dtype),
            (None, [only]) => Some(*only),
            (None, []) => None,
            (None, _) => {
                let error = Error::new(bindings.span, format!("the dtype `{name}` is not given"));
                let example = format!("choose one: `{}<{name} = {}>`", self.kernel.name, dtypes[0]);
                self.errors.push(error.note_at(name.span, format!("it is one of {}", list(&dtypes))).help(example));
                None
            }
        };
        // Declaring fails only if the name is taken, and reports that.
        match chosen {
            Some(dtype) => drop(self.declare(name, Symbol::Dtype(dtype))),
            None => self.poison(name),
        }
    }

    /// Declares a dim whose value is known at launch.
    fn symbolic(&mut self, name: &Name, bindings: &Bindings) {
        let kernel = self.kernel;
        if let Some(generic) = kernel.generics.iter().find(|g| g.name.text == name.text)
            && generic.name.span != name.span
            && kernel.params.iter().any(|p| p.is_dim() && p.name.span == name.span)
        {
            let error = Error::new(name.span, format!("the argument `{name}` declares a dim that is declared already"));
            self.errors
                .push(error.note_at(generic.name.span, "here").help(format!("remove one of the two declarations of `{name}`")));
            return self.poison(name);
        }
        let equated = || kernel.facts.iter().filter_map(|fact| stated::equated(kernel, fact)).find(|(n, _)| n.text == name.text);
        let pinned = bindings.dims.iter().find(|(n, _)| n.text == name.text).cloned().or_else(equated);
        let literal = match pinned {
            Some((pin, value)) => match self.small(i128::from(value), pin.span) {
                Ok(id) => Some(id),
                Err(_) => return self.poison(name),
            },
            None => None,
        };
        let dim = self.program.dims.push(Dim { name: name.text.clone(), derived: literal, span: name.span });
        let id = literal.unwrap_or_else(|| self.program.exprs.dim(dim));
        drop(self.declare(name, Symbol::Size(id)));
    }

    /// Declares a generic with a value, after the generics that it names.
    fn resolve(&mut self, n: usize, progress: &mut [Progress], bindings: &Bindings) {
        let kernel = self.kernel;
        let Some(Generic { name, kind: GenericKind::Value(value) }) = kernel.generics.get(n) else { return };
        if progress[n] != Progress::Open {
            return;
        }
        progress[n] = Progress::Running;
        let mut symbolic = false;
        for used in super::order::names(value) {
            let Some(m) = kernel.generics.iter().position(|g| g.name.text == used) else { continue };
            if progress[m] == Progress::Running {
                let error = Error::new(name.span, format!("the value of `{name}` depends on itself, through `{used}`"));
                self.errors.push(error.help("a dim without a value is solved from the shapes of the arguments"));
                self.poison(name);
                progress[n] = Progress::Done;
                return;
            }
            self.resolve(m, progress, bindings);
            let parameter = self.program.parameters.iter().any(|(p, _)| *p == used);
            symbolic |= !parameter;
        }
        progress[n] = Progress::Done;
        let declared = if symbolic { self.derived(name, value, bindings) } else { self.parameter(name, value, bindings) };
        if declared.is_err() {
            self.poison(name);
        }
    }

    /// Declares a parameter.
    fn parameter(&mut self, name: &Name, value: &Expr, bindings: &Bindings) -> Checked<()> {
        let default = self.size(value)?;
        let pinned = bindings.parameters.iter().find(|(n, _)| n.text == name.text);
        let (id, span) = match pinned {
            Some((pin, value)) => (self.small(i128::from(*value), pin.span)?, pin.span),
            None => (default, value.span),
        };
        let value = self.program.exprs.as_int(id).unwrap_or_default();
        if value < 0 {
            return self
                .fail(Error::new(span, format!("the parameter `{name}` is {value}")).help("a parameter is a size, at least 0"));
        }
        self.program.parameters.push((name.text.clone(), value));
        self.declare(name, Symbol::Size(id))
    }

    /// Declares a derived dim.
    fn derived(&mut self, name: &Name, value: &Expr, bindings: &Bindings) -> Checked<()> {
        if let Some((pin, _)) = bindings.parameters.iter().find(|(n, _)| n.text == name.text) {
            let error = Error::new(pin.span, format!("`{name}` cannot be set, because it is computed from other dims"));
            let error = error.note_at(name.span, "its value names dims that are known at launch");
            return self.fail(error.help(format!("state a fact about it: `where {name} == …`")));
        }
        let value = self.size(value)?;
        let dim = self.program.dims.push(Dim { name: name.text.clone(), derived: Some(value), span: name.span });
        let id = self.program.exprs.dim(dim);
        self.declare(name, Symbol::Size(id))
    }

    /// Checks that the schedule's header names generics of the right kinds.
    fn check_pins(&mut self, bindings: &Bindings) {
        let kernel = self.kernel;
        let all = || kernel.generics.iter().map(|g| g.name.as_str());
        let pins = bindings.dtypes.iter().map(|(n, _)| (n, true)).chain(bindings.parameters.iter().map(|(n, _)| (n, false)));
        for (pin, is_dtype) in pins {
            let found = kernel.generics.iter().find(|g| g.name.text == pin.text);
            let error = Error::new(pin.span, format!("`{pin}` is not a generic of `{}`", kernel.name));
            match found.map(|g| (&g.kind, g.name.span)) {
                None if kernel.whole => {
                    self.errors.push(error.help(format!("there are {}", list(all()))).maybe_help(did_you_mean(&pin.text, all())))
                }
                None => {}
                Some((GenericKind::Dtype(_), span)) if !is_dtype => {
                    let error = Error::new(pin.span, format!("`{pin}` is a dtype, not a number"));
                    self.errors.push(error.note_at(span, "it is declared here"));
                }
                Some((GenericKind::Dim, span)) => {
                    let error = Error::new(pin.span, format!("`{pin}` is known only at launch"));
                    let error = error.note_at(span, "it is declared here, without a value");
                    self.errors.push(error.help(format!("state a fact about it: `where {pin} == …`")));
                }
                Some((GenericKind::Value(_), span)) if is_dtype => {
                    let error = Error::new(pin.span, format!("`{pin}` is a number, not a dtype"));
                    self.errors.push(error.note_at(span, "it is declared here"));
                }
                Some(_) => {}
            }
        }
        for (pin, _) in &bindings.dims {
            if kernel.whole && !all().any(|name| name == pin.text) {
                let error = Error::new(pin.span, format!("`{pin}` is not a dim of `{}`", kernel.name));
                self.errors.push(error.maybe_help(did_you_mean(&pin.text, all())));
            }
        }
    }

    /// Declares an argument.
    fn argument(&mut self, name: &Name, update: bool, ty: &Type) -> Checked<()> {
        if ty.shape.is_some() {
            let buffer = self.tensor(name, ty, if update { Space::Update } else { Space::Input })?;
            self.program.arguments.push(Argument::Tensor(buffer));
            return Ok(());
        }
        let dtype = self.dtype(&ty.dtype)?;
        if update {
            let error = Error::new(ty.span, format!("the scalar `{name}` cannot be updated"));
            return self.fail(error.help(format!("a tensor of one element can: `{name}: &mut {dtype}[1]`")));
        }
        self.holds_positions(&name.text, dtype, None, ty.span)?;
        let scalar = self.program.scalars.push(Scalar { name: name.text.clone(), dtype });
        let id = self.program.exprs.scalar(scalar, dtype);
        self.declare(name, Symbol::Scalar(id))?;
        self.program.arguments.push(Argument::Scalar(scalar));
        Ok(())
    }

    /// Declares a tensor.
    pub(super) fn tensor(&mut self, name: &Name, ty: &Type, space: Space) -> Checked<BufferId> {
        let dtype = self.dtype(&ty.dtype);
        let Some(sizes) = &ty.shape else {
            let error = Error::new(ty.span, format!("`{name}` needs a shape"));
            return self.fail(error.help(format!("write `{}[N]`, or `{}[]` for one element", ty.dtype, ty.dtype)));
        };
        if sizes.len() > MAX_RANK {
            return self
                .fail(Error::new(ty.span, format!("this tensor has {} dimensions; at most {MAX_RANK} are possible", sizes.len())));
        }
        let shape = self.shape(name, sizes, &space);
        let (dtype, shape) = (dtype?, shape?);
        self.holds_positions(&name.text, dtype, Some(&space), ty.span)?;
        let buffer = self.buffer(name, dtype, shape.extents, space);
        self.ranges.insert(buffer, shape.ranges);
        self.declare(name, Symbol::Tensor(buffer))?;
        Ok(buffer)
    }

    /// Makes a new buffer.
    pub(super) fn buffer(&mut self, name: &Name, dtype: DType, shape: Vec<ExprId>, space: Space) -> BufferId {
        let buffer = Buffer { name: name.text.clone(), dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span: name.span };
        self.program.buffers.push(buffer)
    }
}
