//! The plan as model files hold it: one flat object whose keys never change. What the method at hand has no use for
//! stands there with the other method's defaults.

use serde::{Deserialize, Serialize};

use super::plan::{Common, Descent, Method, Plan, VarPro};
use super::{Init, Schedule, SolverKind};
use crate::penalty::Penalty;

/// Starts the Restarter tries in the paper.
pub(super) const PAPER_RESTARTS: usize = 10;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredPlan {
    #[serde(flatten)]
    common: Common,
    /// `epochs` are the steps of variable projection, too.
    #[serde(flatten)]
    descent: Descent,
    #[serde(flatten)]
    varpro: VarPro,
}

impl From<Plan> for StoredPlan {
    fn from(Plan { common, method }: Plan) -> Self {
        let (descent, varpro) = match method {
            Method::Descent(descent) => (descent, VarPro::of_steps(0)),
            Method::VarPro(varpro) => (
                Descent {
                    solver: SolverKind::Varpro,
                    init: Init::Constant,
                    restarts: PAPER_RESTARTS,
                    penalty_theta: Penalty::default(),
                    lr: 1e-2,
                    schedule: Schedule::OneCycle,
                    batch_size: 128,
                    epochs: varpro.steps,
                    patience: None,
                    random_head: false,
                    drop_last: false,
                },
                varpro,
            ),
        };
        Self { common, descent, varpro }
    }
}

impl From<StoredPlan> for Plan {
    fn from(StoredPlan { common, descent, varpro }: StoredPlan) -> Self {
        let method = match descent.solver {
            SolverKind::Varpro => Method::VarPro(VarPro { steps: descent.epochs, ..varpro }),
            _ => Method::Descent(descent),
        };
        Self { common, method }
    }
}

/// Files of before it could be set do not have it.
pub(super) fn paper_restarts() -> usize {
    PAPER_RESTARTS
}
