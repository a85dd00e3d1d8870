//! Enums whose variants have one name each: in the command, in configuration files, in Python and in model files.

/// Declares a plain enum with a name per variant: `Display`, `FromStr`, serde and a list of all variants.
///
/// An enum of this crate is followed by the name of its parameter; one of another crate ends with the error for a text
/// that is no name, `else Type = function`. The crates of this workspace alone use it.
#[doc(hidden)]
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $name:ident $what:literal {
        $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+
    }) => {
        $crate::named_enum! {
            $(#[$meta])* pub enum $name { $($(#[$vmeta])* $variant => $text,)+ }
            else Error = |text| Error::parameter($what, format!("'{text}'"), concat!("one of" $(, " ", $text)+))
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+
    } else $error:ty = $unknown:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every variant, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The variant's name.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => Err(($unknown)(text)),
                }
            }
        }
    };
}
pub(crate) use named_enum;
