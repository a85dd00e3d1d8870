//! A loss of your own: what it costs to be too low is four times what it costs to be too high.
//!
//!     cargo run --release -p rffnet --example own_loss

use rffnet::{Data, Fit, Link, Loss, Matrix, Params, Target};

/// The squared error, four times as dear where the prediction is too low.
struct Asymmetric;

impl Loss for Asymmetric {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let r = f[0] - y[0];
        let price = if r < 0.0 { 4.0 } else { 1.0 };
        gradient[0] = 2.0 * price * r;
        price * r * r
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    /// Where the intercept starts, and what a fit has to beat; the mean is near enough.
    fn constant(&self, y: &[f32], weights: &[f32], _outputs: usize) -> Vec<f64> {
        let mass: f64 = weights.iter().map(|&w| w as f64).sum();
        vec![y.iter().zip(weights).map(|(&y, &w)| y as f64 * w as f64).sum::<f64>() / mass]
    }
}

pub(crate) fn main() -> Result<(), rffnet::Error> {
    // A curve, and noise that is the same above and below it.
    let x: Vec<f32> = (0..1200).map(|i| ((i * 7919 % 1201) as f32 / 600.5) - 1.0).collect();
    let noise = |i: usize| ((i * 104_729 % 997) as f64 / 498.5 - 1.0) * 0.3;
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| (3.0 * x as f64).sin() + noise(i)).collect();
    let data = Data::new(Matrix::new(&x, 1200, 1)?, Target::Values { values: &y, outputs: 1 });

    let model = Fit::new(&Params::new().random_features(100)).loss(&Asymmetric).run(&data)?;
    let predicted = model.predict(data.x)?;
    let low = predicted.iter().zip(&y).filter(|(f, y)| f < y).count() as f64 / 1200.0;
    println!("too low in {:.0} % of the rows", 100.0 * low);
    assert!(low < 0.4);
    Ok(())
}
