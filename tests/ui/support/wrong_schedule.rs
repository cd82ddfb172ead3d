//! A schedule with a mistake.

tilewright::schedule! {
    pub(crate) MATMUL: crate::kernels::matmul<T = f32> for crate::profiles::tiny {
        tile(i: 16, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}
