//! Tests the page in a browser: the panels that are shown after clicks, the lines that are marked under the pointer, and that the
//! plot is drawn. They need Chromium, which `scripts/test --setup` installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_explain::source::Source;
use tilewright_explain::{Given, Report, explain, page};

const FILE: &str = r#"use tilewright::{kernel, profile, schedule};
kernel! {
    pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}
profile! { pub board: tilewright::devices::nvidia_hopper { gflops: 1000, bandwidth: 100 } }
schedule! {
    /// <script>alert("not run")</script>
    pub TILED: matmul for board {
        tile(i: 32, j: 32) => workgroup(y, x);
        distribute(i, j => thread(x, y));
        tile(k: 4 => k_o);
        unroll(k);
        specialize(K % 4 == 0);
    }
}
schedule! {
    pub PLAIN: matmul for board {}
}
"#;

/// A script that prints the visible page as text: the pressed button of every group, the title of each shown panel, and the marked
/// lines.
const OUTLINE: &str = r#"
<script>
const is_shown = (e) => e.checkVisibility();
const lines = [];
for (const nav of document.querySelectorAll("[data-tabs]")) {
  if (!is_shown(nav)) continue;
  const names = [...nav.children].map((b) => (b.getAttribute("aria-pressed") === "true" ? `[${b.textContent}]` : b.textContent));
  lines.push(`${nav.dataset.tabs}: ${names.join(" | ")}`);
}
for (const panel of document.querySelectorAll('[data-panel="steps"]')) {
  if (!is_shown(panel)) continue;
  lines.push(`step ${panel.querySelector("h3").firstChild.textContent}`);
  for (const node of panel.querySelectorAll(".new")) lines.push(node.textContent.trimEnd());
}
for (const heading of document.querySelectorAll("h2")) if (is_shown(heading)) lines.push(`heading ${heading.textContent}`);
for (const lint of document.querySelectorAll("li")) if (is_shown(lint)) lines.push(`lint ${lint.textContent}`);
for (const marked of document.querySelectorAll(".mark")) lines.push(`marked ${marked.textContent.trim()}`);
lines.push(`points ${[...document.querySelectorAll("circle")].filter(is_shown).length}`);
const outline = document.createElement("pre");
outline.id = "outline";
outline.textContent = lines.join("\n");
document.body.replaceChildren(outline);
</script>"#;

fn reports(name: &str) -> (PathBuf, Vec<Report>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
    std::fs::write(folder.join("src/lib.rs"), FILE).expect("a file");
    let source = Source::open(&folder.join("src/lib.rs")).expect("it is read");
    let given = Given { dims: vec![("M".into(), 128), ("N".into(), 128), ("K".into(), 64)], ..Given::default() };
    let report = |name: &str| {
        let subject = source.subject(name).unwrap_or_else(|e| panic!("{e}"));
        Report::new(&subject, &given, &explain(&subject, &given))
    };
    let reports = source.schedules().into_iter().map(report).collect();
    (folder, reports)
}

/// Runs a browser without a window and returns its output.
fn chromium(folder: &Path, page: &Path, arguments: &[&str]) -> String {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = names.iter().find(|name| std::env::split_paths(&paths).any(|path| path.join(name).is_file()));
    let there = there.unwrap_or_else(|| panic!("there is no Chromium: `scripts/test --setup` installs it"));
    let ran = Command::new(there)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=3000",
            "--window-size=1400,1000",
        ])
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

/// Returns the page's outline after a script.
fn outline(name: &str, script: &str) -> String {
    let (folder, reports) = reports(name);
    let file = folder.join("page.html");
    let html = page(&reports).replace("</body>", &format!("<script>{script}</script>{OUTLINE}</body>"));
    std::fs::write(&file, html).expect("a file");
    let dumped = chromium(&folder, &file, &["--dump-dom"]);
    let inner = dumped.split_once("<pre id=\"outline\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (inner, _) = inner.unwrap_or_else(|| panic!("{dumped}"));
    let text = inner.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let here = std::env::current_dir().expect("a folder");
    let path = folder.canonicalize().expect("the folder");
    let shown = path.strip_prefix(here).unwrap_or(&path).display().to_string();
    text.replace(&format!("{shown}/"), "")
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let (_, reports) = reports("whole");
    let html = page(&reports);
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "import "] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("&lt;script&gt;alert(&quot;not run&quot;)"), "text is text");
}

#[test]
fn the_first_step_is_shown_first() {
    insta::assert_snapshot!(outline("first", ""));
}

#[test]
fn a_click_shows_another_step() {
    let click = "document.querySelectorAll('[data-tabs=\"steps\"]')[0].children[2].click();";
    insta::assert_snapshot!(outline("clicked", click));
}

#[test]
fn a_click_shows_another_version_and_another_schedule() {
    let version = "document.querySelectorAll('[data-tabs=\"versions\"]')[0].children[1].click();
        [...document.querySelectorAll('[data-tabs=\"steps\"]')].find((nav) => nav.checkVisibility()).lastChild.click();";
    let schedule = "document.querySelector('[data-tabs=\"schedules\"]').children[1].click();";
    insta::assert_snapshot!([outline("version", version), outline("schedule", schedule)].join("\n\n"));
}

#[test]
fn the_pointer_marks_the_line_of_a_directive() {
    let over = "document.querySelectorAll('[data-tabs=\"steps\"]')[0].children[2].click();
        const node = [...document.querySelectorAll('.node')].find((n) => n.checkVisibility() && n.textContent.includes('thread x'));
        node.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));";
    let out = format!("{over} node.dispatchEvent(new MouseEvent('mouseout', {{ bubbles: true }}));");
    let marked = |text: String| text.lines().filter(|line| line.starts_with("marked")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(marked(outline("over", over)), ["marked 12        distribute(i, j => thread(x, y));"]);
    assert_eq!(marked(outline("out", &out)), [""; 0]);
}

/// Checks the layout by the browser's boxes: no element is outside of the page, and no labels of a plot overlap.
#[test]
fn the_source_stands_beside_the_nest_and_words_are_apart() {
    const LAYOUT: &str = r#"
        const box = (selector) => [...document.querySelectorAll(selector)].find((e) => e.checkVisibility()).getBoundingClientRect();
        const [source, nest, steps, plot] = [".source", '[data-panel="steps"]', "nav.steps", "svg"].map(box);
        const words = [...document.querySelectorAll("svg text")].filter((e) => e.checkVisibility());
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const boxes = words.map((word) => word.getBoundingClientRect());
        const clashes = words.flatMap((a, n) => words.slice(n + 1).filter((_, m) => meet(boxes[n], boxes[n + 1 + m])).map((b) => [a, b]));
        document.body.innerHTML = `<pre id="outline">${[
          `source left of the nest: ${source.right <= nest.left && source.top < nest.bottom && nest.top < source.bottom}`,
          `steps above the nest: ${steps.bottom <= nest.top && steps.height > 100}`,
          `plot below: ${plot.top >= nest.bottom && plot.width > 400 && plot.height > 200}`,
          `inside: ${document.documentElement.scrollWidth <= innerWidth}`,
          `words: ${words.length}`,
          ...clashes.map(([a, b]) => `clash: ${a.textContent} and ${b.textContent}`),
        ].join("\n")}</pre>`;"#;
    let (folder, reports) = reports("layout");
    let file = folder.join("page.html");
    std::fs::write(&file, page(&reports).replace("</body>", &format!("<script>{LAYOUT}</script></body>"))).expect("a file");
    let dumped = chromium(&folder, &file, &["--dump-dom"]);
    let lines = dumped.split_once("<pre id=\"outline\">").and_then(|(_, rest)| rest.split_once("</pre>")).expect("an outline").0;
    assert!(!lines.contains("false") && !lines.contains("clash") && lines.contains("words: "), "{lines}");
}

#[test]
fn the_page_is_drawn() {
    let (folder, reports) = reports("drawn");
    let (file, shot) = (folder.join("page.html"), folder.join("page.png"));
    std::fs::write(&file, page(&reports)).expect("a file");
    chromium(&folder, &file, &[&format!("--screenshot={}", shot.display())]);
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&shot).expect("a screenshot")));
    let mut reader = decoder.read_info().expect("a picture");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let frame = reader.next_frame(&mut bytes).expect("a picture");
    assert_eq!((frame.width, frame.height), (1400, 1000));
    let pixel = frame.color_type.samples();
    let pixels: Vec<&[u8]> = bytes[..frame.buffer_size()].chunks(pixel).collect();
    let drawn = pixels.iter().filter(|p| **p != pixels[0]).count();
    let colours: std::collections::BTreeSet<&[u8]> = pixels.iter().copied().collect();
    assert!(drawn * 50 > pixels.len(), "{drawn} of {} pixels are drawn", pixels.len());
    assert!(colours.len() > 20, "{} colours", colours.len());
}
