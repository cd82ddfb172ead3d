//! The lint of sums that add many numbers one after another, because each addition rounds.

use super::planner::JudgedDispatch;
use super::{Advice, LintName, Look};
use tilewright_dsl::chains::FloatChain;
use tilewright_dsl::launch::DType;

/// The additions of a chain in f32 that are not reported. So many can lose 2^16 * 2^-24 of the sum of all magnitudes, which is 0.4 %.
const F32: i64 = 1 << 16;

/// The same for types of 16 bits, which are the types of short sums. 2^10 additions in f16 can lose half of the sum of all magnitudes.
const SHORT: i64 = 1 << 10;

impl Look<'_> {
    /// Reports chains of additions that are longer than their type allows.
    pub(super) fn long_chains(&mut self) {
        for chain in self.chains.clone() {
            self.long_chain(&chain);
        }
    }

    fn long_chain(&mut self, chain: &FloatChain) {
        let most = if chain.dtype.bytes() < 4 { SHORT } else { F32 };
        let Some(length) = chain.length.as_ref().and_then(|length| self.known.eval(length)) else { return };
        if chain.verb != "additions" || length <= most {
            return;
        }
        let (stage, dtype) = (&chain.stage, chain.dtype);
        let what =
            format!("`{stage}` makes {length} additions in {dtype} one after another, which can lose {}", loss(length, dtype));
        // A sum in f32 costs less than a second dispatch.
        let wider = if chain.dtype.bytes() < 4 { "sum in f32 (`as f32` in the kernel), or " } else { "" };
        let advice = format!("{wider}split the reduction by `rfactor` or `distribute(…, by: tree)`");
        let longest = |judged: &JudgedDispatch<'_>| {
            let lengths = judged.chains.iter().map(|chain| judged.known.eval(chain.length.as_ref()?));
            lengths.collect::<Option<Vec<i64>>>().map(|all| all.into_iter().max().unwrap_or(0) as f64)
        };
        self.note_planned(LintName::LongChain, what, Advice::general(advice), length as f64, &longest);
    }
}

/// Returns the largest rounding error of a chain, relative to the sum of the magnitudes of its items.
fn loss(length: i64, dtype: DType) -> String {
    let each = dtype.float_format().map_or(0.0, |format| format.roundoff());
    match length as f64 * each * 100.0 {
        percent if percent < 100.0 => format!("{percent:.1} % of the sum of all magnitudes"),
        _ => "all digits".into(),
    }
}
