//! `tilewright new`: makes a crate with a kernel, two schedules and a test.

use crate::exit::{Exit, Problem};
use crate::options::New;
use crate::output;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The files of the crate, and their contents.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.txt")),
    (".gitignore", "/target\n"),
    ("src/lib.rs", include_str!("template/lib.rs.txt")),
    ("src/kernel.rs", include_str!("template/kernel.rs.txt")),
    ("src/schedules.rs", include_str!("template/schedules.rs.txt")),
    ("tests/results.rs", include_str!("template/results.rs.txt")),
];

pub(crate) fn run(options: &New) -> Result<Exit, Problem> {
    let folder = &options.path;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = options.name.clone().unwrap_or(name);
    checked(&name)?;
    let fails = |what: &str, path: &Path, e: std::io::Error| Problem::usage(format!("cannot {what} {}: {e}", path.display()));
    if folder.exists() && std::fs::read_dir(folder).map_err(|e| fails("read", folder, e))?.next().is_some() {
        return Err(Problem::usage(format!("{} exists and is not empty; name another folder", folder.display())));
    }
    let dependency = dependency(options)?;
    for (file, text) in FILES {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|e| fails("make", parent, e))?;
        }
        let text = text.replace("{name}", &name).replace("{crate}", &name.replace('-', "_")).replace("{dependency}", &dependency);
        std::fs::write(&path, text).map_err(|e| fails("write", &path, e))?;
    }
    if options.json {
        output::json(&json!({ "name": name, "path": folder, "files": FILES.map(|(file, _)| file) }));
    } else {
        let folder = folder.display();
        output::line(format_args!("{folder}: a kernel, two schedules and a test. Next:"));
        output::line(format_args!("  cd {folder} && cargo test"));
        output::line("  tilewright explain src/schedules.rs --schedule TILED");
        output::line("  tilewright tune src/schedules.rs --size M=1024,N=1024,K=1024 --write");
    }
    Ok(Exit::Done)
}

/// Checks that a crate can have this name.
fn checked(name: &str) -> Result<(), Problem> {
    let wrong = |why: &str| Err(Problem::usage(format!("`{name}` cannot be the name of a crate: {why}; give another by `--name`")));
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return wrong("it begins with neither a letter nor an underscore");
    }
    if let Some(c) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_".contains(*c))) {
        return wrong(&format!("it has {c:?}"));
    }
    if syn::parse_str::<syn::Ident>(&name.replace('-', "_")).is_err() {
        return wrong("it is a keyword of Rust");
    }
    if ["tilewright", "test", "core", "std", "alloc", "proc-macro", "proc_macro"].contains(&name) {
        return wrong("another crate has it");
    }
    Ok(())
}

/// Returns the text after `tilewright =` in the crate's manifest.
fn dependency(options: &New) -> Result<String, Problem> {
    if let Some(url) = &options.git {
        return Ok(format!("{{ git = {} }}", quoted(url)));
    }
    if options.checkout.is_none() && is_package(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        return Ok(quoted(env!("CARGO_PKG_VERSION")));
    }
    // Returns the checkout from which this program was built, if it still exists.
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().filter(|p| is_checkout(p)).map(Path::to_path_buf);
    let path: Option<PathBuf> = match &options.checkout {
        Some(path) if is_checkout(path) => Some(path.clone()),
        Some(path) => return Err(Problem::usage(format!("{} is not a checkout of Tilewright", path.display()))),
        None => built(),
    };
    let Some(path) = path else { return Ok(format!("{{ git = {} }}", quoted(env!("CARGO_PKG_REPOSITORY")))) };
    let path = path.canonicalize().unwrap_or(path);
    Ok(format!("{{ path = {} }}", quoted(&path.to_string_lossy())))
}

/// True if this is the folder of a package from the registry. There it has the version in its name.
fn is_package(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == concat!(env!("CARGO_PKG_NAME"), "-", env!("CARGO_PKG_VERSION")))
}

fn is_checkout(path: &Path) -> bool {
    std::fs::read_to_string(path.join("Cargo.toml")).is_ok_and(|text| text.contains("\nname = \"tilewright\"\n"))
}

/// Returns a string of TOML. JSON's escapes are valid in TOML too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_registry_have_a_version_in_their_path() {
        let folder =
            format!("/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tilewright-cli-{}", env!("CARGO_PKG_VERSION"));
        assert!(is_package(Path::new(&folder)));
        for checkout in
            [env!("CARGO_MANIFEST_DIR"), "/home/a/.cargo/git/checkouts/tilewright-0123/4567/cli", "/src/tilewright-cli-0.0.1"]
        {
            assert!(!is_package(Path::new(checkout)), "{checkout}");
        }
    }
}
