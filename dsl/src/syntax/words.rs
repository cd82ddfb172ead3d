//! The words of other languages, with the text to write here instead. Most of them are of Halide and TVM, which `docs/halide.md` compares.
//!
//! A help has the author's arguments in place of its parameters. If an argument is missing, the parameter's letter stays.
//!
//! | in a help | replaced by |
//! |---|---|
//! | `$x` | the argument |
//! | `@x` | the argument as an operand, in parentheses if it needs them |
//! | `$0` | the word itself |
//! | `$*` | all arguments, the last one first, because Halide lists the innermost axis first |
//! | `$#` | coordinates for `$*`: `y, x` for two |

use crate::syntax::Name;
use crate::syntax::expr::Expr;

/// A row of a table of words.
pub struct Word {
    /// The words, which have the same parameters.
    pub names: &'static [&'static str],
    /// The letters of the parameters, in order.
    params: &'static str,
    help: &'static str,
}

/// An argument, as text.
#[derive(Clone)]
pub(crate) struct Argument {
    text: String,
    operand: String,
}

impl From<&Expr> for Argument {
    fn from(e: &Expr) -> Argument {
        Argument { text: e.short(), operand: e.short_operand() }
    }
}

impl From<&Name> for Argument {
    /// Makes an argument of a name. A type of C++ is the dtype here.
    fn from(name: &Name) -> Argument {
        let text = TYPES.iter().find(|(of_c, _)| *of_c == name.text).map_or(name.as_str(), |(_, ours)| ours).to_owned();
        Argument { operand: text.clone(), text }
    }
}

/// The words of schedules that are not directives here. The parameter `f` is a stage, which is the receiver of a method: in
/// `f.compute_root()`, it is `f`.
pub const DIRECTIVES: &[Word] = &[
    // Halide: where a stage is computed and stored.
    Word { names: &["compute_root"], params: "f", help: "write `root($f);`" },
    Word { names: &["compute_inline"], params: "f", help: "write `inline($f);`" },
    Word {
        names: &["store_at", "store_root", "store_in", "hoist_storage", "hoist_storage_root"],
        params: "f",
        help: "a stage is stored where it is computed: write `compute_at($f, x, to: shared);` or `to: register`",
    },
    Word {
        names: &["fold_storage", "ring_buffer", "bound_storage"],
        params: "f",
        help: "leave it out: a stage has only the elements that are read at its place, and no window slides over them",
    },
    Word {
        names: &["compute_with", "fuse_with"],
        params: "",
        help: "define results with the same axes together in the kernel: `(a[i], b[i]) = (x, y);`",
    },
    Word { names: &["memoize"], params: "f", help: "write `precompute($f);`, if the stage depends on one input" },
    // Halide: loops.
    Word { names: &["parallel"], params: "x", help: "write `distribute($x => workgroup(x));`" },
    Word { names: &["gpu_blocks"], params: "x", help: "write `distribute($* => workgroup($#));`" },
    Word { names: &["gpu_threads"], params: "x", help: "write `distribute($* => thread($#));`" },
    Word { names: &["gpu_lanes"], params: "x", help: "write `distribute($x => lane(x));`" },
    Word {
        names: &["gpu_tile", "gpu"],
        params: "xy",
        help: "write `tile($y: 8, $x: 8) => workgroup(y, x); distribute($y, $x => thread(y, x));`",
    },
    Word {
        names: &["gpu_single_thread"],
        params: "",
        help: "write `serial(x);`: a stage without distributed axes is one invocation",
    },
    Word {
        names: &["atomic"],
        params: "",
        help: "name it where the reduction is distributed: `distribute(k => workgroup(x), by: atomic);`",
    },
    Word {
        names: &["partition", "always_partition", "never_partition", "loop_partition", "likely"],
        params: "x",
        help: "a tail separates full tiles: write `tile($x: 8 peel);`, or `guard` for one loop with predicates",
    },
    Word { names: &["rename"], params: "", help: "an axis has the name that the kernel or `split` gives it" },
    Word {
        names: &["prefetch"],
        params: "",
        help: "copy the tensor by `promote(a => a_s, at: k_o, to: shared);`, and write `pipeline(k_o, a_s, buffers: 1, prefetch: register);`",
    },
    Word {
        names: &["async"],
        params: "",
        help: "leave it out: the compiler orders dispatches, and `pipeline(k_o, a_s, buffers: 2);` prefetches a copy",
    },
    Word {
        names: &["hexagon", "cuda", "opencl", "metal"],
        params: "",
        help: "the profile in the schedule's header says what runs it: `for vulkan_1_1`",
    },
    Word { names: &["allow_race_conditions"], params: "", help: "leave it out: two invocations never write one element" },
    // Halide: sizes and memory.
    Word {
        names: &["bound", "bound_extent", "set_bounds"],
        params: "",
        help: "write the size in the kernel's shape, `f32[3, H, W]`, or a fact in a header, `where C == 3`",
    },
    Word { names: &["set_min"], params: "", help: "write the range in the shape of an intermediate: `f32[-1..=H, W]`" },
    Word {
        names: &["align_bounds", "align_extent"],
        params: "x",
        help: "write a fact in the header, `where W % 16 == 0`, or the tail `round_up`: `tile($x: 16 round_up);`",
    },
    Word { names: &["specialize_fail"], params: "", help: "write a fact of the kernel: `where H >= 32`" },
    Word {
        names: &["set_estimate", "set_estimates"],
        params: "",
        help: "leave it out: `tilewright explain --size H=1024` has sizes",
    },
    Word {
        names: &["reorder_storage", "transform_layout", "transform_block_layout"],
        params: "f",
        help: "write `pack($f[i, j] => [j, i], when: dispatch);`, without `when` for an intermediate",
    },
    Word {
        names: &["align_storage", "storage_align"],
        params: "",
        help: "pad the rows of a copy: `promote(a => a_s, at: k_o, to: shared, row_pad: 4);`",
    },
    // Halide: stages and tools.
    Word {
        names: &["in"],
        params: "f",
        help: "write `promote($f => $f_s, at: x, to: shared);` for a copy of what is read at one place",
    },
    Word { names: &["clone_in"], params: "f", help: "write `clone($f => f_g, reader: g);`" },
    Word { names: &["update"], params: "f", help: "leave it out: a stage has one definition, and its block is `$f { … }`" },
    Word { names: &["print_loop_nest", "compile_to_lowered_stmt"], params: "", help: "write `show;`" },
    Word {
        names: &["trace_stores", "trace_loads", "trace_realizations"],
        params: "",
        help: "make the stage an output and `download` it; the reference device reports faults",
    },
    Word {
        names: &["auto_schedule", "apply_autoscheduler"],
        params: "",
        help: "leave it out: stages without directives are planned, and `{}` plans all of them",
    },
    Word { names: &["realize"], params: "", help: "leave it out: `kernel.run(&x)` of a loaded kernel launches it" },
    Word {
        names: &["compile_to_static_library", "compile_to_module"],
        params: "",
        help: "leave it out: a schedule is compiled with the crate, for the profile in its header",
    },
    // TVM.
    Word { names: &["cache_read"], params: "a", help: "write `promote($a => $a_s, at: k_o, to: shared);`" },
    Word {
        names: &["cache_write"],
        params: "f",
        help: "leave it out for a reduction, which is accumulated in registers; a copy of a result is `promote($f => $f_s, at: workgroup, to: shared);`",
    },
    Word { names: &["bind"], params: "x", help: "write `distribute($x => workgroup(x));` or `distribute($x => thread(x));`" },
    Word { names: &["tensorize"], params: "", help: "write `mma(i, j, k, 16 x 16 x 16);`, or `dot(k, 4);` for bytes" },
    Word {
        names: &["decompose_reduction"],
        params: "",
        help: "leave it out: the compiler writes the identity before the loops of a reduction",
    },
    Word {
        names: &["reverse_compute_at"],
        params: "",
        help: "place the stage that is read, at an axis of its reader: `compute_at(f, x, to: shared);`",
    },
    Word { names: &["reverse_compute_inline"], params: "", help: "write `inline(f);` for the stage that is read" },
    Word { names: &["double_buffer"], params: "", help: "write `pipeline(k_o, a_s, buffers: 2);`" },
    Word { names: &["set_scope"], params: "", help: "write `to: shared` or `to: register` in `promote` and `compute_at`" },
    Word { names: &["cross_thread_reduction"], params: "k", help: "write `distribute($k => thread(x), by: tree);`" },
    Word { names: &["sample_perfect_tile", "sample_categorical"], params: "", help: "write `tune B in [8, 16, 32] = 8;`" },
    Word { names: &["annotate", "pragma", "blockize"], params: "", help: "leave it out: the compiler needs only the directives" },
];

/// The words of values that are neither functions nor methods here. The first parameter of a method is its receiver.
pub(crate) const VALUES: &[Word] = &[
    // Choices and conversions.
    Word { names: &["select", "if_then_else", "cond", "ternary"], params: "cab", help: "write `if $c { $a } else { $b }`" },
    Word { names: &["mux"], params: "i", help: "write `if @i == 0 { … } else if @i == 1 { … } else { … }`" },
    Word {
        names: &["likely", "likely_if_innermost"],
        params: "x",
        help: "write `$x`; the tail `peel` of a schedule separates full tiles",
    },
    Word { names: &["strict_float", "unsafe_promise_clamped", "memoize_tag"], params: "x", help: "write `$x`" },
    Word { names: &["undef"], params: "", help: "write a value, such as `0.0`: every element of a tensor is defined" },
    Word { names: &["cast", "convert"], params: "Tx", help: "a value is converted by a cast: write `@x as $T`" },
    Word { names: &["into", "to_f32", "to_f64"], params: "x", help: "a value is converted by a cast: write `@x as f32`" },
    Word {
        names: &["saturating_cast"],
        params: "Tx",
        help: "write `@x as $T` for a float, which saturates, and `@x.clamp(low, high) as $T` for an integer",
    },
    Word {
        names: &["reinterpret", "bitcast", "transmute"],
        params: "x",
        help: "write `@x.to_bits()` for the bits of a float, and `f32::from_bits($x)` for the float of bits",
    },
    Word { names: &["from_bits"], params: "x", help: "write `f32::from_bits($x)`" },
    // Reductions, scans and scatter.
    Word {
        names: &["sum", "prod", "any", "all", "argmin", "argmax"],
        params: "",
        help: "a reduction names its ranges: `$0(k in 0..K) { … }`",
    },
    Word { names: &["mean", "average"], params: "", help: "a reduction names its ranges: `sum(k in 0..K) { … } / K as f32`" },
    Word { names: &["product"], params: "", help: "a reduction names its ranges: `prod(k in 0..K) { … }`" },
    Word { names: &["maximum"], params: "", help: "a reduction names its ranges: `max(k in 0..K) { … }`" },
    Word { names: &["minimum"], params: "", help: "a reduction names its ranges: `min(k in 0..K) { … }`" },
    Word {
        names: &["scatter", "scatter_add", "histogram", "bincount", "atomic_add"],
        params: "",
        help: "reduce the values that belong to each element: `y[b] = sum(i in 0..N) where x[i] == b { 1 };`",
    },
    Word { names: &["sort", "cumsum", "scan"], params: "", help: "sorting and scans are out of scope" },
    Word {
        names: &["iter", "map", "len"],
        params: "",
        help: "a definition runs over its axes by itself; a tensor's sizes are dims",
    },
    Word {
        names: &["fold", "accumulate"],
        params: "",
        help: "a reduction has an identity and a combiner: `reduce(k in 0..K) { x[k] } from 0.0 by |a, b| a + b`",
    },
    // Tensors beyond their ends.
    Word { names: &["repeat_edge", "edge"], params: "x", help: "write `$x.clamp()[…]` where it is read" },
    Word { names: &["constant_exterior", "zero_pad"], params: "x", help: "write `$x.pad(0.0)[…]` where it is read" },
    Word { names: &["repeat", "repeat_image", "wrap"], params: "x", help: "write the index: `$x[(i + 1) % N]`" },
    Word {
        names: &["mirror", "mirror_image"],
        params: "x",
        help: "write `fn mirror(i, n) { if i < 0 { -1 - i } else if i >= n { 2 * n - 1 - i } else { i } }` before the kernel, and `$x[mirror(i + 1, N)]`",
    },
    Word {
        names: &["reflect", "mirror_interior"],
        params: "x",
        help: "write `fn reflect(i, n) { if i < 0 { -i } else if i >= n { 2 * n - 2 - i } else { i } }` before the kernel, and `$x[reflect(i + 1, N)]` where `N >= 2`",
    },
    // Maths.
    Word { names: &["lerp", "mix"], params: "abt", help: "write `@a + (@b - @a) * @t`" },
    Word { names: &["log"], params: "x", help: "write `@x.ln()`; there are `log2` and `log10`, too" },
    Word { names: &["log1p"], params: "x", help: "write `@x.ln_1p()`" },
    Word { names: &["expm1"], params: "x", help: "write `@x.exp_m1()`" },
    Word { names: &["exp10"], params: "x", help: "write `(@x * f32::consts::LN_10).exp()`" },
    Word {
        names: &["fast_exp", "fast_log", "fast_pow"],
        params: "x",
        help: "write `exp`, `ln` or `powf`, whose errors are stated",
    },
    Word { names: &["fast_inverse"], params: "x", help: "write `@x.recip()`" },
    Word { names: &["fast_inverse_sqrt", "inversesqrt"], params: "x", help: "write `@x.rsqrt()`" },
    Word { names: &["rint", "round_even", "roundeven", "nearbyint"], params: "x", help: "write `@x.round_ties_even()`" },
    Word { names: &["fmod"], params: "ab", help: "write `@a % @b`" },
    Word { names: &["mod", "modulo"], params: "ab", help: "write `@a.rem_euclid($b)`" },
    Word { names: &["fma"], params: "abc", help: "write `@a.mul_add($b, $c)`" },
    Word { names: &["erfc"], params: "x", help: "write `1.0 - @x.erf()`" },
    Word { names: &["sin_cos"], params: "x", help: "write `@x.sin()` and `@x.cos()`, each where it is needed" },
    Word { names: &["absd", "abs_diff"], params: "ab", help: "write `(@a - @b).abs()`, or for `u32` `@a.max($b) - @a.min($b)`" },
    Word {
        names: &["widening_mul", "carrying_mul", "mulhi"],
        params: "ab",
        help: "the high 32 bits of a product are `@a.mul_hi($b)`, the low ones `@a * @b`, which wraps",
    },
    Word { names: &["popcount", "popcnt", "bit_count"], params: "x", help: "write `@x.count_ones()`" },
    Word { names: &["count_zeros"], params: "x", help: "write `(!@x).count_ones()`" },
    Word { names: &["clz", "count_leading_zeros"], params: "x", help: "write `@x.leading_zeros()`" },
    Word { names: &["ctz", "count_trailing_zeros"], params: "x", help: "write `@x.trailing_zeros()`" },
    Word { names: &["wrapping_add"], params: "ab", help: "integers wrap: write `@a + @b`" },
    Word { names: &["wrapping_sub"], params: "ab", help: "integers wrap: write `@a - @b`" },
    Word { names: &["wrapping_mul"], params: "ab", help: "integers wrap: write `@a * @b`" },
    Word { names: &["wrapping_neg"], params: "a", help: "integers wrap: write `-@a`" },
    Word { names: &["wrapping_pow"], params: "an", help: "integers wrap: write `@a.pow($n)`" },
    // Tools.
    Word {
        names: &["print", "print_when", "printf", "println", "eprint", "eprintln", "dbg"],
        params: "",
        help: "a launch gives tensors: make it an output, and `download` it",
    },
    Word {
        names: &["require", "assert", "assert_eq", "debug_assert", "debug_assert_eq"],
        params: "",
        help: "state facts about sizes in the kernel's header: `where N >= 1`",
    },
];

/// The dtypes of C and C++.
const TYPES: [(&str, &str); 9] = [
    ("float", "f32"),
    ("half", "f16"),
    ("float16_t", "f16"),
    ("int", "i32"),
    ("int8_t", "i8"),
    ("int16_t", "i16"),
    ("int32_t", "i32"),
    ("uint8_t", "u8"),
    ("uint16_t", "u16"),
];

/// Returns the help for a word of a table, with the arguments in it.
pub(crate) fn help(table: &[Word], name: &str, args: &[Argument]) -> Option<String> {
    table.iter().find(|word| word.names.contains(&name)).map(|word| word.filled(name, args))
}

/// Returns the help for a word of schedules that is called as a method of a stage: `f.compute_root()`.
pub(crate) fn help_of_method(stage: &Name, name: &str, args: &[Argument]) -> Option<String> {
    let word = DIRECTIVES.iter().find(|word| word.names.contains(&name))?;
    if word.params.starts_with('f') {
        let args: Vec<Argument> = std::iter::once(stage.into()).chain(args.iter().cloned()).collect();
        return Some(word.filled(name, &args));
    }
    Some(format!("{}, in the block of the stage, `{stage} {{ … }}`", word.filled(name, args)))
}

impl Word {
    /// Returns the help with the arguments in it.
    fn filled(&self, name: &str, args: &[Argument]) -> String {
        let (mut text, mut rest) = (String::new(), self.help.chars());
        while let Some(c) = rest.next() {
            match (c, if matches!(c, '$' | '@') { rest.next() } else { None }) {
                (_, None) => text.push(c),
                (_, Some('0')) => text += name,
                (_, Some('*')) => text += &self.reversed(args),
                (_, Some('#')) => text += ["x", "y, x", "z, y, x"][args.len().clamp(1, 3) - 1],
                (mark, Some(letter)) => match self.params.find(letter).and_then(|n| args.get(n)) {
                    Some(arg) => text += if mark == '$' { &arg.text } else { &arg.operand },
                    None => text.push(letter),
                },
            }
        }
        text
    }

    /// Returns all arguments, the last one first.
    fn reversed(&self, args: &[Argument]) -> String {
        let texts: Vec<&str> = args.iter().rev().map(|arg| arg.text.as_str()).collect();
        if texts.is_empty() { self.params.to_owned() } else { texts.join(", ") }
    }
}
