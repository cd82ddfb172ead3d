//! Cooperative matrices: operations that the lanes of a subgroup perform together.
//!
//! SPIR-V does not define which invocation of a subgroup accesses an element in memory. So an access is not ordered with any other access
//! of its subgroup without a barrier, not even with one of the same lane: see [`COOPERATIVE`]. A fault is reported for the lane that holds
//! the element.

use super::access::ByteMemory;
use super::product::{integers, saturated};
use super::tensor::{elements, mask};
use super::{Numbers, Result, Worker};
use crate::code::{AccessInfo, Arrangement, Cooperation, MatrixAccess, MatrixOp, MulAdd, Product, Root};
use crate::fault::{Access, Element, FaultKind, Object};
use crate::memory::clock::COOPERATIVE;
use crate::memory::{shared, trail};
use crate::run::BoundTensor;

/// A row of a matrix as it is accessed (or a column, if the elements of a column are consecutive).
#[derive(Clone, Copy)]
struct Line {
    /// The subgroup's first lane.
    first: u32,
    /// The number of the row.
    number: u32,
    /// The offset of its first byte from the accessed object's start.
    at: i64,
}

impl MatrixAccess {
    /// Returns the number of rows and the length of a row, or of columns if their elements are consecutive.
    fn lines(&self) -> (u32, u32) {
        if self.by_column { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }

    /// Returns the bytes of a row, or of a column if its elements are consecutive.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.lines().1 * self.form.bytes()
    }

    /// Returns the number of an element, by the number of its row or column and its index there.
    fn element(&self, line: u32, at: u32) -> u32 {
        if self.by_column { at * self.columns + line } else { line * self.columns + at }
    }

    /// Returns the alignment of the pointer and the stride: 16 bytes, or the size of a row if that is less.
    fn alignment(&self) -> u32 {
        self.row_bytes().min(16)
    }
}

impl<'a, N: Numbers> Worker<'a, N> {
    pub(super) fn matrix(&mut self, n: u32) -> Result {
        let op = &self.code.matrices[n as usize];
        match op.does {
            Cooperation::Together => self.together(op),
            Cooperation::Same { slot } => self.same(op, slot),
            Cooperation::Load(access) => self.move_matrix(op, &access, Access::Read),
            Cooperation::Store(access) => self.move_matrix(op, &access, Access::Write),
            Cooperation::MulAdd(product) => self.mul_add(op, &product),
            Cooperation::Arrange(arrangement) => {
                self.arrange(&arrangement);
                Ok(())
            }
        }
    }

    /// Returns the first lanes of the active subgroups.
    fn subgroups(&self) -> Vec<u32> {
        let size = self.launch.subgroup as usize;
        (0..self.code.lanes).step_by(size).filter(|first| self.mask[*first as usize] != 0).collect()
    }

    /// Checks that each subgroup is active as a whole, or not at all.
    fn together(&self, op: &MatrixOp) -> Result {
        let (lanes, of) = (self.code.lanes, self.launch.subgroup);
        if self.active == lanes && lanes.is_multiple_of(of) {
            return Ok(());
        }
        for (number, members) in (0..).zip(self.mask.chunks(of as usize)) {
            let reached: u32 = members.iter().sum();
            if reached == 0 || reached == of {
                continue;
            }
            let find = |wanted: u32| members.iter().position(|m| *m == wanted).map(|at| number * of + at as u32);
            let absent = find(0).map(|lane| self.local(lane));
            let kind = FaultKind::Apart { instruction: name(op), absent, reached, of };
            return self.fault(find(1).unwrap_or(0), op.word, kind);
        }
        Ok(())
    }

    fn same(&self, op: &MatrixOp, slot: u32) -> Result {
        for first in self.subgroups() {
            self.uniform(op, first, "scalar", |lane| self.words[(slot + lane) as usize])?;
        }
        Ok(())
    }

    /// Returns a value that must be the same in all lanes of a subgroup. It is a fault if it is not.
    fn uniform<T: PartialEq>(&self, op: &MatrixOp, first: u32, operand: &str, get: impl Fn(u32) -> T) -> Result<T> {
        let value = get(first);
        match (first..first + self.launch.subgroup).find(|lane| get(*lane) != value) {
            None => Ok(value),
            Some(other) => {
                let (instruction, operand) = (name(op), operand.to_owned());
                self.fault(first, op.word, FaultKind::Differs { instruction, operand, other: self.local(other) })
            }
        }
    }

    /// Loads or stores a matrix for each subgroup.
    fn move_matrix(&mut self, op: &MatrixOp, matrix: &MatrixAccess, access: Access) -> Result {
        let info = &self.code.accesses[matrix.access as usize];
        self.offsets(info, access)?;
        for first in self.subgroups() {
            let offset = self.uniform(op, first, "pointer", |lane| {
                (self.offsets[if info.apart { lane as usize } else { 0 }], self.address(info, lane))
            })?;
            let stride = self.stride(op, matrix, first, access)?;
            let (count, _) = matrix.lines();
            match info.root {
                Root::Shared { first: cell, object } => {
                    let object = &self.code.objects[object as usize];
                    let at = offset.0 * i64::from(matrix.cell.bytes());
                    let element = || Element { of: object.clone(), index: offset.0 };
                    self.aligned(first, info, matrix, access, at, &element)?;
                    for number in 0..count {
                        let line = Line { first, number, at: at + i64::from(number) * stride };
                        self.shared_line(info, matrix, access, (cell, object), line)?;
                    }
                }
                _ => {
                    let (place, base) = self.bytes(info, first, access)?;
                    let ByteMemory::Tensor(bound) = place else {
                        let what = format!("a matrix in the parameter block ({})", name(op));
                        return self.fault(first, info.word, FaultKind::Undefined { what });
                    };
                    let at = offset.0 + base;
                    self.aligned(first, info, matrix, access, at + bound.start as i64, &|| bound.element(at))?;
                    for number in 0..count {
                        let line = Line { first, number, at: at + i64::from(number) * stride };
                        self.tensor_line(info, matrix, access, bound, line)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the alignment that matrices require, and the alignment that the instruction states.
    fn aligned(
        &self,
        lane: u32,
        info: &AccessInfo,
        matrix: &MatrixAccess,
        access: Access,
        at: i64,
        element: &dyn Fn() -> Element,
    ) -> Result {
        match [matrix.alignment(), info.align].into_iter().find(|alignment| at % i64::from(*alignment) != 0) {
            None => Ok(()),
            Some(alignment) => self.fault(lane, info.word, FaultKind::Misaligned { access, at: element(), alignment }),
        }
    }

    /// Returns the bytes from a row to the next.
    fn stride(&self, op: &MatrixOp, matrix: &MatrixAccess, first: u32, access: Access) -> Result<i64> {
        let slot = |lane: u32| if matrix.stride_lanes { matrix.stride + lane } else { matrix.stride };
        self.numbers.look(self.words[slot(first) as usize]);
        let count = self.uniform(op, first, "stride", |lane| self.integer(slot(lane)) as i32)?;
        let (bytes, alignment) = (i64::from(count) * i64::from(matrix.unit), matrix.alignment());
        let least = if access == Access::Write { 1 } else { 0 };
        match bytes >= least && bytes % i64::from(alignment) == 0 {
            true => Ok(bytes),
            false => self.fault(first, op.word, FaultKind::Stride { instruction: name(op), bytes, alignment }),
        }
    }

    /// Returns the position of an element of a subgroup's matrix in the file, and the lane that holds it.
    fn place_of(&self, slot: u32, first: u32, element: u32) -> (usize, u32) {
        let (size, lanes) = (self.launch.subgroup, self.code.lanes);
        let lane = first + element % size;
        ((slot + element / size * lanes + lane) as usize, lane)
    }

    /// Writes an element to the lane that holds it, and to the lanes that hold copies of it.
    fn put(&mut self, slot: u32, first: u32, [element, elements]: [u32; 2], value: N::Word) {
        let all = elements.div_ceil(self.launch.subgroup) * self.launch.subgroup;
        let mut copy = element;
        while copy < all {
            let (at, _) = self.place_of(slot, first, copy);
            self.words[at] = value;
            copy += elements;
        }
    }

    /// Loads or stores a row in a tensor.
    fn tensor_line(
        &mut self,
        info: &AccessInfo,
        matrix: &MatrixAccess,
        access: Access,
        bound: &BoundTensor<'a>,
        line: Line,
    ) -> Result {
        let all = matrix.rows * matrix.columns;
        let (size, form) = (matrix.form.bytes(), matrix.form);
        // An element of a tensor may hold several elements of the matrix. It is accessed only once.
        let mut last = None;
        for n in 0..matrix.lines().1 {
            let number = matrix.element(line.number, n);
            let (slot, lane) = self.place_of(info.slot, line.first, number);
            let at = line.at + i64::from(n * size);
            if !bound.is_within(at, size) {
                let at = bound.element(at);
                return self.fault(lane, info.word, FaultKind::OutOfBounds { access, at });
            }
            let byte = bound.start + at as usize;
            let needed = mask(byte, form);
            let Some(shadow) = &bound.shadow else {
                if access == Access::Write {
                    return self.fault(lane, info.word, FaultKind::ReadOnly { at: bound.element(at) });
                }
                self.written(info, bound, at, needed, lane)?;
                let value = self.numbers.load(bound.memory, byte, form);
                self.put(info.slot, line.first, [number, all], value);
                continue;
            };
            if access == Access::Read {
                self.written(info, bound, at, needed, lane)?;
            }
            let who = trail::Who { group: self.group, clock: &self.global_clock, private: info.private };
            for element in elements(at as usize, form, shadow.element) {
                if last.replace(element) == Some(element) {
                    continue;
                }
                let conflict = match access {
                    Access::Write => shadow.write(element, &who, lane | COOPERATIVE),
                    _ => shadow.read(element, &who, lane | COOPERATIVE),
                };
                if let Some(conflict) = conflict {
                    let at = Element { of: bound.object.clone(), index: element as i64 };
                    return self.race(lane, info.word, access, at, conflict);
                }
            }
            match access {
                Access::Write => self.numbers.store(bound.memory, byte, form, self.words[slot]),
                _ => {
                    let value = self.numbers.load(bound.memory, byte, form);
                    self.put(info.slot, line.first, [number, all], value);
                }
            }
        }
        Ok(())
    }

    fn written(&self, info: &AccessInfo, bound: &BoundTensor<'_>, at: i64, needed: u8, lane: u32) -> Result {
        let word = (bound.start + at as usize) / 4;
        match bound.complete || bound.memory.flags(word) & needed == needed {
            true => Ok(()),
            false => self.fault(lane, info.word, FaultKind::Unwritten { at: bound.element(at) }),
        }
    }

    /// Loads or stores a row in a shared array, byte by byte, because the array's scalars may be wider or narrower than the matrix's.
    fn shared_line(
        &mut self,
        info: &AccessInfo,
        matrix: &MatrixAccess,
        access: Access,
        (base, object): (u32, &Object),
        line: Line,
    ) -> Result {
        let (width, cell, size) = (matrix.row_bytes() as i64, matrix.cell.bytes() as i64, matrix.form.bytes());
        let cells = line.at.div_euclid(cell)..(line.at + width + cell - 1).div_euclid(cell);
        let skip = (line.at - cells.start * cell) as usize;
        let mut row = N::row((cell * (cells.end - cells.start)) as usize);
        if access == Access::Write {
            for n in 0..matrix.lines().1 {
                let (slot, _) = self.place_of(info.slot, line.first, matrix.element(line.number, n));
                self.numbers.put(&mut row, skip + (n * size) as usize, matrix.form, self.words[slot]);
            }
        }
        for (n, index) in (0..).zip(cells) {
            // The access is attributed to the lane that holds the first matrix element in this cell.
            let at = ((n * cell as usize).saturating_sub(skip) as u32 / size).min(matrix.lines().1 - 1);
            let (_, lane) = self.place_of(info.slot, line.first, matrix.element(line.number, at));
            let element = || Element { of: object.clone(), index };
            if index < 0 || index >= object.elements as i64 {
                return self.fault(lane, info.word, FaultKind::OutOfBounds { access, at: element() });
            }
            let (place, from) = (base as usize + index as usize, n * cell as usize);
            let who = shared::Who { clock: &self.shared_clock, lane: lane | COOPERATIVE, group: self.group };
            let conflict = match access {
                Access::Write => self.shared.write(place, self.numbers.get(&row, from, matrix.cell), who),
                _ => {
                    if !self.shared.is_written(place, &self.shared_clock) {
                        return self.fault(lane, info.word, FaultKind::Unwritten { at: element() });
                    }
                    self.numbers.put(&mut row, from, matrix.cell, self.shared.load(place));
                    self.shared.read(place, who)
                }
            };
            if let Some(conflict) = conflict {
                return self.race(lane, info.word, access, element(), conflict);
            }
        }
        if access == Access::Read {
            let all = matrix.rows * matrix.columns;
            for n in 0..matrix.lines().1 {
                let value = self.numbers.get(&row, skip + (n * size) as usize, matrix.form);
                self.put(info.slot, line.first, [matrix.element(line.number, n), all], value);
            }
        }
        Ok(())
    }

    fn arrange(&mut self, Arrangement { src, dst, first, count }: &Arrangement) {
        let code = self.code;
        let places = &code.places[*first as usize..(*first + *count) as usize];
        for first in self.subgroups() {
            for (element, place) in (0..).zip(places) {
                let (from, _) = self.place_of(*src, first, *place);
                self.put(*dst, first, [element, *count], self.words[from]);
            }
        }
    }

    fn mul_add(&mut self, op: &MatrixOp, product: &MulAdd) -> Result {
        for first in self.subgroups() {
            let take = |slot, elements| -> Vec<N::Word> {
                (0..elements).map(|element| self.words[self.place_of(slot, first, element).0]).collect()
            };
            let (m, n, k) = (product.rows, product.columns, product.depth);
            let (a, b, c) = (take(product.a, m * k), take(product.b, k * n), take(product.c, m * n));
            let shape = [n as usize, k as usize];
            let result = match product.product {
                Product::Float(form) => Some(self.numbers.product([&a, &b, &c], shape, form)),
                Product::Int { a: of_a, b: of_b, c: of_c, result, saturating } => {
                    let [a, b, c] = [a, b, c].map(|words| -> Vec<u32> { words.iter().map(|w| self.numbers.integer(*w)).collect() });
                    let operands = [(&a[..], of_a), (&b[..], of_b), (&c[..], of_c)];
                    let words =
                        if saturating { saturated(operands, shape, result) } else { Some(integers(operands, shape, result)) };
                    words.map(|words| words.into_iter().map(N::word).collect())
                }
            };
            let Some(result) = result else {
                let what = format!("a sum of products that overflows before it is accumulated ({})", name(op));
                return self.fault(first, op.word, FaultKind::Undefined { what });
            };
            for (element, value) in (0..).zip(result) {
                self.put(product.dst, first, [element, m * n], value);
            }
        }
        Ok(())
    }
}

fn name(op: &MatrixOp) -> String {
    format!("Op{:?}", op.name)
}
