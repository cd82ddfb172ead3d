//! Layouts as part of tensors' Rust types, so that a tensor that a schedule wants packed cannot be confused with a row-major one.
//!
//! `Packed<(Axis<0>, Quotient<1, 4>, Axis<2>, Remainder<1, 4>)>` is the layout of `pack(w[a, b, c] => [a, b / 4, c, b % 4])`.
//! Schedules that pack a tensor in the same way give its argument the same type. A kernel's `pack_…` and `unpack_…` methods convert
//! between layouts.

use std::fmt::Debug;
use std::marker::PhantomData;
use tilewright_launch as launch;

mod sealed {
    pub trait Sealed {}
}

/// The order of a tensor's elements in memory.
pub trait Layout: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// Returns the layout at run time; `None` is row-major.
    #[doc(hidden)]
    fn layout() -> Option<launch::Layout>;

    /// True if the tensor comes with data that a kernel precomputed from it.
    #[doc(hidden)]
    const PREPARED: bool = false;
}

/// Row-major order. Views of such tensors may have gaps.
#[derive(Clone, Copy, Debug)]
pub struct RowMajor;

/// Row-major order, with data that a kernel precomputed from the tensor. Such tensors are made by that kernel's `prepare_…`.
#[derive(Clone, Copy, Debug)]
pub struct Prepared;

impl sealed::Sealed for Prepared {}

impl Layout for Prepared {
    fn layout() -> Option<launch::Layout> {
        None
    }

    const PREPARED: bool = true;
}

/// A packed layout. Its dimensions in memory are components of the tensor's indices, outermost first: a tuple of [`Axis`],
/// [`Quotient`], [`Remainder`] and [`Middle`].
#[derive(Debug)]
pub struct Packed<D>(PhantomData<fn() -> D>);

impl<D> Clone for Packed<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Packed<D> {}

/// A component of an index.
pub trait Digit: sealed::Sealed + Debug + 'static {
    #[doc(hidden)]
    const DIGIT: launch::Digit;
}

/// The whole index `A`.
#[derive(Debug)]
pub struct Axis<const A: u32>;

/// The index `A` divided by `N`.
#[derive(Debug)]
pub struct Quotient<const A: u32, const N: u32>;

/// The index `A` modulo `N`.
#[derive(Debug)]
pub struct Remainder<const A: u32, const N: u32>;

/// The index `A` divided by `N`, modulo `M`.
#[derive(Debug)]
pub struct Middle<const A: u32, const N: u32, const M: u32>;

impl<const A: u32> sealed::Sealed for Axis<A> {}
impl<const A: u32, const N: u32> sealed::Sealed for Quotient<A, N> {}
impl<const A: u32, const N: u32> sealed::Sealed for Remainder<A, N> {}
impl<const A: u32, const N: u32, const M: u32> sealed::Sealed for Middle<A, N, M> {}

impl<const A: u32> Digit for Axis<A> {
    const DIGIT: launch::Digit = launch::Digit { axis: A, divide: 1, modulo: None };
}

impl<const A: u32, const N: u32> Digit for Quotient<A, N> {
    const DIGIT: launch::Digit = launch::Digit { axis: A, divide: N, modulo: None };
}

impl<const A: u32, const N: u32> Digit for Remainder<A, N> {
    const DIGIT: launch::Digit = launch::Digit { axis: A, divide: 1, modulo: Some(N) };
}

impl<const A: u32, const N: u32, const M: u32> Digit for Middle<A, N, M> {
    const DIGIT: launch::Digit = launch::Digit { axis: A, divide: N, modulo: Some(M) };
}

impl sealed::Sealed for RowMajor {}

impl Layout for RowMajor {
    fn layout() -> Option<launch::Layout> {
        None
    }
}

macro_rules! packed {
    ($($($d:ident)*;)*) => {$(
        impl<$($d: Digit),*> sealed::Sealed for Packed<($($d,)*)> {}

        impl<$($d: Digit),*> Layout for Packed<($($d,)*)> {
            fn layout() -> Option<launch::Layout> {
                Some(launch::Layout(vec![$($d::DIGIT),*]))
            }
        }
    )*};
}

// Up to as many dimensions as the compiler allows for a caller's tensor.
packed! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}
