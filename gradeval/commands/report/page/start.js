// Make the page that can be read without a script one that can be used, at once: what prints a page may not
// wait. Explanations, which are compressed, can be read later.

function start() {
  [state.baseline, state.run] = data.pair;
  if (several) [byId("run").value, byId("baseline").value] = [state.run, state.baseline];
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
}

start();
