//! Checks the folder of the pipeline cache.

use crate::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Returns the absolute path of a folder, so that it stays the same when the process changes its working directory.
///
/// # Errors
/// [`Error::CacheFolder`], if the path is empty, or names something other than a folder.
pub(crate) fn checked(path: &Path) -> Result<PathBuf> {
    let wrong = |reason: &str| Error::CacheFolder { folder: path.to_owned(), reason: reason.to_owned() };
    if path.as_os_str().is_empty() {
        return Err(wrong("it is empty; `Options::cache(None)` keeps nothing on disk, and \".\" is the working directory"));
    }
    let folder = std::path::absolute(path).map_err(|e| wrong(&e.to_string()))?;
    match fs::metadata(&folder) {
        Ok(about) if !about.is_dir() => Err(wrong("there is a file of this name; name a folder, or remove the file")),
        Err(e) if e.kind() == ErrorKind::NotADirectory => Err(wrong("a part of it is a file; name a folder, or remove the file")),
        // The folder is created at the first write. If it cannot be read or created, that is logged, and the device works without a
        // cache.
        _ => Ok(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_absolute_and_no_file() {
        let there = tempfile::tempdir().expect("a folder");
        let file = there.path().join("file");
        fs::write(&file, "").expect("written");
        let of = |path: &Path| checked(path).map_err(|e| e.to_string());
        for folder in [there.path().to_owned(), there.path().join("not/yet/there")] {
            assert_eq!(of(&folder), Ok(folder));
        }
        let here = std::env::current_dir().expect("there is one");
        assert_eq!(of(Path::new("./x/y")), Ok(here.join("x/y")));
        let text = "\"\" cannot be the folder of the pipeline cache: it is empty; `Options::cache(None)` keeps nothing on disk, \
                    and \".\" is the working directory";
        assert_eq!(of(Path::new("")), Err(text.to_owned()));
        let text = "cannot be the folder of the pipeline cache: there is a file of this name; name a folder, or remove the file";
        assert_eq!(of(&file), Err(format!("{file:?} {text}")));
        if cfg!(unix) {
            let text = "cannot be the folder of the pipeline cache: a part of it is a file; name a folder, or remove the file";
            assert_eq!(of(&file.join("x")), Err(format!("{:?} {text}", file.join("x"))));
        }
    }
}
