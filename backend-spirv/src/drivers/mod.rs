//! The rules that avoid faults of drivers. Code that breaks one of them is valid SPIR-V, and some driver compiles it wrongly or slowly.
//! `docs/drivers.md` describes the faults.
//!
//! [`tilewright_codegen::drivers`] predicts what a driver's compiler may know about a value, without SPIR-V. The modules here write the
//! instructions that hide it. A test holds this table: each section of the page has a row, and the code and the tests exist.
//!
//! | section of `docs/drivers.md` | driver | rule | code | test that fails without it |
//! |---|---|---|---|---|
//! | Signed minima and maxima drop negations | NVIDIA 580.159 | operands that may be negations are hidden, and an absolute value is a select | `backend-spirv/src/drivers/integers.rs` | `extremes_of_negated_integers` |
//! | A condition is lost that chooses an operand of `OpBitwiseAnd` | NVIDIA 580.159 | operands that may be selects are hidden | `backend-spirv/src/drivers/integers.rs` | `ands_of_choices` |
//! | Arithmetic on NaN is folded | NVIDIA 580.159 | `NoContraction`, hidden zeros, and hidden integers that become floats | `backend-spirv/src/drivers/hidden.rs` | `arithmetic_on_nan` |
//! | A product of halves with a certain zero is the other factor | NVIDIA 580.159 | the zero is hidden | `backend-spirv/src/drivers/hidden.rs` | `certain_paddings_of_halves` |
//! | NaN is absent from ranges | NVIDIA 580.159 | NaN of a suspect operand is tested on the bits | `backend-spirv/src/drivers/nan.rs` | `comparisons_with_nan` |
//! | Minima and maxima of f16 are lost | NVIDIA 580.159 | they are computed in f32 | `backend-spirv/src/drivers/nan.rs` | `extremes_of_chosen_halves` |
//! | Halves that are chosen and used otherwise are wrong | NVIDIA 580.159 | halves are combined under a mask of bits | `backend-spirv/src/drivers/choice.rs` | `halves_that_are_chosen_and_used` |
//! | Reductions of integers by subgroup are wrong | NVIDIA 580.159 | they are done by shuffles | `backend-spirv/src/reductions/subgroups.rs` | `integers_by_subgroup` |
//! | The high half of a product has other bits | NVIDIA 580.159 | it is computed from products of 16 bits | `backend-spirv/src/drivers/integers.rs` | `high_products` |
//! | Loops are unrolled in spite of the hint `DontUnroll` | NVIDIA 580.159 | the bound of a large loop in several copies is hidden | `backend-spirv/src/drivers/loops.rs` | `bounds_of_loops_written_out` |
//! | Unrolled loops take minutes to compile | NVIDIA 580.159 | loops and branches in unrolled copies are limited, and barriers times words | `backend-spirv/src/drivers/loops.rs` | `loops_written_out` |
//! | Elements beyond 4 GiB are others | NVIDIA 580.159 | addresses are computed in 64 bits | `backend-spirv/src/memory/far.rs` | `every_access_by_an_address_of_64_bits` |
//! | An `Fma` makes loads wait | NVIDIA 580.159 | only a reduction's operands are fused | `codegen/src/drivers/fuse.rs` | `sums_of_halves` |
//! | The compiler ends the process at quotients of vectors | NVIDIA 580.159 | quotients of vectors are computed component by component | `backend-spirv/src/drivers/integers.rs` | `quotients_of_vectors` |
//! | A pipeline that is launched as soon as it is made runs other code | NVIDIA 580.159 | a launch waits until its queue ended something newer than its pipeline | `src/vulkan/submit.rs` | `each_queue_ends_something_before_a_new_pipeline_runs_where_the_driver_needs_it` |

mod choice;
pub(super) mod hidden;
mod integers;
pub(super) mod loops;
mod nan;
