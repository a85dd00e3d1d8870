//! The tables and figures by name.

use std::fmt;
use std::str::FromStr;

use crate::Error;

macro_rules! experiments {
    ($($variant:ident $name:literal $title:literal,)*) => {
        /// A table or figure of the paper, or one that goes beyond it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // the titles say it
        pub enum Experiment {
            $($variant,)*
        }

        impl Experiment {
            /// The paper's in its order, then what goes beyond it.
            pub const ALL: &'static [Experiment] = &[$(Experiment::$variant,)*];

            /// The name on the command line and of the files: `table1`.
            pub fn name(self) -> &'static str {
                match self { $(Experiment::$variant => $name,)* }
            }

            /// What it shows.
            pub fn title(self) -> &'static str {
                match self { $(Experiment::$variant => $title,)* }
            }
        }
    };
}

experiments! {
    Table1 "table1" "Table 1: mean squared error, simulated regression sets",
    Fig2 "fig2" "Figure 2: relevances, simulated regression sets",
    Table2 "table2" "Table 2: AUC, simulated classification sets",
    Fig3 "fig3" "Figure 3: false and true discoveries of TopK",
    Table3 "table3" "Table 3: mean squared error, real regression sets",
    Table4 "table4" "Table 4: AUC, real classification sets",
    Fig4 "fig4" "Figure 4: relevances, amazon and higgs",
    TableC5 "tableC5" "Table C.5: the real sets",
    TableD6 "tableD6" "Table D.6: kernels and their spectral densities",
    FigD5 "figD5" "Figure D.5: samplers",
    FigD6 "figD6" "Figure D.6: initialisers",
    FigD7 "figD7" "Figure D.7: solvers",
    FigE8 "figE8" "Figure E.8: strength of the penalty",
    FigE9 "figE9" "Figure E.9: relevances against the penalty, gse1",
    FigE10 "figE10" "Figure E.10: relevances against the penalty, gse2",
    TableF7 "tableF7" "Table F.7: seconds to fit, simulated regression sets",
    TableF8 "tableF8" "Table F.8: seconds to fit, simulated classification sets",
    TableF9 "tableF9" "Table F.9: seconds to fit, real regression sets",
    TableF10 "tableF10" "Table F.10: seconds to fit, real classification sets",
    TableF11 "tableF11" "Table F.11: peak memory, simulated regression sets",
    TableF12 "tableF12" "Table F.12: peak memory, simulated classification sets",
    TableF13 "tableF13" "Table F.13: peak memory, real regression sets",
    TableF14 "tableF14" "Table F.14: peak memory, real classification sets",
    Landscape "landscape" "The landscape of the loss over two relevances",
    Convergence "convergence" "Convergence: loss against seconds, Adam and variable projection",
    Reliability "reliability" "Reliability: are the probabilities calibrated?",
}

impl Experiment {
    /// Whether the paper has it too.
    pub fn in_paper(self) -> bool {
        !matches!(self, Experiment::Convergence | Experiment::Reliability)
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Experiment {
    type Err = Error;

    /// Capitals do not matter.
    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Experiment::ALL.iter().find(|e| e.name().eq_ignore_ascii_case(text));
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Experiment::ALL.iter().map(|e| e.name()).collect();
            Error::new(format!(
                "there is no table or figure '{text}'; there are {} and all",
                names.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_unknown_ones_are_answered_with_all() {
        for experiment in Experiment::ALL {
            assert_eq!(experiment.name().parse(), Ok(*experiment));
        }
        assert_eq!("TABLEc5".parse(), Ok(Experiment::TableC5));
        let sentence = "table5".parse::<Experiment>().expect_err("unknown").to_string();
        assert!(
            sentence.contains("'table5'")
                && sentence.contains("table1, fig2")
                && sentence.ends_with("landscape, convergence, reliability and all")
        );
    }
}
