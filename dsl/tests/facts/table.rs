//! Claims that must be proved, each next to a similar false one.

use crate::facts::world::World;
use tilewright_dsl::facts::{Claim, Prover};

/// Reads `a < b`, `a <= b`, `a == b`, or `a in b` for `0 <= a < b`, or `c | a`.
fn claims(world: &mut World, text: &str) -> Claim<'static> {
    if let Some((c, a)) = text.split_once(" | ") {
        return Claim::Divides(c.trim().parse().expect("a literal"), world.expr(a).into());
    }
    let (sign, make): (&str, fn(_, _) -> Claim<'static>) =
        [(" in ", Claim::Inside as fn(_, _) -> _), ("<=", Claim::LessEqual), ("==", Claim::Equal), ("<", Claim::Less)]
            .into_iter()
            .find(|(sign, _)| text.contains(sign))
            .expect("a claim");
    let (a, b) = text.split_once(sign).expect("two sides");
    make(world.expr(a).into(), world.expr(b).into())
}

fn check(mut world: World, leaves: bool, proved: &[&str], not: &[&str]) {
    let proved: Vec<_> = proved.iter().map(|text| (*text, claims(&mut world, text), true)).collect();
    let not: Vec<_> = not.iter().map(|text| (*text, claims(&mut world, text), false)).collect();
    let prover = if leaves { Prover::on_leaves(&world.program) } else { Prover::new(&world.program) };
    let wrong: Vec<_> = proved.into_iter().chain(not).filter(|(_, claim, is)| prover.proves(*claim) != *is).collect();
    let say = |(text, claim, is): &(&str, Claim<'_>, bool)| {
        let verdict = if *is { "not proved" } else { "proved" };
        format!("{verdict}: {text}   [{}]", prover.show_claim(*claim))
    };
    assert!(wrong.is_empty(), "{}", wrong.iter().map(say).collect::<Vec<_>>().join("\n"));
}

#[test]
fn convolution_with_the_output_derived() {
    check(
        World::new("S; D; IH; FH; OH = (IH - D * (FH - 1) - 1) / S + 1", "oh < OH; fh < FH", "S >= 1; D >= 1"),
        false,
        &["oh * S + fh * D in IH", "OH * S <= IH + S + fh", "oh * S + fh * D <= IH - 1"],
        &["OH * S <= IH + S", "oh * S + fh * D < IH - 1", "oh * S + fh * D + 1 < IH", "OH < IH", "1 <= FH", "1 <= OH"],
    );
}

#[test]
fn convolution_with_the_input_derived() {
    check(
        World::new("S; D; OH; FH; IH = (OH - 1) * S + D * (FH - 1) + 1", "oh < OH; fh < FH", "S >= 1; D >= 1"),
        false,
        &["oh * S + fh * D in IH"],
        &["oh * S + fh * D + 1 < IH", "oh * S + fh * D < IH - S"],
    );
}

#[test]
fn convolution_with_literal_parameters() {
    check(
        World::new("IH; IW; OH = (IH - 3) / 2 + 1; OW = (IW - 3) / 2 + 1", "oh < OH; ow < OW; fh < 3; fw < 3", "OW % 8 == 0"),
        false,
        &[
            "oh * 2 + fh in IH",
            "ow * 2 + fw in IW",
            "8 | OW",
            "4 | ow * OW",
            "OW * 2 + 1 <= IW + if(OW == 0, 3, 0)",
            "8 | (IW - 3) / 2 + 1",
        ],
        &["oh * 2 + fh + 1 < IH", "16 | OW", "8 | OH", "8 | IW"],
    );
}

#[test]
fn padding_and_clamps() {
    check(
        World::new("N; P; S; M = (N + 2 * P - 3) / S + 1", "i < M; f < 3; x < N", "S >= 1; P >= 0"),
        false,
        &[
            "i * S + f < N + 2 * P",
            "max(min(i * S + f - P, x), 0) < N",
            "0 <= max(i * S + f - P, 0)",
            "min(i, x) in N",
            "max(i - P, 0) <= i",
            "if(x < 4, x, 3) <= 3",
            "if(x < 4 && 1 < x, x, 3) <= 3",
            "0 <= i * S + f",
            "min(x + 1, N - 1) in N",
        ],
        &["0 <= i * S + f - P", "i * S + f < N", "if(x < 4 || 1 < x, x, 3) <= 3"],
    );
}

#[test]
fn transposed_convolution() {
    check(
        World::new("IH; S; FH; OH = (IH - 1) * S + FH", "oh < OH; fh < FH; ih < IH", "S >= 1; FH >= 1; IH >= 1"),
        false,
        &["ih * S + fh in OH", "max(oh - fh, 0) / S <= OH", "oh / S < IH + FH"],
        &["oh / S < IH", "(oh - fh) / S < IH - 1", "0 <= oh - fh"],
    );
}

#[test]
fn pooling_and_upsampling() {
    check(
        World::new("H; W", "y < H / 2; x < W / 2; dy < 2; dx < 2; u < 2 * H", ""),
        false,
        &["2 * y + dy in H", "2 * x + dx in W", "u / 2 in H", "u % 2 in 2"],
        &["2 * y + dy + 1 < H", "u / 2 < H - 1"],
    );
}

#[test]
fn triangles() {
    check(
        World::new("N", "i < N; j < i + 1; k < N - j", ""),
        false,
        &["j in N", "j <= i", "i - j in N", "j + k in N", "i * N + j in N * N", "i * (i + 1) + j < N * (N + 1)"],
        &["i < j", "j < i", "i + j < N", "k <= i"],
    );
}

#[test]
fn blocks() {
    check(
        World::new("N; C", "n < N; c < C; b < (C + 3) / 4; l < 4; d < N / 4", "C % 4 == 0"),
        false,
        &[
            "n / 4 in (N + 3) / 4",
            "n % 4 in 4",
            "n / 4 * 4 + n % 4 == n",
            "c / 4 in C / 4",
            "b * 4 + l in C",
            "d * 4 + l in N",
            "4 | (c / 4) * 4",
            "(C + 3) / 4 == C / 4",
            "(C + 3) / 4 * 4 == C",
        ],
        &["n / 4 < N / 4", "4 | c", "(N + 3) / 4 == N / 4", "n / 4 * 4 == n"],
    );
}

#[test]
fn fused_indices() {
    check(
        World::new(
            "IC; FH; FW; IH; S; D; OH = (IH - D * (FH - 1) - 1) / S + 1; OW",
            "p < OH * OW; k < IC * FH * FW",
            "S >= 1; D >= 1",
        ),
        false,
        &[
            "p / OW in OH",
            "p % OW in OW",
            "p / OW * OW + p % OW == p",
            "k / (FH * FW) in IC",
            "k / FW % FH in FH",
            "k % FW in FW",
            "k / FW / FH == k / (FH * FW)",
            "(k / (FH * FW) * FH + k / FW % FH) * FW + k % FW == k",
            "p / OW * S + k / FW % FH * D in IH",
        ],
        &["p / OW < OH - 1", "p % OW < OW - 1", "k / FW < FH", "p / OW * S + k / FW % FH * D + 1 < IH"],
    );
}

#[test]
fn alignment() {
    check(
        World::new(
            "OC; IC; FH; FW; OW; B",
            "fh < FH; fw < FW; ic < IC; a < OC / 32; t < 8; v < 4; w < OW / 4",
            "OC % 32 == 0; OW % 8 == 0; B == 64",
        ),
        false,
        &[
            "4 | ((fh * FW + fw) * IC + ic) * OC + a * 32 + t * 4",
            "8 | OW",
            "2 | OW / 4",
            "64 | B * ic",
            "32 | OC * OW",
            "8 | min(OC, 8 * ic)",
            "8 | if(ic < 3, OC, 16)",
            "a * 32 + t * 4 + v in OC",
            "w * 4 + v in OW",
            "OC / 32 * 32 == OC",
        ],
        &["64 | OC", "8 | ic", "4 | OW * 3 + 2", "8 | min(OC, 4 * ic)"],
    );
}

#[test]
fn split_tails_on_leaves() {
    let mut world = World::new("N; M", "i < N; j < M; k < 100", "M % 8 == 0");
    world.split("i", 8, "i_o", "i_i", false);
    world.split("j", 8, "j_o", "j_i", true);
    world.split("k", 32, "k_o", "k_i", false);
    check(
        world,
        true,
        &[
            "j in M",
            "i < N + 7",
            "i < (N + 7) / 8 * 8",
            "i_o * 8 <= N - 1",
            "i / 8 == i_o",
            "i % 8 == i_i",
            "k < 128",
            "8 | i - i_i",
        ],
        &["i < N", "i < N + 6", "k < 127"],
    );
}

#[test]
fn consumed_axes_on_roots() {
    let mut world = World::new("N", "i < N", "");
    world.split("i", 8, "i_o", "i_i", false);
    check(world, false, &["i in N"], &["i_o * 8 + i_i < N", "i == i_o * 8 + i_i"]);
}

#[test]
fn fused_axes_on_leaves() {
    let mut world = World::new("H; W; C", "h < H; w < W; c < C", "");
    world.fuse(&["c", "h", "w"], "p");
    check(world, true, &["h in H", "w in W", "c in C", "(c * H + h) * W + w == p", "c * H + h == p / W"], &["h < H - 1", "w == p"]);
    let mut world = World::new("H; W", "h < H; w < W", "");
    world.fuse(&["h", "w"], "p");
    world.split("p", 32, "p_o", "p_i", false);
    check(world, true, &["w in W", "h * W + w == p_o * 32 + p_i", "h * W + w == p"], &["h < H"]);
}

#[test]
fn nothing_relies_on_axes_that_are_not_named() {
    check(
        World::new("N; M", "i < N; j < M; k < N * M", ""),
        false,
        &["1 <= N + i * 0 + i", "1 <= M + j", "1 <= M + k", "1 <= N + k"],
        &["1 <= N", "1 <= M", "1 <= M + i", "N <= N * M"],
    );
}

#[test]
fn conditions_on_dims() {
    check(
        World::new("N; M; K; S; Q; E", "i < N", "N == M; K > 4; S != 0; Q * 4 == N; E == N / 2"),
        false,
        &["N == M", "i < M", "5 <= K", "1 <= S", "4 | M", "i / S <= i", "Q * 2 == E", "10 <= K * 2", "5 <= K * S", "S <= S * S"],
        &["6 <= K", "2 <= S", "8 | M", "1 <= N - i * 2", "5 <= K * N"],
    );
}

#[test]
fn minima_of_powers() {
    check(
        World::new("N; M", "", "N <= 3"),
        false,
        &[
            "min(N * N, 1) <= 1",
            "N * N / 16 + min(N * N % 16, 1) <= 1",
            "min(N * N * M * M, 5) <= 5",
            "2 * min(N * N, M) <= 2 * N * N",
            "M * M < max(M * M, 4) + 1",
        ],
        &["min(N * N, 1) <= 0", "2 * min(N * N, M) <= N * N", "M * M < max(M * M, 4)"],
    );
}

#[test]
fn floors_by_one_divisor() {
    check(
        World::new("IH; OH = (IH - 4) / 2 + 1; N", "io < (OH + 7) / 8; ii < 8; k < 4; i < N; j < i + 1", "OH % 8 == 0"),
        false,
        &[
            "((io * 8 + ii) * 2 + k) / 3 < (IH + 2) / 3",
            "(io * 8 + ii) / 3 < (IH + 2) / 3",
            "(io * 8 + ii) / 3 <= (IH - 1) / 3",
            "(i + j) / 7 < (2 * N + 6) / 7",
        ],
        &["(io * 16 + ii * 2) / 3 < (IH - 6) / 3", "(i + j) / 7 < (2 * N + 5) / 8", "(i + j) / 7 < (2 * N + 3) / 7"],
    );
}

/// One more fact, however weak, must not use up the work limit. Otherwise, nothing was known of the floors that the search itself
/// introduced.
#[test]
fn floors_at_the_ends_of_axes() {
    for more in ["", "; M >= 7", "; (M + 1) / 2 >= 4"] {
        check(
            World::new("M", "a < (M + 3) / 4; b < 2; c < 2", &format!("M % 3 == 0{more}")),
            false,
            &["(a * 4 + b * 2 + c) / 3 < M"],
            &["(a * 4 + b * 2 + c) / 3 < M / 3"],
        );
    }
}

#[test]
fn floors_within_sums_within_floors() {
    check(
        World::new("N; M", "i < N; j < 8", "N >= 1; M >= 1"),
        false,
        &["(i * 2 + j / 4) / N == (i * 8 + j) / (4 * N)", "(i + j / M + 3) / N == (i * M + j + 3 * M) / (M * N)"],
        &["(i * 2 + j / 4) / N == (i * 8 + j) / (8 * N)", "(i * 2 - j / 4) / N == (i * 8 - j) / (4 * N)"],
    );
}

#[test]
fn floors_by_several_divisors() {
    check(
        World::new("N; M", "q < (N + 1) / 2; r < 2", ""),
        false,
        &[
            "(q * 2 + r) / 8 == q / 4",
            "min(q * 2 + r, M - 1) / 8 == min(q * 2, M - 1) / 8",
            "min(q * 2 + r, M - 1) / 4 == min(q * 2, M - 1) / 4",
            "(q + 1) / 6 <= (q * 2 + 5) / 9",
            "q / 4 <= (q + 2) / 6 + 1 + q",
        ],
        &[
            "min(q * 2 + r, M - 1) / 3 == min(q * 2, M - 1) / 3",
            "(q * 3 + r) / 8 == q * 3 / 8",
            "(q + 3) / 6 <= q * 2 / 9",
            "(q + 3) / 4 <= q / 6 + 1",
        ],
    );
}

#[test]
fn digits_of_digits() {
    check(
        World::new("N; M", "z < N * N * N; y < M", "N >= 1; M >= 1"),
        false,
        &["y % (N * N * N) / (N * N) in N", "y % (N * N * N) / N in N * N", "y % (M * N * N) / N / N in M"],
        &["y % (N * N * N) / N in N", "y % (N * N * N) / (N * N) < N - 1"],
    );
}

#[test]
fn minima_of_minima() {
    check(
        World::new("N", "i < N", ""),
        false,
        &["min(min(i - 2, N - 7), 0) <= 0", "max(min(i - 2, 0), 0) == 0", "max(min(min(i * 32, N - 32) - 2, 0), 0) == 0"],
        &["max(min(i - 2, 1), 0) == 0"],
    );
}

#[test]
fn clamped_places() {
    let mut world = World::new("N; M; OH = (N - 1) / 1 + 1", "i < N; j < N; k < M; l < OH", "");
    world.split("j", 2, "j_o", "j_i", false);
    world.split("l", 2, "l_o", "l_i", false);
    check(
        world,
        true,
        &["max(min(i * 2 - j, N - 1), 0) in N", "max(min(i - j, N - 1), 0) in N", "max(min(k - l, N - 1), 0) in N"],
        &["max(min(i - j, N - 1), 1) in N", "max(min(i - j, N - 1), -1) in N"],
    );
}

/// A divisor is not 0 where the quotient is defined, but it may be negative.
#[test]
fn divisors_of_what_is_defined() {
    let mut world = World::new("A; B; N", "i < N", "");
    let mut proved = |divisor: &str| {
        let plain = world.expr(&format!("i / ({divisor})"));
        let claim = claims(&mut world, &format!("i / max({divisor}, 1) == i / ({divisor})"));
        let prover = Prover::new(&world.program);
        (prover.proves(claim), prover.where_defined(plain).proves(claim))
    };
    assert_eq!(proved("A"), (false, true));
    assert_eq!(proved("A - B"), (false, false));
}

#[test]
fn distances_of_clamps_within_clamps() {
    // A window of a clamped neighbourhood, as stages placed within each other read it.
    let near = "max(min(2 * min(4 * w + i, OH - 1) + u - 1, H - 1), 0)";
    let first = "max(min(2 * min(4 * w, OH - 1) - 1, H - 1), 0)";
    check(
        World::new("H; OH = (H - 1) / 2 + 1", "w < (OH + 3) / 4; i < 5; u < 3", "H >= 1"),
        false,
        &[
            &format!("0 <= {near} - {first}"),
            &format!("{near} - {first} <= 10"),
            "min(4 * w + i, H) - min(4 * w, H) <= 4",
            "max(min(4 * w + i, H), 3) - max(min(4 * w, H), 3) <= 4",
            "max(min(2 * min(4 * w + i, OH - 1), H - 1), 0) - max(min(2 * min(4 * w, OH - 1), H - 1), 0) <= 8",
        ],
        &[&format!("{near} - {first} <= 8"), &format!("1 <= {near} - {first}")],
    );
}

#[test]
fn an_equation_keeps_what_holds_of_the_dim_that_it_replaces() {
    for dims in ["N; M; past", "past; N; M", "M; past; N"] {
        check(
            World::new(dims, "i < N", "M == N + past"),
            false,
            &["0 <= past", "0 <= i + past + 1", "i + past in M", "N <= M"],
            &["1 <= past", "N < M", "i + past + 1 in M"],
        );
    }
    check(World::new("N; M", "i < M", "N == M * 2"), false, &["i * 2 + 1 in N", "M <= N"], &["M < N", "i * 2 + 2 in N"]);
}

/// A quotient of an index of a packed tensor stays below the quotient of the extent, also beside a fact about that quotient.
#[test]
fn quotients_beside_a_fact_about_one() {
    for facts in ["N >= 4; (N + 3) / 4 >= 4", "N >= 4"] {
        check(
            World::new("N", "jo < (N + 7) / 8; jp < 8; k < jo * 8 + jp + 1", facts),
            false,
            &["k / 3 / 4 < (N + 3) / 4", "k / 3 < N"],
            &["k / 4 < (N + 3) / 4", "k < N"],
        );
    }
}
