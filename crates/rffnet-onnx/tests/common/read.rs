//! A reader of protobuf, and of the parts of ONNX that the tests look at.

use std::collections::BTreeMap;

/// A field's value.
#[derive(Debug, Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order. Whatever is not well formed is a panic: these are tests.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = bytes.split_first().expect("a varint is cut short");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        found.push((tag >> 3, value));
    }
    found
}

/// A message with its fields by number.
struct Message<'a>(Vec<(u64, Field<'a>)>);

impl<'a> Message<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self(fields(bytes))
    }

    fn all(&self, number: u64) -> impl Iterator<Item = Field<'a>> {
        self.0.iter().filter(move |(n, _)| *n == number).map(|(_, value)| *value)
    }

    fn bytes(&self, number: u64) -> impl Iterator<Item = &'a [u8]> {
        self.all(number).map(move |value| match value {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("field {number} is a number"),
        })
    }

    fn numbers(&self, number: u64) -> Vec<u64> {
        let number_of = |value| match value {
            Field::Number(n) => n,
            Field::Bytes(_) => panic!("field {number} is not a number"),
        };
        self.all(number).map(number_of).collect()
    }

    fn number(&self, number: u64) -> u64 {
        self.numbers(number)[0]
    }

    fn texts(&self, number: u64) -> Vec<String> {
        self.bytes(number).map(|b| String::from_utf8(b.to_vec()).expect("UTF-8")).collect()
    }

    fn text(&self, number: u64) -> String {
        self.texts(number).remove(0)
    }

    fn messages(&self, number: u64) -> Vec<Message<'a>> {
        self.bytes(number).map(Message::new).collect()
    }
}

/// What a tensor holds; numbers of every type as f64.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cells {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) cells: Cells,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) op: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) attributes: BTreeMap<String, u64>,
}

/// An input or output: name, type by number, dimensions by name or size.
#[derive(Debug, PartialEq)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) of: u64,
    pub(crate) shape: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) ir_version: u64,
    pub(crate) producer: String,
    pub(crate) opset: Vec<(String, u64)>,
    pub(crate) properties: BTreeMap<String, String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) constants: BTreeMap<String, Tensor>,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

pub(crate) fn model(bytes: &[u8]) -> Model {
    let model = Message::new(bytes);
    let graph = model.messages(7).remove(0);
    Model {
        ir_version: model.number(1),
        producer: format!("{} {}", model.text(2), model.text(3)),
        opset: model.messages(8).iter().map(|o| (o.text(1), o.number(2))).collect(),
        properties: model.messages(14).iter().map(|p| (p.text(1), p.text(2))).collect(),
        nodes: graph.messages(1).iter().map(node).collect(),
        constants: graph.messages(5).iter().map(|t| (t.text(8), tensor(t))).collect(),
        inputs: graph.messages(11).iter().map(port).collect(),
        outputs: graph.messages(12).iter().map(port).collect(),
    }
}

fn node(node: &Message<'_>) -> Node {
    let attribute = |a: &Message<'_>| {
        assert_eq!(a.number(20), 2, "attributes are whole numbers");
        (a.text(1), a.number(3))
    };
    Node {
        op: node.text(4),
        inputs: node.texts(1),
        outputs: node.texts(2),
        attributes: node.messages(5).iter().map(attribute).collect(),
    }
}

fn tensor(tensor: &Message<'_>) -> Tensor {
    let shape: Vec<usize> = tensor.numbers(1).iter().map(|&n| n as usize).collect();
    let raw: Vec<u8> = tensor.bytes(9).flatten().copied().collect();
    let eight = |b: &[u8]| -> [u8; 8] { b.try_into().expect("eight bytes") };
    let cells = match tensor.number(2) {
        1 => {
            let float = |b: &[u8]| f32::from_le_bytes(b.try_into().expect("four bytes")).into();
            Cells::Numbers(raw.chunks(4).map(float).collect())
        }
        7 => Cells::Numbers(raw.chunks(8).map(|b| i64::from_le_bytes(eight(b)) as f64).collect()),
        8 => Cells::Texts(tensor.texts(6)),
        11 => Cells::Numbers(raw.chunks(8).map(|b| f64::from_le_bytes(eight(b))).collect()),
        other => panic!("data type {other}"),
    };
    let count = match &cells {
        Cells::Numbers(numbers) => numbers.len(),
        Cells::Texts(texts) => texts.len(),
    };
    assert_eq!(count, shape.iter().product::<usize>(), "{}", tensor.text(8));
    Tensor { shape, cells }
}

fn port(info: &Message<'_>) -> Port {
    let tensor = info.messages(2).remove(0).messages(1).remove(0);
    let dim = |dim: &Message<'_>| match dim.numbers(1).first() {
        Some(size) => size.to_string(),
        None => dim.text(2),
    };
    let shape = tensor.messages(2).remove(0).messages(1).iter().map(dim).collect();
    Port { name: info.text(1), of: tensor.number(1), shape }
}
