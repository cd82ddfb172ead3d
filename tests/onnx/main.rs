//! The tests of ONNX's operators whose tensors have narrow dtypes: integers of 8 and 16 bits, and bfloat16. `TILEWRIGHT_ONNX` names a folder
//! of such tests, as the package `onnx` contains (`onnx/backend/test/data/node`). Without it, the test returns at once. `scripts/onnx`
//! downloads the package and runs them.
//!
//! Each node of a model is a kernel, which is compiled from text under the planned schedule for lavapipe. Quantized products and
//! convolutions are the kernels of `schedules/src/kernels/quantized.rs`.

#![allow(unreachable_pub, missing_docs, reason = "a test binary has no users")]
#![allow(clippy::print_stdout, reason = "the counts are for a reader")]

mod array;
mod launch;
mod operators;
mod proto;

use array::{Array, Type};
use proto::{Model, Node, Tensor};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Operators that are not arithmetic on tensors, so no kernel computes them.
const NOT_KERNELS: [&str; 2] = ["ImageDecoder", "LabelEncoder"];

/// Tests whose expected results wrap where the operator saturates: -236 is 20 there, and -128 by the operator's definition.
const WRAPPING: [&str; 4] = [
    "test_qlinearmatmul_2D_int8_float16",
    "test_qlinearmatmul_2D_int8_float32",
    "test_qlinearmatmul_3D_int8_float16",
    "test_qlinearmatmul_3D_int8_float32",
];

/// The result of a test.
enum Outcome {
    /// All results are right.
    Right,
    /// The model has a dtype that the language lacks, or an operator that is not a kernel, or its results contradict the definition.
    LeftOut(String),
}

fn read<M: proto::Message + Default>(path: &Path) -> M {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    M::decode(&bytes[..]).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads the tensors of a data set: `input_0.pb` and so on.
fn tensors(folder: &Path, kind: &str) -> Vec<Tensor> {
    (0..).map(|n| folder.join(format!("{kind}_{n}.pb"))).take_while(|path| path.exists()).map(|path| read(&path)).collect()
}

/// Returns the types of a model's inputs, outputs and constants, or `None` if one is not a tensor.
fn types(model: &Model) -> Option<Vec<i32>> {
    let graph = model.graph.as_ref()?;
    let named = graph.input.iter().chain(&graph.output).map(|value| Some(value.r#type.as_ref()?.tensor.as_ref()?.element));
    named.chain(graph.initializer.iter().map(|tensor| Some(tensor.data_type))).collect()
}

/// Runs all data sets of a model.
fn run(folder: &Path, model: &Model, types: &[i32]) -> Result<Outcome, String> {
    if let Some(other) = types.iter().find(|t| Type::of(**t).is_none()) {
        return Ok(Outcome::LeftOut(format!("type {other}")));
    }
    if folder.file_name().is_some_and(|name| WRAPPING.iter().any(|test| name == *test)) {
        return Ok(Outcome::LeftOut("results that wrap".into()));
    }
    let graph = model.graph.as_ref().ok_or("no graph")?;
    if let Some(node) = graph.node.iter().find(|node| NOT_KERNELS.contains(&node.op_type.as_str())) {
        return Ok(Outcome::LeftOut(node.op_type.clone()));
    }
    for set in (0..).map(|n| folder.join(format!("test_data_set_{n}"))).take_while(|set| set.exists()) {
        let mut known: HashMap<&str, Array> = HashMap::new();
        for tensor in &graph.initializer {
            known.insert(&tensor.name, Array::of(tensor)?);
        }
        for (value, tensor) in graph.input.iter().zip(tensors(&set, "input")) {
            known.insert(&value.name, Array::of(&tensor)?);
        }
        for node in &graph.node {
            compute(node, &mut known)?;
        }
        for (value, tensor) in graph.output.iter().zip(tensors(&set, "output")) {
            let wanted = Array::of(&tensor)?;
            known
                .get(&*value.name)
                .ok_or("an output is missing")?
                .must_equal(&wanted)
                .map_err(|e| format!("`{}`: {e}", value.name))?;
        }
    }
    Ok(Outcome::Right)
}

/// Computes the outputs of a node from its inputs. An empty name is an input that is left out.
fn compute<'a>(node: &'a Node, known: &mut HashMap<&'a str, Array>) -> Result<(), String> {
    let inputs: Vec<Option<&Array>> = node.input.iter().map(|name| known.get(&**name)).collect();
    let results = operators::evaluate(node, &inputs).map_err(|e| format!("{}: {e}", node.op_type))?;
    known.extend(node.output.iter().map(String::as_str).zip(results));
    Ok(())
}

#[test]
fn nodes_of_narrow_dtypes_have_onnx_results() {
    let Some(folder) = std::env::var_os("TILEWRIGHT_ONNX") else {
        return;
    };
    let mut folders: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder of tests").flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let (mut right, mut left_out, mut wrong) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for folder in folders.iter().filter(|folder| folder.join("model.onnx").exists()) {
        let model: Model = read(&folder.join("model.onnx"));
        let Some(types) = types(&model).filter(|types| types.iter().any(|t| Type::of(*t).is_some_and(Type::is_narrow))) else {
            continue;
        };
        match run(folder, &model, &types) {
            Ok(Outcome::Right) => right += 1,
            Ok(Outcome::LeftOut(reason)) => *left_out.entry(reason).or_default() += 1,
            Err(error) => wrong.push(format!("{}: {error}", folder.file_name().unwrap_or_default().display())),
        }
    }
    let summary = format!("{right} tests are right, {} are wrong; left out: {left_out:?}", wrong.len());
    assert!(wrong.is_empty(), "{summary}\n{}", wrong.join("\n"));
    assert!(right >= 100, "the folder lacks tests: {summary}");
    println!("{summary}");
}
