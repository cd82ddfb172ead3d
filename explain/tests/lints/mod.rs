//! Tests, for each lint, a schedule that has it and one that does not, with the whole text; and that following the lint's advice
//! compiles, and removes the lint.

mod case;
mod dots;
mod memory;
mod naive;
mod room;
mod trees;
mod work;
