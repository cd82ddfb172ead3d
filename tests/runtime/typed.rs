//! Typed kernels, with the macros' expansion written by hand.

use super::programs::{PLAIN, WAYS};
use super::support::*;
use tilewright::{Error, Tensor, Variant};

/// The items that `kernel! { pub fn axpy<T: f32, N>(x: T[N], y: T[N], alpha: f32) -> out: T[N] { … } }` defines.
pub mod axpy {
    use tilewright::__private as tw;

    pub struct Args<'a, T: tw::Element> {
        pub x: &'a tw::Tensor<T>,
        pub y: &'a tw::Tensor<T>,
        pub alpha: f32,
    }

    impl<'a, T: tw::Element> From<(&'a tw::Tensor<T>, &'a tw::Tensor<T>, f32)> for Args<'a, T> {
        fn from((x, y, alpha): (&'a tw::Tensor<T>, &'a tw::Tensor<T>, f32)) -> Self {
            Args { x, y, alpha }
        }
    }

    impl<'a, T: tw::Element> tw::Arguments<'a> for Args<'a, T> {
        fn list(self) -> Vec<tw::Argument<'a>> {
            vec![self.x.into(), self.y.into(), self.alpha.into()]
        }
    }

    pub struct Kernel<T>(std::marker::PhantomData<T>);

    impl<T: tw::Element> tw::Kernel for Kernel<T> {
        const NAME: &'static str = "axpy";
        type Args<'a> = Args<'a, T>;
        type Outputs = tw::Tensor<T>;
        type Packing = ();
    }
}

/// The same for `bump`, which only updates.
pub mod bump {
    use tilewright::__private as tw;

    pub struct Args<'a> {
        pub x: &'a tw::Tensor<f32>,
        pub y: &'a mut tw::Tensor<f32>,
        pub alpha: f32,
    }

    impl<'a> From<(&'a tw::Tensor<f32>, &'a mut tw::Tensor<f32>, f32)> for Args<'a> {
        fn from((x, y, alpha): (&'a tw::Tensor<f32>, &'a mut tw::Tensor<f32>, f32)) -> Self {
            Args { x, y, alpha }
        }
    }

    impl<'a> tw::Arguments<'a> for Args<'a> {
        fn list(self) -> Vec<tw::Argument<'a>> {
            vec![self.x.into(), self.y.into(), self.alpha.into()]
        }
    }

    pub struct Kernel;

    impl tw::Kernel for Kernel {
        const NAME: &'static str = "bump";
        type Args<'a> = Args<'a>;
        type Outputs = ();
        type Packing = ();
    }
}

fn variant<K>(program: tilewright_launch::Program) -> Variant<K> {
    // SAFETY: the programs of these tests stay within their tensors, as the compiler's programs do.
    unsafe { Variant::__new("HAND_MADE", program.encode().expect("it is flat").leak()) }
}

#[test]
fn arguments_are_a_tuple_or_named() -> tilewright::Result<()> {
    let device = device();
    let kernel =
        device.load::<axpy::Kernel<f32>>(&[variant(super::programs::axpy(PLAIN)), variant(super::programs::axpy(WAYS[2]))])?;
    let x = device.upload([2, 2], &[1.0, 2.0, 3.0, 4.0])?.reshape([4])?;
    let y = device.upload([4], &[0.5; 4])?;
    let out = kernel.run((&x, &y, 2.0))?;
    assert_eq!((out.shape(), out.download()?), (&[4][..], vec![2.5, 4.5, 6.5, 8.5]));
    let mut out: Tensor<f32> = kernel.run(axpy::Args { x: &x, y: &out, alpha: 1.0 })?;
    assert_eq!(out.download()?, [3.5, 6.5, 9.5, 12.5]);
    kernel.run_into((&x, &y, 0.0), &mut out)?;
    assert_eq!(out.download()?, [0.5; 4]);
    assert_eq!(kernel.variant_for((&x, &y, 0.0))?, "AXPY");
    let mut batch = device.batch();
    let a = batch.run(&kernel, (&x, &y, 2.0))?;
    batch.run_into(&kernel, (&a, &a, 1.0), &mut out)?;
    batch.submit()?.wait()?;
    assert_eq!(out.download()?, [5.0, 9.0, 13.0, 17.0]);
    Ok(())
}

#[test]
fn a_kernel_can_only_update() -> tilewright::Result<()> {
    let device = device();
    let kernel = device.load(&[variant::<bump::Kernel>(super::programs::bump(PLAIN))])?;
    let x = device.upload([3], &[1.0, 2.0, 3.0])?;
    let mut y = device.zeros([3])?;
    kernel.run((&x, &mut y, 2.0))?;
    kernel.run_into(bump::Args { x: &x, y: &mut y, alpha: 1.0 }, ())?;
    assert_eq!(y.download()?, [3.0, 6.0, 9.0]);
    Ok(())
}

#[test]
fn a_variant_that_did_not_compile_does_not_load() {
    let broken: Variant<bump::Kernel> = Variant::__broken("SLOW");
    let error = device().load(&[broken]).expect_err("it is broken");
    assert_eq!(error.to_string(), "the schedule `SLOW` did not compile: see the error at its `schedule!`");
    // SAFETY: a program that cannot be decoded is not run.
    let garbage: Variant<bump::Kernel> = unsafe { Variant::__new("SLOW", b"\xff\xff") };
    assert!(matches!(device().load(&[garbage]), Err(Error::Decode(_))));
}
