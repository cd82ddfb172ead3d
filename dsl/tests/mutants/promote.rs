//! Tests that the verifier refuses broken copies: barriers, copies and predicates removed, boxes made smaller, reads of other elements, and
//! sides that are no longer clamped.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Binary, Expr, ExprId, Outside, Read};
use tilewright_dsl::nest::{Block, Compute, Node, NodeKind, Program, Space};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const KERNELS: [(&str, &str); 5] = [
    (
        "fn sgemm<M, N, K>(a: f32[M, K], b: f32[K, N], alpha: f32, beta: f32, c: &mut f32[M, N]) {
            c[i, j] = alpha * sum(k in 0..K) { a[i, k] * b[k, j] } + beta * c[i, j];
        }",
        "V: sgemm for arm_valhall {
            tile(i: 128 round_up, j: 128 round_up) => workgroup(y, x);
            tile(k: 8 round_up => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
            promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
            split(i, [2, 16, 4] => i_r, i_t, i_v);
            split(j, [2, 16, 4] => j_r, j_t, j_v);
            distribute(i_t, j_t => thread(y, x));
            promote(a_s => a_r[i_r, i_v], at: k, to: register);
            promote(b_s => b_r[j_r, j_v], at: k, to: register);
            unroll(k, i_r, i_v, j_r);
            vectorize(j_v, 4, unaligned: scalar);
        }",
    ),
    (
        "fn conv<N, IH, IW, IC, OC, OH = IH - 2, OW = IW - 2>(x: f32[N, IC, IH, IW], f: f32[OC, IC, 3, 3]) -> y: f32[N, OC, OH, OW] {
            y[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..3, fw in 0..3) { x[n, ic, oh + fh, ow + fw] * f[oc, ic, fh, fw] };
        }",
        "V: conv for arm_valhall {
            fuse(oh, ow => p);
            fuse(ic, fh, fw => k);
            tile(n: 1, oc: 32 round_up, p: 32 round_up) => workgroup(z, y, x);
            tile(k: 32 round_up => k_o);
            reorder(k_o, k, oc, p);
            promote(x => cols[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(f => w[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(y => out[oc, p], at: workgroup, to: shared);
            tile(oc: 4, p: 4) => thread(y, x);
            unroll(oc, p);
        }",
    ),
    (
        "fn halo<H, W, OH = (H - 3) / 2 + 1, OW = (W - 3) / 2 + 1>(x: f32[H, W], f: f32[3, 3]) -> y: f32[OH, OW] {
            y[i, j] = sum(a in 0..3, b in 0..3) { x[i * 2 + a, j * 2 + b] * f[a, b] };
        }",
        "V: halo for arm_valhall {
            tile(i: 8, j: 8) => workgroup(y, x);
            distribute(i, j => thread(y, x));
            promote(x => x_s, at: workgroup, to: shared);
            promote(x_s => x_r[b], at: a, to: register);
            unroll(b);
        }",
    ),
    (
        "fn outer<M, N, K>(a: f32[M, K], b: f32[K, N], v: f32[N]) -> c: f32[M, N] {
            c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] } + v[j];
        }",
        "V: outer for arm_valhall {
            tile(i: 16, j: 16) => workgroup(y, x);
            tile(i: 4, j: 4) => thread(y, x);
            tile(k: 8 => k_o);
            reorder(k_o, k, i, j);
            promote(v => v_r, at: thread, to: register);
            promote(b => b_s, at: k_o, to: shared);
            unroll(i, j);
        }",
    ),
    (
        "fn before<M, OH = M - 1>(x: f32[M], w: f32[OH]) -> y: f32[OH] {
            let s[j]: f32[M] = x[M - 1 - j];
            y[i] = prod(k in i..OH) { s[k] * w[i] + (if 0 <= i - 3 { s[i - 2] } else { 0.0 }) };
        }",
        "V: before for arm_valhall where OH == 1 {
            tile(i: 2);
            tile(k: 2);
            promote(x => x_s, at: k_o, to: shared);
            serial(i);
        }",
    ),
];

fn compiled() -> Vec<(Program, Profile)> {
    let one = |(kernel, schedule): &(&str, &str)| {
        let mut spans = Spans::new();
        let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
        let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse);
        let schedule = schedule.into_result().expect("a schedule");
        let profile = Profile::arm_valhall();
        let compiled = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans)).expect("it compiles");
        (compiled.program, profile)
    };
    KERNELS.iter().map(one).collect()
}

/// Passes every node to `f`, outermost first, with its number. Nodes for which `f` returns false are removed.
fn retain(block: &mut Block, next: &mut usize, f: &mut dyn FnMut(usize, &mut Node) -> bool) {
    let mut kept = Vec::new();
    for mut node in std::mem::take(block) {
        let at = *next;
        *next += 1;
        if f(at, &mut node) {
            node.blocks_mut().for_each(|inner| retain(inner, next, f));
            kept.push(node);
        }
    }
    *block = kept;
}

fn each(program: &mut Program, f: &mut dyn FnMut(usize, &mut Node) -> bool) {
    let (mut plan, mut next) = (std::mem::take(&mut program.plan), 0);
    plan.iter_mut().for_each(|d| retain(&mut d.body, &mut next, f));
    program.plan = plan;
}

/// Returns the numbers of the nodes that a test selects.
fn numbers(program: &Program, pick: &dyn Fn(&Program, &Node) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut copy = program.clone();
    each(&mut copy, &mut |at, node| {
        if pick(program, node) {
            found.push(at);
        }
        true
    });
    found
}

/// Checks that a change of each selected node alone is refused, and returns the number of such nodes.
fn refused(what: &str, pick: &dyn Fn(&Program, &Node) -> bool, change: &dyn Fn(&mut Program, &mut Node) -> bool) -> usize {
    let mut count = 0;
    for (program, profile) in compiled() {
        assert!(verify(&program, &profile).is_ok());
        for number in numbers(&program, pick) {
            let mut broken = program.clone();
            let mut scratch = program.clone();
            each(&mut broken, &mut |at, node| if at == number { change(&mut scratch, node) } else { true });
            let plan = std::mem::take(&mut broken.plan);
            scratch.plan = plan;
            assert!(verify(&scratch, &profile).is_err(), "{what}, number {number} of `{}`, is accepted", program.name);
            count += 1;
        }
    }
    count
}

fn is_copy(program: &Program, node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Compute(c) if program.notes.hosts.contains_key(&c.stage))
}

fn compute(node: &mut Node) -> &mut Compute {
    match &mut node.kind {
        NodeKind::Compute(c) => c,
        _ => panic!("a compute"),
    }
}

#[test]
fn barriers() {
    let barrier = |_: &Program, node: &Node| matches!(node.kind, NodeKind::Barrier { .. });
    // There are two barriers in each of three kernels' steps, one before the write-back, and one before the halo is read.
    assert_eq!(refused("no barrier", &barrier, &|_, _| false), 8);
}

#[test]
fn copies() {
    assert_eq!(refused("no copy", &is_copy, &|_, _| false), 12);
}

#[test]
fn smaller_boxes() {
    let smaller = |program: &mut Program, node: &mut Node| {
        let NodeKind::Loop(l) = &node.kind else { return true };
        let n = program.exprs.as_int(program.axes[l.axis].extent).expect("a literal");
        program.axes[l.axis].extent = program.exprs.int(n - 1);
        true
    };
    let own = |program: &Program, node: &Node| {
        let NodeKind::Loop(l) = &node.kind else { return false };
        let literal = program.exprs.as_int(program.axes[l.axis].extent).is_some();
        literal && node.blocks().flatten().all(|inner| only_copies(program, inner))
    };
    assert!(refused("a smaller box", &own, &smaller) >= 15);
}

fn only_copies(program: &Program, node: &Node) -> bool {
    match &node.kind {
        NodeKind::Compute(_) => is_copy(program, node),
        NodeKind::Loop(_) => node.blocks().flatten().all(|inner| only_copies(program, inner)),
        _ => false,
    }
}

#[test]
fn predicates() {
    let guarded = |program: &Program, node: &Node| {
        is_copy(program, node) && matches!(&node.kind, NodeKind::Compute(c) if !c.preds.is_empty())
    };
    let bare = |_: &mut Program, node: &mut Node| {
        compute(node).preds.clear();
        true
    };
    assert!(refused("no predicate", &guarded, &bare) >= 2);
}

#[test]
fn sides() {
    let sided = |program: &Program, node: &Node| {
        let reads = match &node.kind {
            NodeKind::Compute(c) => c.value.iter().flat_map(|v| program.exprs.reads(*v)).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        is_copy(program, node) && reads.iter().any(|r| r.outside != Outside::Never)
    };
    let never = |program: &mut Program, node: &mut Node| {
        let value = compute(node).value[0];
        compute(node).value[0] = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id).clone() {
            Expr::Read(read) => Some(exprs.add(Expr::Read(Read { outside: Outside::Never, ..read }), exprs.dtype(id))),
            _ => None,
        });
        true
    };
    assert!(refused("sides that are not kept", &sided, &never) >= 5);
}

/// A read of a copy must use the element that was copied for it.
#[test]
fn elements_elsewhere() {
    let local = |program: &Program, r: &Read| matches!(program.buffers[r.buffer].space, Space::Shared | Space::Register);
    let promoted = move |program: &Program, r: &Read| {
        local(program, r) && program.notes.hosts.keys().any(|s| program.stages[*s].buffer == r.buffer)
    };
    let reader = move |program: &Program, node: &Node| match &node.kind {
        NodeKind::Compute(c) => {
            c.value.iter().flat_map(|v| program.exprs.reads(*v)).any(|r| promoted(program, &r) && !r.index.is_empty())
        }
        _ => false,
    };
    let shifted = move |program: &mut Program, node: &mut Node| {
        let value = compute(node).value[0];
        let known = program.clone();
        compute(node).value[0] = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id).clone() {
            Expr::Read(mut read) if promoted(&known, &read) => {
                let one = exprs.int(1);
                let last = read.index.len() - 1;
                read.index[last] = exprs.sum(read.index[last], one);
                Some(exprs.add(Expr::Read(read), exprs.dtype(id)))
            }
            _ => None,
        });
        true
    };
    assert!(refused("an element further", &reader, &shifted) >= 6);
}

/// The index of a copy must be in bounds past the end of an axis, too, although the element is not used there.
#[test]
fn clamps_of_elements() {
    let raw = |program: &Program, value: ExprId| {
        program.exprs.replace(value, &mut |exprs, id| match *exprs.get(id) {
            Expr::Binary(Binary::Min, index, last) if exprs.as_int(last).is_some() => Some(index),
            _ => None,
        })
    };
    let clamped = move |program: &Program, node: &Node| match &node.kind {
        NodeKind::Compute(c) => c.value.iter().any(|value| raw(program, *value) != *value),
        _ => false,
    };
    let unclamped = move |program: &mut Program, node: &mut Node| {
        let value = &mut compute(node).value[0];
        *value = raw(program, *value);
        true
    };
    assert_eq!(refused("an index that is not clamped", &clamped, &unclamped), 1);
}
