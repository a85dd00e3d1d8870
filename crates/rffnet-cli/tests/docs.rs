//! The documentation, executed.
//!
//! ```` ```sh ```` blocks of README.md ("Your own data") and of every page in docs/ are run, page by page, in a folder with
//! the files the pages speak of. Comments before a block change that:
//!
//! | comment | the block |
//! |---|---|
//! | `<!-- not run -->` | is passed over |
//! | `<!-- needs python3 -->` | is passed over where there is none |
//! | `<!-- file: NAME -->` | is written to that file |
//!
//! A ```` ```text ```` or ```` ```json ```` block right after one that is run shows its output: the words its lines begin with
//! must occur in what was printed.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::Folder;
use rffnet::{PARAMETERS, ValueKind};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect(name)
}

/// A fenced block, and the comment on the line before it.
struct Block {
    line: usize,
    language: String,
    comment: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for (i, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(language)) => {
                let comment = before.strip_prefix("<!-- ").and_then(|c| c.strip_suffix(" -->"));
                open = Some(Block {
                    line: i + 1,
                    language: language.trim().into(),
                    comment: comment.unwrap_or_default().into(),
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
        before = line;
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// The part of a page under a heading of the second level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    rest.split("\n## ").next().unwrap_or(rest)
}

/// A linear congruential generator: the files are the same on every machine.
struct Chance(u64);

impl Chance {
    /// Uniform on [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    /// A whole number from `low` up to, not including, `high`.
    fn whole(&mut self, low: f64, high: f64) -> f64 {
        (low + (high - low) * self.next()).floor()
    }
}

/// Rows of `area,rooms,age,distance,number,price`. Rooms go with the area; the number in the street means nothing.
fn houses(seed: u64, rows: usize) -> Vec<[f64; 6]> {
    let mut chance = Chance(seed);
    let mut house = || {
        let area = chance.whole(40.0, 200.0);
        let rooms = 1.0 + (area / 40.0 + 2.0 * chance.next()).floor();
        let age = chance.whole(0.0, 80.0);
        let distance = chance.whole(0.0, 200.0) / 10.0;
        let number = 1.0 + chance.whole(0.0, 120.0);
        let noise = 6.0 * (chance.next() - 0.5);
        let price = 40.0 + 2.5 * area * (-distance / 10.0).exp() + ((age - 40.0) / 8.0).powi(2) * 3.0 + noise;
        [area, rooms, age, distance, number, price]
    };
    (0..rows).map(|_| house()).collect()
}

fn houses_csv(seed: u64, rows: usize) -> String {
    let line = |[area, rooms, age, distance, number, price]: [f64; 6]| {
        format!("{area},{rooms},{age},{distance:.1},{number},{price:.1}\n")
    };
    let lines: String = houses(seed, rows).into_iter().map(line).collect();
    format!("area,rooms,age,distance,number,price\n{lines}")
}

/// Customers who left, or did not; some cells are missing.
fn customers_csv() -> String {
    let mut chance = Chance(4);
    let mut text = "age,minutes,calls,weight,left\n".to_string();
    for _ in 0..400 {
        let age = 18.0 + chance.whole(0.0, 60.0);
        let minutes = chance.whole(0.0, 600.0);
        let calls = chance.whole(0.0, 10.0);
        let weight = 1.0 + chance.whole(0.0, 3.0);
        let left = calls - 6.0 > (minutes - 100.0) / 100.0 + 2.0 * (chance.next() - 0.5);
        let minutes = if chance.next() < 0.05 { "NA".into() } else { minutes.to_string() };
        text += &format!("{age},{minutes},{calls},{weight},{}\n", if left { "yes" } else { "no" });
    }
    text
}

/// Houses as an agent's file has them: ids, days, districts, money, and empty cells.
fn sales_csv() -> String {
    let mut chance = Chance(7);
    let mut text = "listing,sold,district,heating,garage,tax,area,age,price\n".to_string();
    for i in 0..300 {
        let (year, month, day) =
            (chance.whole(2018.0, 2024.0), chance.whole(1.0, 13.0), chance.whole(1.0, 29.0));
        let district = chance.whole(0.0, 18.0);
        let heating = ["gas", "oil", "electric", "wood", ""][(chance.whole(0.0, 44.0) / 10.0) as usize];
        let garage = chance.next() < 0.4;
        let (area, age) = (chance.whole(40.0, 200.0), chance.whole(0.0, 80.0));
        let noise = 6.0 * (chance.next() - 0.5);
        let price = 2.5 * area * (1.0 + district / 18.0)
            + 12.0 * (year - 2018.0)
            + if garage { 25.0 } else { 0.0 }
            + if heating == "oil" { -30.0 } else { 0.0 }
            + noise;
        let tax = 900.0 + 11.0 * area + 40.0 * district;
        let tax = if i % 31 == 5 {
            String::new()
        } else {
            format!("\"${},{:03}\"", tax as u64 / 1000, tax as u64 % 1000)
        };
        text += &format!(
            "L{:04},{year}-{month:02}-{day:02},district {district},{heating},{},{tax},{area},{age},{price:.1}\n",
            i * 7919 % 10_000,
            if garage { "yes" } else { "no" }
        );
    }
    text
}

/// A folder with the files that the pages speak of.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("houses.csv", houses_csv(1, 300));
    folder.write("later.csv", houses_csv(2, 100));
    // Without the price, in another order, with a column more.
    let mut new = "id,distance,area,age,rooms,number\n".to_string();
    for (i, [area, rooms, age, distance, number, _]) in houses(3, 3).into_iter().enumerate() {
        new += &format!("new{},{distance:.1},{area},{age},{rooms},{number}\n", i + 1);
    }
    folder.write("new.csv", new);
    folder.write("customers.csv", customers_csv());
    folder.write("sales.csv", sales_csv());
    folder
}

fn has_python() -> bool {
    let version =
        Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs a script as a reader would who has `rffnet` on the path; what it printed, on both channels.
fn shell(folder: &Folder, script: &str, place: &str) -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_rffnet")).parent().expect("a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([own.to_path_buf()].into_iter().chain(std::env::split_paths(&others)));
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(folder.path(""))
        .env("PATH", path.expect("a path"))
        .env("HOME", folder.path(""))
        .env_remove("RFFNET_SIMD")
        .stdin(Stdio::null())
        .output()
        .expect("sh starts");
    let printed =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{place}: {}\n{script}\n{printed}", output.status);
    printed
}

/// Words that say what a line is about: labels, column names, keys. Numbers and bars differ from run to run.
fn line_starts(text: &str) -> impl Iterator<Item = &str> {
    let blank = |c: char| c.is_whitespace() || c == ',';
    let firsts = text.lines().filter_map(move |line| line.split(blank).find(|word| !word.is_empty()));
    let trimmed = firsts.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    trimmed.filter(|word| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Runs all blocks of a page; how many those were.
fn run_page(name: &str, text: &str) -> usize {
    let folder = folder();
    let blocks = blocks(text);
    let mut printed: Option<String> = None;
    let mut count = 0;
    for block in &blocks {
        let place = format!("{name}, line {} of the text", block.line);
        if let Some(file) = block.comment.strip_prefix("file: ") {
            folder.write(file, &block.text);
        }
        match block.language.as_str() {
            "sh" if block.comment == "not run" => printed = None,
            "sh" if block.comment == "needs python3" && !has_python() => {
                println!("{place}: not run, since there is no python3");
                printed = None;
            }
            "sh" => {
                printed = Some(shell(&folder, &block.text, &place));
                count += 1;
            }
            "text" | "json" => {
                if let Some(printed) = printed.take() {
                    for word in line_starts(&block.text) {
                        assert!(printed.contains(word), "{place}: '{word}' is not printed by\n{printed}");
                    }
                }
            }
            "console" | "toml" | "python" | "rust" => printed = None,
            other => panic!("{place}: what is a block of '{other}'?"),
        }
    }
    count
}

#[test]
fn the_readme_runs() {
    let readme = page("README.md");
    assert_eq!(run_page("README.md", section(&readme, "Your own data")), 1);
    assert!(
        blocks(&readme).iter().all(|b| !b.language.is_empty()),
        "rustdoc takes a block without a language for Rust"
    );
}

#[test]
fn the_pages_run() {
    let mut ran = BTreeMap::new();
    for entry in fs::read_dir(root().join("docs")).expect("docs") {
        let name = format!("docs/{}", entry.expect("an entry").file_name().to_string_lossy());
        if name.ends_with(".md") {
            ran.insert(name.clone(), run_page(&name, &page(&name)));
        }
    }
    println!("blocks run: {ran:?}");
    assert!(ran["docs/command.md"] > 10 && ran["docs/paper-preset.md"] > 0, "{ran:?}");
}

/// The page's script reproduces `rffnet predict`.
#[test]
fn python_reads_a_model_file() {
    if !has_python() {
        println!("not run, since there is no python3");
        return;
    }
    let folder = folder();
    let page = page("docs/model-file.md");
    let script = blocks(&page).into_iter().find(|b| b.language == "python").expect("a script");
    folder.write("read_model.py", script.text);
    folder.ok("generate classification --rows 300 --seed 3 -o counts.csv");
    // Three classes: a third of the rows get another label.
    let third = |(i, line): (usize, &str)| match i {
        0 => format!("{line}\n"),
        i if i % 3 == 0 => format!("{},2\n", line.rsplit_once(',').expect("a cell").0),
        _ => format!("{line}\n"),
    };
    folder.write("three.csv", folder.text("counts.csv").lines().enumerate().map(third).collect::<String>());
    let cases = [
        ("houses.csv", "--target price", "new.csv", ""),
        ("houses.csv", "--target price --solver adam", "new.csv", ""),
        ("houses.csv", "--target price --preset paper", "new.csv", ""),
        ("houses.csv", "--target rooms --loss poisson", "later.csv", ""),
        ("customers.csv", "--target left --missing mean", "customers.csv", "--proba"),
        ("three.csv", "--target y --task classification", "three.csv", "--proba"),
    ];
    for (train, flags, rows, proba) in cases {
        folder.ok(&format!("fit {train} {flags} --features 40 --epochs 5 -o m.rffnet"));
        let expected = folder.ok(&format!("predict m.rffnet {rows} {proba}"));
        let got = shell(&folder, &format!("python3 read_model.py m.rffnet {rows}"), flags);
        assert_eq!(expected.lines().count(), got.lines().count() + 1, "{flags}");
        for (expected, got) in expected.lines().skip(1).zip(got.lines()) {
            let numbers = |line: &str, skip| -> Vec<f64> {
                line.split(',').skip(skip).map(|cell| cell.parse().expect("a number")).collect()
            };
            let expected = numbers(expected, usize::from(!proba.is_empty()));
            let got = numbers(got, 0);
            assert_eq!(expected.len(), got.len());
            for (a, b) in expected.iter().zip(&got) {
                assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{flags}: {a} and {b}");
            }
        }
    }
}

/// Every flag is in a table of the page, with the default that its help text states.
#[test]
fn every_flag_is_in_the_tables() {
    let folder = Folder::new();
    let page = page("docs/command.md");
    let rows: Vec<Vec<&str>> = section(&page, "All flags")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let mut missing = Vec::new();
    for sub in [
        "fit",
        "predict",
        "eval",
        "inspect",
        "select",
        "export",
        "compare",
        "reproduce",
        "generate",
        "completions",
    ] {
        for (flag, default) in flags(&folder.ok(&format!("{sub} --help"))) {
            let names = |cell: &&str| cell.split([',', ' ']).any(|word| word.trim_matches('`') == flag);
            let described = |row: &Vec<&str>| {
                row.iter().any(names) && default.as_ref().is_none_or(|d| row.last() == Some(&d.as_str()))
            };
            if !rows.iter().any(described) {
                missing.push(format!("{sub} {flag}, default {default:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/command.md, \"All flags\" lacks\n{}", missing.join("\n"));
}

/// Every parameter of the library has a row: its flag, the names it may be set to, its default.
#[test]
fn every_parameter_has_a_row() {
    let page = page("docs/command.md");
    let rows: Vec<&str> =
        section(&page, "All flags").lines().filter(|line| line.starts_with("| `--")).collect();
    for parameter in PARAMETERS {
        let flag = parameter.flag;
        // `--alpha L` is not `--alpha-theta L`.
        let row = rows.iter().find(|row| row.starts_with(&format!("| `--{flag} ")));
        let row = row.unwrap_or_else(|| panic!("docs/command.md, \"All flags\" lacks --{flag}"));
        let default = row.trim_end_matches([' ', '|']).rsplit(" | ").next();
        assert_eq!(default, Some(parameter.default_text().as_str()), "the default of --{flag}");
        let names = match parameter.value {
            ValueKind::Name(names) => names(),
            ValueKind::Switch => vec!["true".into(), "false".into()],
            _ => Vec::new(),
        };
        for name in names {
            assert!(row.contains(&format!("`{name}`")), "the row of --{flag} lacks `{name}`");
        }
    }
}

/// The long flags of a help text, and the defaults it states.
fn flags(help: &str) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        let flag = line.trim_start().strip_prefix("--").or_else(|| {
            // `-o, --output <MODEL>`
            line.trim_start().strip_prefix('-').and_then(|rest| rest.get(1..)?.strip_prefix(", --"))
        });
        match flag {
            Some(flag) if line.starts_with(' ') => {
                let (name, rest) = flag.split_once([' ', '\n']).unwrap_or((flag, ""));
                found.push((format!("--{name}"), rest.to_string()));
                inside = true;
            }
            _ if line.starts_with(|c: char| !c.is_whitespace()) => inside = false,
            _ => {
                if let Some((_, text)) = found.last_mut().filter(|_| inside) {
                    *text += &format!(" {}", line.trim());
                }
            }
        }
    }
    let default = |text: String| {
        let (_, rest) = text.split_once("[default: ")?;
        Some(rest.split_once(']')?.0.trim().to_string())
    };
    found.into_iter().map(|(name, text)| (name, default(text))).collect()
}

/// `key` is explained if it stands in a table, in backticks.
fn explained(page: &str, key: &str) -> bool {
    page.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{key}`")))
}

#[test]
fn every_key_of_the_json_objects_is_explained() {
    let folder = folder();
    let small = "--features 20 --epochs 2 --effort quick";
    folder.ok("fit houses.csv --target price --loss quantile:0.9 --features 20 --epochs 2 -o q.rffnet");
    let objects = [
        folder.json(&format!("fit customers.csv --target left --test-fraction 0.2 {small} -o c.rffnet")),
        folder.json(&format!("fit houses.csv --target price --test-fraction 0.2 {small} -o m.rffnet")),
        folder.json("predict c.rffnet customers.csv --proba --id age"),
        folder.json("eval c.rffnet customers.csv"),
        folder.json("eval m.rffnet later.csv"),
        folder.json("eval q.rffnet later.csv"),
        folder.json("inspect m.rffnet"),
        folder.json("select m.rffnet later.csv"),
        folder.json("export c.rffnet --onnx c.onnx"),
        folder.json("reproduce tableD6 -o results"),
        folder.json("compare houses.csv --target price --models linear,constant"),
    ];
    let page = page("docs/command.md");
    for key in objects.iter().flat_map(|object| common::keys(object)) {
        assert!(explained(&page, key), "docs/command.md does not explain the key '{key}'");
    }
    let generated = folder.json("generate moons --rows 10 -o moons.csv");
    for key in common::keys(&generated) {
        assert!(section(&page, "generate").contains(&format!("`{key}`")), "generate: '{key}'");
    }
}

#[test]
fn every_part_of_the_model_file_is_explained() {
    let folder = folder();
    folder.ok("fit houses.csv --target price --features 20 --epochs 2 --effort quick -o m.rffnet");
    let bytes = folder.read("m.rffnet");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).expect("JSON");
    let card = header["__metadata__"]["rffnet"].as_str().expect("a text");
    let card: Value = serde_json::from_str(card).expect("JSON");
    let page = page("docs/model-file.md");
    let tensors = common::keys(&header).into_iter().filter(|name| *name != "__metadata__");
    let keys = [&card, &card["params"], &card["summary"]].into_iter().flat_map(common::keys);
    for part in tensors.chain(keys) {
        assert!(explained(&page, part), "docs/model-file.md does not explain '{part}'");
    }
    assert_eq!(card["format"], 2, "docs/model-file.md states the format");
}

/// The map names every source file of the core, tests aside.
#[test]
fn the_map_names_every_module() {
    let map = page("ARCHITECTURE.md");
    let mut folders = vec![root().join("crates/rffnet/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_string_lossy().contains("tests") {
                let named = ["`", "/"].iter().any(|before| map.contains(&format!("{before}{name}`")));
                assert!(named, "ARCHITECTURE.md does not name {}", path.display());
            }
        }
    }
}

/// Links between the pages lead somewhere.
#[test]
fn links_lead_somewhere() {
    let pages =
        ["README.md", "ARCHITECTURE.md", "docs/command.md", "docs/model-file.md", "docs/paper-preset.md"];
    for name in pages {
        let text = page(name);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path =
                if file.is_empty() { root().join(name) } else { root().join(name).with_file_name(file) };
            let path = if file.contains('/') { root().join(file) } else { path };
            let linked = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {target}: {e}"));
            let headings = linked.lines().filter(|line| line.starts_with('#')).map(anchor_of);
            assert!(anchor.is_empty() || headings.into_iter().any(|h| h == anchor), "{name}: {target}");
        }
    }
}

/// A heading as a link names it.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
