//! Operators as kernels.

use crate::array::{Array, Type};
use crate::launch::{published, run};
use crate::proto::Node;
use tilewright_launch::DType;

/// The inputs of a node.
type Inputs<'a> = [Option<&'a Array>];

/// Evaluates a node.
pub fn evaluate(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    match node.op_type.as_str() {
        "Constant" => Ok(vec![Array::of(node.tensor("value").ok_or("only tensors are constants here")?)?]),
        "ReduceMin" | "ReduceMax" => reduce(node, input(inputs, 0)?),
        "MaxPool" => max_pool(node, input(inputs, 0)?),
        "QuantizeLinear" => quantize(node, inputs),
        "DequantizeLinear" => dequantize(node, inputs),
        "DynamicQuantizeLinear" => dynamic_quantize(input(inputs, 0)?),
        "QLinearMatMul" => qlinear_matmul(inputs),
        "QLinearConv" => qlinear_conv(node, inputs),
        "MatMulInteger" => matmul_integer(inputs),
        "ConvInteger" => conv_integer(node, inputs),
        _ => elementwise(node, inputs),
    }
}

fn input<'a>(inputs: &Inputs<'a>, n: usize) -> Result<&'a Array, String> {
    inputs.get(n).copied().flatten().ok_or_else(|| format!("input {n} is missing"))
}

fn optional<'a>(inputs: &Inputs<'a>, n: usize) -> Option<&'a Array> {
    inputs.get(n).copied().flatten()
}

/// Returns the shape to which shapes are broadcast.
fn broadcast(inputs: &[&Array]) -> Vec<i64> {
    let rank = inputs.iter().map(|array| array.shape.len()).max().unwrap_or(0);
    let size = |axis: usize| {
        let of = |array: &&Array| (array.shape.len() + axis).checked_sub(rank).map_or(1, |n| array.shape[n]);
        inputs.iter().map(of).find(|size| *size != 1).unwrap_or(1)
    };
    (0..rank).map(size).collect()
}

/// Returns the expression of an element of the result, where `a`, `b` and `c` are the elements of the inputs, and the result's dtype.
fn expression(node: &Node, inputs: &Inputs<'_>) -> Result<(String, DType), String> {
    let of = input(inputs, 0)?.dtype;
    let same = |text: &str| Ok((text.to_owned(), of));
    let truth = |text: &str| Ok((text.to_owned(), DType::Bool));
    match node.op_type.as_str() {
        "Add" => same("a + b"),
        "Sub" => same("a - b"),
        "Mul" => same("a * b"),
        "Div" => same("a / b"),
        "Max" => same("a.max(b)"),
        "Min" => same("a.min(b)"),
        "Mod" if node.int("fmod") == Some(1) => same("a % b"),
        // The remainder has the sign of the divisor.
        "Mod" => Ok((format!("((a as i32 % b as i32 + b as i32) % b as i32) as {of}"), of)),
        "BitShift" if node.text("direction").as_deref() == Some("LEFT") => same("a << b"),
        "BitShift" => same("a >> b"),
        "BitwiseAnd" => same("a & b"),
        "BitwiseOr" => same("a | b"),
        "BitwiseXor" => same("a ^ b"),
        "BitwiseNot" => same("!a"),
        "Identity" => same("a"),
        "Round" => same("a.round_ties_even()"),
        "Equal" => truth("a == b"),
        "Less" => truth("a < b"),
        "LessOrEqual" => truth("a <= b"),
        "Greater" => truth("a > b"),
        "GreaterOrEqual" => truth("a >= b"),
        "Or" => truth("a || b"),
        "Where" => Ok(("if a { b } else { c }".to_owned(), input(inputs, 1)?.dtype)),
        "Clip" => {
            let low = optional(inputs, 1).map_or("", |_| ".max(b)");
            let high = optional(inputs, 2).map_or("", |_| ".min(c)");
            Ok((format!("a{low}{high}"), of))
        }
        "Cast" => {
            let Type(to) = node.int("to").and_then(|to| Type::of(i32::try_from(to).ok()?)).ok_or("the type is unknown")?;
            Ok((format!("a as {to}"), to))
        }
        "CastLike" => {
            let to = input(inputs, 1)?.dtype;
            Ok((format!("a as {to}"), to))
        }
        other => Err(format!("`{other}` is not known here")),
    }
}

/// Computes an operator that is applied to elements, of broadcast inputs.
fn elementwise(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (value, dtype) = expression(node, inputs)?;
    // Only the type of this input is used.
    let inputs = if node.op_type == "CastLike" { &inputs[..1] } else { inputs };
    let given: Vec<(char, &Array)> = ('a'..='c').zip(inputs).filter_map(|(name, array)| Some((name, (*array)?))).collect();
    let arrays: Vec<&Array> = given.iter().map(|(_, array)| *array).collect();
    let shape = broadcast(&arrays);
    let listed = |of: &dyn Fn(usize) -> String| (0..shape.len()).map(of).collect::<Vec<_>>().join(", ");
    let (mut arguments, mut elements) = (Vec::new(), Vec::new());
    for (name, array) in &given {
        let first = shape.len() - array.shape.len();
        // An axis of size 1 is repeated along the result's axis.
        let repeats = |n: usize| array.shape[n] == 1 && shape[first + n] != 1;
        let sizes = (0..array.shape.len()).map(|n| if repeats(n) { "1".into() } else { format!("D{}", first + n) });
        let index = (0..array.shape.len()).map(|n| if repeats(n) { "0".into() } else { format!("i{}", first + n) });
        arguments.push(format!("in_{name}: {}[{}]", array.dtype, sizes.collect::<Vec<String>>().join(", ")));
        elements.push(format!("let {name} = in_{name}[{}];", index.collect::<Vec<String>>().join(", ")));
    }
    let dims = listed(&|n| format!("D{n}"));
    let kernel = format!(
        "pub fn node<{dims}>({}) -> y: {dtype}[{dims}] {{ y[{}] = {{ {} {value} }}; }}",
        arguments.join(", "),
        listed(&|n| format!("i{n}")),
        elements.join(" "),
    );
    let names: Vec<String> = (0..shape.len()).map(|n| format!("D{n}")).collect();
    let dims: Vec<(&str, i64)> = names.iter().map(String::as_str).zip(shape.iter().copied()).collect();
    run(&kernel, "node", &dims, &arrays, &[])
}

/// Computes the least or the greatest element of a whole tensor.
fn reduce(node: &Node, x: &Array) -> Result<Vec<Array>, String> {
    if node.int("keepdims") != Some(0) || node.ints("axes").is_some() {
        return Err("only reductions of whole tensors are known here".into());
    }
    let (op, dtype) = (if node.op_type == "ReduceMin" { "min" } else { "max" }, x.dtype);
    let kernel = format!("pub fn node<N>(x: {dtype}[N]) -> y: {dtype}[] {{ y[] = {op}(k in 0..N) {{ x[k] }}; }}");
    let count = x.values.len() as i64;
    run(&kernel, "node", &[("N", count)], &[&x.reshaped(&[count])], &[])
}

/// Returns the equal padding at all borders, for attributes that kernels have.
fn padding(node: &Node) -> Result<i64, String> {
    let pads = node.ints("pads").unwrap_or(&[0]);
    let only_ones = |name: &str| node.ints(name).is_none_or(|values| values.iter().all(|value| *value == 1));
    if pads.iter().any(|pad| *pad != pads[0])
        || !only_ones("strides")
        || !only_ones("dilations")
        || node.int("group").unwrap_or(1) != 1
    {
        return Err("unequal padding, strides, dilations and groups are not known here".into());
    }
    Ok(pads[0])
}

fn max_pool(node: &Node, x: &Array) -> Result<Vec<Array>, String> {
    let (Some(&[kh, kw]), pad, dtype) = (node.ints("kernel_shape"), padding(node)?, x.dtype) else {
        return Err("only two axes are known here".into());
    };
    let (least, _) = dtype.int_range().ok_or("only integers are known here")?;
    let kernel = format!(
        "pub fn node<N, C, H, W, OH = H + 2 * {pad} - {kh} + 1, OW = W + 2 * {pad} - {kw} + 1>(x: {dtype}[N, C, H, W]) -> y: {dtype}[N, C, OH, OW] {{
            y[n, c, h, w] = max(i in 0..{kh}, j in 0..{kw}) {{ x.pad({least})[n, c, h + i - {pad}, w + j - {pad}] }};
        }}"
    );
    run(&kernel, "node", &named(&["N", "C", "H", "W"], &x.shape), &[x], &[])
}

fn named<'a>(names: &[&'a str], shape: &[i64]) -> Vec<(&'a str, i64)> {
    names.iter().copied().zip(shape.iter().copied()).collect()
}

/// The elements of a tensor by the axis along which its quantization changes.
struct Middle {
    /// The elements before the axis, along it, and after it.
    shape: [i64; 3],
    /// The shape of scales and zero points.
    scales: Vec<i64>,
    /// The kernel's suffix and the rest of its header: `_blocked` and the number of elements that share a scale.
    suffix: &'static str,
    header: String,
}

impl Middle {
    fn of(node: &Node, x: &Array, scale: &Array) -> Result<Middle, String> {
        let count = x.values.len() as i64;
        if scale.values.len() == 1 {
            return Ok(Middle { shape: [1, 1, count], scales: vec![1], suffix: "", header: String::new() });
        }
        let (rank, axis) = (x.shape.len() as i64, node.int("axis").unwrap_or(1));
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).map_err(|e| e.to_string())?;
        let size = *x.shape.get(axis).ok_or("the axis is out of range")?;
        let shape = [x.shape[..axis].iter().product(), size, x.shape[axis + 1..].iter().product()];
        let block = node.int("block_size").unwrap_or(0);
        if block == 0 {
            return Ok(Middle { shape, scales: vec![size], suffix: "", header: String::new() });
        }
        let scales = vec![shape[0], (size + block - 1) / block, shape[2]];
        Ok(Middle { shape, scales, suffix: "_blocked", header: format!(", BLOCK = {block}") })
    }

    fn run(&self, name: &str, types: [DType; 2], [x, scale, zero]: [&Array; 3]) -> Result<Vec<Array>, String> {
        let (name, [float, int]) = (format!("{name}{}", self.suffix), types);
        let header = format!("{name}<X = {float}, T = {int}{}>", self.header);
        let scale = Array { dtype: DType::F32, ..scale.reshaped(&self.scales) };
        let tensors = [&x.reshaped(&self.shape), &scale, &zero.reshaped(&self.scales)];
        let results = run(&published(&name)?, &header, &named(&["A", "C", "B"], &self.shape), &tensors, &[])?;
        Ok(results.iter().map(|result| result.reshaped(&x.shape)).collect())
    }
}

/// Returns the zero point, or zeros of its shape and type if it is left out.
fn zero_point(given: Option<&Array>, scale: &Array, dtype: DType) -> Array {
    given.cloned().unwrap_or_else(|| Array::new(dtype, &scale.shape, scale.values.iter().map(|_| 0.0)))
}

fn quantize(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (x, scale) = (input(inputs, 0)?, input(inputs, 1)?);
    let named = node.int("output_dtype").and_then(|n| Type::of(i32::try_from(n).ok()?)).map(|Type(dtype)| dtype);
    let dtype = optional(inputs, 2).map(|zero| zero.dtype).or(named).unwrap_or(DType::U8);
    let zero = zero_point(optional(inputs, 2), scale, dtype);
    Middle::of(node, x, scale)?.run("quantize", [x.dtype, dtype], [x, scale, &zero])
}

fn dequantize(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (x, scale) = (input(inputs, 0)?, input(inputs, 1)?);
    let zero = zero_point(optional(inputs, 2), scale, x.dtype);
    Middle::of(node, x, scale)?.run("dequantize", [scale.dtype, x.dtype], [x, scale, &zero])
}

fn dynamic_quantize(x: &Array) -> Result<Vec<Array>, String> {
    let count = x.values.len() as i64;
    let mut results = run(&published("dynamic_quantize")?, "dynamic_quantize", &[("N", count)], &[&x.reshaped(&[count])], &[])?;
    results[0].shape.clone_from(&x.shape);
    Ok(results)
}

/// Returns `count` elements of a tensor that has as many, or one for all.
fn repeated(of: &Array, count: i64) -> Result<Array, String> {
    let numbers = of.numbers();
    match numbers.len() as i64 {
        1 => Ok(Array::new(of.dtype, &[count], (0..count).map(|_| numbers[0]))),
        n if n == count => Ok(of.reshaped(&[count])),
        n => Err(format!("{n} elements for {count} columns")),
    }
}

/// Returns the scales of results: the product of the operands' scales, divided by the result's scale.
fn result_scales(a: &Array, b: &Array, y: &Array, count: i64) -> Result<Array, String> {
    let (a, y) = (a.one()? as f32, y.one()? as f32);
    let scales = repeated(b, count)?.numbers().into_iter().map(|b| f64::from(a * b as f32 / y));
    Ok(Array::new(DType::F32, &[count], scales))
}

fn qlinear_matmul(inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|n| input(inputs, n)).into_iter().collect::<Result<Vec<_>, _>>()?[..]
    else {
        return Err("it has eight inputs".into());
    };
    let ([.., m, k], [.., n]) = (&a.shape[..], &b.shape[..]) else { return Err("it multiplies matrices".into()) };
    let (m, n, k) = (*m, *n, *k);
    let header = format!("matmul_q<A = {}, B = {}>", a.dtype, b.dtype);
    let bias = Array::new(DType::I32, &[n], (0..n).map(|_| 0.0));
    let (scale, zero) = (result_scales(a_scale, b_scale, y_scale, n)?, repeated(b_zero, n)?);
    let mut y = Array { dtype: y_zero.dtype, shape: [&a.shape[..a.shape.len() - 1], &[n]].concat(), values: Vec::new() };
    // The matrices of a batch, one after another.
    for (a_part, b_part) in a.values.chunks((m * k) as usize).zip(b.values.chunks((k * n) as usize)) {
        let a_part = Array { values: a_part.to_vec(), ..a.reshaped(&[m, k]) };
        let b_part = Array { values: b_part.to_vec(), ..b.reshaped(&[k, n]) };
        let dims = [("M", m), ("N", n), ("K", k)];
        let tensors = [&a_part, &b_part, &bias, &scale, &zero];
        let parts = run(&published("matmul_q")?, &header, &dims, &tensors, &[a_zero.one()?, y_zero.one()?])?;
        y.values.extend(parts.into_iter().flat_map(|part| part.values));
    }
    Ok(vec![y])
}

fn qlinear_conv(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (x, x_scale, x_zero, w) = (input(inputs, 0)?, input(inputs, 1)?, input(inputs, 2)?, input(inputs, 3)?);
    let (w_scale, w_zero, y_scale, y_zero) = (input(inputs, 4)?, input(inputs, 5)?, input(inputs, 6)?, input(inputs, 7)?);
    let &[oc, _, fh, fw] = &w.shape[..] else { return Err("only images are known here".into()) };
    let header = format!("conv_nchw_q<A = {}, B = {}, FH = {fh}, FW = {fw}, P = {}>", x.dtype, w.dtype, padding(node)?);
    let none = Array::new(DType::I32, &[oc], (0..oc).map(|_| 0.0));
    let bias = optional(inputs, 8).unwrap_or(&none);
    let (scale, zero) = (result_scales(x_scale, w_scale, y_scale, oc)?, repeated(w_zero, oc)?);
    let mut dims = named(&["N", "IC", "IH", "IW"], &x.shape);
    dims.push(("OC", oc));
    let (least, greatest) = x.dtype.int_range().ok_or("`x` is not quantized")?;
    let scalars = [x_zero.one()?, y_zero.one()?, least as f64, greatest as f64];
    run(&published("conv_nchw_q")?, &header, &dims, &[x, w, bias, &scale, &zero], &scalars)
}

fn matmul_integer(inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (a, b) = (input(inputs, 0)?, input(inputs, 1)?);
    let (&[m, k], &[_, n]) = (&a.shape[..], &b.shape[..]) else { return Err("only matrices are known here".into()) };
    let (t, u) = (a.dtype, b.dtype);
    let kernel = format!(
        "pub fn node<M, N, K>(a: {t}[M, K], b: {u}[K, N], b_zero: {u}[N], a_zero: {t}) -> y: i32[M, N] {{
            y[i, j] = sum(k in 0..K) {{ (a[i, k] as i32 - a_zero as i32) * (b[k, j] as i32 - b_zero[j] as i32) }};
        }}"
    );
    let zero = match optional(inputs, 3) {
        Some(zero) => repeated(zero, n)?,
        None => Array::new(u, &[n], (0..n).map(|_| 0.0)),
    };
    let a_zero = optional(inputs, 2).map_or(Ok(0.0), Array::one)?;
    run(&kernel, "node", &[("M", m), ("N", n), ("K", k)], &[a, b, &zero], &[a_zero])
}

fn conv_integer(node: &Node, inputs: &Inputs<'_>) -> Result<Vec<Array>, String> {
    let (x, w, pad) = (input(inputs, 0)?, input(inputs, 1)?, padding(node)?);
    let &[oc, _, fh, fw] = &w.shape[..] else { return Err("only images are known here".into()) };
    let (t, u) = (x.dtype, w.dtype);
    let kernel = format!(
        "pub fn node<N, C, H, W, O, OH = H + 2 * {pad} - {fh} + 1, OW = W + 2 * {pad} - {fw} + 1>(
            x: {t}[N, C, H, W], w: {u}[O, C, {fh}, {fw}], x_zero: {t}, w_zero: {u},
        ) -> y: i32[N, O, OH, OW] {{
            y[n, o, h, w_] = sum(c in 0..C, i in 0..{fh}, j in 0..{fw}) {{
                (x.pad(x_zero)[n, c, h + i - {pad}, w_ + j - {pad}] as i32 - x_zero as i32) * (w[o, c, i, j] as i32 - w_zero as i32)
            }};
        }}"
    );
    let mut dims = named(&["N", "C", "H", "W"], &x.shape);
    dims.push(("O", oc));
    let zeros = [2, 3].map(|n| optional(inputs, n).map_or(Ok(0.0), Array::one));
    let [x_zero, w_zero] = zeros;
    run(&kernel, "node", &dims, &[x, w], &[x_zero?, w_zero?])
}
