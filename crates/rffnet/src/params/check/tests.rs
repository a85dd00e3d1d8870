//! What is refused, what is filled in, and the frozen preset.

use super::*;

const REGRESSION: Shape = Shape { rows: 1000, columns: 5, classification: false };
const CLASSIFICATION: Shape = Shape { classification: true, ..REGRESSION };

fn restarts_of(plan: &Plan) -> usize {
    plan.descent().expect("descent").restarts
}

#[test]
fn the_paper_preset_is_frozen() {
    let plan = Params::paper().plan(REGRESSION).expect("valid");
    let common = Common {
        preset: Preset::Paper,
        seed: 0,
        loss: LossKind::Squared,
        kernel: Kernel::Gaussian,
        sampling: Sampling::Iid,
        random_features: 300,
        penalty: Penalty { l1: 0.0, l2: 0.1 },
        validation_fraction: 0.1,
        class_weight: ClassWeight::None,
        missing: Missing::Auto,
        scaled_features: false,
        intercept: false,
        standardise_target: false,
        linear: false,
        fixed_features: None,
        fixed_alpha: None,
    };
    let descent = Descent {
        solver: SolverKind::Adam,
        init: Init::Constant,
        restarts: 10,
        penalty_theta: Penalty::default(),
        lr: 1e-3,
        schedule: Schedule::Constant,
        batch_size: 128,
        epochs: 100,
        patience: Some(10),
        random_head: true,
        drop_last: true,
    };
    let expected = Plan { common, method: Method::Descent(descent) };
    assert_eq!(plan, expected);
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Params);
    let cases: [(&str, Change); 13] = [
        ("alpha", |p| p.alpha = Some(-1.0)),
        ("alpha", |p| p.alpha = Some(f64::NAN)),
        ("alpha-theta", |p| p.alpha_theta = Some(-1.0)),
        ("lr", |p| p.lr = Some(0.0)),
        ("batch-size", |p| p.batch_size = Some(0)),
        ("features", |p| p.random_features = Some(0)),
        ("epochs", |p| p.epochs = Some(0)),
        ("patience", |p| p.patience = Some(0)),
        ("validation-fraction", |p| p.validation_fraction = Some(1.0)),
        ("l1-ratio", |p| p.l1_ratio = Some(1.5)),
        ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(0))),
        ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(MOST_RESTARTS + 1))),
        ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(usize::MAX))),
    ];
    for (name, change) in cases {
        let mut params = Params::default();
        change(&mut params);
        let text = params.plan(REGRESSION).expect_err(name).to_string();
        assert!(text.starts_with(&format!("{name} is ")), "{text}");
    }
}

#[test]
fn contradictions_are_refused() {
    let orthogonal =
        Params { kernel: Some(Kernel::Cauchy), sampling: Some(Sampling::Orthogonal), ..Params::default() };
    assert!(orthogonal.plan(REGRESSION).expect_err("biased").to_string().contains("biased"));
    let loss = Params { loss: Some(LossKind::Poisson), ..Params::default() };
    assert!(loss.plan(CLASSIFICATION).is_err() && loss.plan(REGRESSION).is_ok());
    let theta = Params { penalty_theta: Some(PenaltyKind::L1), ..Params::default() };
    assert!(theta.plan(REGRESSION).expect_err("strength").to_string().contains("alpha-theta"));
}

#[test]
fn a_number_of_starts_is_for_the_restarter_alone() {
    let plan =
        |init, solver, restarts| Params { init, solver, restarts, ..Params::default() }.plan(REGRESSION);
    let restarter = Some(Init::Restarter);
    for n in [1, 3, MOST_RESTARTS] {
        let plan = plan(restarter, SolverKind::Auto, Some(n)).expect("valid");
        assert_eq!((restarts_of(&plan), plan.solver()), (n, SolverKind::Adam));
    }
    assert_eq!(restarts_of(&plan(restarter, SolverKind::Auto, None).expect("valid")), 10);
    for init in [None, Some(Init::Constant), Some(Init::Regressor)] {
        let text = plan(init, SolverKind::Auto, Some(3)).expect_err("no effect").to_string();
        assert_eq!(text, "restarts is 3; it must be left out unless init is restarter");
    }
    let text = plan(None, SolverKind::Varpro, Some(3)).expect_err("exact").to_string();
    assert!(text.contains("init and restarts belong to descent"), "{text}");
}

/// Tables and figures are kept under keys of all parameters, and model files hold the plan.
#[test]
fn what_was_written_before_restarts_could_be_set_is_still_read() {
    let params = Params::default();
    let json = serde_json::to_value(&params).expect("written");
    assert!(json.get("restarts").is_none(), "{json}");
    assert_eq!(serde_json::from_value::<Params>(json).expect("read"), params);

    let params = Params { init: Some(Init::Restarter), restarts: Some(4), ..params };
    let json = serde_json::to_value(&params).expect("written");
    assert_eq!(serde_json::from_value::<Params>(json).expect("read"), params);
    let plan = params.plan(REGRESSION).expect("valid");
    let mut json = serde_json::to_value(&plan).expect("written");
    assert_eq!(serde_json::from_value::<Plan>(json.clone()).expect("read"), plan);
    json.as_object_mut().expect("an object").remove("restarts").expect("kept in the file");
    assert_eq!(restarts_of(&serde_json::from_value::<Plan>(json).expect("read")), 10);
}
