//! Enums whose variants have one name each: in the command, in configuration files, in Python and in model files.

/// Declares a plain enum with a name per variant: `Display`, `FromStr`, serde and a list of all variants.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $name:ident $what:literal {
        $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every variant, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($name::$variant => $text,)+ })
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => Err(Error::parameter($what, format!("'{text}'"),
                        concat!("one of" $(, " ", $text)+))),
                }
            }
        }
    };
}
pub(crate) use named_enum;
