//! Fitted [`rffnet`] models as [ONNX](https://onnx.ai) graphs: what the model predicts, any ONNX runtime predicts.
//!
//! ```
//! use rffnet::{Data, Fit, Matrix, Params, Target};
//!
//! let x: Vec<f32> = (0..200).map(|i| i as f32 / 50.0).collect();
//! let y: Vec<f64> = x.iter().map(|&x| f64::from(x).sin()).collect();
//! let data = Data::new(Matrix::new(&x, 200, 1)?, Target::Values { values: &y, outputs: 1 });
//! let model = Fit::new(&Params::default()).run(&data)?;
//! rffnet::write_file(&std::env::temp_dir().join("sine.onnx"), &rffnet_onnx::to_onnx(&model)?)?;
//! # Ok::<(), rffnet::Error>(())
//! ```
//!
//! | | name | type | shape | |
//! |---|---|---|---|---|
//! | input | `X` | float | N x columns | as the model was fitted on, not standardised |
//! | output, regression | `prediction` | double | N, or N x outputs | counts: the expected count |
//! | output, classification | `label` | int64 if all classes are whole numbers, else string | N | |
//! | | `probabilities` | float | N x classes | in the order of [`Model::classes`] |
//!
//! The metadata hold `task`, `kernel`, and as JSON lists `feature_names` and `classes`. Operators are those of
//! `ai.onnx`, version 17. The same model gives the same bytes.
//!
//! The graph computes as the model does: cosines in 32 bits, what follows the average over networks in 64. Sums may be
//! rounded in another order, so results agree to some 1e-6 of the target's spread, and less well where relevances or
//! rows are so extreme that the cosines' arguments reach the thousands. A graph cannot refuse a row: a missing cell (unless
//! the model was fitted with `missing = mean`) and an infinite one make predictions and probabilities NaN where the model
//! looks at that column, and a label then means nothing. In a column that the model cuts off, evens or bends, an infinite
//! cell is a very large one.
#![deny(missing_docs)]

mod graph;
mod parts;
mod proto;

use rffnet::{Error, Link, Model, Task};

use crate::graph::{Dim, Graph, Type, Value};
use crate::parts::{Network, Parts};

/// Protobuf's limit for one message.
const LARGEST: usize = i32::MAX as usize;

/// The model as the bytes of an ONNX file.
pub fn to_onnx(model: &Model) -> Result<Vec<u8>, Error> {
    let parts = Parts::of(model)?;
    let card = &parts.card;
    let mut graph = Graph::default();
    let rows = graph.input("X", Type::Float, &[Dim::Rows, Dim::Fixed(parts.columns())]);
    let z = standardised(&mut graph, &parts, &rows);
    let decision = decision(&mut graph, &parts, &z);
    match card.task {
        Task::Regression => predictions(&mut graph, &parts, &decision),
        Task::Classification => classes(&mut graph, &parts, &decision),
    }
    let list = |texts: &[String]| serde_json::Value::from(texts).to_string();
    let properties = [
        ("task", card.task.to_string()),
        ("kernel", card.kernel.clone()),
        ("feature_names", list(&card.feature_names)),
        ("classes", list(&card.classes)),
    ];
    let bytes = graph.into_bytes("A kernel machine of random Fourier features.", &properties);
    if bytes.len() > LARGEST {
        return Err(Error::Unsupported(format!(
            "the model takes {} MB and an ONNX file holds at most 2147; fit it with fewer random features",
            bytes.len() / 1_000_000
        )));
    }
    Ok(bytes)
}

/// Standardised columns, in the model's own order of operations: the same numbers to the last bit, or nearly so where
/// they are warped.
fn standardised(graph: &mut Graph, parts: &Parts, x: &Value) -> Value {
    let d = parts.columns();
    let mean = graph.floats("mean", &[d], &parts.mean);
    let inverse = graph.floats("inverse", &[d], &parts.inverse);
    let centred = graph.node("Sub", &[x, &mean], "centred");
    let z = graph.node("Mul", &[&centred, &inverse], "standardised");
    let shaped = match &parts.warp {
        Some(warp) => warped(graph, warp, &z),
        None => z.clone(),
    };
    let z = if parts.card.fills_in() {
        let zero = graph.floats("zero", &[], &[0.0]);
        let missing = graph.node("IsNaN", &[&z], "missing");
        graph.node("Where", &[&missing, &zero, &shaped], "filled")
    } else {
        shaped
    };
    match &parts.bend {
        Some(bend) => bent(graph, bend, &z),
        None => z,
    }
}

/// Columns cut off at their range and then, but for those that are only cut: `((1 + |z|)^e - 1) / e` with the sign of z,
/// standardised; e is the power p, or 2 - p where z is negative. That in 64 bits, as in the model. What is computed beside a
/// column that is only cut, with the power 1, is not looked at.
fn warped(graph: &mut Graph, warp: &[f32], z: &Value) -> Value {
    let d = warp.len() / 5;
    let [power, low, high, centre, inverse] = [0, 1, 2, 3, 4].map(|i| &warp[i * d..(i + 1) * d]);
    let end = |ends: &[f32], none: f32| -> Vec<f32> {
        ends.iter().zip(power).map(|(&end, &p)| if p == 0.0 { none } else { end }).collect()
    };
    let highest = graph.floats("warp_high", &[d], &end(high, f32::INFINITY));
    let lowest = graph.floats("warp_low", &[d], &end(low, f32::NEG_INFINITY));
    let cut = graph.node("Max", &[z, &lowest], "not_below_range");
    let cut = graph.node("Min", &[&cut, &highest], "in_range");

    let only_cut = |j: usize| power[j] == 0.0 || (power[j], centre[j], inverse[j]) == (1.0, 0.0, 1.0);
    if (0..d).all(only_cut) {
        return cut;
    }
    let wide = |numbers: &[f32]| -> Vec<f64> { numbers.iter().map(|&v| v.into()).collect() };
    let power: Vec<f32> = (0..d).map(|j| if only_cut(j) { 0.0 } else { power[j] }).collect();
    let up: Vec<f64> = power.iter().map(|&p| if p == 0.0 { 1.0 } else { p.into() }).collect();
    let (down, minus_down): (Vec<f64>, Vec<f64>) = up.iter().map(|p| (2.0 - p, p - 2.0)).unzip();
    let power = graph.floats("warp_power", &[d], &power);
    let (up, down) = (graph.doubles("warp_up", &[d], &up), graph.doubles("warp_down", &[d], &down));
    let minus_down = graph.doubles("warp_minus_down", &[d], &minus_down);
    let centre = graph.doubles("warp_centre", &[d], &wide(centre));
    let inverse = graph.doubles("warp_inverse", &[d], &wide(inverse));
    let (none, one) = (graph.floats("warp_none", &[], &[0.0]), graph.doubles("warp_one", &[], &[1.0]));
    let straight = graph.node("Equal", &[&power, &none], "straight");
    let negative = graph.node("Less", &[&cut, &none], "negative");
    let exponent = graph.node("Where", &[&negative, &down, &up], "exponent");
    let divisor = graph.node("Where", &[&negative, &minus_down, &up], "divisor");
    let size = graph.node("Abs", &[&cut], "size");
    let size = graph.cast(&size, Type::Double, "wide_size");
    let size = graph.node("Add", &[&one, &size], "one_size");
    let u = graph.node("Pow", &[&size, &exponent], "powered");
    let u = graph.node("Sub", &[&u, &one], "powered_less_one");
    let u = graph.node("Div", &[&u, &divisor], "power_transform");
    let u = graph.node("Sub", &[&u, &centre], "warp_centred");
    let u = graph.node("Mul", &[&u, &inverse], "warp_standardised");
    let u = graph.cast(&u, Type::Float, "warped");
    graph.node("Where", &[&straight, &cut, &u], "evened")
}

/// `z / sqrt(1 + bend z^2)`; z is cut off where its square would overflow, in bent columns alone.
fn bent(graph: &mut Graph, bend: &[f32], z: &Value) -> Value {
    let d = bend.len();
    let limits: Vec<f32> = bend.iter().map(|&b| if b > 0.0 { 1e6 } else { f32::INFINITY }).collect();
    let lowest: Vec<f32> = limits.iter().map(|l| -l).collect();
    let (highest, lowest) = (graph.floats("far", &[d], &limits), graph.floats("far_below", &[d], &lowest));
    let cut = graph.node("Min", &[z, &highest], "not_too_high");
    let cut = graph.node("Max", &[&cut, &lowest], "not_too_far");
    let factor = graph.floats("bend", &[d], bend);
    let one = graph.floats("unit", &[], &[1.0]);
    let scaled = graph.node("Mul", &[&factor, &cut], "bend_z");
    let square = graph.node("Mul", &[&scaled, &cut], "bend_z2");
    let sum = graph.node("Add", &[&one, &square], "one_bend_z2");
    let root = graph.node("Sqrt", &[&sum], "root");
    graph.node("Div", &[&cut, &root], "bent")
}

/// The networks' average in units of the target, kept within the guard: `N x k`, 64 bits.
fn decision(graph: &mut Graph, parts: &Parts, z: &Value) -> Value {
    let (d, k) = (parts.columns(), parts.outputs());
    // A column before the first, of ones.
    let ones = (graph.integers("before", &[0, 1, 0, 0]), graph.floats("one", &[], &[1.0]));
    let networks = parts.networks.iter().enumerate();
    let mut terms: Vec<Value> =
        networks.map(|(n, network)| cosines(graph, network, n + 1, (d, k), &ones, z)).collect();
    if let Some(linear) = &parts.linear {
        let linear = graph.floats("linear", &[d, k], linear);
        terms.push(graph.node("MatMul", &[z, &linear], "linear_terms"));
    }
    terms.push(graph.floats("intercept", &[k], &parts.intercept));
    let sum = graph.node("Sum", &terms.iter().collect::<Vec<_>>(), "average");
    let mut f = graph.cast(&sum, Type::Double, "wide");
    let scale = graph.doubles("target_scale", &[k], &parts.target_scale);
    let mean = graph.doubles("target_mean", &[k], &parts.target_mean);
    f = graph.node("Mul", &[&f, &scale], "scaled");
    f = graph.node("Add", &[&f, &mean], "decision");
    if parts.card.guard.is_empty() {
        return f;
    }
    let (low, high): (Vec<f64>, Vec<f64>) = parts.card.guard.iter().copied().unzip();
    let low = graph.doubles("lowest", &[k], &low);
    let high = graph.doubles("highest", &[k], &high);
    f = graph.node("Max", &[&f, &low], "not_below");
    graph.node("Min", &[&f, &high], "guarded")
}

/// One network's part of the sum. The phase is a first row of the frequencies, against a column of ones: so the
/// arguments are added up in the model's own order, and round as there. That matters, since a large argument's last bit is
/// a visible part of a turn.
fn cosines(
    graph: &mut Graph,
    network: &Network,
    n: usize,
    (d, k): (usize, usize),
    ones: &(Value, Value),
    z: &Value,
) -> Value {
    let named = |what: &str| format!("{what}{n}");
    let (width, s) = (network.support.len(), network.phase_omega.len() / (network.support.len() + 1));
    let mut x = z.clone();
    if width < d {
        let support: Vec<i64> = network.support.iter().map(|&j| j as i64).collect();
        let support = graph.integers(&named("support"), &support);
        x = graph.node_with("Gather", &[&x, &support], &[("axis", 1)], &named("supported"));
    }
    let theta = graph.floats(&named("theta"), &[width], &network.theta);
    let omega = graph.floats(&named("phase_omega"), &[width + 1, s], &network.phase_omega);
    let beta = graph.floats(&named("beta"), &[s, k], &network.beta);
    x = graph.node("Mul", &[&x, &theta], &named("relevant"));
    x = graph.node("Pad", &[&x, &ones.0, &ones.1], &named("with_one"));
    x = graph.node("MatMul", &[&x, &omega], &named("argument"));
    x = graph.node("Cos", &[&x], &named("cosine"));
    graph.node("MatMul", &[&x, &beta], &named("network"))
}

/// The output of a regression: through the inverse of the link; one target is a plain list.
fn predictions(graph: &mut Graph, parts: &Parts, decision: &Value) {
    let k = parts.outputs();
    let mut shape = vec![Dim::Rows];
    let mut y = decision.clone();
    if parts.card.link == Link::Log {
        y = graph.node("Exp", &[&y], "expected");
    }
    y = if k == 1 {
        let last = graph.integers("last_axis", &[1]);
        graph.node("Squeeze", &[&y, &last], "prediction")
    } else {
        shape.push(Dim::Fixed(k));
        graph.node("Identity", &[&y], "prediction")
    };
    graph.output(&y, Type::Double, &shape);
}

/// The outputs of a classifier. Two classes have one logit, that of the second; that of the first is 0.
fn classes(graph: &mut Graph, parts: &Parts, decision: &Value) {
    let names = &parts.card.classes;
    let mut logits = decision.clone();
    if parts.card.link == Link::Logistic {
        let second = graph.doubles("second", &[1, 2], &[0.0, 1.0]);
        logits = graph.node("Mul", &[&logits, &second], "logits");
    }
    // From the logits, whose order survives where probabilities round to the same number.
    let best = graph.node_with("ArgMax", &[&logits], &[("axis", 1), ("keepdims", 0)], "best");
    let whole: Option<Vec<i64>> =
        names.iter().map(|name| name.parse().ok().filter(|v: &i64| v.to_string() == *name)).collect();
    let (labels, of) = match whole {
        Some(codes) => (graph.integers("classes", &codes), Type::Int64),
        None => (graph.texts("classes", names), Type::Text),
    };
    let label = graph.node_with("Gather", &[&labels, &best], &[("axis", 0)], "label");
    let wide = graph.node_with("Softmax", &[&logits], &[("axis", 1)], "shares");
    let probabilities = graph.cast(&wide, Type::Float, "probabilities");
    graph.output(&label, of, &[Dim::Rows]);
    graph.output(&probabilities, Type::Float, &[Dim::Rows, Dim::Fixed(names.len())]);
}
