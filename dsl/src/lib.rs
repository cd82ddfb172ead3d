//! The Tilewright language. This crate needs no GPU and does no I/O.
//!
//! The modules are in the order of the compiler's steps: [`syntax`] (tokens to trees), [`algorithm`] (pure stages, checked), [`nest`]
//! (loops), [`schedule`] (directives, which rewrite nests), [`lower`] (to the form that a backend emits), [`verify`] (the last check, which
//! does not trust the steps before it). All of them use [`facts`] (the prover) and [`diag`] (errors).

pub mod algorithm;
pub mod arena;
pub mod chains;
pub mod compile;
pub mod diag;
pub mod expand;
pub mod expr;
pub mod extend;
pub mod facts;
pub mod ids;
pub mod length;
pub mod lower;
pub mod nest;
pub mod plan;
pub mod profile;
pub mod schedule;
pub mod syntax;
mod table;
pub mod variant;
pub mod verify;

pub use tilewright_launch as launch;
