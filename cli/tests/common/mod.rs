//! Runs the program as a user does, on the reference device unless a test says otherwise.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The exit code and the output of the program.
pub struct Ran {
    pub exit: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Returns its output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.out, self.err))
    }

    /// Asserts the exit code. A failure shows the output.
    pub fn ends(self, exit: i32) -> Ran {
        assert_eq!(self.exit, exit, "{}\n{}", self.out, self.err);
        self
    }

    /// Asserts that the errors contain a text.
    pub fn says(self, what: &str) -> Ran {
        assert!(self.err.contains(what), "{}\n{}", self.out, self.err);
        self
    }
}

/// Returns the program's command, without colours and without variables of the caller that would change the results.
pub fn tilewright(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command.args(arguments).env("NO_COLOR", "1").env("TILEWRIGHT_DEVICE", "reference").env("TILEWRIGHT_CACHE", "off");
    command.env_remove("TILEWRIGHT_VALIDATION");
    command
}

pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

pub fn run(arguments: &[&str]) -> Ran {
    ran(&mut tilewright(arguments))
}

/// A crate in a temporary folder.
pub struct Crate {
    pub folder: TempDir,
}

impl Crate {
    pub fn new(files: &[(&str, &str)]) -> Crate {
        let folder = TempDir::new().unwrap();
        let made = Crate { folder };
        made.write("Cargo.toml", "[package]\nname = \"tried\"\n");
        files.iter().for_each(|(path, text)| made.write(path, text));
        made
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Returns a path as an argument.
    pub fn arg(&self, file: &str) -> String {
        self.path(file).to_str().unwrap().to_owned()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }
}

/// A matrix product in one file, and its schedules in another.
pub fn product() -> Crate {
    Crate::new(&[("src/lib.rs", "mod kernel;\nmod schedules;\n"), ("src/kernel.rs", KERNEL), ("src/schedules.rs", SCHEDULES)])
}

const KERNEL: &str = "tilewright::kernel! {
    pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}
";

/// `SIDE` of 64 is more than the profile allows. `DEPTH` is not used, so its choices result in one module.
pub const SCHEDULES: &str = "//! Schedules: \u{e4}\u{1f600}.

use crate::kernel::matmul;
use tilewright::devices::vulkan_1_1;

tilewright::schedule! {
    pub TILED: matmul for vulkan_1_1 {
        tile(i: SIDE * 2, j: SIDE) => workgroup(y, x);
        tile(i: 2, j: 1) => thread(y, x);
        unroll(i);
        /* \u{1f600} */ tune SIDE in [2, 4, 64] = 0_2; tune DEPTH in [1, 2] = 1; // and more
    }
}

tilewright::schedule! {
    pub PLAIN: matmul for vulkan_1_1 {}
}
";

/// Returns a wrapper script, in which `$1` is the program.
pub fn wrapper(folder: &Crate, script: &str) -> String {
    folder.write("wrapper", script);
    format!("sh {} {} runner", folder.arg("wrapper"), env!("CARGO_BIN_EXE_tilewright"))
}
