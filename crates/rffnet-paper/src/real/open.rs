//! Opening files as their publishers pack them: plain, gzip, bzip2, members of tar.gz and zip archives.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

use crate::Error;

/// A file's contents, unpacked by its suffix.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>, Error> {
    let file = BufReader::new(File::open(path).map_err(|e| Error::io("read", path, e))?);
    Ok(match suffix(path) {
        "gz" => Box::new(MultiGzDecoder::new(file)),
        "bz2" => Box::new(MultiBzDecoder::new(file)),
        _ => Box::new(file),
    })
}

fn suffix(path: &Path) -> &str {
    path.extension().and_then(|s| s.to_str()).unwrap_or("")
}

/// The member of an archive whose path ends in `name`, unpacked further if its own name says so.
pub(super) fn open_member(path: &Path, name: &str) -> Result<Box<dyn Read>, Error> {
    let bytes = member(path, name)?;
    if name.ends_with(".gz") {
        Ok(Box::new(MultiGzDecoder::new(Cursor::new(bytes))))
    } else {
        Ok(Box::new(Cursor::new(bytes)))
    }
}

/// The bytes of a member.
pub(super) fn member(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let found =
        if suffix(path).eq_ignore_ascii_case("zip") { zipped(path, name) } else { tarred(path, name) };
    found?.ok_or_else(|| Error::new(format!("'{}' has no '{name}' in it; get it again", path.display())))
}

fn tarred(path: &Path, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let failed = |e: std::io::Error| Error::io("read", path, e);
    let mut archive = tar::Archive::new(open(path)?);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        if entry.path().map_err(failed)?.ends_with(name) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(failed)?;
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

fn zipped(path: &Path, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let file = File::open(path).map_err(|e| Error::io("read", path, e))?;
    unzipped(BufReader::new(file), name).map_err(|e| Error::io("read", path, e))
}

/// A member of a zip archive in memory or on disk.
pub(super) fn unzipped(
    archive: impl Read + std::io::Seek,
    name: &str,
) -> Result<Option<Vec<u8>>, zip::result::ZipError> {
    let mut archive = zip::ZipArchive::new(archive)?;
    let found =
        (0..archive.len()).find(|&i| archive.name_for_index(i).is_some_and(|n| Path::new(n).ends_with(name)));
    let Some(index) = found else { return Ok(None) };
    let mut bytes = Vec::new();
    archive.by_index(index)?.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
