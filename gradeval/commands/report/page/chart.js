// The chart: a bar for each query that the table shows, in its order.

const chart = byId("chart");
const MARGIN = { left: 44, right: 4, top: 8, bottom: 8 };
const HEIGHT = 190;
const WIDEST = 40; // bar

function heightOf(q) {
  return several ? difference(q) : valueOf(0, q);
}

function drawChart() {
  const width = Math.max(chart.parentElement.clientWidth, 200);
  const ticks = ticksOf(...rangeOf(shown.map(heightOf)));
  const [first, last] = [ticks[0], ticks.at(-1)];
  const y = (value) => MARGIN.top + (HEIGHT - MARGIN.top - MARGIN.bottom) * (last - value) / (last - first);
  const step = (width - MARGIN.left - MARGIN.right) / Math.max(shown.length, 1);
  const wide = Math.min(step > 4 ? step - 1 : step, WIDEST);
  const parts = ticks.flatMap((tick) => {
    const line = `M${MARGIN.left} ${round(y(tick))}H${width - MARGIN.right}`;
    const text = `${several && tick > 0 ? "+" : ""}${tickText(tick)}`;
    return [
      drawing("path", { class: tick === 0 ? "zero" : "grid", d: line }),
      drawing("text", { x: MARGIN.left - 6, y: round(y(tick) + 4), "text-anchor": "end" }, text),
    ];
  });
  shown.forEach((q, place) => {
    const value = heightOf(q);
    if (value === null) return;
    parts.push(drawing("rect", {
      class: opened.has(q) ? "open" : several ? kindOf(value) : "better",
      x: round(MARGIN.left + (place + 0.5) * step - wide / 2),
      y: round(y(Math.max(value, 0))),
      width: round(wide),
      height: round(Math.max(Math.abs(y(value) - y(0)), 0.5)),
    }));
  });
  chart.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.replaceChildren(...parts);
  byId("pointed").textContent = "";
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

function pointed(event) {
  const box = chart.getBoundingClientRect();
  const width = chart.viewBox.baseVal.width;
  const x = (event.clientX - box.left) * width / box.width - MARGIN.left;
  const place = Math.floor(x * shown.length / (width - MARGIN.left - MARGIN.right));
  return x >= 0 && place < shown.length ? shown[place] : null;
}

chart.addEventListener("pointermove", (event) => {
  const q = pointed(event);
  if (q === null) return;
  const values = runs.map((name, run) => `${name} ${number(valueOf(run, q))}`);
  if (several) values.push(`difference ${difference(q) === null ? "-" : signed(difference(q))}`);
  byId("pointed").textContent = `${queries[q]}: ${values.join(", ")}`;
});

chart.addEventListener("click", (event) => {
  const q = pointed(event);
  if (q === null) return;
  if (!opened.has(q)) toggle(q);
  const button = rows[state.metric][q].querySelector("button");
  button.focus({ preventScroll: true });
  button.scrollIntoView({ block: "center" });
});
