//! A small assembler for SPIR-V. It is needed because the assembler that most machines have does not support cooperative matrices yet.
//!
//! It accepts the text that `spirv-as` accepts, as far as these tests need it: ids, integers, 32-bit floats, strings, and the names that
//! [`number`] knows.

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use std::collections::HashMap;
use std::str::FromStr;

/// Returns a module of SPIR-V 1.6.
pub(crate) fn assemble(text: &str) -> Vec<u8> {
    let mut ids = HashMap::new();
    let mut body = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        instruction(line, &mut ids, &mut body);
    }
    let bound = ids.len() as u32 + 1;
    [spirv::MAGIC_NUMBER, 0x0001_0600, 0, bound, 0].into_iter().chain(body).flat_map(u32::to_le_bytes).collect()
}

fn instruction(line: &str, ids: &mut HashMap<String, u32>, body: &mut Vec<u32>) {
    let mut id = |name: &str| {
        let next = ids.len() as u32 + 1;
        *ids.entry(name.to_owned()).or_insert(next)
    };
    let (result, line) = line.split_once(" = ").map_or((None, line), |(result, rest)| (Some(result.trim()), rest));
    let mut tokens = line.split_whitespace();
    let name = tokens.next().expect("an instruction").trim_start_matches("Op");
    let known = INSTRUCTION_TABLE.iter().find(|known| known.opname == name).unwrap_or_else(|| panic!("Op{name}"));
    let typed = known.operands.first().is_some_and(|o| o.kind == OperandKind::IdResultType);
    let mut words = Vec::new();
    if typed {
        words.push(id(tokens.next().expect("a result type")));
    }
    words.extend(result.map(&mut id));
    for token in tokens {
        match token.as_bytes()[0] {
            b'%' => words.push(id(token)),
            b'"' => words.extend(string(token.trim_matches('"'))),
            _ => words.push(number(name, token)),
        }
    }
    body.push((words.len() as u32 + 1) << 16 | known.opcode as u32);
    body.extend(words);
}

fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect()
}

/// Returns the value of a literal, or of a name among the operands of an instruction.
fn number(op: &str, token: &str) -> u32 {
    if let Ok(integer) = token.parse::<i64>() {
        return integer as u32;
    }
    if let Some(hex) = token.strip_prefix("0x") {
        return u32::from_str_radix(hex, 16).expect("a number");
    }
    if let Ok(float) = token.parse::<f32>() {
        return float.to_bits();
    }
    fn of<T: FromStr>(token: &str, number: impl Fn(T) -> u32) -> Option<u32> {
        token.parse().ok().map(number)
    }
    let found = match op {
        "Capability" => of::<spirv::Capability>(token, |v| v as u32),
        "TypePointer" | "Variable" => of::<spirv::StorageClass>(token, |v| v as u32),
        "EntryPoint" => of::<spirv::ExecutionModel>(token, |v| v as u32),
        "ExecutionMode" => of::<spirv::ExecutionMode>(token, |v| v as u32),
        "MemoryModel" => {
            of::<spirv::AddressingModel>(token, |v| v as u32).or_else(|| of::<spirv::MemoryModel>(token, |v| v as u32))
        }
        "Decorate" | "MemberDecorate" => {
            of::<spirv::Decoration>(token, |v| v as u32).or_else(|| of::<spirv::BuiltIn>(token, |v| v as u32))
        }
        "TypeFloat" => of::<spirv::FPEncoding>(token, |v| v as u32),
        _ => token.split('|').try_fold(0, |bits, name| Some(bits | bit(name)?)),
    };
    found.unwrap_or_else(|| panic!("{token} in Op{op}"))
}

/// Returns a bit of one of the masks.
fn bit(name: &str) -> Option<u32> {
    use spirv::{CooperativeMatrixOperands as Signs, MemoryAccess};
    Some(match name {
        "None" => 0,
        "Row" => spirv::CooperativeMatrixReduce::ROW.bits(),
        "Column" => spirv::CooperativeMatrixReduce::COLUMN.bits(),
        "2x2" => spirv::CooperativeMatrixReduce::_2X2.bits(),
        "Aligned" => MemoryAccess::ALIGNED.bits(),
        "MakePointerAvailable" => MemoryAccess::MAKE_POINTER_AVAILABLE.bits(),
        "MakePointerVisible" => MemoryAccess::MAKE_POINTER_VISIBLE.bits(),
        "NonPrivatePointer" => MemoryAccess::NON_PRIVATE_POINTER.bits(),
        "MatrixASigned" => Signs::MATRIX_A_SIGNED_COMPONENTS_KHR.bits(),
        "MatrixBSigned" => Signs::MATRIX_B_SIGNED_COMPONENTS_KHR.bits(),
        "MatrixCSigned" => Signs::MATRIX_C_SIGNED_COMPONENTS_KHR.bits(),
        "MatrixResultSigned" => Signs::MATRIX_RESULT_SIGNED_COMPONENTS_KHR.bits(),
        "SaturatingAccumulation" => Signs::SATURATING_ACCUMULATION_KHR.bits(),
        _ => return None,
    })
}
