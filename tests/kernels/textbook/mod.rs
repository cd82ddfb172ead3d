//! Kernels from textbooks and papers, written as an outside user would write them. Each runs under the default schedule and three
//! or more that an expert would write for a GPU, at sizes of 1, primes, sizes smaller than a tile, and 0 where that is legal. Every
//! element is compared with the evaluation of the algorithm, within its bounds, and with a plain function in f64.

mod case;
mod grids;
mod images;
mod learning;
mod networks;
mod numeric;
