//! Encoded columns: a level is looked up in a table, a gap is told by an indicator, a date goes through its cycles.

use std::f64::consts::TAU;

use rffnet::{ColumnEncoder, ColumnType, Model, UNKNOWN_LEVEL};

use crate::graph::{Graph, Type, Value};

/// The encoded columns of `x`, in the model's order.
pub(crate) fn encoded(graph: &mut Graph, model: &Model, x: &Value) -> Value {
    let encoder = model.encoder();
    if encoder.is_identity() {
        return x.clone();
    }
    let mut parts = Vec::new();
    for (j, column) in encoder.columns().iter().enumerate() {
        let at = graph.integers(&format!("column{j}"), &[j as i64]);
        let cell = graph.node_with("Gather", &[x, &at], &[("axis", 1)], &format!("cell{j}"));
        match &column.holds {
            ColumnType::Category { levels } => {
                parts.push(looked_up(graph, column, levels.len(), &cell, j));
                // The table has the indicator of a gap.
                continue;
            }
            ColumnType::Date { .. } => parts.extend(date(graph, column, &cell, j)),
            _ => parts.push(cell.clone()),
        }
        if column.gap_indicator {
            let gap = graph.node("IsNaN", &[&cell], &format!("gap{j}"));
            parts.push(graph.cast(&gap, Type::Float, &format!("gap_indicator{j}")));
        }
    }
    graph.node_with("Concat", &parts.iter().collect::<Vec<_>>(), &[("axis", 1)], "encoded")
}

/// The row of a table for each level; the last two rows are of levels that are not known, and of gaps.
fn looked_up(graph: &mut Graph, column: &ColumnEncoder, levels: usize, cell: &Value, j: usize) -> Value {
    let named = |what: &str| format!("{what}{j}");
    let cells = (0..levels).map(|level| level as f32).chain([UNKNOWN_LEVEL, f32::NAN]);
    let table: Vec<f32> = cells.flat_map(|cell| column.encode_cell(cell)).collect();
    let table = graph.floats(&named("table"), &[levels + 2, column.width()], &table);
    let number = |graph: &mut Graph, what, value| graph.floats(&named(what), &[], &[value]);
    let zero = number(graph, "first_level", 0.0);
    let end = number(graph, "unknown_level", levels as f32);
    let none = number(graph, "no_level", levels as f32 + 1.0);
    let axis = graph.integers(&named("cell_axis"), &[1]);
    let cell = graph.node("Squeeze", &[cell, &axis], &named("cells"));
    let below = graph.node("Less", &[&cell, &zero], &named("below"));
    let level = graph.node("Where", &[&below, &end, &cell], &named("not_negative"));
    let level = graph.node("Min", &[&level, &end], &named("known"));
    let gap = graph.node("IsNaN", &[&cell], &named("gap"));
    let level = graph.node("Where", &[&gap, &none, &level], &named("level_or_gap"));
    let row = graph.cast(&level, Type::Int64, &named("row"));
    graph.node_with("Gather", &[&table, &row], &[("axis", 0)], &named("level"))
}

/// The day, and the sine and cosine of its place in each cycle.
fn date(graph: &mut Graph, column: &ColumnEncoder, cell: &Value, j: usize) -> Vec<Value> {
    let mut parts = vec![cell.clone()];
    let wide = graph.cast(cell, Type::Double, &format!("days{j}"));
    for (c, days) in column.cycles().into_iter().enumerate() {
        let named = |what: &str| format!("{what}{j}_{c}");
        let length = graph.doubles(&named("cycle"), &[], &[days]);
        let turn = graph.doubles(&named("turn"), &[], &[TAU]);
        let cycles = graph.node("Div", &[&wide, &length], &named("cycles"));
        let whole = graph.node("Floor", &[&cycles], &named("whole_cycles"));
        let place = graph.node("Sub", &[&cycles, &whole], &named("place"));
        let angle = graph.node("Mul", &[&place, &turn], &named("wide_angle"));
        let angle = graph.cast(&angle, Type::Float, &named("angle"));
        parts.push(graph.node("Sin", &[&angle], &named("sine")));
        parts.push(graph.node("Cos", &[&angle], &named("cosine_of_cycle")));
    }
    parts
}
