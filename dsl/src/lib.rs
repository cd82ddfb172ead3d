//! The Tilewright language: no GPU, no I/O.
//!
//! The modules follow the way of the data: [`syntax`] (tokens to trees), [`algorithm`] (pure stages, checked),
//! [`nest`] (loops), [`schedule`] (directives, which rewrite nests), [`lower`] (to what a backend emits), [`verify`] (the last
//! check, which trusts none of those before it). [`facts`] (the prover) and [`diag`] (errors) serve them all.

pub mod algorithm;
pub mod arena;
pub mod compile;
pub mod cost;
pub mod diag;
pub mod expand;
pub mod expr;
pub mod extend;
pub mod facts;
pub mod ids;
pub mod length;
pub mod lower;
pub mod nest;
pub mod profile;
pub mod schedule;
pub mod syntax;
mod table;
pub mod variant;
pub mod verify;

pub use tilewright_launch as launch;
