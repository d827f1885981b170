#include "tools/top/live_page.h"

namespace tundish {

// Adds text from the machine as text nodes only: a process may be named "<script>".
const std::string_view kLivePage = R"PAGE(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>tundish top</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --a: #0b62c4; --b: #c4500b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #30363d; --paper: #0d1117; --a: #58a6ff; --b: #f0883e; } }
body { margin: 0 auto; max-width: 1200px; padding: 1rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.2rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
#state { color: var(--soft); }
#charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(340px, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
figcaption span:last-child { font-variant-numeric: tabular-nums; white-space: nowrap; }
.plot { display: grid; grid-template-columns: max-content 1fr; gap: 0 .4rem; color: var(--soft); font-size: 12px; }
.ends { display: flex; flex-direction: column; justify-content: space-between; text-align: right; min-width: 3.5em; }
.times { grid-column: 2; display: flex; justify-content: space-between; }
svg { width: 100%; height: 90px; display: block; border-left: 1px solid var(--line); border-bottom: 1px solid var(--line); } polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.wide { overflow-x: auto;
  background: linear-gradient(to left, var(--paper) 40%, transparent) 100% 0 / 28px 100% no-repeat local,
    linear-gradient(to left, rgba(100, 116, 139, .45), transparent) 100% 0 / 12px 100% no-repeat scroll; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
</style></head><body>
<h1>tundish top</h1><p id="state" role="status">waiting for the first figures</p>
<div id="charts"></div>
<h2>Loaders</h2><div class="wide" tabindex="0"><table><thead><tr><th scope="col">process</th><th scope="col">source</th><th scope="col">images/s</th>
<th scope="col">bytes/s</th><th scope="col">waiting</th><th scope="col">read</th><th scope="col">decode</th><th scope="col">augment</th>
<th scope="col">cache</th><th scope="col">ready</th><th scope="col">epoch</th></tr></thead><tbody id="loaders"></tbody></table></div>
<script>
"use strict";
const KEPT = 120, charts = new Map(), token = new URLSearchParams(location.search).get("token") || "";
const percent = v => v === null ? "-" : Math.round(100 * v) + " %";
const bytes = v => v >= 1e9 ? (v / 1e9).toFixed(2) + " GB" : v >= 1e6 ? Math.round(v / 1e6) + " MB" : Math.round(v / 1e3) + " KB";
const count = v => v < 10 ? v.toFixed(1) : Math.round(v).toLocaleString("en");
function element(name, text) { const e = document.createElement(name); if (text !== undefined) e.textContent = text; return e; }
function chart(key, title) {
  if (charts.has(key)) return charts.get(key);
  const figure = element("figure"), caption = element("figcaption"), label = element("span", title), value = element("span");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 " + (KEPT - 1) + " 100"); svg.setAttribute("preserveAspectRatio", "none");
  const plot = element("div"), ends = element("div"), times = element("div"), high = element("span");
  plot.className = "plot"; ends.className = "ends"; times.className = "times";
  ends.append(high, element("span", "0")); times.append(element("span", "2 min ago"), element("span", "now"));
  svg.setAttribute("role", "img"); caption.append(label, value); plot.append(ends, svg, times); figure.append(caption, plot);
  document.getElementById("charts").append(figure);
  const made = { figure, svg, value, high, title, lines: [], seen: 0 };
  charts.set(key, made); return made;
}
function draw(key, title, values, top, unit, text, tick) {
  const c = chart(key, title); c.seen = tick; c.value.textContent = text;
  c.svg.setAttribute("aria-label", title + ": " + text);
  values.forEach((v, i) => {
    if (!c.lines[i]) {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      line.setAttribute("stroke", i ? "var(--b)" : "var(--a)"); c.svg.append(line); c.lines[i] = { line, kept: [] };
    }
    const kept = c.lines[i].kept; kept.push(v === null ? 0 : v); if (kept.length > KEPT) kept.shift();
  });
  const most = top || Math.max(1e-9, ...c.lines.flatMap(l => l.kept)) * 1.1;
  c.high.textContent = unit(most);
  for (const { line, kept } of c.lines) {
    line.setAttribute("points", kept.map((v, i) => (KEPT - kept.length + i) + "," + (98 - 96 * Math.min(1, v / most)).toFixed(1)).join(" "));
  }
}
function show(s, tick) {
  for (const g of s.gpus) {
    draw("gpu" + g.number, "GPU " + g.number + " " + g.name, [(g.busy_percent || 0) / 100, g.memory_total ? g.memory_used / g.memory_total : 0], 1, percent,
      (g.busy_percent === null ? "-" : g.busy_percent + " %") + ", memory " + (g.memory_total ? bytes(g.memory_used) : "-") +
      (g.power_watts === null ? "" : ", " + Math.round(g.power_watts) + " W"), tick);
  }
  const h = s.host;
  draw("cpu", "CPUs busy", [h.cpu_busy, h.cpu_waiting], 1, percent, percent(h.cpu_busy) + ", " + percent(h.cpu_waiting) + " idle for disks", tick);
  if (h.memory_total) draw("memory", "Memory", [1 - h.memory_available / h.memory_total], 1, percent, bytes(h.memory_available) + " of " + bytes(h.memory_total) + " available", tick);
  if (s.group.cpus !== null) draw("group", "Control group", [s.group.cpus], s.group.quota || 0, v => v.toFixed(1), s.group.cpus.toFixed(2) + (s.group.quota ? " of " + s.group.quota : "") + " CPUs", tick);
  for (const d of s.disks) draw("disk" + d.name, "Disk " + d.name, [d.read_bytes_per_second, d.written_bytes_per_second], 0, v => bytes(v) + "/s", bytes(d.read_bytes_per_second) + "/s read, " + bytes(d.written_bytes_per_second) + "/s written, " + percent(d.busy) + " busy", tick);
  const rows = [];
  for (const l of s.loaders) {
    const key = l.process + ":" + l.source + ":" + l.rank;
    draw("rate" + key, "Images/s, process " + l.process, [l.samples_per_second], 0, count, count(l.samples_per_second), tick);
    draw("wait" + key, "Training waits, process " + l.process, [l.waiting], 1, percent, percent(l.waiting), tick);
    const row = element("tr");
    const cells = [l.process, l.source, count(l.samples_per_second), bytes(l.bytes_per_second), percent(l.waiting), percent(l.reading), percent(l.decoding),
      percent(l.augmenting), l.stats.cache_hits + l.stats.cache_misses ? percent(l.cache_hits) : "-", l.stats.ready_batches + " of " + l.stats.slots,
      l.epoch + (l.epoch_samples ? ", " + percent(l.position / l.epoch_samples) : "") + (l.age_s > 5 ? ", no batch for " + Math.round(l.age_s) + " s" : "")];
    for (const cell of cells) row.append(element("td", cell));
    rows.push(row);
  }
  if (!rows.length) { const row = element("tr"), cell = element("td", "no loader of Tundish runs here, or none of this user's"); cell.colSpan = 11; cell.style.textAlign = "left"; row.append(cell); rows.push(row); }
  document.getElementById("loaders").replaceChildren(...rows);
  for (const [key, c] of charts) if (c.seen !== tick) { c.figure.remove(); charts.delete(key); }
}
let tick = 0;
async function next() {
  try {
    const answer = await fetch("/snapshot?token=" + encodeURIComponent(token));
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json(), ++tick);
    document.getElementById("state").textContent = "the last two minutes, at " + new Date().toLocaleTimeString();
  } catch (error) {
    document.getElementById("state").textContent = "no figures: " + error.message;
  }
  setTimeout(next, 1000);
}
next();
</script></body></html>
)PAGE";

}  // namespace tundish
