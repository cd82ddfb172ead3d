//! Schedules that rewrite the algebra or the layout of a tensor.

mod accumulate;
mod im2col;
mod masked_scores;
mod online;
mod pack;
mod winograd;
