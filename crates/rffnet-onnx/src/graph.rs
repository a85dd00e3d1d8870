//! An ONNX graph under construction, and its bytes. Field numbers are those of `onnx.proto`.

use rffnet::ColumnTransform;

use crate::proto::Message;

/// The version of the file's layout, and of the operators: both are old enough for every runtime in use.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;

/// What a tensor holds (`TensorProto.DataType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Float = 1,
    Int64 = 7,
    Text = 8,
    Double = 11,
}

/// A dimension of an input or output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dim {
    /// As many as there are rows.
    Rows,
    Fixed(usize),
}

/// The name of a tensor in the graph.
#[derive(Debug, Clone)]
pub(crate) struct Value(String);

/// Nodes in the order they are computed, constants, inputs and outputs.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
}

impl Graph {
    pub(crate) fn input(&mut self, name: &str, of: Type, shape: &[Dim]) -> Value {
        self.inputs.push(value_info(name, of, shape));
        Value(name.into())
    }

    /// Declares a value that was computed under this name.
    pub(crate) fn output(&mut self, value: &Value, of: Type, shape: &[Dim]) {
        self.outputs.push(value_info(&value.0, of, shape));
    }

    pub(crate) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Value {
        self.raw(name, Type::Float, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    pub(crate) fn doubles(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Value {
        self.raw(name, Type::Double, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// One number for each column, of its transform.
    pub(crate) fn columns(
        &mut self,
        name: &str,
        of: &[ColumnTransform],
        number: impl Fn(&ColumnTransform) -> f32,
    ) -> Value {
        self.floats(name, &[of.len()], &of.iter().map(number).collect::<Vec<_>>())
    }

    /// The same in 64 bits.
    pub(crate) fn wide_columns(
        &mut self,
        name: &str,
        of: &[ColumnTransform],
        number: impl Fn(&ColumnTransform) -> f64,
    ) -> Value {
        self.doubles(name, &[of.len()], &of.iter().map(number).collect::<Vec<_>>())
    }

    pub(crate) fn integers(&mut self, name: &str, values: &[i64]) -> Value {
        self.integers_of(name, &[values.len()], values)
    }

    /// The same, of more dimensions than one.
    pub(crate) fn integers_of(&mut self, name: &str, shape: &[usize], values: &[i64]) -> Value {
        self.raw(name, Type::Int64, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    pub(crate) fn texts(&mut self, name: &str, values: &[String]) -> Value {
        const STRING_DATA: u64 = 6;
        let tensor = tensor(name, Type::Text, &[values.len()]);
        self.constants.push(tensor.each(values, |m, text| m.text(STRING_DATA, text)));
        Value(name.into())
    }

    fn raw(&mut self, name: &str, of: Type, shape: &[usize], bytes: Vec<u8>) -> Value {
        const RAW_DATA: u64 = 9;
        self.constants.push(tensor(name, of, shape).bytes(RAW_DATA, &bytes));
        Value(name.into())
    }

    /// An operator with one output, called `name`, as the node is.
    pub(crate) fn node(&mut self, op: &str, inputs: &[&Value], name: &str) -> Value {
        self.node_with(op, inputs, &[], name)
    }

    /// As [`Graph::node`], with attributes that are whole numbers.
    pub(crate) fn node_with(
        &mut self,
        op: &str,
        inputs: &[&Value],
        attributes: &[(&str, u64)],
        name: &str,
    ) -> Value {
        const INT: u64 = 2;
        let attribute =
            |&(name, value): &(&str, u64)| Message::new().text(1, name).int(3, value).int(20, INT);
        self.nodes.push(
            Message::new()
                .each(inputs, |m, input| m.text(1, &input.0))
                .text(2, name)
                .text(3, name)
                .text(4, op)
                .each(attributes, |m, a| m.message(5, &attribute(a))),
        );
        Value(name.into())
    }

    pub(crate) fn cast(&mut self, value: &Value, to: Type, name: &str) -> Value {
        self.node_with("Cast", &[value], &[("to", to as u64)], name)
    }

    /// The file (`ModelProto`), with `properties` as its metadata.
    pub(crate) fn into_bytes(self, about: &str, properties: &[(&str, String)]) -> Vec<u8> {
        let graph = Message::new()
            .each(&self.nodes, |m, node| m.message(1, node))
            .text(2, "rffnet")
            .each(&self.constants, |m, tensor| m.message(5, tensor))
            .each(&self.inputs, |m, info| m.message(11, info))
            .each(&self.outputs, |m, info| m.message(12, info));
        let opset = Message::new().text(1, "").int(2, OPSET);
        Message::new()
            .int(1, IR_VERSION)
            .text(2, "rffnet")
            .text(3, env!("CARGO_PKG_VERSION"))
            .text(6, about)
            .message(7, &graph)
            .message(8, &opset)
            .each(properties, |m, (key, value)| m.message(14, &Message::new().text(1, key).text(2, value)))
            .into_bytes()
    }
}

/// A `TensorProto` without its data.
fn tensor(name: &str, of: Type, shape: &[usize]) -> Message {
    Message::new().each(shape, |m, &n| m.int(1, n as u64)).int(2, of as u64).text(8, name)
}

/// A `ValueInfoProto`: name, and the type of a tensor.
fn value_info(name: &str, of: Type, shape: &[Dim]) -> Message {
    let dim = |dim: &Dim| match dim {
        Dim::Rows => Message::new().text(2, "N"),
        Dim::Fixed(n) => Message::new().int(1, *n as u64),
    };
    let shape = Message::new().each(shape, |m, d| m.message(1, &dim(d)));
    let tensor = Message::new().int(1, of as u64).message(2, &shape);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}
