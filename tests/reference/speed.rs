//! Measures the speed of the reference device, in instructions per second. It runs on demand, and asserts nothing.
//!
//! `cargo test --release -p tilewright-tests --test reference speed -- --ignored --nocapture`

use std::time::Instant;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::{ParamValue, Program};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_reference::{BUDGET, Buffer, Kernel, Launch, Memory, Piece};

const CONV2D: &str = "pub fn conv2d<N, IH, IW, IC, OC, FH = 3, FW = 3, S = 2, OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
    input: f32[N, IH, IW, IC], filter: f32[FH, FW, IC, OC]
) -> output: f32[N, OH, OW, OC] {
    output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
        input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
    };
}";

/// The sizes of the convolution's dims, by name.
const DIMS: [(&str, i64); 9] =
    [("N", 1), ("IH", 225), ("IW", 225), ("IC", 3), ("OC", 32), ("FH", 3), ("FW", 3), ("OH", 112), ("OW", 112)];

const SCHEDULES: [(&str, &str); 3] = [
    ("64 threads", "fuse(n, oh, ow, oc => points); tile(points: 64) => workgroup(x); distribute(points => thread(x));"),
    ("a thread an element", "tile(oh: 1, ow: 2, oc: 32) => workgroup(z, y, x); tile(ow: 1, oc: 1) => thread(y, x); serial(n);"),
    (
        "tiles and vectors",
        "tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x); tile(ow: 4, oc: 4) => thread(y, x);
         reorder(fh, fw, ic, ow, oc); unroll(ow); vectorize(oc, 4, unaligned: scalar);",
    ),
];

fn compiled(schedule: &str) -> Program {
    let mut spans = Spans::new();
    let text = format!("V: conv2d for p {{ {schedule} }}");
    let kernel = syntax::kernel::parse(CONV2D.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let profile = Profile::vulkan_1_1();
    let compiled = tilewright_dsl::compile::compile(&kernel, &schedule, &profile);
    let compiled = compiled.unwrap_or_else(|e| panic!("{}", e.texts(&spans)));
    tilewright_spirv::compile(&compiled.program, &profile, "V").unwrap_or_else(|e| panic!("{}", e.texts(&spans)))
}

/// Runs the program. Returns the number of instructions and the seconds.
fn run(program: &Program, threads: usize) -> (u64, f64) {
    let dims: Vec<i64> =
        program.dims.iter().map(|d| DIMS.iter().find(|(n, _)| *n == d.name).map_or(0, |(_, size)| *size)).collect();
    let dispatch = &program.dispatches[0];
    let kernel = Kernel::new(dispatch, 32).expect("it is known");
    let memory: Vec<(Memory, u64)> = dispatch
        .buffers
        .iter()
        .map(|used| {
            let shape = &program.tensors[used.tensor as usize].shape;
            let bytes = 4 * shape.iter().map(|s| s.eval(&dims).expect("known")).product::<i64>() as u64;
            let memory = Memory::new(bytes).expect("memory");
            if !used.writes {
                memory.write(0, &1f32.to_le_bytes().repeat(bytes as usize / 4));
            }
            (memory, bytes)
        })
        .collect();
    let buffers: Vec<Buffer<'_>> = (dispatch.buffers.iter().zip(&memory))
        .map(|(used, (memory, bytes))| {
            let name = program.tensors[used.tensor as usize].name.as_str();
            Buffer { memory, at: 0, bytes: *bytes, steps: &[], name, element: 4, reads: used.reads, writes: used.writes }
        })
        .collect();
    let mut params = vec![0; dispatch.param_bytes as usize];
    for param in &dispatch.params {
        if let ParamValue::Size(size) = &param.value {
            let value = size.eval(&dims).expect("known") as i32;
            params[param.offset as usize..][..4].copy_from_slice(&value.to_le_bytes());
        }
    }
    let groups = std::array::from_fn(|n| dispatch.grid[n].eval(&dims).expect("known") as u32);
    let pieces = [Piece { groups, params: &params }];
    let start = Instant::now();
    let stats =
        kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads, budget: BUDGET, deadline: None }).expect("no fault");
    (stats.instructions, start.elapsed().as_secs_f64())
}

#[test]
#[ignore = "measures"]
#[allow(clippy::print_stdout, reason = "this test prints its results")]
fn speed() {
    for (name, schedule) in SCHEDULES {
        let program = compiled(schedule);
        for threads in [1, 2] {
            let runs: Vec<(u64, f64)> = (0..5).map(|_| run(&program, threads)).collect();
            let best = runs.iter().map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
            let count = runs[0].0;
            let rate = count as f64 / best / 1e6;
            println!(
                "{name}, {threads} threads: {:.0} million instructions in {best:.3} s, {rate:.0} million a second",
                count as f64 / 1e6
            );
        }
    }
}
