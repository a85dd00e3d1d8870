//! Runs with a stand-in for the methods: which cells are measured, when, and what becomes of them.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use rffnet_compare::{Job, Kind, Outcome};
use rffnet_paper::{Error, Experiment, Request, reproduce};

/// Cells of a quick table of four sets: five methods with two replicas, four slow rows with one.
const CELLS: usize = 4 * (5 * 2 + 4);

fn request(folder: &Path, what: &[Experiment]) -> Request {
    Request {
        what: what.to_vec(),
        quick: true,
        auto: false,
        replicas: None,
        data_dir: None,
        output: folder.into(),
        seed: 0,
        threads: 1,
    }
}

/// The score is the seed, so that figures can be foretold.
fn measured(job: &Job) -> Outcome {
    let scores = serde_json::json!({ "mse": 1.0 + job.seed as f64, "r2": null });
    Outcome {
        scores: serde_json::from_value(scores).expect("scores"),
        fit_seconds: Some(0.25),
        predict_seconds: Some(0.125),
        peak_mb: Some(50.0),
        relevances: Some(vec![0.5; 10]),
        ..Outcome::default()
    }
}

/// Runs and counts the jobs; from job `limit` on, processes are ended from outside.
fn run(request: &Request, limit: usize) -> (Result<(), Error>, usize) {
    let jobs = RefCell::new(0);
    let result = reproduce(
        request,
        &|job| {
            *jobs.borrow_mut() += 1;
            if *jobs.borrow() > limit {
                return Outcome {
                    note: Some("its process was ended by signal 15".into()),
                    ..Outcome::default()
                };
            }
            measured(job)
        },
        &|_| {},
    );
    (result.map(|_| ()), jobs.into_inner())
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_run_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[Experiment::Table1]);
    let all = CELLS;
    let (result, jobs) = run(&request, 11);
    assert!(result.unwrap_err().to_string().contains("run the command again"));
    assert_eq!(jobs, 12);
    assert!(!folder.path().join("table1.md").exists(), "an unfinished table is not written");
    // What the kill left half written is not believed.
    let cells = folder.path().join("cells");
    let one = fs::read_dir(&cells)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "json"));
    fs::write(one.unwrap(), "{\"format\":1,").unwrap();

    assert_eq!(run(&request, usize::MAX), (Ok(()), all - 11 + 1));
    assert_eq!(run(&request, usize::MAX), (Ok(()), 0));
    assert!(read(folder.path(), "table1.md").contains("| Kernel Ridge | 0.091 ± 0.004 | 1.500 ± 0.500 |"));
    assert_eq!(read(folder.path(), "table1.csv").lines().count(), 1 + all);
}

#[test]
fn tables_and_figures_share_their_cells() {
    let folder = tempfile::tempdir().unwrap();
    let all = [Experiment::Table1, Experiment::TableF7, Experiment::TableF11, Experiment::Fig2];
    let (result, jobs) = run(&request(folder.path(), &all), usize::MAX);
    // Figure 2 shows the full size.
    assert_eq!((result, jobs), (Ok(()), CELLS + 4));
    assert!(read(folder.path(), "tableF7.md").contains("| 1.73 ± 0.002 | 0.250 ± 0.000 |"));
    assert!(read(folder.path(), "tableF11.md").contains("| 434.895 ± 6.001 | 50.00 ± 0.00 |"));
    assert!(read(folder.path(), "fig2.svg").starts_with("<svg"));
    let index = read(folder.path(), "index.html");
    assert!(all.iter().all(|e| index.contains(&format!("id=\"{e}\""))));
    // Our own method is added; the others are not measured again.
    let more = Request { auto: true, ..request(folder.path(), &all) };
    assert_eq!(run(&more, usize::MAX), (Ok(()), 4 * 2 + 4));
    assert!(read(folder.path(), "table1.md").contains("| rffnet `auto` | - | 1.500 ± 0.500 |"));
    // Other rows, another seed, other cells.
    let other = Request { seed: 5, ..request(folder.path(), &[Experiment::Table1]) };
    assert_eq!(run(&other, usize::MAX).1, CELLS);
}

#[test]
fn a_refusal_is_a_row_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[Experiment::Table1]);
    let jobs = RefCell::new(0);
    for expected in [CELLS, 0] {
        jobs.replace(0);
        let refusing = |job: &Job| {
            *jobs.borrow_mut() += 1;
            if job.model.kind == Kind::Krr {
                return Outcome {
                    note: Some("needs 19 GB for the kernel matrix".into()),
                    ..Outcome::default()
                };
            }
            measured(job)
        };
        reproduce(&request, &refusing, &|_| {}).unwrap();
        assert_eq!(*jobs.borrow(), expected);
    }
    let page = read(folder.path(), "table1.md");
    assert!(page.contains("| Kernel Ridge | 0.091 ± 0.004 | refused, see below |"), "{page}");
    assert!(page.contains("- Kernel Ridge on gse1: needs 19 GB for the kernel matrix\n"), "{page}");
    assert!(
        read(folder.path(), "table1.csv").contains("gse1,krr,paper,1,1000,,,,,,needs 19 GB"),
        "raw figures"
    );
}

#[test]
fn what_is_cut_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let full = Request { quick: false, replicas: Some(4), ..request(folder.path(), &[Experiment::Table1]) };
    let rows = RefCell::new(Vec::new());
    let noting = |job: &Job| {
        rows.borrow_mut().push((job.model.kind, serde_json::to_value(&job.train).unwrap()["rows"].clone()));
        measured(job)
    };
    reproduce(&full, &noting, &|_| {}).unwrap();
    let page = read(folder.path(), "table1.md");
    assert!(page.contains("10,000 training and 2,000 test rows, 4 replicas"), "{page}");
    assert!(page.contains("- GPR, converged: 2,000 of 10,000 training rows and 3 of 4 replicas"), "{page}");
    assert!(page.contains("--replicas 4`"), "{page}");
    assert!(page.contains("| Kernel Ridge | 0.091 ± 0.004 | 2.500 ± 1.118 ≠ |"), "{page}");
    assert!(page.contains("| GPR, converged | - | 2.000 ± 0.816 |"), "{page}");
    let of = |kind, n: usize| rows.borrow().iter().filter(|(k, rows)| *k == kind && *rows == n).count();
    assert_eq!((of(Kind::Gpr, 2_000), of(Kind::Gpr, 10_000), of(Kind::Krr, 10_000)), (2 * 3 * 4, 0, 4 * 4));
}

#[test]
fn real_sets_that_are_missing_are_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let all = [Experiment::Table3, Experiment::Table4, Experiment::Fig4, Experiment::TableC5];
    assert_eq!(run(&request(folder.path(), &all), usize::MAX), (Ok(()), 0));
    assert!(read(folder.path(), "table3.md").contains("None of the sets was found."));
    assert!(read(folder.path(), "table4.md").contains("- higgs is skipped: pass --data-dir"));
    assert!(read(folder.path(), "tableC5.md").contains("| higgs | 9,900,000 | 1,100,000 | 28 | - | - |"));
}

#[test]
fn folds_of_a_file() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = |i: usize| format!("{}.5 1:{} 8:{}\n", i % 7, i % 5, i % 3);
    fs::write(data.path().join("abalone"), (0..40).map(line).collect::<String>()).unwrap();
    let request =
        Request { data_dir: Some(data.path().into()), ..request(folder.path(), &[Experiment::Table3]) };
    assert_eq!(run(&request, usize::MAX), (Ok(()), CELLS / 4));
    let page = read(folder.path(), "table3.md");
    assert!(page.contains("| method | abalone: paper | ours |"), "{page}");
    assert!(page.contains("- abalone: 40 rows here, 4,178 in the paper's table C.5"), "{page}");
    assert!(
        page.contains("- compact is skipped: --data-dir has none of its files; get 'compact.tar.gz'"),
        "{page}"
    );
    // Other rows in the file: other cells.
    fs::write(data.path().join("abalone"), (1..41).map(line).collect::<String>()).unwrap();
    assert_eq!(run(&request, usize::MAX).1, CELLS / 4);
}

/// The figures that fit by themselves, at their smallest.
#[test]
fn ablations_are_kept_too() {
    let folder = tempfile::tempdir().unwrap();
    let what = [Experiment::FigE9, Experiment::Landscape, Experiment::TableD6];
    let request = Request { replicas: Some(1), ..request(folder.path(), &what) };
    reproduce(&request, &measured, &|_| {}).unwrap();
    let first = read(folder.path(), "figE9.csv");
    assert_eq!(first.lines().count(), 1 + 9 * 18);
    let cells = || fs::read_dir(folder.path().join("cells")).unwrap().count();
    let before = cells();
    reproduce(&request, &measured, &|_| {}).unwrap();
    assert_eq!((cells(), read(folder.path(), "figE9.csv")), (before, first));
    assert_eq!(read(folder.path(), "landscape.csv").lines().count(), 1 + 4 * 25 * 25);
    assert!(read(folder.path(), "tableD6.md").contains("Π ½ exp(-abs(ωⱼ))"));
}

/// Loss against seconds: four fits, measured together and once.
#[test]
fn convergence_is_measured_once_and_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path(), &[Experiment::Convergence]);
    assert_eq!(run(&request, 0), (Ok(()), 0), "fits run here, not as jobs");
    let csv = read(folder.path(), "convergence.csv");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let number = |row: &[&str], i: usize| -> f64 { row[i].parse().unwrap() };
    for method in ["Adam preset paper", "Adam our settings", "variable projection", "auto"] {
        let of: Vec<&Vec<&str>> = rows.iter().filter(|row| row[0] == method).collect();
        assert!(of.len() > 10, "{method}: {}", of.len());
        assert!(of.windows(2).all(|w| number(w[0], 2) <= number(w[1], 2)), "{method}: time goes on");
        let (end, steps) = of.split_last().unwrap();
        assert_eq!(end[1], "end");
        assert!(steps.windows(2).all(|w| number(w[0], 4) >= number(w[1], 4)), "{method}: lowest so far");
        assert!(number(end, 3) < number(steps[0], 3), "{method}: it learns");
    }
    let page = read(folder.path(), "convergence.md");
    for piece in ["1,000 training rows, seed 0, 1 thread", "Adam, preset paper gets to ", "`--solver adam`"] {
        assert!(page.contains(piece), "{piece}\n{page}");
    }
    let svg = read(folder.path(), "convergence.svg");
    assert!(
        ["preset paper<", "our settings<", "variable projection<", ">auto<"].iter().all(|l| svg.contains(l))
    );
    assert!(read(folder.path(), "index.md").contains("## Beyond the paper\n\n- [Convergence"));
    // The clock would not show the same twice.
    reproduce(&request, &measured, &|_| {}).unwrap();
    assert_eq!(read(folder.path(), "convergence.csv"), csv);
}

/// Probabilities against shares, on a simulated set and on a file.
#[test]
fn reliability_of_a_simulated_set_and_of_a_file() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = |i: usize| {
        let label = if (i * 7 % 10) < 2 + 6 * (i % 2) { "+1" } else { "-1" };
        format!("{label} 1:{} 2:{} 123:{}\n", i % 2, i % 5, i % 3)
    };
    fs::write(data.path().join("a9a"), (0..300).map(line).collect::<String>()).unwrap();
    let request = Request {
        replicas: Some(1),
        data_dir: Some(data.path().into()),
        ..request(folder.path(), &[Experiment::Reliability])
    };
    assert_eq!(run(&request, 0), (Ok(()), 0));
    let page = read(folder.path(), "reliability.md");
    assert!(page.contains("1,000 training and 2,000 test rows, 1 replica pooled"), "{page}");
    assert!(page.contains("- w8a is skipped: --data-dir has none of its files"), "{page}");
    let row = |start: &str| -> Vec<String> {
        let line = page.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start}\n{page}"));
        line.trim_matches('|').split('|').map(|c| c.trim().to_string()).collect()
    };
    for method in ["RFFNet", "rffnet `auto`"] {
        let simulated = row(&format!("| classification | {method} | 2,000 |"));
        assert_eq!(simulated[4], "200", "rows of a bin");
        let [log_loss, brier, error] = [5, 6, 7].map(|i| simulated[i].parse::<f64>().unwrap());
        assert!(log_loss < 0.69 && brier < 0.25 && error < 0.2, "{simulated:?}");
        assert_eq!(row(&format!("| a9a | {method} |"))[2], "30", "a tenth of the file");
    }
    let csv = read(folder.path(), "reliability.csv");
    assert!(csv.starts_with("set,method,bin,rows,predicted,share,low,high\n"), "{csv}");
    assert_eq!(csv.lines().filter(|l| l.starts_with("classification,rffnet,")).count(), 10);
    assert!(read(folder.path(), "reliability.svg").matches("<circle").count() >= 20);
    assert!(read(folder.path(), "index.html").contains("<p>Beyond the paper:</p>"));
}
