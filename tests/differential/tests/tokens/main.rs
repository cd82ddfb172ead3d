//! Whatever stands in the macros' braces, they end: with items or with errors, soon, without a panic and without the stack
//! running out. What is accepted goes all the way to words.

mod extremes;
mod mangled;
mod support;
