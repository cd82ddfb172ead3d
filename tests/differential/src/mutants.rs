//! Determines which check detects a wrong nest: the verifier, the emitter, the reference device, the values, or none.

use crate::compare::compare;
use crate::compile::{self, Variant};
use crate::mutate::{Kind, Mutant, mutants};
use crate::{Pair, pair};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright::{Device, Error};
use tilewright_check::{Fill, Inputs, wanted};
use tilewright_dsl::algorithm::evaluate::Tensor;
use tilewright_dsl::launch;
use tilewright_dsl::nest::{BufferId, Program, Space};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::verify::verify;
use tilewright_prove::launch::{admits, inputs as inputs_of, launch as launched};

/// The check that detects a wrong nest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// The verifier refuses it.
    Verifier,
    /// The verifier, or the emitter, panics, which is a bug of its own.
    Panic(String),
    /// The emitter refuses it.
    Emitter,
    /// The reference device reports a fault.
    Fault(String),
    /// A value is wrong, or was never written.
    Value(String),
    /// The launch refuses it.
    Launch(String),
    /// No check: it computes the right values, without a fault.
    Nobody,
}

impl Found {
    /// Returns its column in a table.
    fn column(&self) -> usize {
        match self {
            Found::Verifier => 0,
            Found::Emitter => 1,
            Found::Fault(_) => 2,
            Found::Value(_) => 3,
            Found::Launch(_) => 4,
            Found::Nobody => 5,
            Found::Panic(_) => 6,
        }
    }
}

const COLUMNS: [&str; 7] = ["verifier", "emitter", "fault", "values", "launch", "nobody", "panic"];

/// The number of mutants of each kind that each check detected.
#[derive(Default)]
pub struct Table(BTreeMap<Kind, [usize; 7]>);

impl Table {
    /// Counts a mutant.
    pub fn count(&mut self, kind: Kind, found: &Found) {
        self.0.entry(kind).or_default()[found.column()] += 1;
    }

    /// Returns the total of a column.
    pub fn total(&self, found: &Found) -> usize {
        self.0.values().map(|row| row[found.column()]).sum()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = format!("{:32}", "");
        COLUMNS.iter().try_for_each(|c| write!(text, "{c:>10}"))?;
        for (kind, row) in &self.0 {
            write!(text, "\n{:32}", kind.to_string())?;
            row.iter().try_for_each(|n| write!(text, "{n:>10}"))?;
        }
        f.write_str(&text)
    }
}

/// Dims by name.
pub type Sizes = &'static [(&'static str, i64)];

/// Kernels and schedules with shared memory and barriers. Schedules with matrices are for `mesa_lavapipe_26`.
pub const SHARED: [(&str, &str, Sizes); 5] = [
    (
        "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }",
        "V: matmul for p {
            tile(i: 16, j: 16) => workgroup(y, x);
            tile(k: 8 => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s, at: k_o, to: shared);
            promote(b => b_s, at: k_o, to: shared);
            tile(i: 4, j: 4) => thread(y, x);
            unroll(i, j);
        }",
        &[("M", 33), ("N", 18), ("K", 19)],
    ),
    (
        "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }",
        "V: matmul for p {
            tile(i: 16, j: 16) => workgroup(y, x);
            tile(k: 4 => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s, at: k_o, to: shared);
            promote(b => b_s, at: k_o, to: shared);
            pipeline(k_o, buffers: 1, prefetch: register, fetch: end early);
            tile(i: 4, j: 4) => thread(y, x);
            unroll(i, j);
        }",
        &[("M", 33), ("N", 18), ("K", 19)],
    ),
    (
        "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }",
        "V: matmul for p {
            tile(i: 16, j: 16) => workgroup(y, x);
            tile(k: 4 => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s, at: k_o, to: shared);
            promote(b => b_s, at: k_o, to: shared);
            pipeline(k_o, a_s, buffers: 3); pipeline(k_o, b_s, buffers: 2, prefetch: register, store: start);
            tile(i: 4, j: 4) => thread(y, x);
            unroll(i, j);
        }",
        &[("M", 33), ("N", 18), ("K", 19)],
    ),
    (
        "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
            let r[i, j]: f32[H, W] = sum(b in 0..3) { x.clamp()[i, j + b - 1] } / 3.0;
            y[i, j] = sum(a in 0..3) { r.pad(0.25)[i + a - 1, j] } / 3.0;
        }",
        "V: blur for p {
            tile(i: 8, j: 16) => workgroup(y, x);
            distribute(i, j => thread(y, x));
            compute_at(r, workgroup, to: shared);
        }",
        &[("H", 19), ("W", 37)],
    ),
    // Fragments of two subgroups, rows that are exchanged through shared memory, a factor that one subgroup writes and reads, and
    // prefetched copies.
    (
        "fn attention<N, M, D, E>(query: f16[N, D], key: f16[M, D], value: f16[M, E]) -> output: f32[N, E] {
            let score[i, j]: f32[N, M] = sum(d in 0..D) { query[i, d] as f32 * key[j, d] as f32 };
            let largest[i]: f32[N] = max(j in 0..M) { score[i, j] };
            let weight[i, j]: f32[N, M] = (score[i, j] - largest[i]).exp();
            let rounded[i, j]: f16[N, M] = weight[i, j] as f16;
            let total[i]: f32[N] = sum(j in 0..M) { weight[i, j] };
            output[i, e] = sum(j in 0..M) { rounded[i, j] as f32 * value[j, e] as f32 } / total[i];
        }",
        "V: attention for p where D == 8, E == 8, M % 16 == 0, N % 16 == 0 {
            decompose_online(largest, total, output => m_b, l_b, o_b, block: 16);
            tile(i: 16) => workgroup(x);
            tile(i: 8) => subgroup(x);
            reorder(j_o, i, e);
            serial(j_o);
            compute_at(o_b, j_o, to: fragment);
            compute_at(l_b, j_o, to: shared);
            compute_at(l_p, j_o, to: shared);
            compute_at(rounded, j_o, to: shared, row_pad: 8);
            compute_at(weight, j_o, to: fragment);
            compute_at(m_b, j_o, to: shared);
            compute_at(m_p, j_o, to: shared);
            compute_at(score, j_o, to: fragment);
            promote(value => v_s, at: j_o, to: shared, row_pad: 8);
            promote(key => k_s, at: j_o, to: shared, row_pad: 8);
            promote(query => q_f, at: workgroup, to: fragment);
            pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after score);
            pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after score, store: end);
            score { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); unroll(d); }
            m_b { split(j, [_, 8] => j_r, j); rfactor(j => m_p); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
            l_b { split(j, [_, 8] => j_r, j); rfactor(j => l_p); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
            m_p, l_p { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
            weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
            o_b { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); unroll(j); }
            fragment(i, e, 8 x 8);
        }",
        &[("N", 32), ("M", 32), ("D", 8), ("E", 8)],
    ),
];

/// A correct nest, and launches with their expected results.
pub struct Subject {
    variant: Variant,
    profile: Profile,
    launches: Vec<(Inputs, Vec<(BufferId, Tensor)>)>,
    device: Device,
}

impl Subject {
    /// Returns the subject of a generated pair, or `None` if the pair is refused or has no launches.
    ///
    /// # Errors
    /// If the correct nest itself gives wrong results.
    pub fn new(seed: u64, case: u64, device: &Device) -> Result<Option<Subject>, String> {
        Subject::of(&pair(seed, case), device).map_err(|wrong| format!("case {case} of seed {seed}: {wrong}"))
    }

    /// Returns the subjects with memory that invocations share.
    ///
    /// # Errors
    /// If one of them gives wrong results.
    pub fn shared(device: &Device) -> Result<Vec<Subject>, String> {
        let subject = |(kernel, schedule, dims): &(&str, &str, Sizes)| {
            let pair = Pair {
                kernel: (*kernel).to_owned(),
                schedule: (*schedule).to_owned(),
                profile: if schedule.contains("mma(") { Profile::mesa_lavapipe_26() } else { Profile::mesa_lavapipe() },
                dims: vec![dims.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()],
                scalars: Vec::new(),
                fills: Vec::new(),
                values: 1,
            };
            let refused = || compile::variant(kernel, schedule, &pair.profile).err().map_or_else(String::new, |r| r.text);
            Subject::of(&pair, device)?.ok_or_else(refused)
        };
        SHARED.iter().map(subject).collect()
    }

    /// True if no launch has a result with elements, because facts pin an extent to 0. Then no mutant can do anything.
    pub fn is_empty(&self) -> bool {
        let is_result = |id: BufferId| matches!(self.variant.algorithm.buffers[id].space, Space::Output | Space::Update);
        let mut results = self.launches.iter().flat_map(|(_, wanted)| wanted).filter(|(id, _)| is_result(*id));
        results.all(|(_, tensor)| tensor.values.is_empty())
    }

    fn of(pair: &Pair, device: &Device) -> Result<Option<Subject>, String> {
        let Ok(variant) = compile::variant(&pair.kernel, &pair.schedule, &pair.profile) else { return Ok(None) };
        let mut subject = Subject { variant, profile: pair.profile.clone(), launches: Vec::new(), device: device.clone() };
        subject.launches = subject.launches(pair);
        match subject.emitted(&subject.variant.nest) {
            Found::Nobody if !subject.launches.is_empty() => Ok(Some(subject)),
            Found::Nobody | Found::Launch(_) => Ok(None),
            other => Err(format!("the nest itself: {other:?}")),
        }
    }

    /// Returns the pair's sizes and others, odd and small ones, if its facts admit them.
    fn launches(&self, pair: &Pair) -> Vec<(Inputs, Vec<(BufferId, Tensor)>)> {
        let mut sizes = pair.dims.clone();
        for first in pair.dims.iter().take(1) {
            for n in [1, 2, 3, 5, 7, 8, 13, 17] {
                sizes.push(first.iter().map(|(name, _)| (name.clone(), n)).collect());
            }
            sizes.push(first.iter().map(|(name, n)| (name.clone(), n + 1)).collect());
            sizes.push(first.iter().map(|(name, n)| (name.clone(), 2 * n)).collect());
        }
        let mut random = Rng::with_seed(pair.values);
        let fill = |name: &str| pair.fills.iter().find(|(n, _)| n == name).map_or(Fill::Small, |(_, fill)| *fill);
        let launch = |dims: &Vec<(String, i64)>| {
            let dims: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
            admits(&self.variant.program, &dims).filter(|admitted| *admitted)?;
            let inputs = inputs_of(&self.variant.algorithm, &dims, &pair.scalars, &fill, &mut random).ok()?;
            let count: i64 = inputs.shapes.values().map(|s| s.iter().product::<i64>()).sum();
            if count > 20_000 {
                return None;
            }
            let wanted = wanted(&self.variant.algorithm, self.variant.decomposed.as_ref(), &inputs.given).ok()?;
            Some((inputs, wanted.into_iter().collect()))
        };
        sizes.iter().filter_map(launch).collect()
    }

    /// Returns its mutants.
    pub fn mutants(&self) -> Vec<Mutant> {
        let mut all = mutants(&self.variant.nest);
        // If a workgroup is one subgroup, barriers of both have the same effect.
        let is_one = |local: [u32; 3]| self.profile.subgroup.is_some_and(|size| local.iter().product::<u32>() <= size);
        if self.variant.nest.plan.iter().any(|dispatch| is_one(dispatch.local)) {
            all.retain(|mutant| mutant.kind != Kind::Scope);
        }
        all
    }

    /// Returns the check that detects a mutant.
    pub fn judge(&self, mutant: &Program) -> Found {
        match catch_unwind(AssertUnwindSafe(|| verify(mutant, &self.profile))) {
            Err(panic) => return Found::Panic(reason(&*panic)),
            Ok(Err(_)) => return Found::Verifier,
            Ok(Ok(())) => {}
        }
        self.emitted(mutant)
    }

    /// Returns the check that detects a nest that the verifier has passed.
    fn emitted(&self, nest: &Program) -> Found {
        match self.words(nest) {
            Ok(program) => self.run(program),
            Err(found) => found,
        }
    }

    /// Compiles a nest that passes the verifier to SPIR-V.
    fn words(&self, nest: &Program) -> Result<launch::Program, Found> {
        match catch_unwind(AssertUnwindSafe(|| tilewright_spirv::compile(nest, &self.profile, "V"))) {
            Err(panic) => Err(Found::Panic(reason(&*panic))),
            Ok(Err(_)) => Err(Found::Emitter),
            Ok(Ok(program)) => Ok(program),
        }
    }

    fn run(&self, program: launch::Program) -> Found {
        // SAFETY: the device is the reference device, which checks each access, because a mutant may violate memory safety.
        let kernel = match unsafe { self.device.load_programs(vec![program.clone()]) } {
            Ok(kernel) => kernel,
            Err(error) => return Found::Launch(error.to_string()),
        };
        for (inputs, wanted) in &self.launches {
            let results = match launched(&kernel, &program, &self.variant.algorithm, inputs) {
                Ok(results) => results,
                Err(error @ Error::Unwritten { .. }) => return Found::Value(error.to_string()),
                Err(error @ (Error::Fault { .. } | Error::Words { .. })) => return Found::Fault(error.to_string()),
                Err(error) => return Found::Launch(error.to_string()),
            };
            for (id, got) in results {
                let Some((_, wanted)) = wanted.iter().find(|(buffer, _)| *buffer == id) else { continue };
                if let Err(wrong) = compare(&self.variant.algorithm.buffers[id], wanted, &got) {
                    return Found::Value(wrong);
                }
            }
        }
        Found::Nobody
    }
}

fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").to_owned()
}
