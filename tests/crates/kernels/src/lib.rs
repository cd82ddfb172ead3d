//! Kernels and profiles of a library with the strictest lints and without a prelude.
#![no_implicit_prelude]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, missing_copy_implementations)]
#![deny(unreachable_pub, unused, nonstandard_style, future_incompatible, rust_2018_idioms, let_underscore)]
#![deny(single_use_lifetimes, trivial_casts, unused_qualifications, unused_lifetimes, unused_macro_rules)]
#![deny(unused_import_braces, unused_results, variant_size_differences, unnameable_types, redundant_lifetimes)]

use ::tilewright::devices::vulkan_1_1 as root;
use ::tilewright::{kernel, profile, schedule};

kernel! {
    /// `alpha * x + y`.
    pub fn saxpy<T: f32 | f16, N>(alpha: T, x: T[N], y: T[N]) -> z: T[N] {
        z[i] = alpha * x[i] + y[i];
    }
}

profile! {
    /// A board with a small workgroup.
    pub board: root { invocations: 64, local: [64, 64, 64] }
}

schedule! {
    /// The library's own schedule.
    pub SAXPY: saxpy<T = f32> for board {}
}

/// Functions, which call private ones of the same `functions!`.
pub mod maths {
    use ::tilewright::functions;

    functions! {
        /// `v` to the power of 3.
        pub fn cube(v: f32) -> f32 { square(v) * v }
        fn square(v) { v * v }
    }
    /// Functions that import others, by the library's own path.
    pub mod more {
        ::tilewright::functions! {
            use crate::maths::cube;
            /// `v` to the power of 6.
            pub fn sixth(v) { cube(v) * cube(v) }
            /// The `n`-th part of an index, rounded down.
            pub fn r#gen(i: i32, n: i32) -> i32 { i / n }
        }
    }
    pub use more::sixth as sixth_power;
}

kernel! {
    use self::maths::{cube, more::r#gen as part};
    fn half(v) { 0.5 * cube(v) }
    /// Half of the cube of every second element, twice.
    pub fn halves<N>(x: f32[N]) -> y: f32[N] { y[i] = half(x[part(i, 2)]); }
}

/// Kernels with names of Rust's macros and modules.
pub mod names {
    use ::tilewright::kernel;

    kernel! { pub fn vec<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
    kernel! { pub fn println<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 1.0; } }
    kernel! { pub fn assert<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 2.0; } }
}

/// Kernels with names of crates.
pub mod crates {
    use ::tilewright::kernel;

    kernel! { pub fn core<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 3.0; } }
    kernel! { pub fn std<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 4.0; } }
    kernel! { pub fn tilewright<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 5.0; } }
}

/// Arguments, results and dtypes with names of Rust's enum variants, of items of the kernel's module, and of keywords.
pub mod clashes {
    use ::tilewright::kernel;

    kernel! {
        /// Variants of the prelude.
        pub fn variants<N>(None: f32[N], Ok: f32[N]) -> (Some: f32[N], Err: f32[N]) {
            Some[i] = None[i] + 1.0;
            Err[i] = Ok[i] + 2.0;
        }
    }
    kernel! {
        /// One argument with the name of its module's constant.
        pub fn single<N>(DEFAULT: f32[N]) -> Kernel: f32[N] { Kernel[i] = DEFAULT[i] + 3.0; }
    }
    kernel! {
        /// Items of the kernel's module.
        pub fn items<Kernel: f32 | f16, Args: f32 | f16, N>(Packing: Kernel[N], Outputs: Args) -> Layout: Kernel[N] {
            Layout[i] = Packing[i] + Outputs as Kernel;
        }
    }
    kernel! {
        /// Layouts.
        pub fn layouts<Layout_x: f32 | f16, Layout_x_: f32 | f16, N>(x: Layout_x[N], x_: Layout_x_[N]) -> Digits: Layout_x[N] {
            Digits[i] = x[i] + x_[i] as Layout_x;
        }
    }
    kernel! {
        /// Keywords of Rust that are ordinary names in kernels, and raw identifiers.
        pub fn keywords<N>(box: f32[N], gen: f32[N], r#x: f32[N], r#fn: f32[N]) -> r#yield: f32[N] {
            yield[i] = box[i] + r#gen[i] + x[i] + r#fn[i];
        }
    }
    kernel! {
        /// More outputs than a tuple has.
        pub fn many<N>(Vec: f32[N]) -> (
            None: f32[N], Ok: f32[N], Some: f32[N], Err: f32[N], DEFAULT: f32[N], Kernel: f32[N], Args: f32[N], list: f32[N], value_0: f32[N],
        ) {
            None[n] = Vec[n];
            Ok[n] = 2.0;
            Some[n] = 3.0;
            Err[n] = 4.0;
            DEFAULT[n] = 5.0;
            Kernel[n] = 6.0;
            Args[n] = 7.0;
            list[n] = 8.0;
            value_0[n] = 9.0;
        }
    }
    kernel! {
        /// The name of a type.
        pub fn f32<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 6.0; }
    }
    kernel! {
        /// The name of a type of the prelude.
        pub fn Vec<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 7.0; }
    }
    kernel! {
        /// A keyword since 2024.
        pub fn r#gen<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 8.0; }
    }
}

/// One name in several modules.
pub mod twice {
    /// The first.
    pub mod a {
        ::tilewright::kernel! { pub fn same<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
    }
    /// The second.
    pub mod b {
        ::tilewright::kernel! { pub fn same<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
    }
}

/// Signatures of all kinds.
pub mod signatures {
    use ::tilewright::kernel;

    kernel! {
        /// A kernel without tensor arguments.
        pub fn iota<N = 16>() -> y: i32[N] { y[i] = i; }
    }
    kernel! {
        /// A kernel with only a scalar argument.
        pub fn fill<T: f32 | f16, N = 16>(value: T) -> y: T[N] { y[i] = value; }
    }
    kernel! {
        /// An update in place.
        pub fn scale<N>(x: &mut f32[N], by: f32) { x[i] = x[i] * by; }
    }
    kernel! {
        /// Two outputs, of two dtypes.
        pub fn split<N>(x: f32[N]) -> (low: f32[N], whole: i32[N]) {
            low[i] = x[i].fract();
            whole[i] = x[i] as i32;
        }
    }
    kernel! {
        /// A kernel with only sizes as arguments, one of them in upper case.
        pub fn grid(rows: dim, COLUMNS: dim) -> y: i32[rows, COLUMNS] { y[i, j] = i * COLUMNS + j; }
    }
    kernel! {
        /// A size between a tensor and a scalar, and facts.
        pub fn resample<T: f32 | f16, N>(x: T[N], n: dim, by: T) -> y: T[n] where N >= 1, finite(x) {
            y[i] = x.clamp()[i * N / n] * by;
        }
    }
    kernel! {
        /// More outputs than a tuple has, one of them of the generic dtype.
        pub fn powers<T: f32 | f16, N>(x: T[N]) -> (
            a: T[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N], g: f32[N], h: f32[N], i: i32[N],
        ) {
            a[n] = x[n];
            b[n] = 2.0;
            c[n] = 3.0;
            d[n] = 4.0;
            e[n] = 5.0;
            f[n] = 6.0;
            g[n] = 7.0;
            h[n] = 8.0;
            i[n] = n;
        }
    }
    kernel! {
        /// Upper-case names, as in the books.
        pub fn GEMM<T: f32 | f16, M, N, K>(A: T[M, K], B: T[K, N]) -> C: T[M, N] {
            C[i, j] = sum(k in 0..K) { A[i, k] * B[k, j] };
        }
    }
    kernel! {
        /// A generic dtype that only an output has.
        pub fn widen<T: f32 | f16, N>(x: i32[N]) -> y: T[N] { y[i] = x[i] as T; }
    }
}

/// A user's macro that expands to a kernel.
macro_rules! shifted {
    ($module:ident, $name:ident, $by:expr) => {
        /// A module from a macro.
        pub mod $module {
            ::tilewright::kernel! {
                /// Adds a number.
                pub fn $name<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 2.0 * $by; }
            }
        }
    };
}

shifted!(one, shift, 0.5 + 0.5);
shifted!(two, shift, 1.0 + 1.0);

mod private {
    ::tilewright::kernel! { pub(crate) fn inner<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
    ::tilewright::profile! { pub(super) tiny: ::tilewright::devices::vulkan_1_1 { invocations: 32, local: [32, 32, 32] } }
}

schedule! {
    /// A public schedule of a private kernel and profile.
    pub INNER: private::inner for private::tiny {}
}

/// Defines a profile and a schedule for it in the crate that calls the macro.
#[macro_export]
macro_rules! made_elsewhere {
    ($profile:ident, $schedule:ident) => {
        ::tilewright::profile! { pub(crate) $profile: $crate::board { subgroup: 4 } }
        ::tilewright::schedule! { pub(crate) $schedule: $crate::saxpy<T = f32> for $profile {} }
    };
}

schedule! {
    /// Directives for schedules of other crates: tiles of `TILE` elements, `EACH` an invocation.
    pub TILES<TILE = 64, EACH = 1> {
        tile(i: TILE) => workgroup(x);
        apply within::INVOCATIONS<EACH = EACH>;
    }
}

/// Directives that [`TILES`] applies.
pub mod within {
    use ::tilewright::schedule;

    schedule! {
        /// `EACH` elements an invocation.
        pub INVOCATIONS<EACH = 1> {
            tile(i: EACH) => thread(x);
            unroll(i);
        }
    }
}
