//! The files of pipeline caches, and the size limits of their folder.
//!
//! A file begins with our own header, because drivers validate their input only in part. With its checksum, truncated or changed
//! files are not passed on to them. Only regular files are read and replaced, and a file is never read beyond a limit. A file is
//! written under a temporary name and renamed, so that readers never see half of it. Each write also removes temporary files of
//! killed writers, and the least recently used files if there are too many bytes. Other files are never changed.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The prefix of all files' names.
pub(super) const PREFIX: &str = "pipelines-";
/// The suffix of cache files.
pub(super) const SUFFIX: &str = ".bin";
/// The suffix of files that are being written.
const TEMPORARY: &str = ".tmp";

const MAGIC: &[u8; 8] = b"tilewpc1";
/// The bytes of the header: the magic number and the checksum.
const HEADER: u64 = 16;

/// The limits of a folder.
#[derive(Clone, Copy)]
struct Bounds {
    /// The most bytes of a file.
    file: u64,
    /// The most bytes of all files.
    folder: u64,
    /// The time for which an unused file is kept.
    age: Duration,
    /// The age up to which a temporary file is assumed to be in use by its writer.
    temporary: Duration,
}

const BOUNDS: Bounds =
    Bounds { file: 128 << 20, folder: 512 << 20, age: Duration::from_secs(90 * 24 * 3600), temporary: Duration::from_secs(600) };

/// Returns the 64-bit FNV-1a checksum, which protects against accidents, not against attackers.
pub(super) fn checksum(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// Reads a file; `None` if it does not exist.
///
/// # Errors
/// If it is not a regular file, is too large or damaged, or cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_within(path, BOUNDS.file)
}

fn read_within(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    if !is_ours(path)? {
        return Ok(None);
    }
    let file = open(path, OpenOptions::new().read(true))?;
    let about = file.metadata()?;
    // Checked again, because the file may have been replaced before it was opened.
    if !about.is_file() {
        return Err(not_a_file());
    }
    let mut bytes = Vec::new();
    file.take(most + HEADER + 1).read_to_end(&mut bytes)?;
    let data = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<8>());
    match data {
        _ if bytes.len() as u64 > most + HEADER => {
            Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")))
        }
        Some((sum, data)) if u64::from_le_bytes(*sum) == checksum(data) => Ok(Some(data.to_vec())),
        _ => Err(Error::new(ErrorKind::InvalidData, "it is damaged")),
    }
}

/// Opens a file without blocking: opening a pipe would otherwise wait for a writer.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

/// Returns true if there is a regular file, and an error if there is something else.
fn is_ours(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => Ok(true),
        Ok(_) => Err(not_a_file()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn not_a_file() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

/// Marks a file as used, so that it is not removed as unused.
pub(super) fn used(path: &Path) {
    // If this fails, the file is only removed earlier than necessary.
    let _ = open(path, OpenOptions::new().append(true)).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Replaces a file's contents, and keeps its folder within the limits. If `data` is larger than a file may be, the file is removed
/// instead, so that the cache starts anew.
pub(super) fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    write_within(path, data, BOUNDS)
}

fn write_within(path: &Path, data: &[u8], bounds: Bounds) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let there = is_ours(path)?;
    if data.len() as u64 > bounds.file {
        return if there { fs::remove_file(path) } else { Ok(()) };
    }
    let temporary = folder.join(format!("{PREFIX}{:016x}{TEMPORARY}", RandomState::new().build_hasher().finish()));
    let mut file = File::create_new(&temporary)?;
    let header = [&MAGIC[..], &checksum(data).to_le_bytes()].concat();
    let written = file.write_all(&header).and_then(|()| file.write_all(data)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    tidy(folder, path, bounds);
    Ok(())
}

/// Removes temporary files of killed writers, unused files, and the least recently used files beyond the limit; but not `own`.
/// Files that cannot be removed stay.
fn tidy(folder: &Path, own: &Path, bounds: Bounds) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    let mut kept: Vec<(Duration, u64, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str().filter(|n| n.starts_with(PREFIX)) else { continue };
        // This is the metadata of a link itself, which is not a file, so links are skipped.
        let Some(about) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
        // A time in the future counts as now.
        let age = about.modified().ok().and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
        if name.ends_with(TEMPORARY) && age > bounds.temporary {
            let _ = fs::remove_file(path);
        } else if name.ends_with(SUFFIX) {
            kept.push((age, about.len(), path));
        }
    }
    // The most recently used first, and `own` before all others.
    kept.sort_by_key(|(age, _, path)| (path.file_name() != own.file_name(), *age));
    let mut total = 0u64;
    for (age, bytes, path) in kept {
        total = total.saturating_add(bytes);
        if (total > bounds.folder || age > bounds.age) && path.file_name() != own.file_name() {
            total -= bytes;
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small limits, so that the tests write little.
    const SMALL: Bounds = Bounds { file: 100, folder: 300, ..BOUNDS };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("listed").map(|e| e.expect("listed").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    fn set_age(path: &Path, age: Duration) {
        let file = OpenOptions::new().append(true).open(path).expect("there");
        file.set_modified(SystemTime::now() - age).expect("set");
    }

    #[test]
    fn only_what_was_written_is_read() {
        let folder = folder();
        let file = folder.path().join("deep/pipelines-1.bin");
        assert!(matches!(read(&file), Ok(None)));
        write(&file, b"pipelines").expect("writable");
        assert_eq!(read(&file).expect("readable").as_deref(), Some(&b"pipelines"[..]));
        assert_eq!(names(&folder.path().join("deep")), ["pipelines-1.bin"], "nothing else is left");
        let whole = fs::read(&file).expect("readable");
        for damaged in [&whole[..whole.len() - 1], &whole[..4], &[], &[&whole[..], b"x"].concat()] {
            fs::write(&file, damaged).expect("writable");
            assert_eq!(read(&file).expect_err("damaged").to_string(), "it is damaged");
        }
    }

    #[test]
    fn a_file_beyond_its_bound_is_not_read_and_begun_anew() {
        let folder = folder();
        let file = folder.path().join("pipelines-1.bin");
        write(&file, &[7; 101]).expect("within the real bound");
        assert_eq!(read_within(&file, 100).expect_err("too large").to_string(), "it has more than 100 bytes");
        assert_eq!(read_within(&file, 101).expect("readable").map(|d| d.len()), Some(101));
        write_within(&file, &[7; 101], SMALL).expect("removed");
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_neither_read_nor_replaced() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let fifo = std::process::Command::new("mkfifo").arg(at("pipelines-fifo.bin")).status().expect("mkfifo runs");
        assert!(fifo.success());
        fs::create_dir(at("pipelines-folder.bin")).expect("made");
        symlink("/dev/zero", at("pipelines-device.bin")).expect("made");
        write(&at("real"), b"theirs").expect("writable");
        symlink(at("real"), at("pipelines-link.bin")).expect("made");
        let before = names(folder.path());
        for name in before.iter().filter(|n| n.starts_with(PREFIX)) {
            assert_eq!(read(&at(name)).expect_err(name).to_string(), "it is not a regular file", "{name}");
            assert_eq!(write(&at(name), b"ours").expect_err(name).to_string(), "it is not a regular file", "{name}");
        }
        assert_eq!(names(folder.path()), before);
        // Even if the check for a regular file is passed, opening a pipe does not block.
        let opened = open(&at("pipelines-fifo.bin"), OpenOptions::new().read(true)).and_then(|f| f.metadata());
        assert!(!opened.expect("it does not wait").is_file());
        used(&at("pipelines-fifo.bin"));
    }

    #[test]
    fn what_killed_writers_left_goes() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        for name in ["pipelines-old.tmp", "pipelines-1-2-3.77-5.tmp", "pipelines-new.tmp", "someone's.tmp"] {
            fs::write(at(name), b"half").expect("writable");
            if name != "pipelines-new.tmp" {
                set_age(&at(name), Duration::from_secs(3600));
            }
        }
        write(&at("pipelines-1.bin"), b"data").expect("writable");
        assert_eq!(names(folder.path()), ["pipelines-1.bin", "pipelines-new.tmp", "someone's.tmp"]);
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        for (n, name) in ["pipelines-a.bin", "pipelines-b.bin", "pipelines-c.bin", "pipelines-d.bin"].into_iter().enumerate() {
            write_within(&at(name), &[0; 84], BOUNDS).expect("writable");
            set_age(&at(name), Duration::from_secs(1000 - n as u64));
        }
        used(&at("pipelines-a.bin"));
        fs::write(at("other"), [0; 1000]).expect("writable");
        set_age(&at("pipelines-d.bin"), Duration::from_secs(3600 * 24 * 91));
        write_within(&at("pipelines-e.bin"), &[0; 84], SMALL).expect("writable");
        assert_eq!(names(folder.path()), ["other", "pipelines-a.bin", "pipelines-c.bin", "pipelines-e.bin"]);
    }
}
