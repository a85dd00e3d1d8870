//! Partitions: the sides of a row's cuts are the bits of a number, and the row of a table with that number is added.

use rffnet::{MemberTensors, Model};

use crate::graph::{Graph, Type, Value};

/// The partitions of a member that are not empty.
struct Steps<'a> {
    /// Column and place of each cut, those of a partition one after the other.
    cuts: Vec<(usize, f32)>,
    /// Cuts of a partition.
    depth: usize,
    /// Cells of these partitions, a row of outputs each.
    cells: Vec<&'a [f32]>,
}

impl<'a> Steps<'a> {
    fn new(model: &Model, member: &'a MemberTensors) -> Self {
        let depth = member.cut_columns.len() / model.partitions();
        let mut steps = Self { cuts: Vec::new(), depth, cells: Vec::new() };
        let cuts = member.cut_columns.chunks(depth).zip(member.cut_places.chunks(depth));
        for (cells, (columns, places)) in member.cells.chunks(model.outputs() << depth).zip(cuts) {
            if cells.iter().any(|&value| value != 0.0) {
                steps.cuts.extend(columns.iter().map(|&j| j as usize).zip(places.iter().copied()));
                steps.cells.extend(cells.chunks(model.outputs()));
            }
        }
        steps
    }

    /// The columns that the cuts look at.
    fn columns(&self) -> impl Iterator<Item = usize> {
        self.cuts.iter().filter(|(_, at)| divides(*at)).map(|&(j, _)| j)
    }
}

/// Whether there are rows on both sides of a cut there.
fn divides(at: f32) -> bool {
    f32::MIN < at && at < f32::MAX
}

/// The part of the sum that the partitions of the `n`-th member have; none if they are all empty. Sides are told in 32 bits,
/// as the model tells them.
pub(crate) fn steps(
    graph: &mut Graph,
    model: &Model,
    (n, member): (usize, &MemberTensors),
    z: &Value,
) -> Option<Value> {
    if model.partitions() == 0 {
        return None;
    }
    let Steps { cuts, depth, cells } = Steps::new(model, member);
    if cells.is_empty() {
        return None;
    }
    let named = |what: &str| format!("{what}{n}");
    let partitions = cuts.len() / depth;
    // A cut with all rows on one side is of a column that the cosines look at: what other columns hold then has no part in it.
    let seen = member.support()[0];
    let columns: Vec<i64> = cuts.iter().map(|&(j, at)| if divides(at) { j } else { seen } as i64).collect();
    let places: Vec<f32> = cuts.iter().map(|&(_, at)| at).collect();
    let bits: Vec<f32> = (0..depth).map(|bit| (1 << bit) as f32).collect();
    let first: Vec<f32> = (0..partitions).map(|p| (p << depth) as f32).collect();
    // The share of the average.
    let share = 1.0 / model.committee() as f64;
    let values: Vec<f32> = cells.iter().copied().flatten().map(|&v| (f64::from(v) * share) as f32).collect();
    let columns = graph.integers_of(&named("cut_column"), &[partitions, depth], &columns);
    let places = graph.floats(&named("cut_place"), &[partitions, depth], &places);
    // A column, not a list: onnxruntime cannot multiply a batch without rows by a list.
    let bits = graph.floats(&named("bit"), &[depth, 1], &bits);
    let first = graph.floats(&named("first_cell"), &[partitions, 1], &first);
    let values = graph.floats(&named("cell_values"), &[cells.len(), model.outputs()], &values);
    let axes = graph.integers(&named("partition_axes"), &[1, 2]);
    let x = graph.node_with("Gather", &[z, &columns], &[("axis", 1)], &named("cut"));
    let sides = graph.node("GreaterOrEqual", &[&x, &places], &named("above"));
    let sides = graph.cast(&sides, Type::Float, &named("side"));
    let cell = graph.node("MatMul", &[&sides, &bits], &named("cell_of_partition"));
    let cell = graph.node("Add", &[&first, &cell], &named("cell_of_all"));
    let cell = graph.cast(&cell, Type::Int64, &named("cell_number"));
    let values = graph.node_with("Gather", &[&values, &cell], &[("axis", 0)], &named("cell_value"));
    Some(graph.node_with("ReduceSum", &[&values, &axes], &[("keepdims", 0)], &named("steps")))
}

/// Nothing, but not a number in rows with a cell that is none or infinite in a column that cuts alone look at. No side is told
/// from such a cell. Where there are linear terms, they see to that, as the cosines do for their columns.
pub(crate) fn watched(graph: &mut Graph, model: &Model, z: &Value) -> Option<Value> {
    if model.partitions() == 0 || model.members().any(|member| !member.linear.is_empty()) {
        return None;
    }
    let mut cut = vec![false; model.encoder().width()];
    for member in model.members() {
        Steps::new(model, member).columns().for_each(|j| cut[j] = true);
    }
    for member in model.members() {
        member.support().into_iter().for_each(|j| cut[j] = false);
    }
    let columns: Vec<i64> = (0..).zip(&cut).filter(|(_, cut)| **cut).map(|(j, _)| j).collect();
    if columns.is_empty() {
        return None;
    }
    let nothing = graph.floats("nothing", &[columns.len(), 1], &vec![0.0; columns.len()]);
    let columns = graph.integers("watched_column", &columns);
    let x = graph.node_with("Gather", &[z, &columns], &[("axis", 1)], "watched");
    Some(graph.node("MatMul", &[&x, &nothing], "nothing_if_finite"))
}
