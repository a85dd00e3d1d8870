//! Cells on disk: what was computed once is never computed again.
//!
//! One small JSON file per cell, written whole or not at all, so that a run that was killed goes on where it stopped. A
//! file states the full settings of its cell; only a cell with exactly the same settings is taken from it.

use std::fs;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// Raised when the meaning of a cell changes, so that old files are not taken for new ones.
const FORMAT: u32 = 1;

/// A folder of cells.
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Why a cell has no figures.
pub(crate) enum Fault {
    /// The method refused or failed: a result like any other, kept as its sentence.
    Refused(String),
    /// The run cannot go on; nothing is kept.
    Stop(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Stop(error)
    }
}

#[derive(Serialize, Deserialize)]
struct Entry<V> {
    format: u32,
    key: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl Cache {
    /// Makes the folder if need be, and tells git to leave it alone: results are worth keeping, cells can be had again.
    pub(crate) fn new(folder: PathBuf) -> Result<Self, Error> {
        fs::create_dir_all(&folder).map_err(|e| Error::io("make the folder", &folder, e))?;
        rffnet::write_file(&folder.join(".gitignore"), b"*\n")?;
        Ok(Self { folder })
    }

    /// The figures of a cell, or the sentence that stands in their place: from disk if they are there, else from `run`.
    pub(crate) fn get<K, V>(
        &self,
        name: &str,
        key: &K,
        run: impl FnOnce() -> Result<V, Fault>,
    ) -> Result<Result<V, String>, Error>
    where
        K: Serialize,
        V: Serialize + DeserializeOwned,
    {
        let key = serde_json::to_value(key).map_err(|e| Error::new(format!("the cell {name}: {e}")))?;
        let path = self.folder.join(format!("{name}-{:016x}.json", fingerprint(&key.to_string())));
        if let Some(kept) = read(&path, &key) {
            return Ok(kept);
        }
        let result = match run() {
            Ok(value) => Ok(value),
            Err(Fault::Refused(sentence)) => Err(sentence),
            Err(Fault::Stop(error)) => return Err(error),
        };
        let (done, refused) = match &result {
            Ok(value) => (Some(value), None),
            Err(sentence) => (None, Some(sentence.clone())),
        };
        let mut text = serde_json::to_string(&Entry { format: FORMAT, key, done, refused })
            .map_err(|e| Error::new(format!("the cell {name}: {e}")))?;
        text.push('\n');
        rffnet::write_file(&path, text.as_bytes())?;
        Ok(result)
    }
}

/// What a file holds, if it is whole and of exactly this cell.
fn read<V: DeserializeOwned>(path: &std::path::Path, key: &Value) -> Option<Result<V, String>> {
    let entry: Entry<V> = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    if entry.format != FORMAT || entry.key != *key {
        return None;
    }
    entry.done.map(Ok).or(entry.refused.map(Err))
}

/// FNV-1a: the same on every machine and in every version.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn cells(folder: &std::path::Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "json")).collect()
    }

    #[test]
    fn a_cell_runs_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cells")).unwrap();
        let runs = Cell::new(0);
        let get = |seed: u64| {
            cache.get("a", &("gse1", seed), || {
                runs.set(runs.get() + 1);
                Ok(seed as f64 / 3.0)
            })
        };
        assert_eq!(get(1).unwrap(), Ok(1.0 / 3.0));
        assert_eq!(get(1).unwrap(), Ok(1.0 / 3.0));
        assert_eq!(get(2).unwrap(), Ok(2.0 / 3.0));
        assert_eq!((runs.get(), cells(&folder.path().join("cells")).len()), (2, 2));
    }

    #[test]
    fn a_refusal_is_kept_and_a_stop_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into()).unwrap();
        let refused: Result<f64, String> =
            cache.get("krr", &1, || Err(Fault::Refused("needs 19 GB".into()))).unwrap();
        assert_eq!(refused, Err("needs 19 GB".into()));
        let again: Result<f64, String> = cache.get("krr", &1, || Ok(1.0)).unwrap();
        assert_eq!(again, Err("needs 19 GB".into()));
        let stopped = cache.get::<_, f64>("krr", &2, || Err(Fault::Stop(Error::new("killed"))));
        assert_eq!(stopped.unwrap_err(), Error::new("killed"));
        assert_eq!(cache.get("krr", &2, || Ok(7.0)).unwrap(), Ok(7.0));
    }

    #[test]
    fn a_damaged_or_foreign_file_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into()).unwrap();
        cache.get("a", &1, || Ok(1.0)).unwrap().unwrap();
        let path = cells(folder.path()).remove(0);
        let whole = fs::read_to_string(&path).unwrap();
        let damaged =
            [whole[..whole.len() / 2].to_string(), whole.replace("\"key\":1", "\"key\":2"), "".into()];
        for text in damaged {
            fs::write(&path, text).unwrap();
            assert_eq!(cache.get("a", &1, || Ok(5.0)).unwrap(), Ok(5.0));
            fs::write(&path, &whole).unwrap();
            assert_eq!(cache.get("a", &1, || Ok(5.0)).unwrap(), Ok(1.0));
        }
    }
}
