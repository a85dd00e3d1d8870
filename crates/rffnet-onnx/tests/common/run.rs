//! Computes a graph in f64, operator by operator, as the ONNX specification describes them.

use std::collections::BTreeMap;

use super::read::{Cells, Model, Node, Tensor};

impl Tensor {
    pub(crate) fn of(shape: &[usize], numbers: Vec<f64>) -> Self {
        assert_eq!(numbers.len(), shape.iter().product::<usize>());
        Self { shape: shape.into(), cells: Cells::Numbers(numbers) }
    }

    pub(crate) fn numbers(&self) -> &[f64] {
        match &self.cells {
            Cells::Numbers(numbers) => numbers,
            Cells::Texts(_) => panic!("texts where numbers are needed"),
        }
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self::of(&self.shape, self.numbers().iter().map(|&v| f(v)).collect())
    }

    fn rows(&self) -> (usize, usize) {
        match *self.shape {
            [rows, columns] => (rows, columns),
            _ => panic!("a matrix is needed, not {:?}", self.shape),
        }
    }
}

/// All outputs of the graph, by name.
pub(crate) fn run(model: &Model, x: Tensor) -> BTreeMap<String, Tensor> {
    let mut values = model.constants.clone();
    values.insert(model.inputs[0].name.clone(), x);
    for node in &model.nodes {
        let inputs: Vec<&Tensor> =
            node.inputs.iter().map(|name| values.get(name).unwrap_or_else(|| panic!("no {name}"))).collect();
        let output = compute(node, &inputs);
        assert_eq!(node.outputs.len(), 1);
        assert!(values.insert(node.outputs[0].clone(), output).is_none(), "{} twice", node.outputs[0]);
    }
    let rows = values[&model.inputs[0].name].shape[0];
    let outputs = model.outputs.iter().map(|port| {
        let value = values[&port.name].clone();
        let declared: Vec<usize> =
            port.shape.iter().map(|d| if d == "N" { rows } else { d.parse().expect("a size") }).collect();
        assert_eq!(value.shape, declared, "{}", port.name);
        (port.name.clone(), value)
    });
    outputs.collect()
}

fn compute(node: &Node, inputs: &[&Tensor]) -> Tensor {
    let a = inputs[0];
    let attribute = |name: &str| node.attributes.get(name).copied();
    match node.op.as_str() {
        "Add" | "Sum" => broadcast(inputs, |a, b| a + b),
        "Sub" => broadcast(inputs, |a, b| a - b),
        "Mul" => broadcast(inputs, |a, b| a * b),
        "Div" => broadcast(inputs, |a, b| a / b),
        "Pow" => broadcast(inputs, f64::powf),
        "Equal" => broadcast(inputs, |a, b| (a == b).into()),
        "Less" => broadcast(inputs, |a, b| (a < b).into()),
        // Of 32-bit numbers, so that a cell is at a cut here where it is in the model.
        "GreaterOrEqual" => broadcast(inputs, |a, b| (a as f32 >= b as f32).into()),
        "Abs" => a.map(f64::abs),
        "Sqrt" => a.map(f64::sqrt),
        // What is not a number stays that.
        "Max" => broadcast(inputs, |a, b| if a >= b || a.is_nan() { a } else { b }),
        "Min" => broadcast(inputs, |a, b| if a <= b || a.is_nan() { a } else { b }),
        "Cos" => a.map(f64::cos),
        "Sin" => a.map(f64::sin),
        "Floor" => a.map(f64::floor),
        "Exp" => a.map(f64::exp),
        "IsNaN" => a.map(|v| v.is_nan().into()),
        "Where" => {
            let all = broadcast(inputs, |_, _| 0.0);
            let [which, yes, no] = [0, 1, 2].map(|i| broadcast(&[inputs[i], &all], |a, _| a));
            let choose = which.numbers().iter().zip(yes.numbers().iter().zip(no.numbers()));
            Tensor::of(&all.shape, choose.map(|(&c, (&yes, &no))| if c != 0.0 { yes } else { no }).collect())
        }
        "Cast" => match attribute("to") {
            Some(1 | 7 | 11) => a.clone(), // all numbers are f64 here
            other => panic!("a cast to {other:?}"),
        },
        "Identity" => a.clone(),
        "Pad" => {
            let (n, d) = a.rows();
            assert_eq!(inputs[1].numbers(), [0.0, 1.0, 0.0, 0.0], "a column before the first");
            let first = inputs[2].numbers()[0];
            let rows = a.numbers().chunks(d).flat_map(|row| [first].into_iter().chain(row.iter().copied()));
            Tensor::of(&[n, d + 1], rows.collect())
        }
        "MatMul" => {
            let (leading, d) = a.shape.split_at(a.shape.len() - 1);
            let ((rows, k), b) = (inputs[1].rows(), inputs[1].numbers());
            assert_eq!(d, [rows]);
            let n: usize = leading.iter().product();
            let cell = |i: usize| (0..rows).map(|j| a.numbers()[i / k * rows + j] * b[j * k + i % k]).sum();
            Tensor::of(&[leading, &[k]].concat(), (0..n * k).map(cell).collect())
        }
        "ReduceSum" => {
            assert_eq!((inputs[1].numbers(), attribute("keepdims")), (&[1.0, 2.0][..], Some(0)));
            let [n, parts, 1, k] = *a.shape else { panic!("a column of parts is needed, not {:?}", a.shape) };
            let cell = |i: usize| (0..parts).map(|p| a.numbers()[(i / k * parts + p) * k + i % k]).sum();
            Tensor::of(&[n, k], (0..n * k).map(cell).collect())
        }
        "Squeeze" => {
            assert_eq!((inputs[1].numbers(), a.rows().1), (&[1.0][..], 1));
            Tensor::of(&a.shape[..1], a.numbers().to_vec())
        }
        "Softmax" => {
            assert_eq!(attribute("axis"), Some(1));
            let row = |row: &[f64]| -> Vec<f64> {
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = row.iter().map(|v| (v - top).exp()).sum();
                row.iter().map(|v| (v - top).exp() / total).collect()
            };
            Tensor::of(&a.shape, a.numbers().chunks(a.rows().1).flat_map(row).collect())
        }
        "ArgMax" => {
            assert_eq!((attribute("axis"), attribute("keepdims")), (Some(1), Some(0)));
            let first_largest = |row: &[f64]| {
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                row.iter().position(|&v| v == top).expect("a largest") as f64
            };
            Tensor::of(&a.shape[..1], a.numbers().chunks(a.rows().1).map(first_largest).collect())
        }
        "Concat" => {
            assert_eq!(attribute("axis"), Some(1));
            let width = inputs.iter().map(|t| t.rows().1).sum();
            let row =
                |row: usize| inputs.iter().flat_map(move |t| &t.numbers()[row * t.rows().1..][..t.rows().1]);
            Tensor::of(&[a.rows().0, width], (0..a.rows().0).flat_map(row).copied().collect())
        }
        "Gather" => gather(a, inputs[1], attribute("axis").expect("an axis") as usize),
        other => panic!("operator {other}"),
    }
}

/// Entries along an axis, which gives way to the dimensions of `at`.
fn gather(a: &Tensor, at: &Tensor, axis: usize) -> Tensor {
    let (size, below) = (a.shape[axis], a.shape[axis + 1..].iter().product::<usize>());
    let above = a.shape[..axis].iter().product::<usize>();
    let entry = |i: usize, at: f64| {
        assert!(at >= 0.0 && at < size as f64 && at.fract() == 0.0, "entry {at} of {size}");
        let first = (i * size + at as usize) * below;
        first..first + below
    };
    let places = (0..above).flat_map(|i| at.numbers().iter().flat_map(move |&at| entry(i, at)));
    let cells = match &a.cells {
        Cells::Texts(texts) => Cells::Texts(places.map(|i| texts[i].clone()).collect()),
        Cells::Numbers(numbers) => Cells::Numbers(places.map(|i| numbers[i]).collect()),
    };
    Tensor { shape: [&a.shape[..axis], &at.shape, &a.shape[axis + 1..]].concat(), cells }
}

/// Elementwise, from left to right; dimensions of one, and leading ones that are absent, are repeated.
fn broadcast(inputs: &[&Tensor], f: impl Fn(f64, f64) -> f64) -> Tensor {
    let axes = inputs.iter().map(|t| t.shape.len()).max().expect("an input");
    let size = |t: &Tensor, axis: usize| (axis + t.shape.len()).checked_sub(axes).map_or(1, |i| t.shape[i]);
    let wide = |axis| inputs.iter().map(|t| size(t, axis)).find(|&n| n != 1).unwrap_or(1);
    let shape: Vec<usize> = (0..axes).map(wide).collect();
    let value = |t: &Tensor, mut i: usize| {
        let (mut at, mut stride) = (0, 1);
        for axis in (0..axes).rev() {
            let (place, n) = (i % shape[axis], size(t, axis));
            assert!(n == 1 || n == shape[axis], "{:?} and {shape:?}", t.shape);
            i /= shape[axis];
            at += if n == 1 { 0 } else { place * stride };
            stride *= n;
        }
        t.numbers()[at]
    };
    let cell = |i| inputs[1..].iter().fold(value(inputs[0], i), |sum, t| f(sum, value(t, i)));
    Tensor::of(&shape, (0..shape.iter().product()).map(cell).collect())
}
