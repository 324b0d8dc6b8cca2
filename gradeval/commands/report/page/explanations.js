// What is below a query that is open: the documents that make the difference, and each value explained.

const DIFFERENCES = 10;
const COSTS = ["ideal rank", "loss"];

function why(q) {
  const cell = element("td", [], { colspan: String(runs.length + (several ? 3 : 2)) });
  const place = data.explained ? data.explained.queries.indexOf(q) : -1;
  if (place < 0) {
    cell.append(element("p", missing()));
  } else {
    const chosen = several ? [...new Set([state.run, state.baseline])] : [0];
    const lines = [chosen.map((run) => explanation(place, run))];
    if (chosen.length > 1) lines.unshift(comparison(place, q));
    if (data.explained.texts) cell.append(element("p", split(data.explained.texts)[place]));
    cell.append(...lines.map((line) => element("div", line, { class: "tables" })));
  }
  return element("tr", cell, { class: "why" });
}

// Why a query has no explanation.
function missing() {
  if (data.saved) return "The runs are saved results, whose documents are not known.";
  if (data.unread) return `This browser cannot read the explanations: ${data.unread}`;
  return data.explained
    ? "This page has no explanation of this query; gradeval explain prints it." : "Reading the explanations …";
}

// The documents of a query, whatever the run.
function documentsOf(place) {
  const { documents, grades, titles } = data.explained;
  const known = { document: split(documents[place]) };
  if (titles) known.title = split(titles[place]);
  return { ...known, grade: split(grades[place]) };
}

function explanation(place, run) {
  const { columns, ...known } = data.explained;
  const of = (part) => part[place][run][state.metric];
  if (of(known.rows) === undefined) {
    return element("div", element("p", `${runs[run]} is a saved result, whose documents are not known.`));
  }
  const [rank, score] = [known.ranks, known.scores].map((part) => split(part[place][run]));
  const texts = { rank, score, ...documentsOf(place) };
  texts.adds = split(of(known.adds)).map((text) => (["", "-"].includes(text) ? text : number(Number(text))));
  // those of the shown rows only
  const further = Object.entries(columns).filter(([, part]) => of(part));
  const own = Object.fromEntries(further.map(([name, part]) => [name, split(of(part))]));
  const names = Object.keys(own).filter((name) => name !== "position");
  const always = ["rank", "position", "document", "title", "score", "grade"];
  const head = always.filter((name) => name in texts || name in own);
  head.push(...names.filter((name) => !COSTS.includes(name)));
  if (!("change" in own)) head.push("adds");
  head.push(...names.filter((name) => COSTS.includes(name)));
  let last = 0;
  const body = of(known.rows).split(" ").filter(Boolean).flatMap((d, row) => {
    const cells = head.map((name) => (name in own ? own[name][row] : texts[name][d]) || "");
    const place = Number(cells[head.indexOf("position" in own ? "position" : "rank")]) || 0;
    const isFurther = place > last + 1;
    last = place;
    const shownRow = { cells, grade: texts.grade[d] };
    return isFurther ? [{ cells: head.map((name) => (name === "rank" ? "…" : "")) }, shownRow] : [shownRow];
  });
  const sentences = [of(known.sums), of(known.notes)].filter(Boolean);
  const blocks = [...sentences, ...of(known.blocks).map((block) => data.blocks[block])];
  return element("div", [grid(runs[run], head, body), ...blocks.map(drawn)]);
}

function comparison(place, q) {
  const { rows: shownRows, adds, others, ranks } = data.explained;
  const of = (part, run) => part[place][run][state.metric];
  const chosen = [state.run, state.baseline];
  const total = difference(q);
  if (total === null || chosen.some((run) => of(shownRows, run) === undefined)) return "";
  const { document: names, title: titles, grade: grades } = documentsOf(place);
  const added = chosen.map((run) => split(of(adds, run)).map(Number));
  const ranked = chosen.map((run) => split(ranks[place][run]));
  const changes = names.map((_, d) => ({ d, change: (added[0][d] || 0) - (added[1][d] || 0) }))
    .filter(({ change }) => !isZero(number(change)));
  if (!changes.length) return element("div", element("p", "No document makes a difference."));
  // equal ones as in gradeval explain: by the ranks of the run, then by those of the baseline
  const rankOf = (which, d) => Number(ranked[which][d].replace("-", "1e9"));
  changes.sort((a, b) => Math.abs(b.change) - Math.abs(a.change)
    || rankOf(0, a.d) - rankOf(0, b.d) || rankOf(1, a.d) - rankOf(1, b.d) || a.d - b.d);
  const first = changes.slice(0, DIFFERENCES);
  const withTitle = (title) => (titles ? [title] : []);
  const named = chosen.map((run) => runs[run]);
  const head = ["document", ...withTitle("title"), "grade",
    ...named.map((name) => `${name} rank`), ...named.map((name) => `${name} adds`), "difference"];
  const body = first.map(({ d, change }) => ({
    cells: [names[d], ...withTitle(titles && titles[d]), grades[d],
      ...ranked.map((texts) => texts[d]), ...added.map((values) => number(values[d] || 0)), signed(change)],
    grade: grades[d],
  }));
  const { note } = data.metrics[state.metric];
  if (!note) {
    const blanks = [...withTitle(""), "", "", ""];
    const rest = total - first.reduce((sum, { change }) => sum + change, 0);
    const hasOthers = chosen.some((run) => of(others, run)) && !isZero(number(rest));
    if (changes.length > first.length || hasOthers) {
      body.push({ cells: ["other documents", ...blanks, "", "", signed(rest)] });
    }
    body.push({ cells: ["total", ...blanks, ...chosen.map((run) => number(valueOf(run, q))), signed(total)] });
  }
  const made = grid("Documents that make the difference", head, body);
  return element("div", note ? [made, element("p", note)] : made);
}

function drawn(block) {
  if (typeof block === "string") return element("p", block);
  return grid(block.title, block.head, block.rows.map((cells) => ({ cells })), block.left);
}

// A table. left: the columns that are aligned to the left, by default those of documents and titles.
function grid(title, head, body, left = null) {
  const isLeft = (column) => (left ? left.includes(column) : ["document", "title"].includes(head[column]));
  const label = Math.max(head.indexOf("document"), 0);
  const cell = (name, text, column, attributes = {}) => {
    const kinds = { left: isLeft(column), long: text.length > 28, marks: /^[-+]{2,}$/.test(text) };
    const names = Object.keys(kinds).filter((kind) => kinds[kind]).join(" ");
    return element(name, text, names ? { ...attributes, class: names } : attributes);
  };
  const row = ({ cells, grade }) => element("tr", cells.map((text, column) => (column === label
    ? cell("th", text, column, { scope: "row" }) : cell("td", text, column))),
  Number(grade) > 0 ? { class: "relevant" } : {});
  const table = element("table", [
    element("caption", title),
    element("thead", element("tr", head.map((name, column) => cell("th", name, column, { scope: "col" })))),
    element("tbody", body.map(row)),
  ]);
  return element("div", table, { class: "scroll", role: "region", tabindex: "0", "aria-label": title });
}
