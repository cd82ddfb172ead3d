//! Tests the page in a browser: the summary that comes first, the picture of the dispatches, the panels that are shown after clicks, the
//! lines that are marked under the pointer, and that no line is clipped. They need Chromium, which `scripts/test --setup` installs.

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

/// Three stages in dispatches of their own. The last stage reads both others.
const STAGES: &str = r#"use tilewright::{kernel, schedule};
kernel! {
    pub fn stages<N>(x: f32[N]) -> y: f32[N] {
        let first[i]: f32[N] = sum(k in 0..3) { x.clamp()[i + k] };
        let second[i]: f32[N] = sum(k in 0..3) { first.clamp()[i + k] };
        y[i] = sum(k in 0..3) { first.clamp()[i + k] * second.clamp()[i - k] };
    }
}
schedule! {
    pub STAGES: stages for tilewright::devices::nvidia_hopper {
        first, second { tile(i: 256) => workgroup(x); distribute(i => thread(x)); }
        tile(i: 256) => workgroup(x);
        distribute(i => thread(x));
    }
}
"#;

fn reports(name: &str) -> (PathBuf, Vec<Report>) {
    reports_of(name, FILE, &[("M", 128), ("N", 128), ("K", 64)])
}

fn reports_of(name: &str, file: &str, dims: &[(&str, i64)]) -> (PathBuf, Vec<Report>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    std::fs::write(folder.join("Cargo.toml"), "").expect("a file");
    std::fs::write(folder.join("src/lib.rs"), file).expect("a file");
    let source = Source::open(&folder.join("src/lib.rs")).expect("it is read");
    let dims = dims.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    let given = Given { dims, ..Given::default() };
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
    let click = "[...document.querySelectorAll('[data-tabs=\"steps\"]')].find((nav) => nav.checkVisibility()).children[2].click();";
    insta::assert_snapshot!(outline("clicked", click));
}

#[test]
fn a_click_shows_another_version_and_another_schedule() {
    let version = "document.querySelectorAll('[data-tabs=\"versions\"]')[0].children[0].click();
        [...document.querySelectorAll('[data-tabs=\"steps\"]')].find((nav) => nav.checkVisibility()).lastChild.click();";
    let schedule = "document.querySelector('[data-tabs=\"schedules\"]').children[1].click();";
    insta::assert_snapshot!([outline("version", version), outline("schedule", schedule)].join("\n\n"));
}

#[test]
fn the_pointer_marks_the_line_of_a_directive() {
    let over = "[...document.querySelectorAll('[data-tabs=\"steps\"]')].find((nav) => nav.checkVisibility()).children[2].click();
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
        const [source, nest, steps, plot] = [".source", '[data-panel="steps"]', "nav.steps", ".roofline svg"].map(box);
        const words = [...document.querySelectorAll("svg text")].filter((e) => e.checkVisibility());
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const boxes = words.map((word) => word.getBoundingClientRect());
        const clashes = words.flatMap((a, n) => words.slice(n + 1).filter((_, m) => meet(boxes[n], boxes[n + 1 + m])).map((b) => [a, b]));
        document.body.innerHTML = `<pre id="outline">${[
          `source left of the nest: ${source.right <= nest.left && source.top < nest.bottom && nest.top < source.bottom}`,
          `steps above the nest: ${steps.bottom <= nest.top && steps.height > 20}`,
          `plot below: ${plot.top >= nest.bottom && plot.width > 400 && plot.height > 200}`,
          `inside: ${document.documentElement.scrollWidth <= innerWidth}`,
          `words: ${words.length}`,
          ...clashes.map(([a, b]) => `clash: ${a.textContent} and ${b.textContent}`),
        ].join("\n")}</pre>`;"#;
    let (folder, reports) = reports("layout");
    let lines = checked(&folder, &reports, LAYOUT, 1400);
    assert!(!lines.contains("false") && !lines.contains("clash") && lines.contains("words: "), "{lines}");
}

/// Returns the outline that a script makes of the page in a window of some width.
fn checked(folder: &Path, reports: &[Report], script: &str, width: u32) -> String {
    let file = folder.join("page.html");
    std::fs::write(&file, page(reports).replace("</body>", &format!("<script>{script}</script></body>"))).expect("a file");
    let dumped = chromium(folder, &file, &["--dump-dom", &format!("--window-size={width},1000")]);
    let outline = dumped.split_once("<pre id=\"outline\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    outline.unwrap_or_else(|| panic!("{dumped}")).0.to_owned()
}

#[test]
fn the_summary_is_first() {
    const FIRST: &str = r#"
        const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
        const edge = (e) => e.getBoundingClientRect().top;
        const [summary] = shown(".summary");
        const parts = shown("section, main, svg, pre").filter((e) => e !== summary);
        const text = [...summary.querySelectorAll("dt, dd")].map((e) => e.textContent).join("|");
        document.body.innerHTML = `<pre id="outline">${parts.length > 5 && parts.every((part) => edge(part) > edge(summary))} ${text}</pre>`;"#;
    let (folder, reports) = reports("summary");
    let outline = checked(&folder, &reports, FIRST, 1280);
    assert_eq!(outline, "true estimated|659.5 us|roofline|2.1 us|times the roofline|314|bound by|occupancy|dispatches|1");
}

#[test]
fn the_picture_has_a_box_for_each_dispatch() {
    const BOXES: &str = r#"
        const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
        const text = (selector) => shown(selector).map((e) => e.textContent).join("|");
        const boxes = shown(".dispatches .box").map((e) => e.getBoundingClientRect());
        const inOrder = boxes.slice(1).every((box, n) => box.top >= boxes[n].bottom && box.left === boxes[n].left);
        const words = shown(".dispatches text").map((e) => e.getBoundingClientRect());
        const inside = words.every((word) => word.left >= 0 && word.right <= shown(".dispatches")[0].getBoundingClientRect().right);
        document.body.innerHTML = `<pre id="outline">${boxes.length} ${inOrder} ${inside} ${shown(".arrow").length}
${text(".name")}
${text(".tensors")}</pre>`;"#;
    let (folder, reports) = reports_of("picture", STAGES, &[("N", 1 << 20)]);
    assert_eq!(reports[0].versions[0].dispatches.len(), 3);
    for width in [1280, 800] {
        let outline = checked(&folder, &reports, BOXES, width);
        let expected = "3 true true 3\nfirst|second|y\nfirst 4.2 MB|first 4.2 MB, second 4.2 MB";
        assert_eq!(outline, expected, "{width} pixels");
    }
}

/// A line that does not fit continues below with a mark, and a name that is cut has its whole text as a title.
#[test]
fn no_line_is_clipped_without_a_mark() {
    const CLIPPED: &str = r#"
        const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
        const found = { lines: 0, wrapped: 0 };
        const faults = [];
        for (const button of shown("nav.steps button")) {
          button.click();
          for (const line of shown(".code")) {
            found.lines += 1;
            const style = getComputedStyle(line);
            const high = line.getBoundingClientRect().height > 1.5 * parseFloat(style.lineHeight);
            found.wrapped += high;
            const mark = getComputedStyle(line, "::before");
            const isMarked = mark.content.includes("↳") && mark.visibility === "visible" && parseFloat(mark.height) > 0;
            if (line.scrollWidth > line.clientWidth || (high && !isMarked)) faults.push(line.textContent);
          }
        }
        for (const button of shown("button")) if (button.scrollWidth > button.clientWidth && !button.title) faults.push(button.textContent);
        if (document.documentElement.scrollWidth > innerWidth) faults.push("the page");
        document.body.innerHTML = `<pre id="outline">${innerWidth} ${found.lines > 50} ${found.wrapped > 0} ${faults.join("|")}</pre>`;"#;
    let (folder, reports) =
        reports_of("clipped", &FILE.replace("k_o);", "k_outermost_of_all_that_there_are);"), &[("M", 128), ("N", 128), ("K", 64)]);
    for width in [1280, 800] {
        assert_eq!(checked(&folder, &reports, CLIPPED, width), format!("{width} true true "));
    }
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
