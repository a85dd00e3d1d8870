//! Names: one per choice, the same in text, in configuration files and in model files.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::sentence;
use rffnet::{
    ClassWeight, Effort, Init, Kernel, Link, LossKind, Missing, Params, PenaltyKind, Preset, Sampling,
    Schedule, SolverKind, SpectrumMode, Stopped, Task,
};

/// Display, FromStr and serde agree on every variant, and a wrong name is answered with all the right ones.
macro_rules! names_agree {
    ($($kind:ident $what:literal),+) => {$(
        for &choice in $kind::ALL {
            let text = choice.to_string();
            assert_eq!(text.parse::<$kind>().unwrap(), choice);
            assert_eq!(serde_json::to_string(&choice).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<$kind>(&format!("\"{text}\"")).unwrap(), choice);
            assert_eq!(format!("{choice:>20}").len(), 20);
        }
        for wrong in ["", "ADAM", "nonsense", " l2"] {
            let text = sentence(wrong.parse::<$kind>());
            assert!(text.starts_with(&format!("{} is '{wrong}'; it must be one of ", $what)), "{text}");
            assert!($kind::ALL.iter().all(|c| text.contains(&c.to_string())), "{text}");
        }
    )+};
}

#[test]
fn every_choice_has_one_name_and_a_wrong_one_is_explained() {
    names_agree!(
        Preset "preset", SolverKind "solver", Init "init", Schedule "schedule", Missing "missing",
        ClassWeight "class-weight", Kernel "kernel", Sampling "sampling", PenaltyKind "penalty", Task "task",
        Link "link", SpectrumMode "spectrum", Effort "effort"
    );
}

#[test]
fn losses_have_defaults_for_their_numbers() {
    assert_eq!("huber".parse::<LossKind>().unwrap(), LossKind::Huber { delta: 1.0 });
    assert_eq!("quantile".parse::<LossKind>().unwrap(), LossKind::Quantile { tau: 0.5 });
    let text = sentence("median".parse::<LossKind>());
    assert!(text.contains("'median'") && text.contains("quantile[:TAU]"), "{text}");
    for wrong in ["huber:", "huber:x", "huber:inf", "quantile:0", "quantile:NaN", "poisson:1"] {
        assert!(sentence(wrong.parse::<LossKind>()).starts_with("loss is "), "{wrong}");
    }
}

#[test]
fn a_reason_for_stopping_is_written_as_it_is_stored() {
    for reason in [
        Stopped::Epochs,
        Stopped::Patience,
        Stopped::Interrupted,
        Stopped::Diverged,
        Stopped::ConstantTarget,
        Stopped::Converged,
        Stopped::Budget,
    ] {
        assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{reason}\""));
    }
}

#[test]
fn params_are_read_by_name_and_unknown_names_are_refused() {
    let text = r#"{"random-features": 7, "loss": "quantile:0.9", "penalty-theta": "elastic-net", "seed": 3,
        "spectrum": "learned", "linear": false, "committee": 2, "effort": "quick", "budget": 1.5}"#;
    let params: Params = serde_json::from_str(text).unwrap();
    let expected = Params::new()
        .random_features(7)
        .loss(LossKind::Quantile { tau: 0.9 })
        .penalty_theta(PenaltyKind::ElasticNet)
        .seed(3)
        .spectrum(SpectrumMode::Learned)
        .linear(false)
        .committee(2)
        .effort(Effort::Quick)
        .budget(1.5);
    assert_eq!(params, expected);
    assert_eq!(serde_json::from_str::<Params>(&serde_json::to_string(&params).unwrap()).unwrap(), params);
    assert!(serde_json::from_str::<Params>(r#"{"random_feature": 7}"#).is_err());
    assert_eq!(serde_json::from_str::<Params>("{}").unwrap(), Params::default());
}
