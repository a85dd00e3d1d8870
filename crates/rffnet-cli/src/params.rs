//! The method's parameters as flags and as keys of a configuration file, from the library's table of them.

use std::collections::BTreeMap;
use std::fmt;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use rffnet::{Group, LossKind, PARAMETERS, Parameter, Params, Partitions, Recipe, ValueKind};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::values;

/// The parameters that are given, by flag, as text; what is left open comes from the preset.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ParamOptions(BTreeMap<&'static str, String>);

impl ParamOptions {
    /// These, and what they leave open from `file`.
    pub(crate) fn or(mut self, file: Self) -> Self {
        file.0.into_iter().for_each(|(flag, text)| {
            self.0.entry(flag).or_insert(text);
        });
        self
    }

    pub(crate) fn params(&self, seed: u64) -> Result<Params, rffnet::Error> {
        let mut params = Params::new().seed(seed);
        for parameter in PARAMETERS {
            if let Some(text) = self.0.get(parameter.flag) {
                params.set(parameter, text)?;
            }
        }
        Ok(params)
    }
}

fn flag(parameter: &'static Parameter) -> Arg {
    let heading = match parameter.group {
        Group::Model => "Model",
        Group::Optimisation => "Optimisation",
    };
    let help = format!("{} [default: {}]", parameter.help, parameter.default_text());
    let arg = Arg::new(parameter.flag).long(parameter.flag).help(help).help_heading(heading);
    let placeholder = parameter.flag.to_uppercase().replace('-', "_");
    match parameter.value {
        ValueKind::Name(names) => {
            arg.value_name(placeholder).value_parser(PossibleValuesParser::new(names()))
        }
        ValueKind::Whole(name) => arg.value_name(name).value_parser(text(values::whole::<usize>)),
        ValueKind::Real(name) => {
            arg.value_name(name).value_parser(text(values::real)).allow_negative_numbers(true)
        }
        ValueKind::Switch => {
            arg.value_name("BOOL").value_parser(PossibleValuesParser::new(["true", "false"]))
        }
        ValueKind::Partitions => {
            arg.value_name("auto|none|N").value_parser(text(|text: &str| text.parse::<Partitions>()))
        }
        ValueKind::Recipe => {
            arg.value_name("CONSTANT=VALUE,...").value_parser(text(|text: &str| text.parse::<Recipe>()))
        }
        _ => arg.value_name("NAME").value_parser(text(|text: &str| text.parse::<LossKind>())),
    }
}

/// Checks a value and keeps its text.
fn text<T: ToString + Clone + Send + Sync + 'static, E>(
    parse: impl Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
) -> ValueParser
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    ValueParser::new(clap::builder::StringValueParser::new().try_map(move |text: String| {
        parse(&text).map(|_| text.clone()).map_err(Into::<Box<dyn std::error::Error + Send + Sync>>::into)
    }))
}

impl Args for ParamOptions {
    fn augment_args(command: Command) -> Command {
        PARAMETERS.iter().fold(command, |command, parameter| command.arg(flag(parameter)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParamOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for parameter in PARAMETERS {
            if let Some(text) = matches.get_one::<String>(parameter.flag) {
                self.0.insert(parameter.flag, text.clone());
            }
        }
        Ok(())
    }
}

/// A configuration file holds numbers as numbers and names as text.
impl<'de> Deserialize<'de> for ParamOptions {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = ParamOptions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParamOptions, A::Error> {
                let mut options = ParamOptions::default();
                while let Some(key) = map.next_key::<String>()? {
                    let Some(parameter) = PARAMETERS.iter().find(|p| p.flag == key) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    let text = match parameter.value {
                        ValueKind::Whole(_) => map.next_value::<usize>()?.to_string(),
                        ValueKind::Real(_) => map.next_value::<f64>()?.to_string(),
                        ValueKind::Switch => map.next_value::<bool>()?.to_string(),
                        _ => map.next_value::<String>()?,
                    };
                    Params::new().set(parameter, &text).map_err(A::Error::custom)?;
                    options.0.insert(parameter.flag, text);
                }
                Ok(options)
            }
        }

        input.deserialize_map(Keys)
    }
}
