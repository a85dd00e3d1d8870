//! The header of a `.npy` file: a Python dictionary with three entries.

use crate::error::shown;

/// What the header says about the bytes that follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) big_endian: bool,
    /// Whether columns follow one another, rather than rows.
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
}

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Float2,
    Float4,
    Float8,
    /// Of 1, 2, 4 or 8 bytes.
    Int(u8),
    /// Of 1, 2, 4 or 8 bytes.
    Unsigned(u8),
    Bool,
}

impl Kind {
    /// Bytes per value.
    pub(crate) fn size(self) -> usize {
        match self {
            Kind::Bool => 1,
            Kind::Float2 => 2,
            Kind::Float4 => 4,
            Kind::Float8 => 8,
            Kind::Int(size) | Kind::Unsigned(size) => usize::from(size),
        }
    }
}

/// Parses the dictionary, e.g. `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
pub(crate) fn parse_header(text: &str) -> Result<Header, String> {
    let mut scan = Scan { rest: text };
    let (mut kind, mut fortran_order, mut shape) = (None, None, None);
    scan.expect('{')?;
    while !scan.eat('}') {
        let key = scan.string()?;
        scan.expect(':')?;
        match key {
            "descr" => kind = Some(scan.descr()?),
            "fortran_order" => fortran_order = Some(scan.boolean()?),
            "shape" => shape = Some(scan.shape()?),
            _ => return Err(malformed()),
        }
        if !scan.eat(',') {
            scan.expect('}')?;
            break;
        }
    }
    match (kind, fortran_order, shape) {
        (Some((kind, big_endian)), Some(fortran_order), Some(shape)) => {
            Ok(Header { kind, big_endian, fortran_order, shape })
        }
        _ => Err(malformed()),
    }
}

fn malformed() -> String {
    "the .npy header is damaged; save the array again".to_string()
}

struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(malformed()) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat('\'') {
            '\''
        } else if self.eat('"') {
            '"'
        } else {
            return Err(malformed());
        };
        let (text, rest) = self.rest.split_once(quote).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(text)
    }

    /// The run of letters and digits that comes next.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_ascii_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn boolean(&mut self) -> Result<bool, String> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(malformed()),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.eat(')') {
            let number = self.word();
            // Python 2 wrote long integers as 3L.
            shape.push(number.trim_end_matches('L').parse().map_err(|_| malformed())?);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
            // NumPy itself stops at 64 dimensions.
            if shape.len() > 64 {
                return Err(malformed());
            }
        }
        Ok(shape)
    }

    /// The type, and whether its bytes come in big-endian order.
    fn descr(&mut self) -> Result<(Kind, bool), String> {
        if self.eat('[') {
            return Err(
                "the array has a structured type (named fields); save one plain array of numbers".to_string()
            );
        }
        let descr = self.string()?;
        let name = descr.trim_start_matches(['<', '>', '|', '=']);
        let kind = match name {
            "f2" => Kind::Float2,
            "f4" => Kind::Float4,
            "f8" => Kind::Float8,
            "i1" => Kind::Int(1),
            "i2" => Kind::Int(2),
            "i4" => Kind::Int(4),
            "i8" => Kind::Int(8),
            "u1" => Kind::Unsigned(1),
            "u2" => Kind::Unsigned(2),
            "u4" => Kind::Unsigned(4),
            "u8" => Kind::Unsigned(8),
            "b1" | "?" => Kind::Bool,
            _ if name.starts_with('O') => {
                return Err("the array holds Python objects, which are code and are not read; save it with \
                    .astype(float)"
                    .to_string());
            }
            _ => {
                return Err(format!(
                    "the array's type '{}' is not a real number type; save it with .astype(float)",
                    shown(descr)
                ));
            }
        };
        Ok((kind, descr.starts_with('>')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let header =
            parse_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!(
            header,
            Header { kind: Kind::Float8, big_endian: false, fortran_order: false, shape: vec![3, 4] }
        );
        let header = parse_header("{\"shape\":(5L,), 'fortran_order':True,'descr':'>i2'}").unwrap();
        assert_eq!(
            header,
            Header { kind: Kind::Int(2), big_endian: true, fortran_order: true, shape: vec![5] }
        );
        assert!(
            parse_header("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").unwrap().shape.is_empty()
        );
    }

    #[test]
    fn refused_headers() {
        let say = |descr: &str| {
            parse_header(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1, 1)}}"))
                .unwrap_err()
        };
        assert!(say("'|O'").contains("Python objects"));
        assert!(say("[('a', '<f4')]").contains("structured"));
        assert!(say("'<U5'").contains("'<U5'"));
        assert!(say("'<c16'").contains("not a real number type"));
        for damaged in [
            "",
            "{",
            "{}",
            "{'descr'",
            "{'shape': (1,",
            "{'shape': (-1, 2)}",
            "{'descr': '<f4', 'shape': (1, 1)}",
            "{'other': 1}",
        ] {
            assert_eq!(parse_header(damaged), Err(malformed()), "{damaged}");
        }
    }
}
