"use strict";

const byId = (id) => document.getElementById(id);

// What is shown, and the data it is drawn from, which report.py describes; readExplanations() adds the rest.
const data = JSON.parse(byId("data").textContent);
const queries = split(data.queries);
const runs = split(data.runs);
const numbers = new Float64Array(bytesOf(data.values).buffer);
data.values = runs.map((_, run) => data.metrics.map((_, m) => {
  const first = (run * data.metrics.length + m) * queries.length;
  return Array.from(numbers.subarray(first, first + queries.length), (value) => (Number.isNaN(value) ? null : value));
}));
const tables = [...document.querySelectorAll("[id^=values-]")];
const rows = tables.map((table) => [...table.tBodies[0].rows]); // as they were made, query by query
const several = byId("run") !== null;
const state = { metric: 0, run: 0, baseline: 0, sort: several ? "difference" : "query", descending: several };
const opened = new Set();
let shown = [];

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function readExplanations() {
  const stream = new Blob([bytesOf(byId("explanations").textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
  Object.assign(data, await new Response(stream).json());
}

function split(text) {
  return text === "" ? [] : text.split("\t");
}

// As Python rounds: a number in the middle goes to the even digit.
function fixed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  const exact = Math.abs(value).toFixed(100);
  const point = exact.indexOf(".");
  const isInTheMiddle = /^50*$/.test(exact.slice(point + 1 + digits));
  if (!isInTheMiddle || /[02468]$/.test(text)) return text;
  return exact.slice(0, digits ? point + 1 + digits : point);
}

function isZero(text) {
  return !/[1-9]/.test(text);
}

function number(value) {
  if (value === null) return "-";
  if (data.digits === "full") return Number.isInteger(value) ? `${value}.0` : String(value);
  const text = fixed(value, data.digits);
  return value < 0 && !isZero(text) ? `-${text}` : text;
}

function signed(value) {
  const text = number(value);
  return value > 0 && !isZero(text) ? `+${text}` : text;
}

// An element with its content, lists of elements and texts, and those of the attributes that are not empty.
function element(name, content = [], attributes = {}, made = document.createElement(name)) {
  for (const [key, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(key, value);
  made.append(...[content].flat(Infinity));
  return made;
}

function drawing(name, attributes, content = []) {
  return element(name, content, attributes, document.createElementNS("http://www.w3.org/2000/svg", name));
}

function round(value) {
  return Math.round(value * 100) / 100;
}

// The lowest and the highest of some values, and 0, which null counts as.
function rangeOf(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
}

// Round numbers from below the lowest to above the highest value.
function ticksOf(low, high) {
  const least = (high - low || 1) / 6;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least);
  const [first, last] = [Math.floor(low / step), Math.ceil((high - low ? high : 1) / step)];
  const count = last - first + 1;
  return Array.from({ length: count }, (_, place) => Number(((first + place) * step).toPrecision(6)));
}

function tickText(value) {
  return String(Number(value.toPrecision(4))).replace("-", "\u2212");
}

// A drawing in a row: strokes [class, from, to, half of their height] and dots [class, value], from low to high.
const RADIUS = { full: 3.5, empty: 3, small: 1.5 };

function dotted([low, high], strokes, dots) {
  const at = (value) => `${round(1 + 98 * (value - low) / (high - low))}%`;
  return drawing("svg", { height: 14, "aria-hidden": "true" }, [
    strokes.map(([name, from, to, half = 0]) => drawing("line", { class: name, x1: at(from), x2: at(to), y1: 7 - half, y2: 7 + half })),
    dots.map(([name, value]) => drawing("circle", { class: name, cx: at(value), cy: 7, r: RADIUS[name] })),
  ]);
}

// The intervals and bounds beside the differences, on one scale where all are shares.
function drawIntervals(table) {
  const count = data.metrics.length;
  const ranges = data.metrics.map((_, m) => rangeOf(
    data.intervals.flatMap((interval, row) => (row % count === m ? [...interval.slice(0, 3), ...data.bounds[row]] : []))));
  const whole = rangeOf(ranges.flat());
  const isShared = whole.every((end) => Math.abs(end) <= 1);
  const hasBounds = data.bounds.some((bounds) => bounds.length);
  const head = hasBounds ? "interval, bounds (dashed; line: 0)" : "interval (line: 0)";
  table.tHead.rows[0].append(element("th", head, { scope: "col" }));
  data.intervals.forEach(([low, estimate, high, isSignificant], row) => {
    const scale = isShared ? whole : ranges[row % count];
    const [from, to] = [low ?? scale[0], high ?? scale[1]]; // null: infinite
    const strokes = [["axis", 0, 0, 7], ["", from, to], ["", from, from, 3], ["", to, to, 3]];
    if (data.bounds[row].length) strokes.splice(1, 0, ["bounds", ...data.bounds[row]]);
    const isDrawn = estimate !== undefined && scale[0] < scale[1];
    const content = isDrawn ? dotted(scale, strokes, [[isSignificant ? "full" : "empty", estimate]]) : [];
    table.tBodies[0].rows[row].append(element("td", content, { class: "dots" }));
  });
  const scales = isShared ? "one scale for all metrics" : "a scale for each metric";
  if (count > 1) document.querySelector(".legend").append(` Drawn intervals: ${scales}.`);
}

// The table of queries: which are shown, in which order, and which are open.

function valueOf(run, q) {
  return data.values[run][state.metric][q];
}

function difference(q) {
  const [value, base] = [valueOf(state.run, q), valueOf(state.baseline, q)];
  if (value === null || base === null) return null;
  // what rounding leaves is no difference, as in gradeval compare
  const isNone = Math.abs(value - base) <= data.tolerance * Math.max(Math.abs(value), Math.abs(base));
  return isNone ? 0 : value - base;
}

function kindOf(change) {
  const gain = data.metrics[state.metric].sign * change;
  return change === null ? "" : gain > 0 ? "better" : gain < 0 ? "worse" : "equal";
}

// Buttons in the cells of a table, a column for the difference, and one for a drawing.
function prepare(table, m) {
  const makeButton = (cell, action, attributes = {}) => {
    const button = element("button", cell.textContent, { type: "button", ...attributes });
    button.addEventListener("click", action);
    cell.replaceChildren(button);
  };
  const head = table.tHead.rows[0];
  table.classList.add("values");
  if (several) {
    head.append(element("th", "difference", { scope: "col" }));
    for (const row of rows[m]) row.append(element("td"));
  }
  [...head.cells].forEach((cell, column) => {
    cell.dataset.key = column === 0 ? "query" : column <= runs.length ? String(column - 1) : "difference";
    makeButton(cell, () => {
      const { key } = cell.dataset;
      state.descending = state.sort === key ? !state.descending : key !== "query";
      state.sort = key;
      update();
    });
  });
  head.append(element("th", [], { scope: "col", class: "dots" }));
  rows[m].forEach((row, q) => {
    makeButton(row.cells[0], () => toggle(q), { "aria-expanded": "false" });
    row.append(element("td", [], { class: "dots" }));
  });
}

function ordered() {
  const collator = new Intl.Collator("en", { numeric: true });
  const wanted = byId("filter").value.toLowerCase();
  const kind = several ? byId("kind").value : "all";
  const isWanted = (q) => queries[q].toLowerCase().includes(wanted)
    && (kind === "all" || kindOf(difference(q)) === kind);
  const direction = state.descending ? -1 : 1;
  const found = queries.map((_, q) => q).filter(isWanted);
  if (state.sort === "query") return found.sort((a, b) => direction * collator.compare(queries[a], queries[b]));
  const keys = queries.map((_, q) => (state.sort === "difference" ? difference(q) : valueOf(state.sort, q)));
  const isLast = (q) => Number(keys[q] === null); // undefined ones, in either direction
  return found.sort((a, b) => isLast(a) - isLast(b) || direction * (keys[a] - keys[b]));
}

function update() {
  const m = state.metric;
  tables.forEach((table, other) => { table.closest("section").hidden = other !== m; });
  const pair = `${state.baseline} ${state.run} ${m}`;
  if (tables[m].dataset.drawn !== pair) drawRows(tables[m], rows[m]);
  tables[m].dataset.drawn = pair;
  for (const cell of tables[m].tHead.querySelectorAll("[data-key]")) {
    const direction = state.descending ? "descending" : "ascending";
    cell.setAttribute("aria-sort", cell.dataset.key === state.sort ? direction : "none");
  }
  shown = ordered();
  tables[m].tBodies[0].replaceChildren(...shown.flatMap((q) => [rows[m][q], ...below(q)]));
  // what the table and the chart show, in words
  const { name } = data.metrics[m];
  const both = several ? `${runs[state.run]} minus ${runs[state.baseline]}` : "";
  const of = shown.length === queries.length ? "" : ` of ${queries.length}`;
  const count = `${name}, ${shown.length}${of} ${queries.length === 1 ? "query" : "queries"}.`;
  const paired = queries.map((_, q) => q).filter((q) => difference(q) !== null);
  const changes = paired.map(difference);
  const weights = paired.map((q) => data.weights?.[q] ?? 1);
  const total = (terms) => terms.reduce((sum, term) => sum + term, 0);
  const mean = paired.length ? total(changes.map((change, position) => change * weights[position])) / total(weights) : null;
  const won = ["better", "equal", "worse"].map((kind) => changes.filter((change) => kindOf(change) === kind).length);
  const known = `all queries: mean difference ${signed(mean)}${data.compared[pair] ?? ""}; queries won/tied/lost ${won.join("/")}`;
  const hint = pair in data.compared ? "" : "; --all-pairs would add an interval and p";
  byId("status").textContent = state.run === state.baseline ? count : `${count} ${both}, ${known}${hint}.`;
  const what = several ? `${name}: difference on each query, ${both}` : `${name} of each query`;
  byId("about").textContent = `${what}, in the order of the table`;
  drawChart();
}

// The differences, and each query's values on one axis.
function drawRows(table, ofQueries) {
  const { metric, run, baseline } = state;
  const ticks = ticksOf(...rangeOf([1, ...data.values.flatMap((of) => of[metric])]));
  const scale = [ticks[0], ticks.at(-1)];
  const others = runs.map((_, of) => of).filter((of) => of !== run && of !== baseline);
  const names = { full: runs[run], empty: run === baseline ? "" : runs[baseline], small: others.length ? "others" : "" };
  const marks = Object.entries(names).map(([kind, name]) => (name ? [dotted([0, 1], [], [[kind, 0.5]]), name] : []));
  const legend = [tickText(scale[0]), marks, tickText(scale[1])].map((part) => element("span", part));
  table.tHead.rows[0].lastChild.replaceChildren(element("span", legend));
  const kinds = [...others.map((of) => ["small", of]), ["empty", baseline], ["full", run]]; // the last above the others
  ofQueries.forEach(({ cells, lastChild }, q) => {
    const kind = kindOf(difference(q));
    const strokes = kind ? [[kind, valueOf(baseline, q), valueOf(run, q)]] : [];
    const dots = kinds.map(([name, of]) => [name, valueOf(of, q)]).filter(([, value]) => value !== null);
    lastChild.replaceChildren(dotted(scale, strokes, dots));
    if (several) Object.assign(cells[runs.length + 1], { textContent: signed(difference(q)), className: kind });
  });
}

// The row below that of a query, if it is open.
function below(q) {
  const isOpen = opened.has(q);
  rows[state.metric][q].querySelector("button").setAttribute("aria-expanded", String(isOpen));
  return isOpen ? [why(q)] : [];
}

function toggle(q) {
  const row = rows[state.metric][q];
  if (opened.delete(q)) row.nextSibling.remove();
  else opened.add(q);
  row.after(...below(q));
  drawChart();
}

// The chart: a bar for each query that the table shows, in its order.

const chart = byId("chart");
const MARGIN = { left: 44, right: 4, top: 8, bottom: 8 };
const HEIGHT = 190;
const WIDEST = 40; // bar

function drawChart() {
  const width = Math.max(chart.parentElement.clientWidth, 200);
  const heights = shown.map((q) => (several ? difference(q) : valueOf(0, q)));
  const ticks = ticksOf(...rangeOf(heights));
  const [first, last] = [ticks[0], ticks.at(-1)];
  const y = (value) => MARGIN.top + (HEIGHT - MARGIN.top - MARGIN.bottom) * (last - value) / (last - first);
  const step = (width - MARGIN.left - MARGIN.right) / Math.max(shown.length, 1);
  const wide = Math.min(step > 4 ? step - 1 : step, WIDEST);
  const axis = ticks.map((tick) => {
    const line = `M${MARGIN.left} ${round(y(tick))}H${width - MARGIN.right}`;
    const text = `${several && tick > 0 ? "+" : ""}${tickText(tick)}`;
    return [
      drawing("path", { class: tick === 0 ? "zero" : "grid", d: line }),
      drawing("text", { x: MARGIN.left - 6, y: round(y(tick) + 4), "text-anchor": "end" }, text),
    ];
  });
  const bars = heights.map((value, place) => (value === null ? [] : drawing("rect", {
    class: opened.has(shown[place]) ? "open" : several ? kindOf(value) : "better",
    x: round(MARGIN.left + (place + 0.5) * step - wide / 2),
    y: round(y(Math.max(value, 0))),
    width: round(wide),
    height: round(Math.max(Math.abs(y(value) - y(0)), 0.5)),
  }, drawing("title", {}, `${queries[shown[place]]}: ${several ? signed(value) : number(value)}`))));
  chart.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.replaceChildren(...[axis, bars].flat(2));
}

// A click above or below a bar is one on it.
chart.addEventListener("click", (event) => {
  const box = chart.getBoundingClientRect();
  const width = chart.viewBox.baseVal.width;
  const x = (event.clientX - box.left) * width / box.width - MARGIN.left;
  const q = shown[Math.floor(x * shown.length / (width - MARGIN.left - MARGIN.right))];
  if (q === undefined) return;
  if (!opened.has(q)) toggle(q);
  const button = rows[state.metric][q].querySelector("button");
  button.focus({ preventScroll: true });
  button.scrollIntoView({ block: "center" });
});

// What is below a query that is open: the documents that make the difference, and each value explained.

const DIFFERENCES = 10;
// those of an explanation, of which each has some
const COLUMNS = ["rank", "position", "document", "title", "score", "grade", "grade/m", "φ", "gain", "discount",
  "term", "value without", "change", "adds", "ideal rank", "loss"];

function why(q) {
  const { explained, saved, unread } = data;
  const place = explained ? explained.queries.indexOf(q) : -1;
  let content;
  if (place >= 0) {
    const sides = [...new Set([state.run, state.baseline])].map((run) => sideOf(place, run));
    const lines = [sides.map((side) => explanation(place, side))];
    if (sides.length > 1) lines.unshift(comparison(place, q, sides));
    content = lines.map((line) => element("div", line, { class: "tables" }));
    if (explained.texts) content.unshift(element("p", split(explained.texts)[place]));
  } else if (saved) content = element("p", "The runs are saved results, whose documents are not known.");
  else if (unread) content = element("p", `This browser cannot read the explanations: ${unread}`);
  else if (!explained) content = element("p", "Reading the explanations …");
  else content = element("p", "This page has no explanation of this query; gradeval explain prints it.");
  const cell = element("td", content, { colspan: runs.length + (several ? 3 : 2) });
  return element("tr", cell, { class: "why" });
}

// What the lists by query and run, and those by query, run and metric, have of an explanation.
function sideOf(place, run) {
  const { ranks, scores, tables: lists } = data.explained;
  const at = place * runs.length + run;
  const parts = Object.entries(lists).map(([name, list]) => [name, list[at * data.metrics.length + state.metric]]);
  return { run, rank: split(ranks[at]), score: split(scores[at]), ...Object.fromEntries(parts) };
}

// The documents of a query, whatever the run.
function documentsOf(place) {
  const { documents, grades, titles } = data.explained;
  const known = { document: split(documents[place]) };
  if (titles) known.title = split(titles[place]);
  return { ...known, grade: split(grades[place]) };
}

function explanation(place, side) {
  if (side.rows === null) {
    return element("div", element("p", `${runs[side.run]} is a saved result, whose documents are not known.`));
  }
  const adds = split(side.adds).map((text) => (["", "-"].includes(text) ? text : number(Number(text))));
  const known = Object.entries({ rank: side.rank, score: side.score, ...documentsOf(place), adds });
  const documents = side.rows.split(" ").filter(Boolean); // those that are shown
  const further = COLUMNS.filter((name) => name !== "adds" && typeof side[name] === "string");
  const texts = Object.fromEntries([
    ...known.map(([name, of]) => [name, documents.map((d) => of[d] || "")]),
    ...further.map((name) => [name, split(side[name])]),
  ]);
  const head = COLUMNS.filter((name) => name in texts && !(name === "adds" && "change" in texts));
  const places = (texts.position || texts.rank).map(Number);
  const body = documents.flatMap((_, row) => {
    const cells = head.map((name) => texts[name][row] || "");
    const isFurther = places[row] > 1 + (places[row - 1] || 0);
    return isFurther ? [head.map((name) => (name === "rank" ? "…" : "")), cells] : [cells];
  });
  const blocks = [side.sums, side.notes, ...side.blocks.map((block) => data.blocks[block])].filter(Boolean);
  return element("div", [grid(runs[side.run], head, body), blocks.map((block) => (typeof block === "string"
    ? element("p", block) : grid(block.title, block.head, block.rows, block.left)))]);
}

function comparison(place, q, sides) {
  const total = difference(q);
  if (total === null || sides.some((side) => side.rows === null)) return "";
  const { document: names, title: titles, grade: grades } = documentsOf(place);
  const added = sides.map((side) => split(side.adds).map(Number));
  const changes = names.map((_, d) => ({ d, change: (added[0][d] || 0) - (added[1][d] || 0) }))
    .filter(({ change }) => !isZero(number(change)));
  if (!changes.length) return element("div", element("p", "No document makes a difference."));
  // equal ones as in gradeval explain: by the ranks of the run, then by those of the baseline
  const rankOf = (which, d) => Number(sides[which].rank[d].replace("-", "1e9"));
  changes.sort((a, b) => Math.abs(b.change) - Math.abs(a.change)
    || rankOf(0, a.d) - rankOf(0, b.d) || rankOf(1, a.d) - rankOf(1, b.d) || a.d - b.d);
  const first = changes.slice(0, DIFFERENCES);
  const withTitle = (title) => (titles ? [title] : []);
  const head = ["document", ...withTitle("title"), "grade", ...sides.map(({ run }) => `${runs[run]} rank`),
    ...sides.map(({ run }) => `${runs[run]} adds`), "difference"];
  const body = first.map(({ d, change }) => [names[d], ...withTitle(titles && titles[d]), grades[d],
    ...sides.map(({ rank }) => rank[d]), ...added.map((values) => number(values[d] || 0)), signed(change)]);
  const { note } = data.metrics[state.metric];
  if (!note) {
    const blanks = [...withTitle(""), "", "", ""];
    const rest = total - first.reduce((sum, { change }) => sum + change, 0);
    const hasOthers = sides.some(({ others }) => others) && !isZero(number(rest));
    if (changes.length > first.length || hasOthers) body.push(["other documents", ...blanks, "", "", signed(rest)]);
    body.push(["total", ...blanks, ...sides.map(({ run }) => number(valueOf(run, q))), signed(total)]);
  }
  return element("div", [grid("Documents that make the difference", head, body), note ? element("p", note) : []]);
}

// A table. left: the columns that are aligned to the left; where it is left out, the table is of documents.
function grid(title, head, body, left = null) {
  const label = Math.max(head.indexOf("document"), 0);
  const cell = (name, text, column, scope = "") => {
    const isLeft = left ? left.includes(column) : ["document", "title"].includes(head[column]);
    const kinds = { left: isLeft, long: text.length > 28, marks: /^[-+]{2,}$/.test(text) };
    return element(name, text, { scope, class: Object.keys(kinds).filter((kind) => kinds[kind]).join(" ") });
  };
  const row = (cells) => element("tr", cells.map((text, column) => (column === label
    ? cell("th", text, column, "row") : cell("td", text, column))),
  { class: !left && cells[head.indexOf("grade")] > 0 ? "relevant" : "" });
  const table = element("table", [
    element("caption", title),
    element("thead", element("tr", head.map((name, column) => cell("th", name, column, "col")))),
    element("tbody", body.map(row)),
  ]);
  return element("div", table, { class: "scroll", role: "region", tabindex: "0", "aria-label": title });
}

// Make the page that can be read without a script one that can be used, at once: what prints a page may not
// wait. Explanations, which are compressed, can be read later.
[state.baseline, state.run] = data.pair;
if (several) [byId("run").value, byId("baseline").value] = [state.run, state.baseline];
if (several) drawIntervals([...document.querySelectorAll("[aria-labelledby=summary] table")].at(-1));
tables.forEach(prepare);
for (const id of ["controls", "figure", "status"]) byId(id).hidden = false;
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("controls").addEventListener("input", () => {
  state.metric = Number(byId("metric").value);
  if (several) [state.run, state.baseline] = [Number(byId("run").value), Number(byId("baseline").value)];
  update();
});
new ResizeObserver(drawChart).observe(byId("figure"));
update();
readExplanations().catch((error) => { data.unread = error.message; }).finally(() => opened.size && update());
