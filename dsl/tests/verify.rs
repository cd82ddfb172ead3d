//! Runs the verifier on compiled kernels: it must accept every kernel here under the planned schedule and others, in every form between
//! the naive and the lowered nest.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Compiles a kernel, which verifies after each step.
fn takes(kernel: &str, head: &str, directives: &str) {
    if let Err((errors, _)) = compiled(kernel, head, directives) {
        panic!("{head} {directives}\n{errors}");
    }
}

fn compiled(kernel: &str, head: &str, directives: &str) -> Result<(), (String, bool)> {
    let mut spans = Spans::new();
    let tokens = kernel.parse().expect("tokens");
    let kernel = syntax::kernel::parse(tokens, &mut spans).into_result().unwrap_or_else(|e| panic!("{}", e.texts(&spans)));
    let head = head.replacen("KERNEL", &kernel.name.text, 1);
    let text = format!("V: {head} {{ {directives} }}");
    let tokens = text.parse().expect("tokens");
    let schedule =
        syntax::parse(tokens, &mut spans, Schedule::parse).into_result().unwrap_or_else(|e| panic!("{}", e.texts(&spans)));
    let outcome = compile(&kernel, &schedule, &Profile::vulkan_1_1());
    outcome.map(drop).map_err(|errors| (errors.texts(&spans), errors.are_of_compiler()))
}

const PLAIN: &str = "KERNEL for vulkan_1_1";

const CONV: &str = "pub fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1,
        OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
        input: T[N, IH, IW, IC], filter: T[FH, FW, IC, OC],
    ) -> output: T[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
            input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
        };
    }";

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N], bias: f32[N]) -> c: f32[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] * b[k, j] } + bias[j]).max(0.0);
    }";

#[test]
fn plain_schedules() {
    takes(CONV, "KERNEL<T = f32> for vulkan_1_1", "");
    takes(CONV, "KERNEL<T = f32, S = 2> for vulkan_1_1 where IC == 3", "");
    takes(MATMUL, PLAIN, "");
    takes(
        "fn attention<B, N, D = 64>(query: f32[B, N, D], key: f32[B, N, D], value: f32[B, N, D], scale: f32) -> o: f32[B, N, D] {
            let s[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] * key[b, j, d] };
            let m[b, i]: f32[B, N] = max(j in 0..i + 1) { s[b, i, j] };
            let p[b, i, j]: f32[B, N, N] = (s[b, i, j] - m[b, i]).exp();
            let l[b, i]: f32[B, N] = sum(j in 0..i + 1) { p[b, i, j] };
            o[b, i, e] = sum(j in 0..i + 1) { p[b, i, j] * value[b, j, e] } / l[b, i];
        }",
        PLAIN,
        "",
    );
    takes(
        "fn rows<N, C>(x: f32[N, C]) -> (y: f32[N, C], best: i32[N], flat: i32[]) {
            let m[n]: f32[N] = max(c in 0..C) { x[n, c] };
            let t[n]: f32[N] = sum(c in 0..C) { (x[n, c] - m[n]).exp() };
            y[n, c] = (x[n, c] - m[n]).exp() / t[n];
            best[n] = argmax(c in 0..C) { x[n, c] };
            flat[] = argmin(n in 0..N, c in 0..C) { x[n, c] };
        }",
        "KERNEL for vulkan_1_1 where C >= 1, N >= 1",
        "",
    );
    takes(
        "fn blur<H, W, R = 1>(x: f32[H, W], edge: f32) -> y: f32[H, W] {
            let h[i, j]: f32[H, W] = sum(d in 0..2 * R + 1) { x.pad(edge)[i, j + d - R] };
            y[i, j] = sum(d in 0..2 * R + 1) { h.clamp()[i + d - R, j] };
        }",
        PLAIN,
        "",
    );
    takes(
        "fn model<V, D, N, K = 3>(ids: i32[N], table: f32[V, D], w: f32[D, K]) -> y: f32[N, D] {
            let x[n, d]: f32[N, D] = table.clamp()[ids[n], d];
            y[n, d] = sum(k in 0..K) { x.pad(0.0)[n + k - (K - 1), d] * w[d, k] };
        }",
        PLAIN,
        "",
    );
    takes(
        "fn step<N>(x: &mut f32[N], g: f32[N], rate: f32) -> total: f32[] {
            x[i] = x[i] - rate * g[i];
            total[] = sum(i in 0..N) { g[i] };
        }",
        PLAIN,
        "",
    );
    takes(
        "fn tri<N, H, W>(x: f32[N], img: f32[H, W]) -> (y: f32[N], flat: f32[H * W], pool: f32[H / 2, W / 2]) {
            y[i] = sum(j in 0..i + 1) { x[j] };
            flat[p] = img[p / W, p % W];
            pool[i, j] = max(a in 0..2, b in 0..2) { img[i * 2 + a, j * 2 + b] };
        }",
        PLAIN,
        "",
    );
}

#[test]
fn schedules_by_hand() {
    takes(
        CONV,
        "KERNEL<T = f32, S = 2> for vulkan_1_1 where OW % 8 == 0, OC % 32 == 0, IC == 3",
        "tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
         tile(ow: 4, oc: 4) => thread(y, x);
         reorder(fh, fw, ic, ow, oc);
         unroll(ic, ow);
         vectorize(oc, 4);",
    );
    takes(
        CONV,
        "KERNEL<T = f32, S = 3> for vulkan_1_1 where OC % 4 == 0",
        "fuse(n, oh => r);
         tile(r: 2, ow: 5, oc: 12) => workgroup(z, y, x);
         tile(ow: 3, oc: 4) => thread(y, x);
         tile(ic: 4 => ic_o);
         reorder(ic_o, fh, fw, r, ow, ic, oc);
         unroll(r, ow, ic);
         vectorize(oc, 4);",
    );
    takes(
        MATMUL,
        PLAIN,
        "tile(i: 7, j: 11) => workgroup(y, x);
         tile(i: 3, j: 2) => thread(y, x);
         tile(k: 3 => k_o);
         tile(k: 2 => k_i);
         reorder(k_o, k_i, k, i, j);
         unroll(k_i, k, i, j);",
    );
    takes(
        MATMUL,
        PLAIN,
        "split(i, [2, _, 4] => r, t, v); fuse(r, t, j => p); tile(p: 64) => workgroup(x); distribute(p => thread(x)); serial(v);",
    );
    takes(
        "fn triangle<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }",
        PLAIN,
        "tile(i: 8) => workgroup(x); tile(i: 2) => thread(x); tile(j: 4); reorder(j_o, j, i); unroll(j, i);",
    );
    takes(
        "fn triangle<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in i..N) { x[i, j] }; }",
        PLAIN,
        "tile(i: 8) => workgroup(x); tile(i: 3) => thread(x); tile(j: 4); reorder(j_o, j, i); unroll(j, i);",
    );
}

/// A kernel, its parallel axes, and its reduction axes.
type Kernel = (&'static str, &'static [&'static str], &'static [&'static str]);

const KERNELS: [Kernel; 5] = [
    (MATMUL, &["i", "j"], &["k"]),
    (CONV, &["n", "oh", "ow", "oc"], &["fh", "fw", "ic"]),
    ("fn below<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }", &["i"], &["j"]),
    ("fn above<N>(x: f32[N, N]) -> y: f32[N] { y[i] = max(j in i..N) { x[i, j] }; }", &["i"], &["j"]),
    (
        "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
            y[i, j] = sum(d in 0..3, e in 0..3) { x.pad(0.0)[i + d - 1, j + e - 1] };
        }",
        &["i", "j"],
        &["d", "e"],
    ),
];

/// A pseudorandom number generator with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    /// Returns directives that tile all axes, some twice, in any order.
    fn directives(&mut self, parallel: &[&str], reduction: &[&str]) -> String {
        let tails = ["", "", "", " round_up"];
        let tiles: Vec<String> = parallel.iter().map(|a| format!("{a}: {}{}", 1 + self.below(9), tails[self.below(4)])).collect();
        let slots: Vec<&str> = ["z", "z", "y", "x"][4 - parallel.len()..].to_vec();
        let mut text = format!("tile({}) => workgroup({});", tiles.join(", "), slots.join(", "));
        if self.below(3) > 0 {
            let last = &parallel[parallel.len().saturating_sub(2)..];
            let tiles: Vec<String> = last.iter().map(|a| format!("{a}: {}", 1 + self.below(4))).collect();
            text += &format!(" tile({}) => thread({});", tiles.join(", "), ["y", "x"][2 - last.len()..].join(", "));
        }
        let mut order: Vec<String> = parallel.iter().map(|a| a.to_string()).collect();
        for axis in reduction {
            order.push(axis.to_string());
            if self.below(2) == 0 {
                text += &format!(" tile({axis}: {}{} => {axis}_o);", 1 + self.below(5), tails[self.below(4)]);
                order.push(format!("{axis}_o"));
            }
        }
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
        text + &format!(" reorder({}); unroll({});", order.join(", "), parallel.join(", "))
    }
}

/// Set `TILEWRIGHT_CASES` to try more schedules than the default.
#[test]
fn schedules_at_random() {
    let cases = std::env::var("TILEWRIGHT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut random, mut taken) = (Random(1), 0);
    for case in 0..cases {
        let (kernel, parallel, reduction) = KERNELS[random.below(KERNELS.len())];
        let directives = random.directives(parallel, reduction);
        let head = if kernel == CONV { "KERNEL<T = f32, S = 2> for vulkan_1_1" } else { PLAIN };
        match compiled(kernel, head, &directives) {
            Ok(()) => taken += 1,
            // A directive may refuse, but an accepted schedule must be correct.
            Err((errors, is_defect)) => assert!(!is_defect, "case {case}: {kernel}\n{directives}\n{errors}"),
        }
    }
    assert!(taken * 3 > cases, "only {taken} of {cases} schedules were legal");
}

/// The divisor of the fused axis's digit is a dim, which may be 0. The extent of the hull grows with the digit all the same.
#[test]
fn hulls_over_a_digit_of_a_symbolic_extent() {
    takes(
        "fn k<K>(x: f32[K]) -> y: f32[] {
            let s[i, j]: bool[K, K] = all(k in 0..=i) { x[0] > 0.0 };
            y[] = if s.pad(false)[1, 1] { 1.0 } else { 0.5 };
        }",
        PLAIN,
        "s {
            fuse(i, j => z1);
            tile(z1: 2) => workgroup(z);
            tile(k: 2 => z2);
            reorder(k, z1);
            distribute(z2 => workgroup(y), by: atomic);
            unroll(z1);
        }",
    );
}

/// The divisor is positive because another axis of the definition has it as its extent.
#[test]
fn remainders_in_packed_tensors() {
    takes(
        "fn k<K>(IW: dim, x: f16[K, N, 2, K], N: dim, IH: dim) -> y: f16[K, N] where N % 8 == 0 { y[i, h] = x.pad(0.0)[(h * 1000003) % K, 1, 1, 1]; }",
        PLAIN,
        "pack(x[a, b, c, d] => [c / 4, c % 2, c / 2 % 2, a / 3, d, a % 3, b], when: dispatch); strided(x);",
    );
}

/// A loop ends as for the last `i` inside. Past the end of `i`, it runs although the end that `i` itself states would leave it empty.
#[test]
fn reads_of_copies_past_the_end_of_an_axis() {
    takes(
        "fn k<M, OH = M - 1>(x: f32[M], w: f32[OH]) -> y: f32[OH] {
            let s[j]: f32[M] = x[(M - 1) - j];
            y[i] = prod(k in i..OH) { s[k] * w[i] + (if 0 <= (i - 3) { s[i - 2] } else { 0.0 }) };
        }",
        "KERNEL for vulkan_1_1 where OH == 1",
        "tile(i: 2);
         tile(k: 2);
         promote(x => x_s, at: k_o, to: shared);
         serial(i);",
    );
}

/// The hull of `l` ends at a quotient by `K`, which may be 0. A launch computes it all the same.
#[test]
fn fused_hulls() {
    let kernel = "fn k<K>(x: f32[K, K, 3]) -> y: f32[K, K] { y[i, j] = min(k in 0..3, l in 0..i) { x[i, l, k] }; }";
    takes(kernel, PLAIN, "fuse(i, j => p); reorder(l, p, k); fuse(l, k => q); reorder(p, q); serial(p);");
    takes(kernel, PLAIN, "fuse(i, j => p); reorder(k, l, p); fuse(k, l => q); reorder(p, q); serial(p);");
}
