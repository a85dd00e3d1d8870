//! `rffnet reproduce`, as far as it needs no fit.

mod common;

use common::{Folder, files, keys};

#[test]
fn a_table_of_the_paper() {
    let folder = Folder::new();
    assert_eq!(
        folder.ok("reproduce tableC5 -o out"),
        format!("out{}index.html\n", std::path::MAIN_SEPARATOR)
    );
    let page = folder.text("out/tableC5.md");
    assert!(page.contains("| abalone | 3,759 | 419 | 8 | - | - |"), "{page}");
    assert!(page.contains("Made by `rffnet reproduce tableC5`."), "{page}");
    assert!(
        folder.text("out/tableC5.csv").starts_with("set,paper_train,paper_test,paper_columns,rows,columns\n")
    );
    let report = folder.json("reproduce TABLED6 tablec5 -o out");
    assert_eq!(keys(&report), ["experiments", "index", "output", "quick"]);
    assert_eq!(report["experiments"], serde_json::json!(["tableC5", "tableD6"]));
    let html = folder.text("out/index.html");
    assert!(html.contains("id=\"tableC5\"") && html.contains("id=\"tableD6\""));
    let made = files(&folder.path("out"));
    assert_eq!(
        made,
        ["cells", "index.html", "index.md", "tableC5.csv", "tableC5.md", "tableD6.csv", "tableD6.md"]
    );
}

#[test]
fn what_is_in_the_folder_of_data() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).expect("a folder");
    folder.write("data/abalone", "9 1:1 8:2\n7 2:1\n");
    folder.ok("reproduce tableC5 -q --data-dir data -o out");
    let page = folder.text("out/tableC5.md");
    assert!(page.contains("| abalone | 3,759 | 419 | 8 | 2 | 8 |"), "{page}");
    assert!(
        page.contains("- higgs is skipped: --data-dir has none of its files; get 'HIGGS.csv.gz'"),
        "{page}"
    );
}

#[test]
fn one_cell_in_a_process_of_its_own() {
    let folder = Folder::new();
    folder.ok("reproduce fig2 --quick -o out");
    let rows = folder.text("out/fig2.csv");
    assert_eq!(rows.lines().count(), 1 + 18 + 100 + 10 + 10);
    let again = folder.run("reproduce fig2 --quick -o out").ok();
    assert!(!again.stderr.contains("replica 1"), "nothing is measured twice: {}", again.stderr);
}

#[test]
fn requests_that_cannot_be_met() {
    let folder = Folder::new();
    folder
        .run("reproduce table5 -o out")
        .refused(1, &["'table5'", "table1, fig2, table2", "landscape, convergence, reliability and all"]);
    folder.run("reproduce table1 --replicas 0 -o out").refused(1, &["replicas is 0"]);
    folder.run("reproduce table3 --data-dir nowhere -o out").refused(1, &["'nowhere'", "docs/data.md"]);
    folder.write("file", "");
    folder.run("reproduce tableD6 -o file").refused(1, &["cannot make the folder 'file'"]);
    folder.run("reproduce -o out").refused(2, &["TABLE|FIGURE"]);
    assert!(!folder.path("out").exists());
}
