//! The power plant's workbook: five sheets of plain numbers under one row of names.

use std::io::Cursor;
use std::path::Path;

use rffnet_data::{Column, Table};

use super::open::{member, unzipped};
use crate::Error;

/// Columns of a sheet: temperature, vacuum, pressure, humidity and, last, the target.
const COLUMNS: [&str; 5] = ["AT", "V", "AP", "RH", "PE"];

/// All sheets, one below the other, as in the paper.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let workbook = if path.extension().is_some_and(|s| s.eq_ignore_ascii_case("xlsx")) {
        std::fs::read(path).map_err(|e| Error::io("read", path, e))?
    } else {
        member(path, "Folds5x2_pp.xlsx")?
    };
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for number in 1.. {
        let name = format!("xl/worksheets/sheet{number}.xml");
        let sheet = unzipped(Cursor::new(&workbook), &name).map_err(|e| Error::io("read", path, e))?;
        let Some(sheet) = sheet else { break };
        let text = String::from_utf8_lossy(&sheet);
        for row in text.split("<row").skip(2) {
            let cells = numbers(row);
            let [inputs @ .., target] = cells.as_slice() else { continue };
            if inputs.len() != COLUMNS.len() - 1 {
                return Err(Error::new(format!(
                    "'{}', sheet {number}: a row has {} numbers, not 5",
                    path.display(),
                    cells.len()
                )));
            }
            x.extend(inputs.iter().map(|&v| v as f32));
            y.push(*target);
        }
    }
    if y.is_empty() {
        return Err(Error::new(format!(
            "'{}' has no rows; save it as powerplant.csv with a column 'target'",
            path.display()
        )));
    }
    Ok(Table {
        names: COLUMNS[..4].iter().map(|s| s.to_string()).collect(),
        has_names: true,
        rows: y.len(),
        x,
        target: Some(Column::Numbers(y)),
        target_name: Some("target".into()),
        weight: None,
        source: "powerplant".into(),
        ..Table::default()
    })
}

/// The cells of a row: each is `<v>number</v>`.
fn numbers(row: &str) -> Vec<f64> {
    let values = row.split("<v>").skip(1).filter_map(|rest| rest.split("</v>").next());
    values.filter_map(|v| v.trim().parse().ok()).filter(|v: &f64| v.is_finite()).collect()
}
