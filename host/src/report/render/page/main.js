// What keys and controls do.

/** Goes to a step, and shows it everywhere. */
function go(step) {
  state.cursor = step;
  const at = placeAmong(visible, step);
  byId("position").textContent = step === count ? `the bug · ${count} steps` : `${stepName(step)} of ${count}`;
  byId("found").textContent = !state.query ? "" : state.found.length
    ? `${state.found.includes(step) ? state.found.indexOf(step) + 1 : "–"}/${state.found.length}` : "none";
  const who = step === count ? "" : `${data.workers[steps.worker(step)].name}: ${steps.text(step)}`;
  byId("said").textContent = step === count ? data.message : `${stepName(step)}, ${who}`;
  document.querySelector("[data-act=previous]").disabled = at === 0;
  document.querySelector("[data-act=next]").disabled = at >= visible.length - 1;
  reveal();
  draw();
  revealRow();
  renderSource();
  renderDetails();
  markStory();
}

/** So many visible steps on. */
function move(by) {
  const at = placeAmong(visible, state.cursor);
  const start = visible[at] === state.cursor || by < 0 ? at : at - 1;
  go(visible[Math.max(0, Math.min(visible.length - 1, start + by))]);
}

/** To the next visible step of another worker, or back to where such a one began. */
function toSwitch(direction) {
  const workerAt = (at) => (visible[at] === count ? -1 : steps.worker(visible[at]));
  let at = placeAmong(visible, state.cursor);
  if (direction > 0) {
    const own = workerAt(at);
    while (at < visible.length - 1 && workerAt(at) === own) at++;
  } else if (at > 0) {
    at--;
    while (at > 0 && workerAt(at - 1) === workerAt(at)) at--;
  }
  go(visible[at]);
}

/** To the next step that was found, or the one before. */
function toFound(direction) {
  if (!state.found.length) return;
  const at = placeAmong(state.found, state.cursor + (direction > 0 ? 1 : 0)) + (direction > 0 ? 0 : -1);
  go(state.found[(at + state.found.length) % state.found.length]);
}

function changeFilter() {
  refilter();
  const at = Math.min(placeAmong(visible, state.cursor), visible.length - 1);
  go(visible[at]);
}

const acts = {
  first: () => go(visible[0]),
  last: () => go(count),
  previous: () => move(-1),
  next: () => move(1),
  previousSwitch: () => toSwitch(-1),
  nextSwitch: () => toSwitch(1),
  decisive: () => data.decisive >= 0 && go(data.decisive),
  zoomIn: () => zoomTo(timeline.zoom * 1.6, xOf(state.cursor)),
  zoomOut: () => zoomTo(timeline.zoom / 1.6, xOf(state.cursor)),
  fit: () => { zoomTo(least(), 0); },
  theme: () => {
    const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    draw();
  },
  search: () => byId("search").focus(),
};

const keys = {
  ArrowRight: "next", ArrowDown: "next", j: "next", ArrowLeft: "previous", ArrowUp: "previous", k: "previous",
  Home: "first", End: "last", n: "nextSwitch", p: "previousSwitch", d: "decisive", t: "theme", "/": "search",
  "+": "zoomIn", "=": "zoomIn", "-": "zoomOut", 0: "fit",
};

function setUpKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
    if (typing) {
      if (event.key === "Enter") toFound(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") event.target.blur();
      else return;
      event.preventDefault();
      return;
    }
    if (event.target instanceof HTMLSelectElement) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    acts[act]();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) acts[button.dataset.act]();
  });
  byId("theme").addEventListener("click", acts.theme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

function setUpFilters() {
  data.workers.forEach((worker, index) => {
    const button = element("button", "chip", worker.name);
    button.type = "button";
    button.style.setProperty("--own", colourOf(index));
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = state.hidden.delete(index) || !state.hidden.add(index);
      button.setAttribute("aria-pressed", shown);
      changeFilter();
    });
    byId("workers").append(button);
  });
  data.things.map((_, index) => index).sort((a, b) => (thingName(a) < thingName(b) ? -1 : 1)).forEach((index) => {
    const option = element("option", "", thingName(index));
    option.value = index;
    byId("thing").append(option);
  });
  byId("thing").addEventListener("change", (event) => { state.thing = event.target.value; changeFilter(); });
  byId("shared").checked = state.sharedOnly;
  byId("shared").addEventListener("change", (event) => { state.sharedOnly = event.target.checked; changeFilter(); });
  byId("search").addEventListener("input", (event) => {
    state.query = event.target.value.trim();
    refilter();
    if (state.found.length && !state.found.includes(state.cursor)) toFound(1);
    else go(state.cursor);
  });
  byId("steps").addEventListener("scroll", renderList);
  byId("steps").addEventListener("click", (event) => {
    const row = event.target.closest("[data-step]");
    if (row) go(Number(row.dataset.step));
  });
}

function setUpTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const select = (chosen) => tabs.forEach((tab) => {
    tab.setAttribute("aria-selected", tab === chosen);
    tab.tabIndex = tab === chosen ? 0 : -1;
    byId(tab.dataset.panel).classList.toggle("chosen", tab === chosen);
  });
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => { select(tab); go(state.cursor); });
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.stopPropagation();
      const next = tabs[(at + by + tabs.length) % tabs.length];
      select(next);
      next.focus();
      go(state.cursor);
    });
  });
  select(tabs[0]);
}

function setUpTexts() {
  byId("kind").textContent = data.kind;
  byId("test").textContent = `test ${data.test} · ${data.module}`;
  byId("message").append(rich(data.message));
  byId("why").append(rich(data.why || ""));
  byId("why").hidden = !data.why;
  data.facts.forEach(([name, value]) => {
    const fact = element("div", "fact", null, element("h2", "", name), element("p", "", null, rich(value)));
    byId("facts").append(fact);
  });
  byId("decisive").hidden = data.decisive < 0;
  const sign = (name, words) => {
    byId("legend").append(element("span", "", null, element("i", name), words));
  };
  sign("orders", "happens before");
  if (data.links.some((link) => text(link[2]) === "wakes")) sign("wakes", "ends a wait, orders nothing");
  sign("holds", "holds a lock");
  sign("waits", "cannot go on");
  if (data.leftOut) byId("legend").append(element("span", "", data.leftOut));
  const footer = byId("footer"), copy = element("button", "", "copy");
  copy.type = "button";
  copy.addEventListener("click", () => navigator.clipboard && navigator.clipboard.writeText(data.replay));
  footer.append(element("span", "", "replay: "), element("code", "", data.replay), " ", copy);
  footer.append(element("span", "version", `coyote-wasm ${data.version} · bug ${data.identity}`));
}

state.sharedOnly = data.steps.shared.includes(1);
state.cursor = data.decisive >= 0 ? data.decisive : count;
setUpTexts();
setUpTabs();
setUpFilters();
setUpStory();
refilter();
setUpTimeline();
timeline.width = canvas.clientWidth;
timeline.zoom = Math.max(least(), Math.min(ZOOM_MAX, 14));
setUpKeys();
go(state.cursor);
document.documentElement.dataset.ready = Math.round(performance.now());
