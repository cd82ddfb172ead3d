use crate::world::World;
use tilewright_dsl::facts::*;
#[test]
fn dbg() {
    let mut w = World::new("N; P; S; M = (N + 2 * P - 3) / S + 1", "i < M; f < 3; x < N", "S >= 1; P >= 0");
    let (a, b) = (w.expr("max(min(i * S + f - P, x), 0)"), w.expr("N"));
    let p = Prover::new(&w.program);
    eprintln!("======");
    eprintln!("{}", p.less(a, b));
    let mut w = World::new("IH; S; FH; OH = (IH - 1) * S + FH", "oh < OH; fh < FH; ih < IH", "S >= 1; FH >= 1; IH >= 1");
    let (a, b) = (w.expr("max(oh - fh, 0) / S"), w.expr("OH"));
    let p = Prover::new(&w.program);
    eprintln!("======");
    eprintln!("{}", p.less_equal(a, b));
    let mut w = World::new("IC; FH; FW; IH; S; D; OH = (IH - D * (FH - 1) - 1) / S + 1; OW",
            "p < OH * OW; k < IC * FH * FW",
            "S >= 1; D >= 1");
    let (a, b) = (w.expr("p / OW * S + k / FW % FH * D"), w.expr("IH"));
    let p = Prover::new(&w.program);
    eprintln!("======");
    eprintln!("{}", p.inside(a, b));
}
