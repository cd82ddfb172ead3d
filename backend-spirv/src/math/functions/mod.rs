//! Functions that no instruction computes well on every device: each is one named function of the module, which its uses call.
//!
//! Vulkan bounds the error of `exp`, `sqrt`, `sin`, `cos` and a division. It gives no useful bound for the other functions of
//! `GLSL.std.450`, and leaves zeros, infinities and NaN to the driver (`docs/drivers.md`). So this folder makes them of sums, products,
//! divisions, integer operations and the few instructions that have a bound. Every result is Rust's at zeros, infinities and NaN, because
//! these are tested on the operand's bits: a driver may assume that a comparison of floats never meets NaN.
//!
//! A [`Formula`] is a list of instructions over parameters, without control flow. [`Emit::call`] writes it to the module once for each
//! number of components and calls it, so that the reference device and other tools see one operation; drivers inline the calls. All
//! formulas are of `f32`. [`Values::function`](crate::resolve::values::Values::function) widens operands in `f16` and rounds the result.

#![allow(clippy::excessive_precision, reason = "nine digits name each `f32`")]

mod angles;
mod exponentials;
mod formula;
mod logarithms;
mod power;
mod rounding;
#[cfg(test)]
mod tests;

use crate::Result;
use crate::emit::Emit;
use crate::math::Site;
use crate::module::{Id, Type};
use crate::resolve::values::Op as ValueOp;
use formula::{Formula, FormulaStep, Instruction, Part};
use rspirv::spirv::{FunctionControl, Op};
use tilewright_dsl::expr::{Binary, Const, Unary};
use tilewright_dsl::launch::DType;

/// The name of a function, the number of its operands, and the writer of its formula.
pub(crate) struct Function {
    name: &'static str,
    operands: usize,
    write: fn(&mut Formula, &[Part]) -> Part,
}

/// The functions that a module has so far, by name and number of components.
#[derive(Default)]
pub(crate) struct Functions {
    known: Vec<((&'static str, u32), Id)>,
}

/// Returns the function that computes an operation on `f32`; `None` if an instruction computes it.
pub(crate) fn function_of(op: ValueOp) -> Option<Function> {
    let unary = |name, write| Some(Function { name, operands: 1, write });
    let binary = |name, write| Some(Function { name, operands: 2, write });
    match op {
        ValueOp::Unary(op) => match op {
            Unary::Round => unary("round", rounding::round),
            Unary::Ln => unary("ln", logarithms::ln),
            Unary::Log2 => unary("log2", logarithms::log2),
            Unary::Tan => unary("tan", angles::tan),
            Unary::Asin => unary("asin", angles::asin),
            Unary::Acos => unary("acos", angles::acos),
            Unary::Atan => unary("atan", angles::atan),
            Unary::Sinh => unary("sinh", exponentials::sinh),
            Unary::Cosh => unary("cosh", exponentials::cosh),
            Unary::Tanh => unary("tanh", exponentials::tanh),
            Unary::Asinh => unary("asinh", logarithms::asinh),
            Unary::Acosh => unary("acosh", logarithms::acosh),
            Unary::Atanh => unary("atanh", logarithms::atanh),
            Unary::Erf => unary("erf", exponentials::erf),
            _ => None,
        },
        ValueOp::Binary(Binary::Pow) => binary("powf", power::powf),
        ValueOp::Binary(Binary::Atan2) => binary("atan2", angles::atan2),
        ValueOp::Binary(Binary::Rem) => binary("rem", rounding::remainder),
        _ => None,
    }
}

impl Function {
    /// Returns the formula, and the instruction that computes the result.
    fn formula(&self) -> (Formula, Part) {
        let mut formula = Formula::default();
        let operands: Vec<Part> = (0..self.operands).map(|_| formula.parameter()).collect();
        let result = (self.write)(&mut formula, &operands);
        (formula, result)
    }
}

impl Emit<'_> {
    /// Calls a function on operands of `f32` with a number of components.
    pub(crate) fn call(&mut self, function: &Function, at: Site, operands: &[Id]) -> Result<Id> {
        let id = self.named_function(function, at.n)?;
        let ty = self.vector_type(DType::F32, at.n)?;
        Ok(self.ins(at.level, Op::FunctionCall, ty, &[&[id], operands].concat()))
    }

    /// Returns the module's function for a number of components, and writes the function when it is first called.
    fn named_function(&mut self, function: &Function, n: u32) -> Result<Id> {
        let key = (function.name, n);
        if let Some((_, id)) = self.functions.known.iter().find(|(known, _)| *known == key) {
            return Ok(*id);
        }
        let of = self.vector_type(DType::F32, n)?;
        let ty = self.module.ty(Type::FunctionOf(of, vec![of; function.operands]));
        let [id, label] = [(); 2].map(|()| self.module.id());
        let name = if n == 1 { format!("{}_f32", function.name) } else { format!("{}_f32x{n}", function.name) };
        self.module.name(id, &name);
        self.module.functions().op(Op::Function, &[of, id, FunctionControl::INLINE.bits(), ty]);
        let (formula, result) = function.formula();
        let ids = self.instructions(&formula, n, label)?;
        let code = self.module.functions();
        code.op(Op::ReturnValue, &[ids[result.index()]]);
        code.op(Op::FunctionEnd, &[]);
        self.functions.known.push((key, id));
        Ok(id)
    }

    /// Writes a formula's instructions to the functions of the module, and returns the ids of its steps. Parameters come first.
    fn instructions(&mut self, formula: &Formula, n: u32, label: Id) -> Result<Vec<Id>> {
        let mut ids: Vec<Id> = Vec::with_capacity(formula.steps.len());
        let mut is_labelled = false;
        for step in &formula.steps {
            let (dtype, instruction, of) = match step {
                FormulaStep::Parameter => {
                    let (ty, id) = (self.vector_type(DType::F32, n)?, self.module.id());
                    self.module.functions().op(Op::FunctionParameter, &[ty, id]);
                    ids.push(id);
                    continue;
                }
                FormulaStep::Literal(dtype, bits) => {
                    ids.push(self.all(*dtype, n, *bits)?);
                    continue;
                }
                FormulaStep::Compute(dtype, instruction, of) => (*dtype, *instruction, of),
            };
            if !std::mem::replace(&mut is_labelled, true) {
                self.module.functions().op(Op::Label, &[label]);
            }
            let (ty, id) = (self.vector_type(dtype, n)?, self.module.id());
            let mut words = vec![ty, id];
            let op = match instruction {
                Instruction::Plain(op) => op,
                Instruction::Extended(ext) => {
                    words.extend([self.module.math(), ext as u32]);
                    Op::ExtInst
                }
            };
            words.extend(of.iter().map(|part| ids[part.index()]));
            self.module.functions().op(op, &words);
            if instruction.rounds() {
                self.module.as_written(id);
            }
            ids.push(id);
        }
        Ok(ids)
    }
}

/// The bits of a number in `f32`.
fn bits_of(value: f64) -> u32 {
    Const::number(value, DType::F32).bits
}
