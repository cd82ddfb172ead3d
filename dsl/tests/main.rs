//! The tests of the language: one program, because each program links the whole compiler.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod accumulate;
mod algorithm;
mod all_reduce;
mod apply;
mod barriers;
mod clone;
mod components;
mod compute_at;
mod decompositions;
mod diag;
mod directives;
mod dots;
mod erf;
mod expand;
mod facts;
mod im2col;
mod inlining;
mod instead;
mod kernel_heads;
mod known;
mod matrices;
mod modules;
mod mutants;
mod online;
mod overlay;
mod plan;
mod promote;
mod rules;
mod sides;
mod solve;
mod steps;
mod tokens;
mod verify;
mod versions;
mod winograd;
