//! The examples of the documentation, as doctests: they are compiled, and run if they have code to run.

/// `README.md`.
#[doc = include_str!("../README.md")]
mod readme {}

/// `docs/language.md`.
#[doc = include_str!("../docs/language.md")]
mod language {}

/// `docs/data.md`.
#[cfg(feature = "ndarray")]
#[doc = include_str!("../docs/data.md")]
mod data {}

/// `docs/instead.md`.
#[doc = include_str!("../docs/instead.md")]
mod instead {}

/// `docs/halide.md`.
#[doc = include_str!("../docs/halide.md")]
mod halide {}

/// `docs/schedules.md`.
#[doc = include_str!("../docs/schedules.md")]
mod schedules {}

/// `docs/plan.md`.
#[doc = include_str!("../docs/plan.md")]
mod plan {}

/// `docs/profiles.md`.
#[doc = include_str!("../docs/profiles.md")]
mod profiles {}

/// `docs/quantized.md`.
#[doc = include_str!("../docs/quantized.md")]
mod quantized {}

/// `docs/safety.md`.
#[doc = include_str!("../docs/safety.md")]
mod safety {}

/// `docs/calls.md`.
#[doc = include_str!("../docs/calls.md")]
mod calls {}

/// `docs/in-a-program.md`.
#[doc = include_str!("../docs/in-a-program.md")]
mod in_a_program {}

/// `docs/README.md`.
#[doc = include_str!("../docs/README.md")]
mod introduction {}

/// `docs/book/`.
mod book {
    #[doc = include_str!("../docs/book/first-kernel.md")]
    mod first_kernel {}
    #[doc = include_str!("../docs/book/reading-a-nest.md")]
    mod reading_a_nest {}
    #[doc = include_str!("../docs/book/matmul.md")]
    mod matmul {}
    #[doc = include_str!("../docs/book/planner.md")]
    mod planner {}
    #[doc = include_str!("../docs/book/porting.md")]
    mod porting {}
    #[doc = include_str!("../docs/book/own-profile.md")]
    mod own_profile {}
    #[doc = include_str!("../docs/book/errors.md")]
    mod errors {}
    #[doc = include_str!("../docs/book/pipelines.md")]
    mod pipelines {}
    #[doc = include_str!("../docs/book/network.md")]
    mod network {}
    #[doc = include_str!("../docs/book/cookbook.md")]
    mod cookbook {}
}

/// `docs/directives/`.
mod directives {
    #[doc = include_str!("../docs/directives/border.md")]
    mod border {}
    #[doc = include_str!("../docs/directives/clone.md")]
    mod clone {}
    #[doc = include_str!("../docs/directives/compute_at.md")]
    mod compute_at {}
    #[doc = include_str!("../docs/directives/decompose_im2col.md")]
    mod decompose_im2col {}
    #[doc = include_str!("../docs/directives/decompose_online.md")]
    mod decompose_online {}
    #[doc = include_str!("../docs/directives/decompose_winograd.md")]
    mod decompose_winograd {}
    #[doc = include_str!("../docs/directives/default.md")]
    mod default {}
    #[doc = include_str!("../docs/directives/distribute.md")]
    mod distribute {}
    #[doc = include_str!("../docs/directives/emit.md")]
    mod emit {}
    #[doc = include_str!("../docs/directives/fragment.md")]
    mod fragment {}
    #[doc = include_str!("../docs/directives/fuse.md")]
    mod fuse {}
    #[doc = include_str!("../docs/directives/inline.md")]
    mod inline {}
    #[doc = include_str!("../docs/directives/mma.md")]
    mod mma {}
    #[doc = include_str!("../docs/directives/pack.md")]
    mod pack {}
    #[doc = include_str!("../docs/directives/pin.md")]
    mod pin {}
    #[doc = include_str!("../docs/directives/pipeline.md")]
    mod pipeline {}
    #[doc = include_str!("../docs/directives/precompute.md")]
    mod precompute {}
    #[doc = include_str!("../docs/directives/promote.md")]
    mod promote {}
    #[doc = include_str!("../docs/directives/reorder.md")]
    mod reorder {}
    #[doc = include_str!("../docs/directives/accumulate.md")]
    mod accumulate {}
    #[doc = include_str!("../docs/directives/rfactor.md")]
    mod rfactor {}
    #[doc = include_str!("../docs/directives/scatter.md")]
    mod scatter {}
    #[doc = include_str!("../docs/directives/root.md")]
    mod root {}
    #[doc = include_str!("../docs/directives/serial.md")]
    mod serial {}
    #[doc = include_str!("../docs/directives/show.md")]
    mod show {}
    #[doc = include_str!("../docs/directives/specialize.md")]
    mod specialize {}
    #[doc = include_str!("../docs/directives/split.md")]
    mod split {}
    #[doc = include_str!("../docs/directives/strided.md")]
    mod strided {}
    #[doc = include_str!("../docs/directives/tile.md")]
    mod tile {}
    #[doc = include_str!("../docs/directives/tune.md")]
    mod tune {}
    #[doc = include_str!("../docs/directives/unroll.md")]
    mod unroll {}
    #[doc = include_str!("../docs/directives/dot.md")]
    mod dot {}
    #[doc = include_str!("../docs/directives/vectorize.md")]
    mod vectorize {}
}
