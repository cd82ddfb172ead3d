//! Arithmetic that is undefined for some operands. The operands of each active lane are checked.

use super::{Numbers, Result, Worker};
use crate::code::{Check, Partial};
use crate::fault::FaultKind;

impl<N: Numbers> Worker<'_, N> {
    pub(super) fn checked(&mut self, n: u32) -> Result {
        let check = self.code.checks[n as usize];
        let row = if check.lanes { self.code.lanes } else { 1 };
        for plane in 0..check.planes {
            for lane in 0..row {
                let at = plane * row + lane;
                let (a, b) = (self.words[(check.a + at) as usize], self.words[(check.b + at) as usize]);
                let active = !check.lanes || self.mask[lane as usize] != 0;
                let value = match self.numbers.partial(check.op, [a, b], check.byte) {
                    Some(value) => value,
                    None if active => {
                        let [a, b] = [a, b].map(|word| self.numbers.integer(word));
                        return self.undefined(&check, lane, a, b);
                    }
                    None => N::Word::default(),
                };
                self.words[(check.dst + at) as usize] = value;
            }
        }
        Ok(())
    }

    #[cold]
    fn undefined(&self, check: &Check, lane: u32, a: u32, b: u32) -> Result {
        use Partial::*;
        let lane = if check.lanes { lane } else { self.first() };
        let signed = |w: u32| i64::from(w as i32);
        let name = format!("Op{}", name(check.op));
        let zero = |dividend| FaultKind::DivisionByZero { dividend, instruction: name.clone() };
        let what = match check.op {
            SDiv | SRem | SMod if b == 0 => return self.fault(lane, check.word, zero(signed(a))),
            UDiv | UMod => return self.fault(lane, check.word, zero(a.into())),
            SDiv => format!("{} divided by -1 ({name})", a as i32),
            SRem | SMod => format!("the remainder of {} by {} ({name})", a as i32, b as i32),
            ShiftLeft | ShiftRight | ShiftRightSigned => format!("a shift by {b} bits ({name})"),
            FToS | FToU => format!("{} as an integer ({name})", f32::from_bits(a)),
        };
        self.fault(lane, check.word, FaultKind::Undefined { what })
    }
}

fn name(op: Partial) -> &'static str {
    match op {
        Partial::SDiv => "SDiv",
        Partial::UDiv => "UDiv",
        Partial::SRem => "SRem",
        Partial::SMod => "SMod",
        Partial::UMod => "UMod",
        Partial::ShiftLeft => "ShiftLeftLogical",
        Partial::ShiftRight => "ShiftRightLogical",
        Partial::ShiftRightSigned => "ShiftRightArithmetic",
        Partial::FToS => "ConvertFToS",
        Partial::FToU => "ConvertFToU",
    }
}

/// Returns the result, or `None` if it is undefined. Vulkan also leaves the remainders of negative numbers undefined.
#[inline]
pub(super) fn compute(op: Partial, a: u32, b: u32, byte: bool) -> Option<u32> {
    let (s, t, x) = (a as i32, b as i32, f32::from_bits(a));
    if byte {
        return of_a_byte(op, a, b);
    }
    Some(match op {
        Partial::SDiv => s.checked_div(t)? as u32,
        Partial::UDiv => a.checked_div(b)?,
        Partial::SRem | Partial::SMod if s >= 0 && t >= 0 => s.checked_rem(t)? as u32,
        Partial::SRem | Partial::SMod => return None,
        Partial::UMod => a.checked_rem(b)?,
        Partial::ShiftLeft => a.checked_shl(b)?,
        Partial::ShiftRight => a.checked_shr(b)?,
        Partial::ShiftRightSigned => s.checked_shr(b)? as u32,
        Partial::FToS if x > -2_147_483_904.0 && x < 2_147_483_648.0 => x as i32 as u32,
        Partial::FToU if x > -1.0 && x < 4_294_967_296.0 => x as u32,
        Partial::FToS | Partial::FToU => return None,
    })
}

/// Computes the same on 8-bit operands. They are extended to 32 bits by their sign if it matters.
fn of_a_byte(op: Partial, a: u32, b: u32) -> Option<u32> {
    let word = compute(op, a, b, false)?;
    let fits = match op {
        Partial::SDiv | Partial::FToS => i8::try_from(word as i32).is_ok(),
        Partial::FToU => u8::try_from(word).is_ok(),
        Partial::ShiftLeft | Partial::ShiftRight | Partial::ShiftRightSigned => b < 8,
        _ => true,
    };
    fits.then_some(word)
}
