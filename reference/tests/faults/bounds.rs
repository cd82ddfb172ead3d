//! Accesses out of bounds, and writes to read-only memory.

use super::support::Run;

/// `y[g] = x[g]`.
const COPY: &str = "
    %a = OpAccessChain %p_float %x %c0 %g
    %v = OpLoad %float %a
    %b = OpAccessChain %p_float %y %c0 %g
    OpStore %b %v
";

#[test]
fn a_copy_is_right() {
    let run = Run { groups: 2, ..Run::new() };
    assert_eq!(run.y(COPY), run.x);
}

#[test]
fn reads_past_the_end() {
    let run = Run { groups: 2, x_elements: 11, x: vec![1.0; 11], ..Run::new() };
    assert_eq!(
        run.fault(COPY),
        "invocation [3, 0, 0] of workgroup [1, 0, 0] reads `x`[11], which is out of bounds: there are 11 elements"
    );
}

#[test]
fn reads_before_the_beginning() {
    let body = "
        %k = OpISub %uint %g %c2
        %a = OpAccessChain %p_float %x %c0 %k
        %v = OpLoad %float %a
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `x`[-2], which is out of bounds: there are 16 elements"
    );
}

#[test]
fn writes_past_the_end() {
    let run = Run { y_elements: 5, ..Run::new() };
    assert_eq!(
        run.fault(COPY),
        "invocation [5, 0, 0] of workgroup [0, 0, 0] writes `y`[5], which is out of bounds: there are 5 elements"
    );
}

#[test]
fn a_vector_that_is_half_inside() {
    // The third vector of 11 elements contains the last three elements and one out of bounds.
    let run = Run { local: 3, x_elements: 11, x: vec![1.0; 11], ..Run::new() };
    let body = "
        %a = OpAccessChain %p_vec4 %xv %c0 %i
        %v = OpLoad %vec4 %a
    ";
    assert_eq!(
        run.fault(body),
        "invocation [2, 0, 0] of workgroup [0, 0, 0] reads `x`[11], which is out of bounds: there are 11 elements"
    );
}

#[test]
fn shared_arrays_have_bounds() {
    let body = "
        %k = OpIMul %uint %i %c40
        %a = OpAccessChain %p_shared %tile %k
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [2, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[80], which is out of bounds: there are 64 \
         elements"
    );
}

#[test]
fn registers_have_bounds() {
    let body = "
        %a = OpAccessChain %p_rf %r %i
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [4, 0, 0] of workgroup [0, 0, 0] writes the register `r`[4], which is out of bounds: there are 4 elements"
    );
}

#[test]
fn what_is_only_read_is_not_written() {
    let body = "
        %a = OpAccessChain %p_float %x %c0 %g
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes `x`[0], which this dispatch only reads according to its launch program"
    );
}
