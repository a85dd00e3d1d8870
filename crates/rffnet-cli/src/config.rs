//! `--config FILE.toml`: the flags' names as keys. Flags on the command line win.

use std::path::Path;

use clap::Args;
use rffnet_data::nearest;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::options::DataOptions;
use crate::params::ParamOptions;

/// What a configuration file holds.
pub(crate) struct Config {
    pub(crate) globals: Globals,
    pub(crate) data: DataOptions,
    pub(crate) params: ParamOptions,
}

impl Config {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::request(format!("cannot read the configuration {shown}: {e}")))?;
        Self::parse(&text).map_err(|sentence| Failure::request(format!("{shown}: {sentence}")))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut table: Table = toml::from_str(text).map_err(|e| syntax(text, &e))?;
        let config =
            Config { globals: take(&mut table)?, data: take(&mut table)?, params: take(&mut table)? };
        match table.keys().next() {
            None => Ok(config),
            Some(unknown) => Err(unknown_key(unknown)),
        }
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {} is not TOML: {}", before.matches('\n').count() + 1, one_line(error.message()))
}

/// The parser's words in one line, with types as people call them.
fn one_line(message: &str) -> String {
    let words = message.split_whitespace().map(|word| match word {
        "f64" => "a number",
        "usize" | "u64" | "u16" => "a whole number",
        other => other,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Takes the keys that `T` has flags for out of the table.
fn take<T: Args + DeserializeOwned>(table: &mut Table) -> Result<T, String> {
    let mut own = Table::new();
    for name in names::<T>() {
        let Some(value) = table.remove(&name) else { continue };
        // Alone first, so that the error can name its key.
        let alone = Table::from_iter([(name.clone(), value.clone())]);
        T::deserialize(alone)
            .map_err(|e| format!("{name} = {}: {}", shown(&value), one_line(e.message())))?;
        own.insert(name, value);
    }
    T::deserialize(own).map_err(|e| one_line(e.message()))
}

fn shown(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default().chars().take(40).collect()
}

/// The flags of `T`, as they are typed; a positional by its name.
fn names<T: Args>() -> Vec<String> {
    let command = T::augment_args(clap::Command::new("options"));
    let flags = command.get_arguments();
    flags.map(|flag| flag.get_long().map_or_else(|| flag.get_id().to_string(), String::from)).collect()
}

fn unknown_key(key: &str) -> String {
    let known = [names::<Globals>(), names::<DataOptions>(), names::<ParamOptions>()].concat();
    let advice = match nearest(key, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "keys are the flags of `rffnet fit` without the dashes in front".into(),
    };
    format!("unknown key '{}'; {advice}", crate::text::name(key, 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_flags() {
        let text = "data = 'a.csv'\ntarget = 3\nignore = ['id', 2]\nno-header = true\nfeatures = 32\nlr = 1\n\
                    kernel = 'matern32'\nloss = 'huber:2'\nseed = 7\nthreads = 2\nquiet = true\nformat = 'csv'\n\
                    batch-size = 10\ntask = 'regression'\ntest-fraction = 0.5\noutput = 'm'\npreset = 'paper'";
        let config = Config::parse(text).expect("valid");
        let read = config.data.columns.read_options(None, &config.globals);
        assert_eq!((read.header, read.ignore.len()), (Some(false), 2));
        assert_eq!(config.data.data, ["a.csv"]);
        let params = config.params.params(0).expect("valid");
        assert_eq!((params.random_features, params.lr), (Some(32), Some(1.0)));
        assert_eq!((config.globals.seed, config.globals.quiet), (Some(7), true));
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            ("epoch = 3", "unknown key 'epoch'; did you mean 'epochs'?"),
            ("nonsense = 3", "unknown key 'nonsense'; keys are"),
            ("kernel = 'gausian'", "kernel = \"gausian\": "),
            ("epochs = 'many'", "epochs = \"many\": invalid type: string \"many\", expected a whole number"),
            ("target = 1.5", "expected a column's name or position"),
            ("threads = 0", "threads = 0: "),
            ("epochs = 3\nepochs", "line 2 is not TOML"),
            ("[model]\nlr = 1", "unknown key 'model'"),
        ];
        for (text, expected) in cases {
            let sentence = Config::parse(text).err().expect(text);
            assert!(sentence.contains(expected) && !sentence.contains('\n'), "{sentence}");
        }
    }
}
