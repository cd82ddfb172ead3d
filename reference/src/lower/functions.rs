//! Calls of functions, and operations on cooperative matrices that take a function. A function is inlined for each component.
//! (`SPV_NV_cooperative_matrix2`; the numbers of its instructions come from the SPIR-V registry.)

use super::{Lower, Slot, Value};
use crate::code::{Arrangement, Call, Cooperation, Op};
use crate::module::functions::Callee;
use crate::module::matrix::Matrix;
use crate::words::{Inst, Result, malformed, unknown};
use spirv::{CooperativeMatrixReduce as Reduce, CooperativeMatrixUse as Use};

/// The maximal number of instructions of inlined functions in a module.
const MOST_PUT_IN: usize = 1 << 18;

/// Returns the name of a function without its type: `tanh` of `tanh_f32x4`.
fn function_name(name: &str) -> String {
    let is_type = |rest: &str| rest.is_empty() || rest.strip_prefix('x').is_some_and(|n| n.parse::<u32>().is_ok());
    let typed = name.rsplit_once("_f32").filter(|(_, rest)| is_type(rest));
    typed.map_or(name, |(function, _)| function).to_owned()
}

impl Lower<'_> {
    /// Inlines a function at a call.
    pub(super) fn function_call(&mut self, inst: &Inst) -> Result<()> {
        let arguments = inst.from(1);
        let callee = self.module.callee_of(inst.arg(0)?, arguments.len())?;
        if self.module.type_of(callee.result)? != inst.ty {
            return malformed(format!("the function of the call %{} returns another type", inst.id));
        }
        let to = self.result(inst)?;
        let mut given = Vec::new();
        for (id, param) in arguments.iter().zip(&callee.params) {
            if self.module.type_of(*id)? != self.module.type_of(*param)? {
                return malformed(format!("an argument of the call %{} is not of the type of its parameter %{param}", inst.id));
            }
            let planes = self.value(*id)?.planes;
            given.push((self.operand(*id, true)?, planes));
        }
        let call = self.code.calls.len();
        let len = to.planes * self.code.lanes;
        let operands = given.iter().map(|(at, _)| *at).collect();
        self.code.calls.push(Call { name: function_name(&self.module.name(inst.arg(0)?)), dst: to.at, operands, len, count: 0 });
        self.op(Op::Call(call as u32));
        let first = self.code.ops.len();
        self.call(callee, &given, to)?;
        self.code.calls[call].count = (self.code.ops.len() - first) as u32;
        self.computed(inst, to)
    }

    /// Applies a function to each element, its row and its column, and to operands that are the same for all elements.
    pub(super) fn per_element(&mut self, inst: &Inst) -> Result<()> {
        let matrix = self.made(inst)?;
        if self.module.type_of(inst.arg(0)?)? != inst.ty {
            return malformed("OpCooperativeMatrixPerElementOpNV of another type than its result");
        }
        let more = inst.from(2);
        let callee = self.module.callee_of(inst.arg(1)?, 3 + more.len())?;
        let to = self.result(inst)?;
        let src = self.operand(inst.arg(0)?, true)?;
        let mut extra = Vec::new();
        for id in more {
            let planes = self.value(*id)?.planes;
            extra.push((self.operand(*id, true)?, planes));
        }
        let row = self.code.lanes;
        for plane in 0..to.planes {
            let places = self.coordinates(matrix, plane)?;
            for (id, (at, each)) in more.iter().zip(&mut extra) {
                // For another matrix, the operand is its element at the same position.
                match self.module.matrix_of(*id) {
                    Some(other) if (other.rows, other.columns) == (matrix.rows, matrix.columns) => {
                        (*at, *each) = (self.operand(*id, true)? + plane * row, 1);
                    }
                    Some(_) => return malformed("OpCooperativeMatrixPerElementOpNV of matrices of different shapes"),
                    None => {}
                }
            }
            let [first, second] = places;
            let arguments: Vec<(Slot, u32)> =
                [(first, 1), (second, 1), (src + plane * row, 1)].into_iter().chain(extra.iter().copied()).collect();
            self.call(callee, &arguments, Value { at: to.at + plane * row, planes: 1, ..to })?;
        }
        self.computed(inst, to)
    }

    /// Returns the rows and the columns of the elements that lanes hold in one of their components.
    fn coordinates(&mut self, matrix: Matrix, plane: u32) -> Result<[Slot; 2]> {
        let (size, lanes, elements) = (self.subgroup, self.code.lanes, matrix.rows * matrix.columns);
        let element = |lane: u32| (plane * size + lane % size) % elements;
        let rows: Vec<u32> = (0..lanes).map(|lane| element(lane) / matrix.columns).collect();
        let columns: Vec<u32> = (0..lanes).map(|lane| element(lane) % matrix.columns).collect();
        Ok([self.row_of(&rows)?, self.row_of(&columns)?])
    }

    /// Inlines a function for arguments in rows. Its result is written to rows.
    fn call(&mut self, callee: &Callee, arguments: &[(Slot, u32)], to: Value) -> Result<()> {
        self.put_in += callee.insts.len() + 1;
        if self.put_in > MOST_PUT_IN {
            return unknown(format!("calls of functions with more than {MOST_PUT_IN} instructions in all"));
        }
        for (id, (at, planes)) in callee.params.iter().zip(arguments) {
            if self.module.types.planes(self.module.type_of(*id)?)? != *planes {
                return malformed(format!("an argument of a function is not of the type of its parameter %{id}"));
            }
            self.values.insert(*id, Value { at: *at, planes: *planes, lanes: true, owned: false });
        }
        // The temporaries of the operation itself must not be released in between.
        let held = std::mem::take(&mut self.temporaries);
        for inst in &callee.insts {
            self.inst(inst)?;
            self.release(None);
        }
        self.temporaries = held;
        self.check_planes(callee.result, to.planes)?;
        let src = self.operand(callee.result, true)?;
        self.op(Op::Copy { dst: to.at, src, len: to.planes * self.code.lanes });
        for id in callee.insts.iter().map(|inst| inst.id).chain(callee.params.iter().copied()) {
            if let Some(value) = self.values.remove(&id).filter(|value| value.owned) {
                self.slots.give(value);
            }
        }
        Ok(())
    }

    /// Combines elements of rows, columns, both, or 2 x 2 blocks by a function. Columns are combined from the first on, and
    /// then rows.
    pub(super) fn reduce(&mut self, inst: &Inst) -> Result<()> {
        let (made, from) = (self.made(inst)?, self.matrix(inst.arg(0)?)?);
        let accumulators = [made.usage, from.usage] == [Use::MatrixAccumulatorKHR; 2];
        let (rows, columns) = (from.rows, from.columns);
        let callee = self.module.callee_of(inst.arg(2)?, 2)?;
        let src = self.operand(inst.arg(0)?, true)?;
        let to = self.result(inst)?;
        let mode = Reduce::from_bits_retain(inst.arg(1)?);
        let fits = match mode {
            Reduce::ROW => made.rows == rows,
            Reduce::COLUMN => made.columns == columns,
            Reduce::_2X2 => (made.rows * 2, made.columns * 2) == (rows, columns),
            both => both == Reduce::ROW | Reduce::COLUMN,
        };
        if !accumulators || made.of != from.of || !fits {
            return malformed(format!("the shapes and uses of the reduction %{} do not fit", inst.id));
        }
        let width = made.columns;
        let at = move |n: u32| (n / width, n % width);
        let reduced = match mode {
            Reduce::_2X2 => {
                let four = move |n: u32, step: u32| (2 * at(n).0 + step / 2) * columns + 2 * at(n).1 + step % 2;
                self.combined(inst, callee, src, [made.rows * made.columns, 4], four)?
            }
            Reduce::COLUMN => self.combined(inst, callee, src, [columns, rows], move |n, step| step * columns + n)?,
            _ => self.combined(inst, callee, src, [rows, columns], move |n, step| n * columns + step)?,
        };
        let all = if mode == Reduce::ROW | Reduce::COLUMN {
            self.combined(inst, callee, reduced.at, [1, rows], |_, step| step)?
        } else {
            reduced
        };
        let elements = made.rows * made.columns;
        match mode {
            Reduce::_2X2 => self.arrange(inst, all.at, to.at, elements, |n| n),
            Reduce::ROW => self.arrange(inst, all.at, to.at, elements, |n| at(n).0),
            Reduce::COLUMN => self.arrange(inst, all.at, to.at, elements, |n| at(n).1),
            _ => self.arrange(inst, all.at, to.at, elements, |_| 0),
        }
        self.slots.give(reduced);
        if all.at != reduced.at {
            self.slots.give(all);
        }
        self.computed(inst, to)
    }

    /// Computes `count` values, distributed like elements. Each combines the elements that `element` returns for the steps.
    fn combined(
        &mut self,
        inst: &Inst,
        callee: &Callee,
        src: Slot,
        [count, steps]: [u32; 2],
        element: impl Fn(u32, u32) -> u32,
    ) -> Result<Value> {
        let (planes, row) = (count.div_ceil(self.subgroup), self.code.lanes);
        let (value, next, new) = (self.slots.take(planes, true)?, self.slots.take(planes, true)?, self.slots.take(planes, true)?);
        self.arrange(inst, src, value.at, count, |n| element(n, 0));
        for step in 1..steps {
            self.arrange(inst, src, next.at, count, |n| element(n, step));
            for at in (0..planes).map(|plane| plane * row) {
                self.call(callee, &[(value.at + at, 1), (next.at + at, 1)], Value { at: new.at + at, planes: 1, ..new })?;
            }
            self.op(Op::Copy { dst: value.at, src: new.at, len: planes * row });
        }
        self.slots.give(next);
        self.slots.give(new);
        Ok(value)
    }

    /// Rearranges values of the subgroup. `from` returns the number of the value that each is copied from.
    pub(super) fn arrange(&mut self, inst: &Inst, src: Slot, dst: Slot, count: u32, from: impl Fn(u32) -> u32) {
        let first = self.code.places.len() as u32;
        self.code.places.extend((0..count).map(from));
        self.cooperate(inst, Cooperation::Arrange(Arrangement { src, dst, first, count }));
    }

    /// Converts an accumulator to a transposed factor.
    pub(super) fn transposed(&mut self, inst: &Inst) -> Result<()> {
        let (made, from) = (self.made(inst)?, self.matrix(inst.arg(0)?)?);
        let uses = [from.usage, made.usage] == [Use::MatrixAccumulatorKHR, Use::MatrixBKHR];
        if !uses || (made.rows, made.columns, made.of) != (from.columns, from.rows, from.of) {
            return malformed(format!("the shapes and uses of the transposition %{} do not fit", inst.id));
        }
        let to = self.result(inst)?;
        let src = self.operand(inst.arg(0)?, true)?;
        let element = |n: u32| n % made.columns * from.columns + n / made.columns;
        self.arrange(inst, src, to.at, made.rows * made.columns, element);
        self.computed(inst, to)
    }

    /// True if the conversions of this module allow an accumulator to become a factor.
    pub(super) fn becomes_factor(&self, from: Matrix, made: Matrix) -> bool {
        let factor = matches!(made.usage, Use::MatrixAKHR | Use::MatrixBKHR);
        factor && from.usage == Use::MatrixAccumulatorKHR && (from.rows, from.columns) == (made.rows, made.columns)
    }

    /// Checks a conversion of an accumulator to a factor of the same shape and type. It needs no code, because each invocation
    /// holds the same elements of both.
    pub(super) fn check_converted(&self, inst: &Inst) -> Result<()> {
        let (made, from) = (self.made(inst)?, self.matrix(inst.arg(0)?)?);
        match self.becomes_factor(from, made) && from.of == made.of {
            true => Ok(()),
            false => malformed(format!("the shapes and uses of the conversion %{} do not fit", inst.id)),
        }
    }
}
