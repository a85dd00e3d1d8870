//! `rffnet fit`: what it prints, what it keeps, and that it can be repeated.

mod common;

use common::{Folder, SMALL, keys};
use serde_json::Value;

/// The keys that scripts rely on, with what they hold.
fn check_contract(report: &Value) {
    let string = ["task", "solver", "stopped"];
    let whole = ["rows", "columns", "random_features", "seed", "threads", "epochs"];
    for key in string {
        assert!(report[key].is_string(), "{key}: {report}");
    }
    for key in whole {
        assert!(report[key].is_u64(), "{key}: {report}");
    }
    assert!(report["fit_seconds"].is_f64());
    let present = keys(report);
    assert!(["validation", "test", "relevances", "model"].iter().all(|k| present.contains(k)), "{present:?}");
    let list = report["relevances"].as_array().expect("a list");
    assert_eq!(list.len() as u64, report["columns"].as_u64().expect("a count"));
    let importance: Vec<f64> = list.iter().map(|r| r["importance"].as_f64().expect("a number")).collect();
    assert!(importance.is_sorted_by(|a, b| a >= b));
    assert!(
        list.iter().all(|r| r["feature"].is_string() && r["relevance"].as_f64().is_some_and(|v| v >= 0.0))
    );
}

#[test]
fn json_of_a_regression() {
    let folder = Folder::new();
    let report =
        folder.json(&format!("fit --dataset jse3 --rows 200 --seed 5 --threads 2 {SMALL} -o m.rffnet"));
    check_contract(&report);
    assert_eq!(report["task"], "regression");
    assert_eq!((report["rows"].as_u64(), report["columns"].as_u64()), (Some(200), Some(10)));
    assert_eq!((report["seed"].as_u64(), report["threads"].as_u64()), (Some(5), Some(2)));
    assert_eq!((report["epochs"].as_u64(), &report["stopped"]), (Some(3), &"epochs".into()));
    assert_eq!(keys(&report["test"]), ["mae", "median_ae", "mse", "r2"]);
    assert!(report["validation"]["loss"].is_f64());
    assert_eq!(report["model"], "m.rffnet");
    assert!(folder.path("m.rffnet").is_file());
}

#[test]
fn json_of_a_classification_without_test_and_model() {
    let folder = Folder::new();
    folder.generate("moons --rows 100 -o moons.csv");
    let report = folder.json(&format!("fit moons.csv --target y --validation-fraction 0 {SMALL}"));
    check_contract(&report);
    assert_eq!(report["task"], "classification");
    assert!(report["test"].is_null() && report["model"].is_null() && report["validation"].is_null());
    let report = folder.json(&format!("fit moons.csv --target y --test-fraction 0.25 {SMALL}"));
    assert_eq!(report["rows"], 75);
    let mut scores = keys(&report["test"]);
    scores.sort_unstable();
    assert_eq!(scores, ["accuracy", "auc", "average_precision", "log_loss"]);
}

#[test]
fn the_human_report() {
    let folder = Folder::new();
    let run = folder.run(&format!("fit --dataset gse2 --rows 150 {SMALL} -o m.rffnet")).ok();
    for part in ["150 rows, 100 columns", "32 random features", "test        mse", "█", "and 80 more columns"]
    {
        assert!(run.stdout.contains(part), "{part}:\n{}", run.stdout);
    }
    assert!(run.stdout.ends_with("model written to m.rffnet\n"));
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100));
    assert!(run.stderr.contains("regression: the target 'y' is a number"));
    assert!(!run.stderr.contains("epoch "), "no progress line where there is no terminal");
}

/// Nothing but the target: varpro, and what it chose.
#[test]
fn the_human_report_of_the_default_solver() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 120 -o a.csv");
    let run = folder.run("fit a.csv -t y --test-fraction 0.2 -o m.rffnet").ok();
    for part in [
        "ensemble of 6 members with ",
        " random features each, linear terms and ",
        " partitions, gaussian kernel, squared loss, varpro\n",
        "\nfit         ",
    ] {
        assert!(run.stdout.contains(part), "{part}:\n{}", run.stdout);
    }
    let line = |text: &str, label: &str| -> String {
        let line = text.lines().find(|line| line.starts_with(label));
        line.unwrap_or_else(|| panic!("no {label}:\n{text}")).to_string()
    };
    let fit = line(&run.stdout, "fit ");
    assert!(fit.contains(" steps, ") && !fit.contains("epoch") && !fit.contains("kept"), "{fit}");
    let report = folder.json("fit a.csv -t y --test-fraction 0.2");
    check_contract(&report);
    assert_eq!((&report["solver"], &report["stopped"]), (&"varpro".into(), &"converged".into()));
    let chosen = report["chosen"].as_str().expect("a text");
    assert!(chosen.contains("features") && chosen.contains("alpha"), "{chosen}");
    assert_eq!(line(&run.stdout, "chose "), format!("chose       {chosen}"));
    let inspected = folder.ok("inspect m.rffnet");
    assert_eq!(line(&inspected, "chose "), format!("chose       {chosen}"));
    let solver = line(&inspected, "solver ");
    assert!(solver.contains("varpro, spectrum auto, effort normal, at most 40 steps"), "{solver}");
    assert_eq!(folder.json("inspect m.rffnet")["summary"]["chosen"], chosen);
}

#[test]
fn a_budget_that_runs_out_is_said() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 300 -o a.csv");
    let run = folder.run("fit a.csv -t y --budget 0.001 -o m.rffnet").ok();
    assert!(run.stderr.contains("warning: the budget of 0.001 s ran out; "), "{}", run.stderr);
    assert!(run.stdout.contains(", the budget ran out, "), "{}", run.stdout);
    let report = folder.json("fit a.csv -t y --budget 0.001 --quiet");
    assert_eq!(report["stopped"], "budget");
    let warnings = report["warnings"].as_array().expect("a list");
    assert!(warnings.iter().any(|w| w.as_str().is_some_and(|w| w.contains("ran out"))), "{warnings:?}");
    assert_eq!(folder.ok("predict m.rffnet a.csv").lines().count(), 301);
    let enough = folder.json("fit a.csv -t y --budget 1e6 --effort quick");
    assert_eq!(enough["stopped"], "converged");
    assert!(!enough["warnings"].to_string().contains("ran out"));
}

#[test]
fn the_solver_follows_from_what_is_asked_for() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 60 -o a.csv");
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", i % 7, i % 5, (i * 3) % 4)).collect();
    folder.write("counts.csv", format!("a,b,y\n{rows}"));
    let cases = [
        ("a.csv", "", "varpro"),
        ("a.csv", "--alpha 0.01 --penalty l2", "varpro"),
        ("a.csv", "--lr 0.01", "adam"),
        ("a.csv", "--schedule cosine", "adam"),
        ("a.csv", "--batch-size 10", "adam"),
        ("a.csv", "--patience 3", "adam"),
        ("a.csv", "--init regressor", "adam"),
        ("a.csv", "--penalty l1", "adam"),
        ("a.csv", "--alpha-theta 0.1", "adam"),
        ("a.csv", "--preset paper", "adam"),
        ("a.csv", "--loss huber", "adam"),
        ("counts.csv", "--loss poisson", "adam"),
        ("counts.csv", "--task classification", "varpro"),
    ];
    for (data, flags, solver) in cases {
        let report = folder.json(&format!("fit {data} -t y {flags} --effort quick --features 16 --epochs 2"));
        assert_eq!(report["solver"], solver, "{flags}");
        assert_eq!(report["chosen"] == "", solver == "adam", "{flags}");
    }
}

#[test]
fn the_task_is_said_and_can_be_chosen() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3)).collect();
    folder.write("three.csv", format!("a,b,y\n{rows}"));
    let auto = folder.run(&format!("fit three.csv --target y {SMALL}")).ok();
    assert!(auto.stderr.contains("3 different values (if they are classes: --task classification)"));
    let asked = folder.run(&format!("fit three.csv --target y --task classification {SMALL}")).ok();
    assert!(asked.stderr.contains("classification: the target 'y' has 3 classes"));
    folder.generate("moons --rows 60 -o moons.csv");
    assert_eq!(folder.json(&format!("fit moons.csv -t y --task regression {SMALL}"))["task"], "regression");
}

#[test]
fn quiet_is_quiet() {
    let folder = Folder::new();
    let run = folder.run(&format!("fit --dataset moons --rows 60 --quiet {SMALL}")).ok();
    assert_eq!(run.stderr, "");
    assert!(!run.stdout.is_empty());
}

#[test]
fn a_constant_target_fits_a_constant() {
    let folder = Folder::new();
    let rows: String = (0..30).map(|i| format!("{i},7\n")).collect();
    folder.write("c.csv", format!("a,y\n{rows}"));
    let run = folder.run("fit c.csv --target y -o m.rffnet").ok();
    assert!(run.stderr.contains("warning: the target has the same value in every row"));
    let report = folder.json("fit c.csv --target y");
    assert_eq!(report["stopped"], "constant-target");
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1));
    assert!(folder.ok("predict m.rffnet c.csv").starts_with("prediction\n7\n7\n"));
}

#[test]
fn the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    for solver in ["varpro", "adam", "sgd", "palm-adam", "palm-sgd"] {
        // More rows than one chunk, so that the threads have something to share.
        let descent = if solver == "varpro" { "" } else { "--batch-size 700 --lr 0.01" };
        let fit =
            format!("fit --dataset gse1 --rows 1500 --solver {solver} {descent} --features 32 --epochs 3 -q");
        folder.ok(&format!("{fit} --threads 1 -o one.rffnet"));
        folder.ok(&format!("{fit} --threads 2 -o two.rffnet"));
        assert!(folder.read("one.rffnet") == folder.read("two.rffnet"), "{solver}");
    }
}

#[test]
fn the_seed_decides() {
    let folder = Folder::new();
    folder.generate("gse1 --rows 200 -o a.csv");
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        folder.ok(&format!("fit a.csv -t y --test-fraction 0.3 {SMALL} --seed {seed} -q -o {name}.rffnet"));
    }
    assert!(folder.read("a.rffnet") == folder.read("b.rffnet"));
    assert!(folder.read("a.rffnet") != folder.read("c.rffnet"));
}

#[test]
fn held_out_scores_are_those_of_eval() {
    let folder = Folder::new();
    for (set, extra) in [("gse1", ""), ("classification", ""), ("moons", "--preset paper")] {
        folder.generate(&format!("{set} --rows 200 --seed 1 -o train.csv"));
        folder.generate(&format!("{set} --rows 100 --seed 2 -o test.csv"));
        let fitted = folder.json(&format!("fit train.csv -t y --test test.csv {extra} {SMALL} -o m.rffnet"));
        let evaluated = folder.json("eval m.rffnet test.csv --target y");
        assert_eq!(fitted["test"], evaluated, "{set}");
    }
}

#[test]
fn weights_count() {
    let folder = Folder::new();
    let row =
        |i: i32| format!("{},{},{},{}\n", i % 7, i % 11, (i % 7) * 2 + i % 3, if i < 60 { 1 } else { 0 });
    let all: String = (0..90).map(row).collect();
    let some: String = (0..60).map(row).collect();
    folder.write("all.csv", format!("a,b,y,w\n{all}"));
    folder.write("some.csv", format!("a,b,y,w\n{some}"));
    let report = folder.json(&format!("fit all.csv -t y --weight w {SMALL} --batch-size 20 -o all.rffnet"));
    assert_eq!(report["columns"], 2);
    folder.ok(&format!("fit some.csv -t y --weight w {SMALL} --batch-size 20 -o some.rffnet -q"));
    let predict = |model: &str| folder.ok(&format!("predict {model} all.csv"));
    assert_eq!(predict("all.rffnet"), predict("some.rffnet"), "rows of weight 0 have no influence");
    let weighted = folder.json("eval all.rffnet all.csv -t y --weight w");
    assert_eq!(weighted, folder.json("eval all.rffnet some.csv -t y"));
}

#[test]
fn balanced_classes_change_the_model() {
    let folder = Folder::new();
    let rows: String = (0..200).map(|i| format!("{},{}\n", (i * 37) % 101, i32::from(i % 10 == 0))).collect();
    folder.write("rare.csv", format!("a,y\n{rows}"));
    let share = |flag: &str| {
        folder
            .ok(&format!("fit rare.csv -t y {flag} --solver adam --epochs 20 --features 16 -q -o m.rffnet"));
        let predicted = folder.json("predict m.rffnet rare.csv --proba");
        let p = predicted["probabilities"].as_array().expect("rows");
        p.iter().map(|row| row[1].as_f64().expect("a number")).sum::<f64>() / 200.0
    };
    assert!(share("") < 0.2);
    assert!(share("--class-weight balanced") > 0.3);
}

#[test]
fn a_configuration_file_and_flags_that_win() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 100 -o a.csv");
    folder.write(
        "c.toml",
        "data = 'a.csv'\ntarget = 'y'\nfeatures = 16\nepochs = 2\nkernel = 'matern32'\nseed = 9\nquiet = true\n\
         test-fraction = 0.2\nignore = ['x10']\nloss = 'huber:2'\nthreads = 1\noutput = 'c.rffnet'\n",
    );
    let report = folder.json("fit --config c.toml");
    assert_eq!((report["random_features"].as_u64(), report["epochs"].as_u64()), (Some(16), Some(2)));
    assert_eq!((report["kernel"].as_str(), report["loss"].as_str()), (Some("matern32"), Some("huber:2")));
    assert_eq!((report["seed"].as_u64(), report["columns"].as_u64()), (Some(9), Some(9)));
    assert_eq!((report["rows"].as_u64(), report["threads"].as_u64()), (Some(80), Some(1)));
    assert_eq!(report["model"], "c.rffnet");
    let report =
        folder.json("fit --config c.toml --features 8 --seed 1 --kernel cauchy --threads 2 -o d.rffnet");
    assert_eq!((report["random_features"].as_u64(), report["epochs"].as_u64()), (Some(8), Some(2)));
    assert_eq!((report["seed"].as_u64(), report["threads"].as_u64()), (Some(1), Some(2)));
    assert_eq!((report["kernel"].as_str(), report["model"].as_str()), (Some("cauchy"), Some("d.rffnet")));
    // A data set on the command line replaces the file's data and test part.
    folder.write("e.toml", "data = 'a.csv'\ntest-fraction = 0.2\nfeatures = 8\nepochs = 1\n");
    assert_eq!(folder.json("fit --config e.toml --dataset moons --rows 50")["rows"], 50);
}

#[test]
fn every_parameter_reaches_the_model() {
    let folder = Folder::new();
    let flags = "--preset auto --loss huber:3 --solver palm-sgd --kernel gaussian --sampling orthogonal --init regressor \
                 --features 24 --alpha 0.5 --penalty elastic-net --alpha-theta 0.25 --penalty-theta l2 --l1-ratio 0.25 \
                 --lr 0.003 --schedule cosine --batch-size 17 --epochs 2 --patience 2 --validation-fraction 0.3 \
                 --missing mean --seed 3";
    folder.ok(&format!("fit --dataset jse3 --rows 100 {flags} -q -o m.rffnet"));
    let plan = &folder.json("inspect m.rffnet")["params"];
    let expected = [
        ("preset", Value::from("auto")),
        ("loss", "huber:3".into()),
        ("solver", "palm-sgd".into()),
        ("kernel", "gaussian".into()),
        ("sampling", "orthogonal".into()),
        ("init", "regressor".into()),
        ("random-features", 24.into()),
        ("lr", 0.003.into()),
        ("schedule", "cosine".into()),
        ("batch-size", 17.into()),
        ("epochs", 2.into()),
        ("patience", 2.into()),
        ("validation-fraction", 0.3.into()),
        ("missing", "mean".into()),
        ("seed", 3.into()),
    ];
    for (key, value) in expected {
        assert_eq!(plan[key], value, "{key}");
    }
    assert_eq!((plan["penalty"]["l1"].as_f64(), plan["penalty"]["l2"].as_f64()), (Some(0.125), Some(0.375)));
    assert_eq!(plan["penalty-theta"]["l2"], 0.25);

    let flags = "--solver varpro --spectrum learned --linear false --committee 2 --effort thorough --features 24 \
                 --alpha 0.5 --epochs 2 --budget 100";
    folder.ok(&format!("fit --dataset jse3 --rows 100 {flags} -q -o m.rffnet"));
    let report = folder.json("inspect m.rffnet");
    let expected = [
        ("solver", Value::from("varpro")),
        ("spectrum", "learned".into()),
        ("linear", false.into()),
        ("committee", 2.into()),
        ("effort", "thorough".into()),
        ("random-features", 24.into()),
        ("fixed-features", 24.into()),
        ("fixed-alpha", 0.5.into()),
        ("epochs", 2.into()),
    ];
    for (key, value) in expected {
        assert_eq!(report["params"][key], value, "{key}");
    }
    assert_eq!(report["committee"], 2);
    folder
        .write("v.toml", "spectrum = 'fixed'\nlinear = true\ncommittee = 1\neffort = 'quick'\nbudget = 90\n");
    folder.ok("fit --dataset jse3 --rows 100 --config v.toml --features 24 --epochs 2 -q -o m.rffnet");
    let plan = &folder.json("inspect m.rffnet")["params"];
    assert_eq!((&plan["spectrum"], &plan["linear"]), (&"fixed".into(), &true.into()));
    assert_eq!((&plan["committee"], &plan["effort"]), (&1.into(), &"quick".into()));
}

#[test]
fn restarts_are_a_flag_and_a_key_and_change_the_start() {
    let folder = Folder::new();
    let fit = "fit --dataset jse3 --rows 100 --features 16 --epochs 2 --init restarter -q";
    folder.ok(&format!("{fit} -o default.rffnet"));
    for n in [1, 2, 10] {
        folder.ok(&format!("{fit} --restarts {n} -o {n}.rffnet"));
        assert_eq!(folder.json(&format!("inspect {n}.rffnet"))["params"]["restarts"], n);
    }
    folder.write("r.toml", "restarts = 2\n");
    folder.ok(&format!("{fit} --config r.toml -o config.rffnet"));
    assert!(folder.read("default.rffnet") == folder.read("10.rffnet"), "ten is the default");
    assert!(folder.read("config.rffnet") == folder.read("2.rffnet"));
    let relevances = |n: u64| folder.json(&format!("inspect {n}.rffnet"))["relevances"].clone();
    assert_ne!(relevances(1), relevances(10));
    assert!(folder.ok("inspect 2.rffnet").contains("init restarter of 2 starts"));
}
