//! Tables as people have them: text, dates, money, gaps; what is said about them, and what is done at predict time.

mod common;

use common::{Folder, SMALL, keys};
use serde_json::Value;

/// Houses with an id, the day of the sale, a district, a heating with gaps, a garage, money and numbers; `price` is the target.
fn houses(rows: usize) -> String {
    let mut text = "id,sold,district,heating,garage,tax,area,price\n".to_string();
    for i in 0..rows {
        let district = ["north", "south", "east"][i * 7 % 3];
        let heating = ["gas", "oil", ""][i * 11 % 3];
        let (garage, area) = (if i % 4 == 0 { "yes" } else { "no" }, 50 + i * 37 % 101);
        let day = format!("20{:02}-{:02}-{:02}", 18 + i % 5, 1 + i % 12, 1 + i % 28);
        let price = 3 * area + if district == "north" { 100 } else { 0 } + i % 7;
        text += &format!(
            "h{:05},{day},{district},{heating},{garage},\"$1,{:03}\",{area},{price}\n",
            i * 7919 % 99_991,
            area
        );
    }
    text
}

/// The entry of a column in `column_types`.
fn column<'a>(report: &'a Value, feature: &str) -> &'a Value {
    let columns = report["column_types"].as_array().expect("a list");
    columns.iter().find(|column| column["feature"] == feature).expect(feature)
}

#[test]
fn a_table_fits_as_it_is_and_what_is_done_is_said() {
    let folder = Folder::new();
    folder.write("a.csv", houses(120));
    let run = folder.run(&format!("fit a.csv -t price {SMALL} -o m.rffnet")).ok();
    for part in [
        "  column    type      gaps  levels  what is done\n",
        "  id        id                      left out: a different text in every row\n",
        "  sold      date                    day, time of year, weekday\n",
        "  district  category             3  3 indicators\n",
        "  heating   category    40       2  0 or 1, gap indicator\n",
        "  garage    boolean                 standardised\n",
        "  tax       money                   standardised\n",
        "  area      number                  standardised\n",
    ] {
        assert!(run.stderr.contains(part), "{part}\n{}", run.stderr);
    }
    assert!(run.stderr.contains("\nnote: "), "the id is left out: {}", run.stderr);
    assert_eq!(folder.run(&format!("fit a.csv -t price {SMALL} -q")).ok().stderr, "");

    let report = folder.json(&format!("fit a.csv -t price {SMALL}"));
    assert_eq!(report["columns"], 6);
    assert_eq!(report["column_types"].as_array().map(Vec::len), Some(7), "the target is not among them");
    let heating = column(&report, "heating");
    assert_eq!(keys(heating), ["encoding", "feature", "gaps", "levels", "type", "used"]);
    assert_eq!(
        (&heating["type"], &heating["gaps"], &heating["levels"]),
        (&"category".into(), &40.into(), &2.into())
    );
    let id = column(&report, "id");
    assert_eq!((&id["used"], &id["encoding"]), (&false.into(), &Value::Null));
    assert!(report["notes"].as_array().is_some_and(|notes| !notes.is_empty()));

    let inspected = folder.ok("inspect m.rffnet");
    assert!(inspected.contains("regression of price on 6 columns"), "{inspected}");
    assert!(inspected.contains("  district  category       3  3 indicators\n"), "{inspected}");
    assert_eq!(column(&folder.json("inspect m.rffnet"), "district")["levels"], 3);
}

#[test]
fn plain_numbers_are_one_line() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 60 -o a.csv");
    let run = folder.run(&format!("fit a.csv -t y {SMALL}")).ok();
    assert!(run.stderr.contains("\n10 columns, all numbers without gaps\n"), "{}", run.stderr);
}

#[test]
fn types_can_be_chosen() {
    let folder = Folder::new();
    folder.write("a.csv", houses(90));
    let fit = |flags: &str| folder.json(&format!("fit a.csv -t price {SMALL} {flags}"));
    let report = fit("--categorical area,garage --ignore tax --ignore sold");
    assert_eq!(
        (&column(&report, "area")["type"], &column(&report, "garage")["type"]),
        (&"category".into(), &"category".into())
    );
    assert_eq!(
        (&column(&report, "tax")["used"], &column(&report, "sold")["used"]),
        (&false.into(), &false.into())
    );
    let report = fit("--numeric district");
    assert_eq!(
        (&column(&report, "district")["type"], &column(&report, "district")["gaps"]),
        (&"number".into(), &90.into())
    );
    folder.write("c.toml", "data = ['a.csv']\ntarget = 'price'\ncategorical = 'area'\ndelimiter = ','\n");
    let report = folder.json(&format!("fit --config c.toml {SMALL}"));
    assert_eq!(column(&report, "area")["type"], "category");
    let shut = folder.text("a.csv").replace('"', "").replace("$1,", "$1").replace(',', "#");
    folder.write("b.csv", shut);
    assert_eq!(folder.json(&format!("fit b.csv -t price --delimiter # {SMALL}"))["columns"], 6);
    folder.run("fit b.csv -t price --delimiter ##").refused(2, &["--delimiter", "one character"]);
    folder.run("fit --dataset gse1 --categorical x1").refused(2, &["--categorical belongs to a data file"]);
}

#[test]
fn one_message_names_all_that_is_wrong_and_what_would_work() {
    let folder = Folder::new();
    let mut rows: String = (0..60).map(|i| format!("{i}.5,{}.25,{}\n", i * i % 17, i % 5)).collect();
    rows += "about 7,none of it,3\n";
    folder.write("a.csv", format!("a,b,y\n{rows}"));
    let run = folder.run(&format!("fit a.csv -t y {SMALL} -q"));
    run.refused(1, &["a.csv", "column 'a'", "'about 7'", "column 'b'", "--numeric a,b"]);
    folder.ok(&format!("fit a.csv -t y {SMALL} --numeric a,b -q -o m.rffnet"));
    // Of these flags `predict` has two, and speaks of no other.
    folder.write("new.csv", "a,b\n1,2\n3,x7\n");
    let run = folder.run("predict m.rffnet new.csv");
    run.refused(1, &["new.csv", "'b'", "'x7'", "--numeric b"]);
    assert!(!run.stderr.contains("--ignore"), "{}", run.stderr);
    assert_eq!(folder.ok("predict m.rffnet new.csv --numeric b -q").lines().count(), 3);
    for command in ["predict", "eval", "select"] {
        folder.ok(&format!("{command} m.rffnet a.csv --numeric a,b -q"));
    }
    folder.ok(&format!("fit a.csv -t y --test a.csv {SMALL} --numeric a,b -q"));
}

#[test]
fn rows_without_a_target_can_be_dropped() {
    let folder = Folder::new();
    let target = |i: usize| if i % 10 == 3 { String::new() } else { format!("{}.5", i % 7) };
    let rows: String = (0..60).map(|i| format!("{},{}\n", i % 7, target(i))).collect();
    folder.write("a.csv", format!("a,y\n{rows}"));
    folder.run(&format!("fit a.csv -t y {SMALL} -q")).refused(1, &["a.csv", "'y'", "--drop-missing-target"]);
    let report = folder.json(&format!("fit a.csv -t y {SMALL} --drop-missing-target -o m.rffnet"));
    assert_eq!(report["rows"], 54);
    folder.run("eval m.rffnet a.csv -q").refused(1, &["--drop-missing-target"]);
    assert!(folder.json("eval m.rffnet a.csv --drop-missing-target")["mse"].is_f64());
}

#[test]
fn several_files_are_one_table() {
    let folder = Folder::new();
    let text = houses(120);
    let lines: Vec<&str> = text.lines().collect();
    folder.write("all.csv", &text);
    folder.write("part-1.csv", lines[..60].join("\n"));
    folder.write("part-2.csv", [&lines[..1], &lines[60..]].concat().join("\n"));
    let fit = |data: &str| {
        folder.ok(&format!("fit {data} -t price {SMALL} -q -o m.rffnet"));
        folder.read("m.rffnet")
    };
    let whole = fit("all.csv");
    assert!(fit("part-1.csv part-2.csv") == whole);
    assert!(fit("part-*.csv") == whole);
    for (data, named) in [("part-1.csv part-2.csv", "part-1.csv and 1 more"), ("part-*.csv", "part-*.csv")] {
        let said = folder.ok(&format!("fit {data} -t price {SMALL} -q"));
        assert!(said.starts_with(&format!("data        {named}: 120 rows")), "{said}");
    }
    let predicted = folder.ok("predict m.rffnet all.csv");
    assert_eq!(folder.ok("predict m.rffnet part-1.csv part-2.csv"), predicted);
    folder.run(&format!("fit nosuch-*.csv -t price {SMALL} -q")).refused(1, &["nosuch-*.csv"]);
    folder.run("fit part-1.csv - -t price").refused(2, &["standard input cannot be read together"]);
}

#[test]
fn predictions_come_with_the_columns_asked_for() {
    let folder = Folder::new();
    folder.write("a.csv", houses(60));
    folder.ok(&format!("fit a.csv -t price {SMALL} -q -o m.rffnet"));
    let plain = folder.ok("predict m.rffnet a.csv -q");
    let kept = folder.ok("predict m.rffnet a.csv --id id --keep tax,district -q");
    assert_eq!(kept.lines().next(), Some("id,tax,district,prediction"));
    let text = houses(60);
    let first = text.lines().nth(1).expect("a row").split(',').next().expect("a cell");
    let second = kept.lines().nth(1).expect("a row");
    assert!(second.starts_with(&format!("{first},\"$1,")), "{second}");
    let last = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit(',').next().unwrap_or_default().to_string()).collect()
    };
    assert_eq!(last(&kept), last(&plain));
    let report = folder.json("predict m.rffnet a.csv --id id");
    assert_eq!(report["kept"]["id"].as_array().map(Vec::len), Some(60));
    folder.run("predict m.rffnet a.csv --id nosuch").refused(1, &["no column 'nosuch' for --id"]);

    folder.ok("predict m.rffnet a.csv --id id -o p.parquet -q");
    assert!(folder.read("p.parquet").starts_with(b"PAR1"));
    // What was written reads back: fitted to themselves, the predictions are there.
    let report = folder.json(&format!("fit p.parquet -t prediction --categorical id {SMALL}"));
    assert_eq!((&report["rows"], &report["columns"]), (&60.into(), &1.into()));
    folder.run("predict m.rffnet a.csv --json -o p.parquet").refused(2, &["--json", "Parquet"]);
}

#[test]
fn gaps_and_unknown_levels_are_counted() {
    let folder = Folder::new();
    folder.write("a.csv", houses(90).replace(",,", ",wood,"));
    folder.ok(&format!("fit a.csv -t price {SMALL} -q -o m.rffnet"));
    let header = "sold,district,heating,garage,tax,area\n";
    folder.write("new.csv", format!("{header}2020-01-01,west,gas,yes,\"$1,100\",80\n,north,steam,no,,\n"));
    let run = folder.run("predict m.rffnet new.csv").ok();
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(run.stderr.contains("3 gaps are filled in as in the fit\n"), "{}", run.stderr);
    let unknown = "2 cells have levels that the model does not know, which count as rare ones: 'district' (1), 'heating' (1)\n";
    assert!(run.stderr.contains(unknown), "{}", run.stderr);
    assert_eq!(folder.run("predict m.rffnet new.csv -q").ok().stderr, "");
    // A model that was told to refuse gaps does.
    folder.ok(&format!("fit a.csv -t price --missing error {SMALL} -q -o strict.rffnet"));
    let refused = folder.run("predict strict.rffnet new.csv");
    refused.refused(1, &["new.csv", "row 2", "'sold'"]);
    assert!(!refused.stderr.contains("--missing"), "{}", refused.stderr);
}

#[test]
fn what_the_reader_decided_is_said_by_every_command() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|i| format!("{}.5,{}.25\n", i, i * i % 17)).collect();
    folder.write("a.csv", format!("# made by hand\na,y\n{rows}"));
    folder.ok(&format!("fit a.csv -t y {SMALL} -q -o m.rffnet"));
    for command in ["predict", "eval", "select"] {
        let run = folder.run(&format!("{command} m.rffnet a.csv")).ok();
        assert!(run.stderr.contains("note: "), "{command}: {}", run.stderr);
        assert_eq!(folder.run(&format!("{command} m.rffnet a.csv -q")).ok().stderr, "", "{command}");
    }
}

/// Ten visits of each of 30 patients, in turn: the cost is the patient's own and has nothing to do with the columns.
fn visits() -> String {
    let mut text = "patient,day,dose,cost\n".to_string();
    for i in 0..300 {
        let patient = i % 30;
        text += &format!(
            "p{patient},2024-{:02}-{:02},{}.{},{}\n",
            1 + i / 28,
            1 + i % 28,
            patient * 13 % 31,
            i % 3,
            patient * 17 % 29
        );
    }
    text
}

#[test]
fn groups_and_the_order_of_time_are_respected() {
    let folder = Folder::new();
    folder.write("a.csv", visits());
    let fit =
        |flags: &str| folder.json(&format!("fit a.csv -t cost --effort quick --test-fraction 0.2 {flags}"));
    let r2 = |report: &Value| report["test"]["r2"].as_f64().expect("a score");
    assert!(r2(&fit("--ignore patient,day")) > 0.8, "rows of the same patient give it away");
    let grouped = fit("--group patient --ignore day");
    assert!(r2(&grouped) < 0.5, "{grouped}");
    assert_eq!((&grouped["rows"], &grouped["columns"]), (&240.into(), &1.into()));
    assert!(
        grouped["notes"].to_string().contains("rows that agree in 'patient' are held out together"),
        "{grouped}"
    );

    // The rows are in the order of time: shuffling them changes nothing if the column says so.
    let text = visits();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.reverse();
    folder.write("b.csv", format!("patient,day,dose,cost\n{}\n", lines.join("\n")));
    let time = |line: &str| {
        folder.json(&format!("fit {line} -t cost {SMALL} --ignore patient --test-fraction 0.25"))
    };
    let scores = time("a.csv --time --ignore day")["test"].clone();
    assert_eq!(time("a.csv --time day")["test"], scores);
    assert_eq!(time("b.csv --time day")["test"], scores);
    assert_ne!(time("b.csv --time --ignore day")["test"], scores);
    folder.write(
        "c.toml",
        "data = 'a.csv'\ntarget = 'cost'\ntime = true\nignore = ['day', 'patient']\ntest-fraction = 0.25\n",
    );
    assert_eq!(folder.json(&format!("fit --config c.toml {SMALL}"))["test"], scores);

    let refused = |flags: &str, status: i32, words: &[&str]| {
        folder.run(&format!("fit a.csv -t cost {SMALL} -q {flags}")).refused(status, words);
    };
    refused("--group patient --time", 2, &["--time"]);
    refused("--group cost", 2, &["--group cannot be the column of --target"]);
    refused("--group 4", 1, &["'cost' is the target and cannot be the column of --group; name another"]);
    refused("--group 4 --ignore day", 1, &["'cost' is the target", "or name another column for --group"]);
    refused("--group nosuch", 1, &["no column 'nosuch'"]);
    refused("--time patient", 1, &["row 1 holds 'p0' in column 'patient' of --time"]);
    folder.write("one.csv", "g,a,y\n".to_string() + &"k,1,2\nk,2,3\n".repeat(20));
    folder
        .run(&format!("fit one.csv -t y --group g --test-fraction 0.2 {SMALL} -q"))
        .refused(1, &["one.csv: all rows are of one group"]);
}

#[test]
fn copies_in_the_test_part_are_said() {
    let folder = Folder::new();
    let rows = |from: usize, to: usize| -> String {
        let row = |i: usize| format!("{},{}\n", i as f64 / 7.0, (i * i % 31) as f64 / 3.0);
        "a,y\n".to_string() + &(from..to).map(row).collect::<String>()
    };
    folder.write("a.csv", rows(0, 100));
    folder.write("b.csv", rows(95, 130));
    let run = folder.run(&format!("fit a.csv -t y --test b.csv {SMALL}")).ok();
    assert!(
        run.stderr.contains("warning: 5 of the 35 test rows stand in the training part too"),
        "{}",
        run.stderr
    );
    folder.write("c.csv", rows(100, 130));
    let run = folder.run(&format!("fit a.csv -t y --test c.csv {SMALL}")).ok();
    assert!(!run.stderr.contains("stand in the training part"), "{}", run.stderr);
}
