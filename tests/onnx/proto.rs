//! The parts of ONNX's messages (`onnx.proto`) that models of single operators use.

pub use prost::Message;

/// `ModelProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
}

/// `GraphProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<Value>,
}

/// `NodeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
}

/// `AttributeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int64, tag = "3")]
    pub int: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub text: Vec<u8>,
    #[prost(message, optional, tag = "5")]
    pub tensor: Option<Tensor>,
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
}

/// `ValueInfoProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<ValueType>,
}

/// `TypeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct ValueType {
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
}

/// `TypeProto.Tensor`.
#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    #[prost(int32, tag = "1")]
    pub element: i32,
}

/// `TensorProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    #[prost(float, repeated, tag = "4")]
    pub floats: Vec<f32>,
    #[prost(int32, repeated, tag = "5")]
    pub ints: Vec<i32>,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub raw: Vec<u8>,
}

impl Node {
    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attribute.iter().find(|attribute| attribute.name == name)
    }

    /// Returns an attribute that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.int)
    }

    /// Returns an attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|attribute| &attribute.ints[..])
    }

    /// Returns an attribute that is a text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.attribute(name).map(|attribute| String::from_utf8_lossy(&attribute.text).into_owned())
    }

    /// Returns an attribute that is a tensor.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.attribute(name)?.tensor.as_ref()
    }
}
