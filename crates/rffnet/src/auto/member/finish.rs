//! Learned and fresh features together, and their head.

use crate::features::FeatureMap;
use crate::numerics::random::Stream;
use crate::solver::monitor::Watch;
use crate::solver::reduced::HeadPlan;
use crate::solver::varpro::Frame;

use super::Trial;
use super::head::{Chosen, choose};
use super::learn::{Learning, REACH, Source};

/// A head and its features.
pub(super) struct Finished {
    pub(super) learning: Learning,
    pub(super) frame: Frame,
    pub(super) found: Chosen,
    /// The share of the constant's loss that it leaves.
    pub(super) left: f64,
    /// Over how many scales the fresh features are.
    pub(super) fresh_reach: f32,
}

impl Trial<'_> {
    /// Fresh features have one scale or several: the first member tries both ways, the others follow. Once stopped, what
    /// has been learned has to do.
    pub(super) fn finish(
        &self,
        learning: Learning,
        fresh: usize,
        guided: Option<f32>,
        rng: &Stream,
        watch: &Watch<'_>,
    ) -> Finished {
        let Learning { source, learned, .. } = &learning;
        let settled = &source.settled;
        let alpha = learned.as_ref().map_or(settled.alpha, |l| l.alpha);
        let head = HeadPlan { alpha, linear: self.linear };
        let range = self.range.filter(|_| !watch.stopped());
        let without = watch.stopped() || fresh == 0;
        let with = |reach: f32| {
            let drawn = (!without).then(|| {
                let source = Source { reach, ..source.clone() };
                self.draw_from(&source, fresh, &mut rng.clone())
            });
            let kept = (learned.is_none() && without).then_some(&settled.frame);
            let frame = join(&settled.frame, learned.as_ref().map(|l| &l.frame), drawn.as_ref().or(kept));
            let found = choose(self.setting.problem, &self.split, &frame, head, range);
            (frame, found, reach)
        };
        let mut best = with(guided.unwrap_or(source.reach));
        if !without && guided.is_none() {
            let other = with(if source.reach == 1.0 { REACH } else { 1.0 });
            if other.1.loss < best.1.loss {
                best = other;
            }
        }
        let (frame, found, fresh_reach) = best;
        let left = self.left(&frame, &found.weights);
        Finished { learning, frame, found, left, fresh_reach }
    }
}

/// One frame of the learned and the fresh features. Relevances carry the size of the frequencies: those of a column
/// have the root mean square they would have when drawn.
fn join(settled: &Frame, learned: Option<&Frame>, fresh: Option<&Frame>) -> Frame {
    let parts: Vec<&Frame> = learned.into_iter().chain(fresh).collect();
    let s: usize = parts.iter().map(|p| p.map.features()).sum();
    let columns = settled.theta.len();
    let (mut theta, mut omega) = (vec![0.0; columns], vec![0.0; columns * s]);
    for a in 0..columns {
        let row = &mut omega[a * s..(a + 1) * s];
        let mut at = 0;
        for part in &parts {
            let k = part.map.features();
            row[at..at + k].iter_mut().zip(part.frequencies(a)).for_each(|(o, w)| *o = w * part.theta[a]);
            at += k;
        }
        // Learned frequencies have moved from what was drawn; the settled frame's still are that.
        let drawn = root_mean_square(settled.frequencies(a));
        theta[a] = (root_mean_square(row) / drawn) as f32;
        if theta[a] > 0.0 {
            row.iter_mut().for_each(|o| *o /= theta[a]);
        }
    }
    let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
    let map = FeatureMap::on(settled.map.columns(), settled.map.support.to_vec(), omega, phase);
    Frame { map, theta }
}

fn root_mean_square(values: &[f32]) -> f64 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt().max(1e-30)
}
