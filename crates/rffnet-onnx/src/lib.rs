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
//! A table is one matrix of numbers: a category is the index of its level in the model's list (-1 for any other), a date the days
//! since 2000-01-01, a boolean 0 or 1, a gap NaN.
//!
//! The metadata hold `task`, `kernel`, and as JSON lists `feature_names`, `classes` and, for each column, the `levels` of a category
//! or null. Operators are those of
//! `ai.onnx`, version 17. The same model gives the same bytes.
//!
//! The graph computes as the model does: cosines in 32 bits, what follows the average over the members of the ensemble
//! in 64. Sums may be rounded in another order, so results agree to some 1e-6 of the target's spread, and less well
//! where relevances or rows are so extreme that the cosines' arguments reach the thousands. A row that
//! is at a cut of a partition to the last bit is on the model's side of it if the runtime rounds column transforms as the
//! model does, to 32 bits after each operation (but for a power, which has 64). A graph cannot refuse a
//! row: a missing cell (of a model that was fitted with `missing = error`) and an infinite one make predictions and
//! probabilities NaN where the model looks at that column, and a label then means nothing. In a column that is clipped,
//! soft-clipped or has a Yeo-Johnson transform, an infinite cell is a very large one.
#![deny(missing_docs)]

mod encode;
mod graph;
mod proto;
mod steps;

use rffnet::{ColumnTransform, ColumnType, Error, Link, MemberTensors, Missing, Model, Task, YeoJohnson};

use crate::encode::encoded;
use crate::graph::{Dim, Graph, Type, Value};
use crate::steps::{steps, watched};

/// Protobuf's limit for one message.
const LARGEST: usize = i32::MAX as usize;

/// The model as the bytes of an ONNX file.
pub fn to_onnx(model: &Model) -> Result<Vec<u8>, Error> {
    let mut graph = Graph::default();
    let x = graph.input("X", Type::Float, &[Dim::Rows, Dim::Fixed(model.feature_names().len())]);
    let encoded = encoded(&mut graph, model, &x);
    let z = transformed(&mut graph, model, &encoded);
    let decision = decision(&mut graph, model, &z);
    match model.task() {
        Task::Regression => predictions(&mut graph, model, &decision),
        Task::Classification => classes(&mut graph, model, &decision),
    }
    let list = |texts: &[String]| serde_json::Value::from(texts).to_string();
    let levels: Vec<Option<&[String]>> = model.column_types().map(ColumnType::levels).collect();
    let properties = [
        ("task", model.task().to_string()),
        ("kernel", model.kernel().into()),
        ("feature_names", list(model.feature_names())),
        ("classes", list(model.classes())),
        ("levels", serde_json::json!(levels).to_string()),
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

/// The column transforms, in the model's own order of operations: the same numbers to the last bit, or nearly so where
/// there is a power.
fn transformed(graph: &mut Graph, model: &Model, x: &Value) -> Value {
    let columns = model.transforms();
    let mean = graph.columns("mean", columns, |c| c.mean);
    let inverse = graph.columns("inverse", columns, |c| c.inverse);
    let centred = graph.node("Sub", &[x, &mean], "centred");
    let z = graph.node("Mul", &[&centred, &inverse], "standardised");
    let mut v =
        if columns.iter().any(|c| c.power.is_some()) { yeo_johnson(graph, columns, &z) } else { z.clone() };
    if model.plan().common.missing != Missing::Error {
        let zero = graph.floats("zero", &[], &[0.0]);
        let missing = graph.node("IsNaN", &[&z], "missing");
        v = graph.node("Where", &[&missing, &zero, &v], "filled");
    }
    if columns.iter().any(|c| c.soft_clip.is_some()) { soft_clip(graph, columns, &v) } else { v }
}

/// The power of a column that is more than clipped.
fn power(column: &ColumnTransform) -> Option<f32> {
    column.power.filter(|p| (p.power, p.centre, p.inverse) != (1.0, 0.0, 1.0)).map(|p| p.power)
}

/// Columns clipped to their range and then, but for those that are only clipped: `((1 + |z|)^e - 1) / e` with the sign of z,
/// standardised; e is the power p, or 2 - p where z is negative. That in 64 bits, as in the model. What is computed beside a
/// column that is only clipped, with the power 1, is not looked at.
fn yeo_johnson(graph: &mut Graph, columns: &[ColumnTransform], z: &Value) -> Value {
    let number = |part: fn(YeoJohnson) -> f32| move |c: &ColumnTransform| c.power.map_or(0.0, part).into();
    let highest = graph.columns("range_high", columns, |c| c.power.map_or(f32::INFINITY, |p| p.high));
    let lowest = graph.columns("range_low", columns, |c| c.power.map_or(f32::NEG_INFINITY, |p| p.low));
    let clipped = graph.node("Max", &[z, &lowest], "not_below_range");
    let clipped = graph.node("Min", &[&clipped, &highest], "in_range");
    if columns.iter().all(|c| power(c).is_none()) {
        return clipped;
    }
    let exponent = |c: &ColumnTransform| f64::from(power(c).unwrap_or(1.0));
    let powers = graph.columns("power", columns, |c| power(c).unwrap_or(0.0));
    let up = graph.wide_columns("exponent_above", columns, exponent);
    let down = graph.wide_columns("exponent_below", columns, |c| 2.0 - exponent(c));
    let minus_down = graph.wide_columns("minus_exponent_below", columns, |c| exponent(c) - 2.0);
    let centre = graph.wide_columns("power_mean", columns, number(|p| p.centre));
    let inverse = graph.wide_columns("power_inverse", columns, number(|p| p.inverse));
    let (none, one) = (graph.floats("power_none", &[], &[0.0]), graph.doubles("power_one", &[], &[1.0]));
    let straight = graph.node("Equal", &[&powers, &none], "straight");
    let negative = graph.node("Less", &[&clipped, &none], "negative");
    let exponent = graph.node("Where", &[&negative, &down, &up], "exponent");
    let divisor = graph.node("Where", &[&negative, &minus_down, &up], "divisor");
    let size = graph.node("Abs", &[&clipped], "size");
    let size = graph.cast(&size, Type::Double, "wide_size");
    let size = graph.node("Add", &[&one, &size], "one_size");
    let u = graph.node("Pow", &[&size, &exponent], "powered");
    let u = graph.node("Sub", &[&u, &one], "powered_less_one");
    let u = graph.node("Div", &[&u, &divisor], "power_transform");
    let u = graph.node("Sub", &[&u, &centre], "power_centred");
    let u = graph.node("Mul", &[&u, &inverse], "power_standardised");
    let u = graph.cast(&u, Type::Float, "power_narrow");
    graph.node("Where", &[&straight, &clipped, &u], "yeo_johnson")
}

/// `z / sqrt(1 + b z^2)`; z is clipped where its square would overflow, in columns with a soft clip alone.
fn soft_clip(graph: &mut Graph, columns: &[ColumnTransform], z: &Value) -> Value {
    let limit = |c: &ColumnTransform| if c.soft_clip.is_some() { 1e6 } else { f32::INFINITY };
    let highest = graph.columns("far", columns, limit);
    let lowest = graph.columns("far_below", columns, |c| -limit(c));
    let near = graph.node("Min", &[z, &highest], "not_too_high");
    let near = graph.node("Max", &[&near, &lowest], "not_too_far");
    let strength = graph.columns("soft_clip", columns, |c| c.soft_clip.unwrap_or(0.0));
    let one = graph.floats("unit", &[], &[1.0]);
    let scaled = graph.node("Mul", &[&strength, &near], "soft_clip_z");
    let square = graph.node("Mul", &[&scaled, &near], "soft_clip_z2");
    let sum = graph.node("Add", &[&one, &square], "one_soft_clip_z2");
    let root = graph.node("Sqrt", &[&sum], "root");
    graph.node("Div", &[&near, &root], "soft_clipped")
}

/// The average of the members in units of the target, kept within the guard: `N x k`, 64 bits.
fn decision(graph: &mut Graph, model: &Model, z: &Value) -> Value {
    let (d, k) = (model.encoder().width(), model.outputs());
    // A column before the first, of ones.
    let ones = [graph.integers("before", &[0, 1, 0, 0]), graph.floats("one", &[], &[1.0])];
    let mut terms: Vec<Value> =
        (1..).zip(model.members()).map(|m| cosines(graph, model, m, &ones, z)).collect();
    terms.extend((1..).zip(model.members()).filter_map(|m| steps(graph, model, m, z)));
    terms.extend(watched(graph, model, z));
    let linear = averaged(model, |member| &member.linear);
    if !linear.is_empty() {
        let linear = graph.floats("linear", &[d, k], &linear);
        terms.push(graph.node("MatMul", &[z, &linear], "linear_terms"));
    }
    terms.push(graph.floats("intercept", &[k], &averaged(model, |member| &member.intercept)));
    let sum = graph.node("Sum", &terms.iter().collect::<Vec<_>>(), "average");
    let mut f = graph.cast(&sum, Type::Double, "wide");
    let (mean, scale): (Vec<f64>, Vec<f64>) = model.target_scale().unzip();
    let scale = graph.doubles("target_scale", &[k], &scale);
    let mean = graph.doubles("target_mean", &[k], &mean);
    f = graph.node("Mul", &[&f, &scale], "scaled");
    f = graph.node("Add", &[&f, &mean], "decision");
    let (low, high): (Vec<f64>, Vec<f64>) = model.metadata().guard.iter().copied().unzip();
    if low.is_empty() {
        return f;
    }
    let low = graph.doubles("lowest", &[k], &low);
    let high = graph.doubles("highest", &[k], &high);
    f = graph.node("Max", &[&f, &low], "not_below");
    graph.node("Min", &[&f, &high], "guarded")
}

/// The mean over the members of an array that all of them have.
fn averaged(model: &Model, part: fn(&MemberTensors) -> &[f32]) -> Vec<f32> {
    let members: Vec<&[f32]> = model.members().map(part).collect();
    let sum = |i: usize| members.iter().map(|values| f64::from(values[i])).sum::<f64>();
    (0..members[0].len()).map(|i| (sum(i) / members.len() as f64) as f32).collect()
}

/// The `n`-th member's part of the sum, on the columns it looks at. The phase is a first row of the frequencies, against a
/// column of ones: so the arguments are added up in the model's own order, and round as there. That matters, since a large
/// argument's last bit is a visible part of a turn.
fn cosines(
    graph: &mut Graph,
    model: &Model,
    (n, member): (usize, &MemberTensors),
    ones: &[Value; 2],
    z: &Value,
) -> Value {
    let named = |what: &str| format!("{what}{n}");
    let (support, s, k) = (member.support(), model.random_features(), model.outputs());
    let mut x = z.clone();
    if support.len() < model.encoder().width() {
        let columns: Vec<i64> = support.iter().map(|&j| j as i64).collect();
        let columns = graph.integers(&named("support"), &columns);
        x = graph.node_with("Gather", &[&x, &columns], &[("axis", 1)], &named("supported"));
    }
    let theta: Vec<f32> = support.iter().map(|&j| member.theta[j]).collect();
    let frequencies = support.iter().flat_map(|&j| member.frequencies(j));
    let omega: Vec<f32> = member.phase.iter().chain(frequencies).copied().collect();
    // The cosines' factor, and the share of the average.
    let factor = model.metadata().feature_scale / model.committee() as f64;
    let beta: Vec<f32> = member.beta.iter().map(|&b| (f64::from(b) * factor) as f32).collect();
    let theta = graph.floats(&named("theta"), &[support.len()], &theta);
    let omega = graph.floats(&named("phase_omega"), &[support.len() + 1, s], &omega);
    let beta = graph.floats(&named("beta"), &[s, k], &beta);
    x = graph.node("Mul", &[&x, &theta], &named("relevant"));
    x = graph.node("Pad", &[&x, &ones[0], &ones[1]], &named("with_one"));
    x = graph.node("MatMul", &[&x, &omega], &named("argument"));
    x = graph.node("Cos", &[&x], &named("cosine"));
    graph.node("MatMul", &[&x, &beta], &named("member"))
}

/// The output of a regression: through the inverse of the link; one target is a plain list.
fn predictions(graph: &mut Graph, model: &Model, decision: &Value) {
    let k = model.outputs();
    let mut shape = vec![Dim::Rows];
    let mut y = decision.clone();
    if model.metadata().link == Link::Log {
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
fn classes(graph: &mut Graph, model: &Model, decision: &Value) {
    let names = model.classes();
    let mut logits = decision.clone();
    if model.metadata().link == Link::Logistic {
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
