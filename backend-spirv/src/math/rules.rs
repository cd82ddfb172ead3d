//! Terms of rules as instructions.

use super::Site;
use crate::Result;
use crate::module::Id;
use crate::writer::Writer;
use spirv::Op;
use tilewright_dsl::diag::Error;
use tilewright_dsl::expr::rules::{Algebra, Rule};
use tilewright_dsl::expr::{Binary, Compare};

/// An operand of a rule: the result of an instruction, or a literal that is not written before it is used.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Id(Id),
    Literal(i64),
}

/// The instructions of signed or unsigned integers at a site, and the first error.
struct Instructions<'a, 'm> {
    writer: &'a mut Writer<'m>,
    at: Site,
    error: Option<Error>,
}

impl Writer<'_> {
    /// Writes the right side of a rule's claim.
    pub(super) fn by_rule(&mut self, rule: &Rule, at: Site, vars: &[Operand]) -> Result<Id> {
        let mut instructions = Instructions { writer: self, at, error: None };
        let vars: Vec<&Operand> = vars.iter().collect();
        let id = rule.result(&mut instructions, &vars).and_then(|value| instructions.written(&value));
        let error = instructions.error;
        id.ok_or_else(|| error.unwrap_or_else(|| self.defect("a rule has no instructions")))
    }
}

impl Instructions<'_, '_> {
    /// Returns the result of `write`, or keeps its error.
    fn kept(&mut self, write: impl FnOnce(&mut Writer<'_>, Site) -> Result<Id>) -> Option<Id> {
        match write(self.writer, self.at) {
            Ok(id) => Some(id),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    /// Returns an operand as the result of an instruction.
    fn written(&mut self, operand: &Operand) -> Option<Id> {
        match *operand {
            Operand::Id(id) => Some(id),
            Operand::Literal(n) => self.kept(|writer, at| writer.all(at.of, at.n, n as u32)),
        }
    }

    /// Writes an instruction of two operands.
    fn instruction(&mut self, op: Op, a: &Operand, b: &Operand) -> Option<Operand> {
        let ids = [self.written(a)?, self.written(b)?];
        self.kept(|writer, at| writer.same(at, op, &ids)).map(Operand::Id)
    }
}

impl Algebra for Instructions<'_, '_> {
    type Value = Operand;

    fn int(&mut self, n: i64) -> Option<Operand> {
        Some(Operand::Literal(n))
    }

    fn apply(&mut self, op: Binary, a: &Operand, b: &Operand) -> Option<Operand> {
        if let (Operand::Literal(a), Operand::Literal(b)) = (a, b) {
            return op.exact(*a, *b).map(Operand::Literal);
        }
        let op = match op {
            Binary::Add => Op::IAdd,
            Binary::Sub => Op::ISub,
            Binary::And => Op::BitwiseAnd,
            Binary::Shr => Op::ShiftRightArithmetic,
            _ => return None,
        };
        self.instruction(op, a, b)
    }

    fn unsigned(&mut self, op: Binary, a: &Operand, b: &Operand) -> Option<Operand> {
        if op == Binary::Shr { self.instruction(Op::ShiftRightLogical, a, b) } else { None }
    }

    fn compare(&mut self, by: Compare, a: &Operand, b: &Operand) -> Option<Operand> {
        let ids = [self.written(a)?, self.written(b)?];
        (by == Compare::Lt).then(|| self.kept(|writer, at| writer.test(at, Op::SLessThan, &ids)))?.map(Operand::Id)
    }

    fn choose(&mut self, condition: &Operand, yes: &Operand, no: &Operand) -> Option<Operand> {
        let ids = [self.written(condition)?, self.written(yes)?, self.written(no)?];
        self.kept(|writer, at| writer.same(at, Op::Select, &ids)).map(Operand::Id)
    }
}
