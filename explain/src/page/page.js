"use strict";
// Returns the panels that these buttons control: those in the same part of the page, but not in a nested part.
const panels = (nav) =>
  [...nav.parentElement.querySelectorAll(`[data-panel="${nav.dataset.tabs}"]`)].filter(
    (panel) => panel.parentElement.closest(`[data-panel="${nav.dataset.tabs}"]`) === nav.closest(`[data-panel="${nav.dataset.tabs}"]`),
  );
const show = (nav, n) => {
  for (const panel of panels(nav)) panel.hidden = panel.dataset.n !== n;
  for (const button of nav.children) button.setAttribute("aria-pressed", String(button.dataset.show === n));
  nav.querySelector('[aria-pressed="true"]').scrollIntoView({ block: "nearest" });
};
for (const nav of document.querySelectorAll("[data-tabs]")) {
  nav.addEventListener("click", (event) => {
    const button = event.target.closest("[data-show]");
    if (button) show(nav, button.dataset.show);
  });
}
// The arrow keys move between steps.
document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const nav = [...document.querySelectorAll('[data-tabs="steps"]')].find((nav) => nav.offsetParent !== null);
  if (!by || !nav) return;
  const now = [...nav.children].findIndex((button) => button.getAttribute("aria-pressed") === "true");
  const next = nav.children[now + by];
  if (next) show(nav, next.dataset.show);
});
// A click on a box of the picture shows the figures of its dispatch.
for (const box of document.querySelectorAll("[data-dispatch]")) {
  box.addEventListener("click", () => {
    const figures = box.closest('[data-panel="versions"]').querySelectorAll(".figures")[box.dataset.dispatch];
    if (!figures) return;
    figures.open = true;
    figures.scrollIntoView({ block: "center" });
  });
}
// Pointing at an element marks its line in the source. Pointing at a source line marks the nodes that it made.
const mark = (event, on) => {
  const found = event.target.closest?.("[data-at], [data-line]");
  const version = found?.closest('[data-panel="versions"]');
  if (!version) return;
  const place = found.dataset.at ?? found.dataset.line;
  const others = found.dataset.at !== undefined ? "[data-line]" : "[data-at]";
  for (const other of version.querySelectorAll(others)) {
    if ((other.dataset.line ?? other.dataset.at) !== place) continue;
    other.classList.toggle("mark", on);
    if (on && other.dataset.line !== undefined) scroll(other);
  }
};
// Scrolls only the source, because the page itself must not move.
const scroll = (line) => {
  const source = line.closest(".source");
  const [inner, outer] = [line.getBoundingClientRect(), source.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) source.scrollTop += inner.top - outer.top - outer.height / 2;
};
document.addEventListener("mouseover", (event) => mark(event, true));
document.addEventListener("mouseout", (event) => mark(event, false));
