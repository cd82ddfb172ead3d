//! The tests of the language: one program, because each program links the whole compiler.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod algorithm;
mod barriers;
mod components;
mod decompositions;
mod diag;
mod directives;
mod erf;
mod expand;
mod facts;
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
mod rules;
mod sides;
mod solve;
mod steps;
mod tokens;
mod verify;
mod versions;
