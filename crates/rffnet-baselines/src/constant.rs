//! The best constant: what every other method has to beat.

use rffnet::Target;

use crate::{Error, Method, Need, Rows, Trained, Training};

/// Predicts the mean, or the shares of the classes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Constant;

impl Method for Constant {
    fn memory(&self, training: &Training<'_>) -> Need {
        Need { what: "one number per output".into(), bytes: 8 * training.outputs() as u64 }
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let total: f64 = training.weight.iter().sum();
        let mean = |value: &dyn Fn(usize) -> f64| -> f64 {
            training.weight.iter().enumerate().map(|(i, w)| w * value(i)).sum::<f64>() / total
        };
        let outputs = match training.target {
            Target::Values { values, outputs } => {
                (0..outputs).map(|c| mean(&|i| values[i * outputs + c])).collect()
            }
            Target::Labels { codes, classes } => {
                // Half a row in a class that has none: log-odds stay finite.
                let floor = 0.5 / codes.len() as f64;
                let share = |c: usize| mean(&|i| f64::from(codes[i] as usize == c)).max(floor);
                if classes.len() == 2 {
                    vec![(share(1) / share(0)).ln()]
                } else {
                    (0..classes.len()).map(|c| share(c).ln()).collect()
                }
            }
        };
        Ok(Box::new(Outputs(outputs)))
    }
}

struct Outputs(Vec<f64>);

impl Trained for Outputs {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        self.0.iter().copied().cycle().take(rows.len() * self.0.len()).collect()
    }
}
