// The table of queries: which are shown, in which order, and which are open.

const tables = [...document.querySelectorAll("[id^=values-]")];
const rows = tables.map((table) => [...table.tBodies[0].rows]); // as they were made, query by query
const drawnFor = tables.map(() => ""); // the two runs whose differences the rows of a table have
const several = byId("run") !== null;
const state = { metric: 0, run: 0, baseline: 0, sort: several ? "difference" : "query", descending: several };
const opened = new Set();
let shown = [];

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
  return gain > 0 ? "better" : gain < 0 ? "worse" : "equal";
}

// Buttons in the cells of a table, a column for the difference, and one for a drawing.
function prepare(table, m) {
  const head = table.tHead.rows[0];
  table.classList.add("values");
  if (several) {
    head.append(element("th", "difference", { scope: "col" }));
    for (const row of rows[m]) row.append(element("td"));
  }
  [...head.cells].forEach((cell, column) => {
    cell.dataset.key = column === 0 ? "query" : column <= runs.length ? String(column - 1) : "difference";
    const button = element("button", cell.textContent, { type: "button" });
    button.addEventListener("click", () => sortBy(cell.dataset.key));
    cell.replaceChildren(button);
  });
  head.append(element("th", [], { scope: "col", class: "dots" }));
  rows[m].forEach((row, q) => {
    const button = element("button", row.cells[0].textContent, { type: "button", "aria-expanded": "false" });
    button.addEventListener("click", () => toggle(q));
    row.cells[0].replaceChildren(button);
    row.append(element("td", [], { class: "dots" }));
  });
}

function sortBy(key) {
  state.descending = state.sort === key ? !state.descending : key !== "query";
  state.sort = key;
  update();
}

function ordered() {
  const collator = new Intl.Collator("en", { numeric: true });
  const wanted = byId("filter").value.toLowerCase();
  const kind = several ? byId("kind").value : "all";
  const isWanted = (q) => queries[q].toLowerCase().includes(wanted)
    && (kind === "all" || (difference(q) !== null && kindOf(difference(q)) === kind));
  const direction = state.descending ? -1 : 1;
  const found = queries.map((_, q) => q).filter(isWanted);
  if (state.sort === "query") return found.sort((a, b) => direction * collator.compare(queries[a], queries[b]));
  const keyOf = state.sort === "difference" ? difference : (q) => valueOf(Number(state.sort), q);
  const keys = queries.map((_, q) => keyOf(q));
  const isLast = (q) => Number(keys[q] === null); // undefined ones, in either direction
  return found.sort((a, b) => isLast(a) - isLast(b) || direction * (keys[a] - keys[b]));
}

function update() {
  const m = state.metric;
  tables.forEach((table, other) => { table.closest("section").hidden = other !== m; });
  drawRows(m);
  for (const cell of tables[m].tHead.querySelectorAll("[data-key]")) {
    const direction = state.descending ? "descending" : "ascending";
    cell.setAttribute("aria-sort", cell.dataset.key === state.sort ? direction : "none");
  }
  shown = ordered();
  tables[m].tBodies[0].replaceChildren(...shown.flatMap((q) => [rows[m][q], ...below(q)]));
  describe();
  drawChart();
}

// What the table and the chart show, in words.
function describe() {
  const { name } = data.metrics[state.metric];
  const both = several ? `${runs[state.run]} minus ${runs[state.baseline]}` : "";
  const of = shown.length === queries.length ? "" : ` of ${queries.length}`;
  const count = `${name}, ${shown.length}${of} ${queries.length === 1 ? "query" : "queries"}.`;
  const known = several ? data.pairs[state.baseline][state.run][state.metric] : "";
  byId("status").textContent = known ? `${count} ${both}, all queries: ${known}.` : count;
  byId("about").textContent = several
    ? `${name}: difference on each query, ${both}, in the order of the table`
    : `${name} of each query, in the order of the table`;
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

function drawRows(m) {
  const key = `${state.run} ${state.baseline}`;
  if (drawnFor[m] === key) return;
  drawnFor[m] = key;
  const [least, most] = rangeOf(data.values.flatMap((run) => run[m]));
  const ticks = ticksOf(least, Math.max(most, 1));
  const [low, high] = [ticks[0], ticks.at(-1)];
  tables[m].tHead.rows[0].lastChild.replaceChildren(legend(low, high));
  rows[m].forEach((row, q) => {
    row.lastChild.replaceChildren(dots(q, low, high));
    if (!several) return;
    const [change, cell] = [difference(q), row.cells[runs.length + 1]];
    cell.textContent = change === null ? "-" : signed(change);
    cell.className = change === null ? "" : kindOf(change);
  });
}

// The values of a query on one axis: a circle for the baseline, a disc for the run, points for the others.
function dots(q, low, high) {
  const { run, baseline } = state;
  const at = (of) => `${round(1 + 98 * (valueOf(of, q) - low) / (high - low))}%`;
  const dot = (name, r) => (of) => drawing("circle", { class: name, cx: at(of), cy: 7, r });
  const known = runs.map((_, of) => of).filter((of) => valueOf(of, q) !== null);
  const parts = known.filter((of) => of !== run && of !== baseline).map(dot("other", 1.5));
  if (several && difference(q) !== null) {
    const line = { class: kindOf(difference(q)), x1: at(baseline), x2: at(run), y1: 7, y2: 7 };
    parts.push(drawing("line", line));
  }
  parts.push(...known.filter((of) => of === baseline).map(dot("baseline", 3)));
  parts.push(...known.filter((of) => of === run).map(dot("run", 3.5)));
  return drawing("svg", { height: 14, "aria-hidden": "true" }, parts);
}

function legend(low, high) {
  const mark = (name, text) => {
    const circle = drawing("circle", { class: name, cx: 6, cy: 6, r: name === "other" ? 1.5 : 3 });
    return [drawing("svg", { width: 12, height: 10, "aria-hidden": "true" }, circle), text];
  };
  const marks = mark("run", runs[state.run]);
  if (state.run !== state.baseline) marks.push(...mark("baseline", runs[state.baseline]));
  if (runs.length > (state.run === state.baseline ? 1 : 2)) marks.push(...mark("other", "others"));
  return element("span", [tickText(low), marks, tickText(high)].map((part) => element("span", part)));
}
