//! Rules on versions of a shared buffer: accesses of different versions need no barrier between them.

use crate::rules::edit::*;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, Body, Exec, Made, Phase, Pipelined, Point, Program, Slot, Space, Step, StepPlace};
use tilewright_dsl::verify::{Rule, verify};
use tilewright_nests::build::*;
use tilewright_nests::roomy;

/// Five rounds of two steps over three versions. Each step writes the next version and reads its own version. `last` follows the
/// steps of each round.
fn rounds(last: Block) -> Program {
    let mut b = Builder::new("rounds");
    let n = b.dim("N", None);
    b.multiple(n, 32);
    let (x, y) = (b.input("x", DType::F32, &[n]), b.output("y", DType::F32, &[n]));
    let t = b.local("t", DType::F32, &[32], Space::Shared);
    b.p.buffers[t].versions = 3;
    let i = b.parallel("i", n);
    let at = b.at(i);
    let value = b.read(x, &[at]);
    let stage = b.stage(y, &[i], Body::Map(value));
    let parts = b.split(i, "i_workgroup", &[("i_thread", 32)]);
    let (round, step, made) = (b.made("round", 5), b.made("step", 2), b.made("step_next", 2));
    b.p.notes.pipelines.push(Pipelined {
        axis: step,
        copy: t,
        stage,
        buffers: 3,
        fetch: None,
        store: StepPlace { at: Point::Start, early: false, span: SpanId::NONE },
        span: SpanId::NONE,
        made: Some(Made { step: made, registers: None }),
    });
    let (own, thread_at, zero, one, most) = (b.at(step), b.at(parts[1]), b.int(0), b.int(1), b.int(31));
    let (next, other) = (b.add(own, one), b.sub(most, thread_at));
    let write = |version: ExprId| leaf(compute(stage, Phase::Whole, access(t, &[version, thread_at]), value));
    let back = b.read(t, &[own, other]);
    let back = compute(stage, Phase::Whole, access(y, &[at]), back);
    let each = |leaf: Block| nest(&[(parts[1], thread(Slot::X))], leaf);
    let first = nest(&[(made, Exec::Step(Step::First(0)))], each(write(zero)));
    let following = nest(&[(made, Exec::Step(Step::Ahead(step, 1)))], each(write(next)));
    let steps = nest(&[(step, Exec::Serial)], sequence([following, barrier(), each(leaf(back))]));
    let body = nest(&[(round, Exec::Serial)], alloc(&[t], sequence([first, steps, last])));
    b.p.plan = vec![dispatch("y", [32, 1, 1], nest(&[(parts[0], workgroup(Slot::X))], body))];
    b.p
}

/// Consecutive steps use different versions, but the last step of a round reads the version that the first step of a round writes.
#[test]
fn of_a_loop_within_another() {
    insta::assert_snapshot!(refused(vec![("no barrier between rounds", rounds(Block::new()))], Rule::Barrier));
    let others = verify(&rounds(barrier()), &roomy()).err().map(|errors| errors.0).unwrap_or_default();
    assert!(others.iter().all(|e| !e.message.starts_with(&Rule::Barrier.to_string())), "{others:?}");
}
