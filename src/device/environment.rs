//! Reads the options of a device from environment variables. An unknown value is an error that names its variable.

use super::checks::Checks;
use super::folder;
use crate::device::Options;
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// A function that looks up a variable.
type Lookup<'a> = &'a dyn Fn(&'static str) -> Option<OsString>;

/// Returns the options that the variables describe.
pub(crate) fn options(lookup: Lookup<'_>) -> Result<Options> {
    let options = Options::new();
    Ok(Options {
        device: text(lookup, "TILEWRIGHT_DEVICE", "text that names a device")?,
        validation: flag(lookup, "TILEWRIGHT_VALIDATION")?,
        debug: flag(lookup, "TILEWRIGHT_DEBUG")?,
        checks: checks(lookup)?,
        statistics: flag(lookup, "TILEWRIGHT_STATISTICS")?,
        staging: flag(lookup, "TILEWRIGHT_STAGING")?,
        cache: cache(lookup)?,
        timeout: timeout(lookup, options.timeout)?,
        queues: queues(lookup)?,
        ..options
    })
}

/// Returns a variable that is set to a value that is not empty.
fn value(lookup: Lookup<'_>, name: &'static str) -> Option<OsString> {
    lookup(name).filter(|v| !v.is_empty())
}

fn wrong(name: &'static str, value: &OsStr, wanted: &'static str) -> Error {
    Error::Environment { name, value: value.to_string_lossy().into_owned(), wanted }
}

fn text(lookup: Lookup<'_>, name: &'static str, wanted: &'static str) -> Result<Option<String>> {
    let Some(value) = value(lookup, name) else { return Ok(None) };
    value.into_string().map(Some).map_err(|v| wrong(name, &v, wanted))
}

/// Parses a switch.
fn switch(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn flag(lookup: Lookup<'_>, name: &'static str) -> Result<bool> {
    const WANTED: &str = "1, true, yes or on, or 0, false, no or off";
    let Some(word) = text(lookup, name, WANTED)? else { return Ok(false) };
    switch(&word).ok_or_else(|| wrong(name, word.as_ref(), WANTED))
}

fn checks(lookup: Lookup<'_>) -> Result<Checks> {
    const NAME: &str = "TILEWRIGHT_CHECK";
    const WANTED: &str = "`on`, `bounds` or `off`";
    let Some(word) = text(lookup, NAME, WANTED)? else { return Ok(Checks::Off) };
    match switch(&word) {
        Some(true) => Ok(Checks::All),
        Some(false) => Ok(Checks::Off),
        None if word.trim().eq_ignore_ascii_case("bounds") => Ok(Checks::Bounds),
        None => Err(wrong(NAME, word.as_ref(), WANTED)),
    }
}

/// Returns the folder of the pipeline cache; `None` if it is switched off, or if the platform lacks a folder for caches.
fn cache(lookup: Lookup<'_>) -> Result<Option<PathBuf>> {
    const NAME: &str = "TILEWRIGHT_CACHE";
    const WANTED: &str = "`off`, `on`, or the path of a folder (for a folder in the working directory: `./name`)";
    let Some(value) = lookup(NAME) else { return Ok(platform(lookup)) };
    match value.to_str().and_then(switch) {
        Some(true) => Ok(platform(lookup)),
        Some(false) => Ok(None),
        // Neither is accepted: a single word is more likely a misspelled switch than a folder, and an empty value may mean `off` or
        // not set.
        None if !value.as_encoded_bytes().iter().any(|b| std::path::is_separator(char::from(*b))) => {
            Err(wrong(NAME, &value, WANTED))
        }
        None => Ok(Some(value.into())),
    }
}

/// Returns the absolute path of `tilewright` in the platform's folder for caches. If that is a file, the cache is off: it is not an
/// error, because the user did not ask for this folder.
fn platform(lookup: Lookup<'_>) -> Option<PathBuf> {
    let path = |name| value(lookup, name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        path("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        path("HOME").map(|home| home.join("Library/Caches"))
    } else {
        path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")))
    };
    base.map(|b| b.join("tilewright")).filter(|folder| folder::checked(folder).is_ok())
}

fn timeout(lookup: Lookup<'_>, default: Option<Duration>) -> Result<Option<Duration>> {
    const NAME: &str = "TILEWRIGHT_TIMEOUT";
    const WANTED: &str = "a number of seconds above 0, or `off`";
    let Some(word) = text(lookup, NAME, WANTED)? else { return Ok(default) };
    if word.trim().eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let seconds = word.trim().parse().ok().filter(|s: &f64| *s > 0.0);
    let limit = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    limit.map(Some).ok_or_else(|| wrong(NAME, word.as_ref(), WANTED))
}

fn queues(lookup: Lookup<'_>) -> Result<Option<NonZeroU32>> {
    const NAME: &str = "TILEWRIGHT_QUEUES";
    const WANTED: &str = "a whole number from 1 on";
    let Some(word) = text(lookup, NAME, WANTED)? else { return Ok(None) };
    word.trim().parse().map(Some).map_err(|_| wrong(NAME, word.as_ref(), WANTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the options if one variable is set besides the platform's folder for caches.
    fn with(name: &'static str, value: &str) -> Result<Options, String> {
        let lookup = |wanted: &'static str| match wanted {
            _ if wanted == name => Some(OsString::from(value)),
            "XDG_CACHE_HOME" | "LOCALAPPDATA" | "HOME" => Some(std::env::temp_dir().join("tilewright-caches").into_os_string()),
            _ => None,
        };
        options(&lookup).map_err(|e| e.to_string())
    }

    #[test]
    fn switches_are_words_and_nothing_else() {
        type Switch = (&'static str, fn(&Options) -> bool);
        let switches: [Switch; 4] = [
            ("TILEWRIGHT_VALIDATION", |o| o.validation),
            ("TILEWRIGHT_STAGING", |o| o.staging),
            ("TILEWRIGHT_DEBUG", |o| o.debug),
            ("TILEWRIGHT_STATISTICS", |o| o.statistics),
        ];
        for (name, switch) in switches {
            let on = |value| with(name, value).map(|o| switch(&o));
            for word in ["1", "true", "TRUE", "yes", "On", " on "] {
                assert_eq!(on(word), Ok(true), "{word}");
            }
            for word in ["", "0", "false", "False", "no", "off", "OFF"] {
                assert_eq!(on(word), Ok(false), "{word}");
            }
            for word in ["2", "enable", "fals", "-1", " "] {
                let wanted = "1, true, yes or on, or 0, false, no or off";
                assert_eq!(on(word), Err(format!("the environment variable {name} is {word:?}; it should be {wanted}")));
            }
        }
    }

    #[test]
    fn the_cache_is_off_or_on_or_a_folder() {
        let cache = |value| with("TILEWRIGHT_CACHE", value).map(|o| o.cache);
        let default = with("TILEWRIGHT_DEVICE", "").expect("nothing is set").cache;
        assert!(default.as_ref().is_some_and(|p| p.ends_with("tilewright")), "{default:?}");
        for word in ["on", "1", "true"] {
            assert_eq!(cache(word), Ok(default.clone()), "{word}");
        }
        for word in ["off", "0", "no", "False"] {
            assert_eq!(cache(word), Ok(None), "{word}");
        }
        for folder in ["/tmp/x", "./x", "x/y"] {
            assert_eq!(cache(folder), Ok(Some(folder.into())));
        }
        for word in ["of", "", "x"] {
            let error = cache(word).expect_err("a switch misspelled, or nothing");
            let text = format!("the environment variable TILEWRIGHT_CACHE is {word:?}; it should be `off`");
            assert!(error.starts_with(&text), "{error}");
        }
    }

    #[test]
    fn the_default_cache_is_not_in_the_working_directory() {
        let with = |home: &'static str| {
            let lookup = move |name: &'static str| matches!(name, "HOME" | "XDG_CACHE_HOME" | "LOCALAPPDATA").then(|| home.into());
            options(&lookup).expect("nothing is wrong").cache
        };
        for home in ["", ".", "home", "./x"] {
            assert_eq!(with(home), None, "{home:?}");
        }
    }

    #[test]
    fn the_timeout_is_in_seconds() {
        let timeout = |value| with("TILEWRIGHT_TIMEOUT", value).map(|o| o.timeout);
        assert_eq!(timeout(""), Ok(Some(Duration::from_secs(60))));
        assert_eq!(timeout("0.5"), Ok(Some(Duration::from_millis(500))));
        assert_eq!(timeout("Off"), Ok(None));
        for word in ["0", "-1", "nan", "inf", "1e300", "a minute", "60s"] {
            let wanted = "a number of seconds above 0, or `off`";
            assert_eq!(
                timeout(word),
                Err(format!("the environment variable TILEWRIGHT_TIMEOUT is {word:?}; it should be {wanted}"))
            );
        }
    }

    #[test]
    fn checks_are_of_bounds_or_of_all() {
        let checks = |value| with("TILEWRIGHT_CHECK", value).map(|o| o.checks);
        let known = [("", Checks::Off), ("off", Checks::Off), ("Bounds", Checks::Bounds), ("on", Checks::All), ("1", Checks::All)];
        for (word, wanted) in known {
            assert_eq!(checks(word), Ok(wanted), "{word}");
        }
        let error = "the environment variable TILEWRIGHT_CHECK is \"races\"; it should be `on`, `bounds` or `off`";
        assert_eq!(checks("races"), Err(error.to_owned()));
    }

    #[test]
    fn queues_are_counted_from_one_on() {
        let queues = |value| with("TILEWRIGHT_QUEUES", value).map(|o| o.queues.map(NonZeroU32::get));
        assert_eq!(queues(""), Ok(None));
        assert_eq!(queues(" 3"), Ok(Some(3)));
        for word in ["0", "-1", "many", "1.5", "4294967296"] {
            let wanted = "a whole number from 1 on";
            assert_eq!(queues(word), Err(format!("the environment variable TILEWRIGHT_QUEUES is {word:?}; it should be {wanted}")));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        for name in ["TILEWRIGHT_DEVICE", "TILEWRIGHT_VALIDATION", "TILEWRIGHT_TIMEOUT", "TILEWRIGHT_QUEUES"] {
            let lookup = |wanted: &'static str| (wanted == name).then(|| OsString::from_vec(vec![0xff]));
            assert!(matches!(options(&lookup), Err(Error::Environment { name: n, .. }) if n == name));
        }
    }
}
