//! What a run leaves in its folder: a page, raw figures and drawings for each table and figure, and an index of all.

use std::fs;
use std::path::Path;

use crate::chart::Chart;
use crate::grid::Grid;
use crate::svg::escaped;
use crate::{Error, Experiment};

/// One table or figure, ready to be written.
pub(crate) struct Page {
    pub(crate) experiment: Experiment,
    pub(crate) parts: Vec<Part>,
    /// What has to be said about the figures, as a list below them.
    pub(crate) notes: Vec<String>,
    /// Raw figures.
    pub(crate) raw: Grid,
}

/// A piece of a page.
pub(crate) enum Part {
    Text(String),
    Table(Grid),
    /// What follows the experiment's name in the file's name, what it shows, the SVG.
    Drawing {
        suffix: &'static str,
        caption: String,
        svg: String,
    },
}

impl Part {
    /// A chart in the file of the experiment's name.
    pub(crate) fn drawing(caption: &str, chart: &Chart) -> Part {
        Part::Drawing { suffix: "", caption: caption.into(), svg: chart.render() }
    }
}

impl Page {
    /// Writes the page and its files; `command` is what made it.
    pub(crate) fn write(&self, folder: &Path, command: &str) -> Result<(), Error> {
        let name = self.experiment.name();
        let mut text = format!("# {}\n", self.experiment.title());
        for part in &self.parts {
            text.push('\n');
            match part {
                Part::Text(words) => text += &format!("{words}\n"),
                Part::Table(grid) => text += &grid.markdown(),
                Part::Drawing { suffix, caption, svg } => {
                    let file = format!("{name}{suffix}.svg");
                    write(folder, &file, svg)?;
                    text += &format!("![{caption}]({file})\n");
                }
            }
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text += &format!("- {note}\n"));
        text += &format!("\nRaw figures: [{name}.csv]({name}.csv). Made by `{command}`.\n");
        write(folder, &format!("{name}.csv"), &self.raw.csv())?;
        write(folder, &format!("{name}.md"), &text)
    }
}

fn write(folder: &Path, file: &str, text: &str) -> Result<(), Error> {
    Ok(rffnet::write_file(&folder.join(file), text.as_bytes())?)
}

/// Rebuilds `index.md` and `index.html` from the pages that stand in the folder, those of earlier runs included.
pub(crate) fn write_index(folder: &Path) -> Result<(), Error> {
    const TITLE: &str = "The tables and figures of the RFFNet paper";
    const INTRODUCTION: &str = "Beside each figure of the paper stands ours. Seconds and megabytes depend on the machine; \
                                everything else is the same in every run.";
    const BEYOND: &str = "Beyond the paper";
    let (mut markdown, mut contents) = (String::new(), String::new());
    let mut body = String::new();
    let mut beyond = false;
    for experiment in Experiment::ALL {
        let name = experiment.name();
        let Ok(page) = fs::read_to_string(folder.join(format!("{name}.md"))) else { continue };
        if !experiment.in_paper() && !beyond {
            markdown += &format!("\n## {BEYOND}\n\n");
            contents += &format!("</ul>\n<p>{BEYOND}:</p>\n<ul>\n");
            beyond = true;
        }
        markdown += &format!("- [{}]({name}.md)\n", experiment.title());
        contents += &format!("<li><a href=\"#{name}\">{}</a></li>\n", escaped(experiment.title()));
        body += &format!("<section id=\"{name}\">\n{}</section>\n", html(&page, folder));
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{TITLE}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{TITLE}</h1>\n<p>{INTRODUCTION}</p>\n\
         <ul>\n{contents}</ul>\n{body}</body>\n</html>\n"
    );
    write(folder, "index.md", &format!("# {TITLE}\n\n{INTRODUCTION}\n\n{markdown}"))?;
    write(folder, "index.html", &page)
}

const STYLE: &str = "\
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; white-space: nowrap; }
svg { max-width: 100%; height: auto; }
code { background: #f3f3f3; padding: 0 0.2rem; }
";

/// The Markdown of our own pages as HTML: headings, paragraphs, lists, tables, drawings.
fn html(page: &str, folder: &Path) -> String {
    let mut out = String::new();
    for block in page.split("\n\n").map(str::trim).filter(|b| !b.is_empty()) {
        if let Some(title) = block.strip_prefix("# ") {
            out += &format!("<h2>{}</h2>\n", escaped(title));
        } else if let Some(caption_and_file) = block.strip_prefix("![") {
            out += &drawing(caption_and_file, folder);
        } else if block.starts_with("| ") {
            out += &table(block);
        } else if block.starts_with("- ") {
            let items = block.lines().map(|l| format!("<li>{}</li>\n", words(l.trim_start_matches("- "))));
            out += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
        } else {
            out += &format!("<p>{}</p>\n", words(block));
        }
    }
    out
}

/// The SVG itself, so that the page needs no other file.
fn drawing(caption_and_file: &str, folder: &Path) -> String {
    let (caption, file) = caption_and_file.split_once("](").unwrap_or((caption_and_file, ""));
    let file = file.trim_end_matches(')');
    match fs::read_to_string(folder.join(file)) {
        Ok(svg) => format!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", words(caption)),
        Err(_) => format!("<p>{} ({})</p>\n", words(caption), escaped(file)),
    }
}

fn table(block: &str) -> String {
    let mut out = "<div class=\"wide\"><table>\n".to_string();
    for (i, line) in block.lines().enumerate().filter(|(i, _)| *i != 1) {
        let cell = if i == 0 { "th" } else { "td" };
        let cells = line.trim_start_matches("| ").trim_end_matches(" |").split(" | ");
        let cells = cells.map(|c| format!("<{cell}>{}</{cell}>", words(&c.replace("\\|", "|"))));
        out += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    out + "</table></div>\n"
}

/// Code, bold words and links inside a line.
fn words(text: &str) -> String {
    let mut out = String::new();
    for (i, piece) in text.split('`').enumerate() {
        if i % 2 == 1 {
            out += &format!("<code>{}</code>", escaped(piece));
            continue;
        }
        for (j, part) in piece.split("**").enumerate() {
            let part = links(part);
            out += &if j % 2 == 1 { format!("<strong>{part}</strong>") } else { part };
        }
    }
    out
}

fn links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(label, tail)| Some((label, tail.split_once(')')?)));
        let Some((label, (target, tail))) = link else { break };
        out += &format!("{}<a href=\"{}\">{}</a>", escaped(before), escaped(target), escaped(label));
        rest = tail;
    }
    out + &escaped(rest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample() -> Page {
        let mut grid = Grid::new(["method", "gse1"]);
        grid.push(["KRR", "**0.091** < 1"]);
        let svg = "<svg><title>t</title></svg>\n".to_string();
        Page {
            experiment: Experiment::Table1,
            parts: vec![
                Part::Text("See [the data](data.md) & `a_b`.".into()),
                Part::Table(grid.clone()),
                Part::Drawing { suffix: "", caption: "A drawing.".into(), svg },
            ],
            notes: vec!["one".into(), "two".into()],
            raw: grid,
        }
    }

    #[test]
    fn a_page_and_its_index() {
        let folder = tempfile::tempdir().unwrap();
        sample().write(folder.path(), "rffnet reproduce table1").unwrap();
        write_index(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("table1.md").contains("\n- one\n- two\n"));
        assert!(read("table1.md").contains("| KRR | **0.091** < 1 |"));
        assert_eq!(read("table1.csv"), "method,gse1\nKRR,**0.091** < 1\n");
        assert!(read("index.md").contains("(table1.md)"));
        let html = read("index.html");
        for piece in [
            "<a href=\"data.md\">the data</a> &amp; <code>a_b</code>.",
            "<li>one</li>",
            "<td><strong>0.091</strong> &lt; 1</td>",
            "<svg><title>t</title></svg>",
            "<code>rffnet reproduce table1</code>",
        ] {
            assert!(html.contains(piece), "{piece}\n{html}");
        }
        assert!(!html.contains("http"), "nothing is fetched");
    }

    #[test]
    fn the_index_keeps_what_earlier_runs_made() {
        let folder = tempfile::tempdir().unwrap();
        sample().write(folder.path(), "a").unwrap();
        Page { experiment: Experiment::Fig2, ..sample() }.write(folder.path(), "b").unwrap();
        write_index(folder.path()).unwrap();
        let index = fs::read_to_string(folder.path().join("index.md")).unwrap();
        let at = |name: &str| index.find(name).unwrap();
        assert!(at("table1.md") < at("fig2.md"));
        assert!(!index.contains("Beyond the paper"));
        Page { experiment: Experiment::Reliability, ..sample() }.write(folder.path(), "c").unwrap();
        Page { experiment: Experiment::Convergence, ..sample() }.write(folder.path(), "d").unwrap();
        write_index(folder.path()).unwrap();
        let index = fs::read_to_string(folder.path().join("index.md")).unwrap();
        let at = |name: &str| index.find(name).unwrap();
        assert!(at("fig2.md") < at("## Beyond the paper\n\n- ["));
        assert!(at("## Beyond") < at("convergence.md") && at("convergence.md") < at("reliability.md"));
        let html = fs::read_to_string(folder.path().join("index.html")).unwrap();
        assert_eq!(html.matches("<p>Beyond the paper:</p>").count(), 1);
    }
}
