"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const tables = [...document.querySelectorAll("[id^=values-]")];
  const data = await load();
  if (!data) return;
  const queries = split(data.queries);
  const runs = split(data.runs);
  const several = runs.length > 1;
  const state = { metric: 0, baseline: data.pair[0], run: data.pair[1], sort: several ? "difference" : "query", descending: several, open: new Set() };
  const rows = tables.map((table) => [...table.tBodies[0].rows]);  // as they were made, query by query
  let shown = [];  // queries, as they are ordered and filtered

  // Data and numbers

  async function load() {
    try {
      const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return await new Response(stream).json();
    } catch (error) {
      byId("status").hidden = false;
      byId("status").textContent = `This browser cannot open the data for the chart and the explanations (${error.message}).`;
      return null;
    }
  }

  function split(text) {
    return text === "" ? [] : text.split("\t");
  }

  // As Python rounds: a number in the middle goes to the even digit.
  function fixed(value, digits) {
    const text = Math.abs(value).toFixed(digits);
    const exact = Math.abs(value).toFixed(100);
    const rest = exact.slice(exact.indexOf(".") + 1 + digits);
    const isOdd = /[13579]$/.test(text);
    if (!/^50*$/.test(rest) || !isOdd) return text;
    return exact.slice(0, exact.indexOf(".") + (digits ? 1 + digits : 0));
  }

  function number(value) {
    if (value === null) return "-";
    if (data.digits === "full") return Number.isInteger(value) ? `${value}.0` : String(value);
    const text = fixed(value, data.digits);
    return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
  }

  function signed(value) {
    const text = number(value);
    return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
  }

  const valueOf = (run, q) => data.values[run][state.metric][q];

  function difference(q) {
    const [value, base] = [valueOf(state.run, q), valueOf(state.baseline, q)];
    if (value === null || base === null) return null;
    // what is left by rounding is no difference, as in gradeval compare
    return Math.abs(value - base) <= 1e-12 * Math.max(Math.abs(value), Math.abs(base)) ? 0 : value - base;
  }

  function kindOf(change) {
    const gain = data.metrics[state.metric].sign * change;
    return gain > 0 ? "better" : gain < 0 ? "worse" : "equal";
  }

  // Elements

  function element(name, content = [], attributes = {}) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...[content].flat());
    return made;
  }

  function drawing(name, attributes, content = []) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...[content].flat());
    return made;
  }

  // The table of queries

  function prepare(table, m) {
    const head = table.tHead.rows[0];
    table.classList.add("values");
    if (several) {
      head.append(element("th", "difference", { scope: "col" }));
      for (const row of rows[m]) row.append(element("td"));
    }
    const sortable = [...head.cells];
    head.append(element("th", [], { scope: "col", class: "dots" }));
    for (const row of rows[m]) row.append(element("td", [], { class: "dots" }));
    sortable.forEach((cell, column) => {
      const key = column === 0 ? "query" : column <= runs.length ? column - 1 : "difference";
      const button = element("button", cell.textContent, { type: "button" });
      button.addEventListener("click", () => sortBy(key));
      cell.replaceChildren(button);
      cell.dataset.key = key;
    });
    rows[m].forEach((row, q) => {
      const cell = row.cells[0];
      const button = element("button", cell.textContent, { type: "button", "aria-expanded": "false" });
      button.addEventListener("click", () => toggle(q));
      cell.replaceChildren(button);
    });
  }

  function sortBy(key) {
    state.descending = String(state.sort) === String(key) ? !state.descending : key !== "query";
    state.sort = key;
    update();
  }

  function order() {
    const collator = new Intl.Collator("en", { numeric: true });
    const wanted = byId("filter").value.toLowerCase();
    const kind = several ? byId("kind").value : "all";
    const found = queries.map((_, q) => q).filter((q) => queries[q].toLowerCase().includes(wanted)
      && (kind === "all" || (difference(q) !== null && kindOf(difference(q)) === kind)));
    const direction = state.descending ? -1 : 1;
    if (state.sort === "query") return found.sort((a, b) => direction * collator.compare(queries[a], queries[b]) || a - b);
    const key = state.sort === "difference" ? difference : (q) => valueOf(state.sort, q);
    return found.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return direction * (x - y) || a - b;
    });
  }

  function update() {
    const m = state.metric;
    tables.forEach((table, other) => { table.closest("section").hidden = other !== m; });
    shown = order();
    const [low, high] = scale();
    const head = [...tables[m].tHead.rows[0].cells];
    head.pop().replaceChildren(legend(low, high));
    for (const cell of head) {
      const isSorted = cell.dataset.key === String(state.sort);
      cell.setAttribute("aria-sort", isSorted ? (state.descending ? "descending" : "ascending") : "none");
    }
    const body = [];
    for (const q of shown) {
      const row = rows[m][q];
      if (several) {
        const cell = row.cells[runs.length + 1];
        const change = difference(q);
        cell.textContent = change === null ? "-" : signed(change);
        cell.className = change === null ? "" : kindOf(change);
      }
      row.cells[row.cells.length - 1].replaceChildren(dots(q, low, high));
      body.push(row, ...opened(q));
    }
    tables[m].tBodies[0].replaceChildren(...body);
    const name = data.metrics[m].name;
    const of = shown.length === queries.length ? `${shown.length}` : `${shown.length} of ${queries.length}`;
    const about = several && state.run !== state.baseline
      ? `${runs[state.run]} minus ${runs[state.baseline]}, all queries: ${data.pairs[state.baseline][state.run][m]}.` : "";
    byId("status").textContent = `${name}, ${of} ${shown.length === 1 && shown.length === queries.length ? "query" : "queries"}. ${about}`;
    byId("about").textContent = several
      ? `${name}: difference on each query, ${runs[state.run]} minus ${runs[state.baseline]}, in the order of the table`
      : `${name} of each query, in the order of the table`;
    draw();
  }

  // The row below that of a query, if it is open.
  function opened(q) {
    const isOpen = state.open.has(q);
    rows[state.metric][q].querySelector("button").setAttribute("aria-expanded", String(isOpen));
    return isOpen ? [why(q)] : [];
  }

  function toggle(q) {
    const row = rows[state.metric][q];
    if (state.open.delete(q)) row.nextSibling.remove();
    else state.open.add(q);
    row.after(...opened(q));
    draw();
  }

  // The values of a row, drawn

  function scale() {
    const known = data.values.flatMap((run) => run[state.metric]).filter((value) => value !== null);
    const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
    return [low, high <= 1 ? 1 : high];
  }

  function dots(q, low, high) {
    const at = (run) => `${round(1 + 98 * (valueOf(run, q) - low) / (high - low))}%`;
    const known = runs.map((_, run) => run).filter((run) => valueOf(run, q) !== null);
    const { run, baseline } = state;
    const parts = known.filter((other) => other !== run && other !== baseline)
      .map((other) => drawing("circle", { class: "other", cx: at(other), cy: 7, r: 1.5 }));
    const both = known.includes(run) && known.includes(baseline);
    if (both) parts.push(drawing("line", { class: several ? kindOf(difference(q)) : "", x1: at(baseline), x2: at(run), y1: 7, y2: 7 }));
    if (known.includes(baseline)) parts.push(drawing("circle", { class: "baseline", cx: at(baseline), cy: 7, r: 3 }));
    if (known.includes(run)) parts.push(drawing("circle", { class: "run", cx: at(run), cy: 7, r: 3.5 }));
    return drawing("svg", { height: 14, "aria-hidden": "true" }, parts);
  }

  function legend(low, high) {
    const mark = (name, run) => [drawing("svg", { width: 12, height: 10, "aria-hidden": "true" },
      drawing("circle", { class: name, cx: 6, cy: 6, r: name === "other" ? 1.5 : 3 })), run];
    const others = runs.length - (state.run === state.baseline ? 1 : 2);
    const marks = [...mark("run", runs[state.run]), ...(several ? mark("baseline", runs[state.baseline]) : []), ...(others > 0 ? mark("other", "others") : [])];
    return element("span", [element("span", tickText(low)), element("span", marks), element("span", tickText(high))]);
  }

  // The chart

  const chart = byId("chart");
  const [left, right, top, bottom, height] = [44, 4, 8, 8, 190];

  function heightOf(q) {
    return several ? difference(q) : valueOf(0, q);
  }

  function draw() {
    const width = Math.max(chart.parentElement.clientWidth, 200);
    const known = shown.map(heightOf).filter((value) => value !== null);
    const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
    const ticks = ticksOf(low, high);
    const [first, last] = [Math.min(low, ticks[0]), Math.max(high, ticks.at(-1))];
    const y = (value) => top + (height - top - bottom) * (last - value) / (last - first);
    const step = (width - left - right) / Math.max(shown.length, 1);
    const parts = ticks.flatMap((tick) => [
      drawing("path", { class: tick === 0 ? "zero" : "grid", d: `M${left} ${round(y(tick))}H${width - right}` }),
      drawing("text", { x: left - 6, y: round(y(tick) + 4), "text-anchor": "end" }, several && tick > 0 ? `+${tickText(tick)}` : tickText(tick)),
    ]);
    shown.forEach((q, place) => {
      const value = heightOf(q);
      if (value === null) return;
      const [from, to] = [y(0), y(value)];
      const wide = Math.min(step > 4 ? step - 1 : step, 40);
      parts.push(drawing("rect", {
        class: state.open.has(q) ? "open" : several ? kindOf(value) : "better",
        x: round(left + (place + 0.5) * step - wide / 2), width: round(wide),
        y: round(Math.min(from, to)), height: round(Math.max(Math.abs(from - to), 0.5)),
      }));
    });
    chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
    chart.replaceChildren(...parts);
    byId("pointed").textContent = "";
  }

  function round(value) {
    return Math.round(value * 100) / 100;
  }

  function ticksOf(low, high) {
    const raw = (high - low || 1) / 6;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
    const ticks = [];
    for (let place = Math.floor(low / step); place <= Math.ceil((high || low + 1e-9) / step); place += 1) ticks.push(Number((place * step).toPrecision(6)));
    return ticks;
  }

  function tickText(value) {
    return String(Number(value.toPrecision(4))).replace("-", "\u2212");
  }

  function pointed(event) {
    const box = chart.getBoundingClientRect();
    const scale = chart.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale - left;
    const place = Math.floor(x / ((chart.viewBox.baseVal.width - left - right) / shown.length));
    return x >= 0 && place < shown.length ? shown[place] : null;
  }

  chart.addEventListener("pointermove", (event) => {
    const q = pointed(event);
    if (q === null) return;
    const values = runs.map((name, run) => `${name} ${number(valueOf(run, q))}`);
    byId("pointed").textContent = `${queries[q]}: ${values.join(", ")}${several ? `; difference ${difference(q) === null ? "-" : signed(difference(q))}` : ""}`;
  });
  chart.addEventListener("click", (event) => {
    const q = pointed(event);
    if (q === null) return;
    if (!state.open.has(q)) toggle(q);
    const button = rows[state.metric][q].querySelector("button");
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "center" });
  });

  // Explanations

  function why(q) {
    const cell = element("td", [], { colspan: String(runs.length + (several ? 3 : 2)) });
    const place = data.explained.queries.indexOf(q);
    if (place < 0) {
      cell.append(element("p", "This page has no explanation of this query; gradeval explain prints it."));
    } else {
      const chosen = several ? [...new Set([state.run, state.baseline])] : [0];
      const parts = chosen.map((run) => explanation(place, run));
      if (chosen.length > 1) parts.unshift(comparison(place, q));
      cell.append(element("div", parts, { class: "tables" }));
    }
    return element("tr", cell, { class: "why" });
  }

  // What is known of the documents of a query.
  function documentsOf(place) {
    const { documents, grades, titles } = data.explained;
    return { names: split(documents[place]), grades: split(grades[place]), titles: titles ? split(titles[place]) : null };
  }

  function explanation(place, run) {
    const of = (part) => part[place][run][state.metric];
    const { rows, adds, columns, sums, notes, blocks, ranks, scores } = data.explained;
    if (of(rows) === undefined) return element("div", element("p", `${runs[run]} is a saved result: its documents are unknown.`));
    const { names, grades, titles } = documentsOf(place);
    const texts = { rank: split(ranks[place][run]), document: names, ...titles && { title: titles }, score: split(scores[place][run]), grade: grades };
    const own = Object.fromEntries(Object.entries(columns).map(([name, part]) => [name, of(part)]).filter(([, text]) => text));
    const { position, ...others } = Object.fromEntries(Object.entries(own).map(([name, text]) => [name, split(text)]));
    if (!("change" in own)) texts.adds = split(of(adds)).map((text) => ["", "-"].includes(text) ? text : number(Number(text)));
    // columns of the rows shown have a text for each of these, others one for each document
    const head = ["rank", ...(position ? ["position"] : []), "document", ...(titles ? ["title"] : []), "score", "grade"];
    // what a document costs stands after what it adds
    const parts = Object.keys(others);
    const costs = parts.filter((name) => ["ideal rank", "loss"].includes(name));
    head.push(...parts.filter((name) => !costs.includes(name)), ...(texts.adds ? ["adds"] : []), ...costs);
    const shownRows = of(rows).split(" ").filter(Boolean);
    const body = shownRows.map((d, row) => ({
      cells: head.map((name) => (name in texts ? texts[name][d] : (name === "position" ? position : others[name])[row]) || ""), grade: grades[d],
    }));
    const further = [of(sums), ...(of(notes) ? [of(notes)] : []), ...of(blocks).map((block) => data.blocks[block])];
    return element("div", [grid(runs[run], head, body), ...further.map(drawn)]);
  }

  function comparison(place, q) {
    const { rows, adds, others, ranks } = data.explained;
    const of = (part, run) => part[place][run][state.metric];
    const chosen = [state.run, state.baseline];
    if (chosen.some((run) => of(rows, run) === undefined)) return "";
    const { names, grades, titles } = documentsOf(place);
    const added = chosen.map((run) => split(of(adds, run)).map(Number));
    const ranked = chosen.map((run) => split(ranks[place][run]));
    // as in gradeval explain: by the ranks of the run, then by those of the baseline
    const rankOf = (which, d) => Number(ranked[which][d].replace("-", "1e9"));
    const before = (a, b) => rankOf(0, a) - rankOf(0, b) || rankOf(1, a) - rankOf(1, b) || a - b;
    const changes = names.map((_, d) => ({ d, change: (added[0][d] || 0) - (added[1][d] || 0) }))
      .filter(({ change }) => /[1-9]/.test(number(change)))
      .sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || before(a.d, b.d));
    if (difference(q) === null) return "";
    if (!changes.length) return element("div", element("p", "No document makes a difference."));
    const first = changes.slice(0, 10);
    const named = chosen.map((run) => runs[run]);
    const head = ["document", ...(titles ? ["title"] : []), "grade", ...named.map((name) => `${name} rank`), ...named.map((name) => `${name} adds`), "difference"];
    const body = first.map(({ d, change }) => ({
      cells: [names[d], ...(titles ? [titles[d]] : []), grades[d], ...ranked.map((of) => of[d]), ...added.map((of) => number(of[d] || 0)), signed(change)],
      grade: grades[d],
    }));
    const total = difference(q);
    if (!data.metrics[state.metric].note && total !== null) {
      const blanks = Array(titles ? 4 : 3).fill("");
      const rest = total - first.reduce((sum, { change }) => sum + change, 0);
      const hasOthers = chosen.some((run) => of(others, run)) && /[1-9]/.test(number(rest));
      const hasMore = changes.length > first.length || hasOthers;
      if (hasMore) body.push({ cells: ["other documents", ...blanks, "", "", signed(rest)] });
      body.push({ cells: ["total", ...blanks, ...chosen.map((run) => number(valueOf(run, q))), signed(total)] });
    }
    const note = data.metrics[state.metric].note;
    return element("div", [grid("Documents that make the difference", head, body), ...(note ? [element("p", note)] : [])]);
  }

  function drawn(block) {
    if (typeof block === "string") return element("p", block);
    return grid(block.title, block.head, block.rows.map((cells) => ({ cells })), block.left);
  }

  function grid(title, head, body, left = null) {
    const isLeft = (column) => left ? left.includes(column) : ["document", "title"].includes(head[column]);
    const label = Math.max(head.indexOf("document"), 0);
    const attributes = (text, column) => {
      const kinds = { left: isLeft(column), long: text.length > 28, marks: /^[-+]{2,}$/.test(text) };
      const names = Object.keys(kinds).filter((kind) => kinds[kind]);
      return names.length ? { class: names.join(" ") } : {};
    };
    const table = element("table", [
      element("caption", title),
      element("thead", element("tr", head.map((name, column) => element("th", name, { scope: "col", ...attributes(name, column) })))),
      element("tbody", body.map(({ cells, grade }) => element("tr", cells.map((text, column) => column === label
        ? element("th", text, { scope: "row", ...attributes(text, column) }) : element("td", text, attributes(text, column))),
      Number(grade) > 0 ? { class: "relevant" } : {}))),
    ]);
    return element("div", table, { class: "scroll", role: "region", tabindex: "0", "aria-label": title });
  }

  // Start

  tables.forEach(prepare);
  for (const id of ["controls", "figure", "status"]) byId(id).hidden = false;
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("input", () => {
    state.metric = Number(byId("metric").value);
    if (several) [state.run, state.baseline] = [Number(byId("run").value), Number(byId("baseline").value)];
    update();
  });
  if (several) [byId("run").value, byId("baseline").value] = [state.run, state.baseline];
  new ResizeObserver(draw).observe(byId("figure"));
  update();
})();
