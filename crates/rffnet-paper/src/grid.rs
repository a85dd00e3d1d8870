//! Tables of text: Markdown for people, CSV for programs.

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// GitHub's Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|{}\n", "---|".repeat(self.header.len()));
        let rows: String = self.rows.iter().map(|r| line(r)).collect();
        format!("{}{rule}{rows}", line(&self.header))
    }

    /// Quoted where need be.
    pub(crate) fn csv(&self) -> String {
        let cell = |c: &String| {
            if c.contains([',', '"', '\n']) { format!("\"{}\"", c.replace('"', "\"\"")) } else { c.clone() }
        };
        let line = |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        line(&self.header) + &self.rows.iter().map(line).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let mut grid = Grid::new(["method", "note"]);
        grid.push(["krr", "needs 19 GB, \"at least\""]);
        grid.push(["a|b", ""]);
        assert_eq!(
            grid.markdown(),
            "| method | note |\n|---|---|\n| krr | needs 19 GB, \"at least\" |\n| a\\|b |  |\n"
        );
        assert_eq!(grid.csv(), "method,note\nkrr,\"needs 19 GB, \"\"at least\"\"\"\na|b,\n");
    }
}
