//! Writes the [formulas](tilewright_codegen::formulas) of functions to the module, and calls them.

use crate::Result;
use crate::math::Site;
use crate::module::{Id, Type};
use crate::writer::Writer;
use spirv::{FunctionControl, GlslStd450Op as Ext, Op};
use tilewright_codegen::formulas::{Formula, FormulaStep, Function, Instruction};
use tilewright_dsl::launch::DType;

/// The functions that a module has so far, by name and number of components.
#[derive(Default)]
pub(crate) struct Functions(Vec<((&'static str, u32), Id)>);

impl Writer<'_> {
    /// Calls a function on operands of `f32` with a number of components.
    pub(crate) fn call(&mut self, function: &Function, at: Site, operands: &[Id]) -> Result<Id> {
        let id = self.named_function(function, at.n)?;
        let ty = self.vector_type(DType::F32, at.n)?;
        Ok(self.ins(at.level, Op::FunctionCall, ty, &[&[id], operands].concat()))
    }

    /// Returns the module's function for a number of components, and writes the function when it is first called.
    fn named_function(&mut self, function: &Function, n: u32) -> Result<Id> {
        let key = (function.name, n);
        if let Some((_, id)) = self.functions.0.iter().find(|(known, _)| *known == key) {
            return Ok(*id);
        }
        let of = self.vector_type(DType::F32, n)?;
        let ty = self.module.ty(Type::Function(of, vec![of; function.operands]));
        let [id, label] = self.module.ids();
        let name = if n == 1 { format!("{}_f32", function.name) } else { format!("{}_f32x{n}", function.name) };
        self.module.name(id, &name);
        self.module.functions().op(Op::Function, &[of, id, FunctionControl::INLINE.bits(), ty]);
        let (formula, result) = function.formula();
        let ids = self.instructions(&formula, n, label)?;
        let code = self.module.functions();
        code.op(Op::ReturnValue, &[ids[result.index()]]);
        code.op(Op::FunctionEnd, &[]);
        self.functions.0.push((key, id));
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
            let op = match word_of(instruction) {
                Word::Plain(op) => op,
                Word::Extended(ext) => {
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

/// An instruction of the core, or of `GLSL.std.450`.
enum Word {
    Plain(Op),
    Extended(Ext),
}

/// Returns the instruction of SPIR-V that computes a step of a formula.
fn word_of(instruction: Instruction) -> Word {
    Word::Plain(match instruction {
        Instruction::MulAdd => return Word::Extended(Ext::Fma),
        Instruction::Min => return Word::Extended(Ext::NMin),
        Instruction::Max => return Word::Extended(Ext::NMax),
        Instruction::Floor => return Word::Extended(Ext::Floor),
        Instruction::Trunc => return Word::Extended(Ext::Trunc),
        Instruction::Exp => return Word::Extended(Ext::Exp),
        Instruction::Exp2 => return Word::Extended(Ext::Exp2),
        Instruction::InverseSqrt => return Word::Extended(Ext::InverseSqrt),
        Instruction::Add => Op::FAdd,
        Instruction::Sub => Op::FSub,
        Instruction::Mul => Op::FMul,
        Instruction::Div => Op::FDiv,
        Instruction::Neg => Op::FNegate,
        Instruction::Bitcast => Op::Bitcast,
        Instruction::BitAnd => Op::BitwiseAnd,
        Instruction::BitOr => Op::BitwiseOr,
        Instruction::BitXor => Op::BitwiseXor,
        Instruction::IntAdd => Op::IAdd,
        Instruction::IntSub => Op::ISub,
        Instruction::ShiftLeft => Op::ShiftLeftLogical,
        Instruction::ShiftRight => Op::ShiftRightArithmetic,
        Instruction::ToInt => Op::ConvertFToS,
        Instruction::FromInt => Op::ConvertSToF,
        Instruction::IntEqual => Op::IEqual,
        Instruction::IntGreater => Op::UGreaterThan,
        Instruction::Less => Op::FOrdLessThan,
        Instruction::Both => Op::LogicalAnd,
        Instruction::Either => Op::LogicalOr,
        Instruction::Not => Op::LogicalNot,
        Instruction::Agree => Op::LogicalEqual,
        Instruction::Select => Op::Select,
    })
}
