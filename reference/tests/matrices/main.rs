//! Cooperative matrices: modules made by hand, their results beside a plain product, and what is reported of faulty ones.

mod assemble;
mod elements;
mod faults;
mod functions;
mod products;
mod refusals;
mod support;
mod valid;
