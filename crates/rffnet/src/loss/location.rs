//! Weighted means and quantiles of one column of the targets.

pub(super) fn weighted_mean(y: &[f32], weights: &[f32], width: usize, column: usize) -> f64 {
    let rows = y.chunks_exact(width).zip(weights);
    let (sum, mass) =
        rows.fold((0.0, 0.0), |(s, m), (y, &w)| (s + w as f64 * y[column] as f64, m + w as f64));
    sum / mass
}

/// The smallest value that at least a share `tau` of the weight does not exceed.
pub(super) fn weighted_quantile(y: &[f32], weights: &[f32], width: usize, column: usize, tau: f64) -> f64 {
    let mut pairs: Vec<(f32, f32)> =
        y.chunks_exact(width).zip(weights).map(|(y, &w)| (y[column], w)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = pairs.iter().map(|p| p.1 as f64).sum();
    let mut seen = 0.0;
    for &(value, weight) in &pairs {
        seen += weight as f64;
        if seen >= tau * total {
            return value as f64;
        }
    }
    pairs.last().map_or(0.0, |p| p.0 as f64)
}
