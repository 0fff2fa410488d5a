// What the page shows: the data that the file holds, and tables that follow from it.

const data = JSON.parse(document.getElementById("data").textContent);
const text = (index) => data.strings[index];
const count = data.steps.worker.length;
const byId = (id) => document.getElementById(id);

/** An element with a class, a text and children. Texts are never read as HTML. */
function element(name, className, content, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined && content !== null) made.textContent = content;
  made.append(...children);
  return made;
}

/** A text in which what stands between backticks is code. */
function rich(content) {
  const parts = document.createDocumentFragment();
  content.split("`").forEach((part, at, all) => {
    // A single one is a character like others.
    if (at % 2 && at < all.length - 1) parts.append(element("code", "name", part));
    else parts.append(at % 2 ? "`" + part : part);
  });
  return parts;
}

/** A step; the one behind the last is the bug itself. */
const steps = {
  worker: (i) => data.steps.worker[i],
  operation: (i) => text(data.steps.operation[i]),
  text: (i) => text(data.steps.text[i]) || text(data.steps.operation[i]),
  isShared: (i) => data.steps.shared[i] === 1,
  accesses: (i) => (data.steps.accesses[i] || []).map(text),
  things: (i) => data.steps.things[i] || [],
  stack: (i) => (data.steps.stack[i] < 0 ? [] : data.stacks[data.steps.stack[i]]).map((at) => data.frames[at]),
  /** The innermost frame of the program's own that has a line. */
  own: (i) => (data.steps.own[i] < 0 ? undefined : data.frames[data.stacks[data.steps.stack[i]][data.steps.own[i]]]),
};

/** Numbers as in the log, which does not count timeouts. */
const numbers = new Int32Array(count);
for (let i = 0, number = 0; i < count; i++) {
  numbers[i] = steps.operation(i) === "timeout" ? 0 : ++number;
}
const stepName = (i) => (i === count ? "the bug" : numbers[i] ? `step ${numbers[i]}` : "a timeout");

/** Steps of one worker without another one in between: [worker, first, last]. */
const runs = [];
for (let i = 0; i < count; i++) {
  const last = runs[runs.length - 1];
  if (last && last[0] === steps.worker(i)) last[2] = i;
  else runs.push([steps.worker(i), i, i]);
}

/** Links by their ends, and spans by their workers. */
const linksOf = new Map();
data.links.forEach((link, index) => {
  for (const end of [link[0], link[1]]) {
    if (!linksOf.has(end)) linksOf.set(end, []);
    linksOf.get(end).push(index);
  }
});
const thingName = (index) => data.things[index].join(" ");
const spanEnd = (span) => (span[3] < 0 ? count : span[3]);

/** `lib.rs:82`. */
function placeOf(frame) {
  if (!frame || !frame.file) return "";
  const name = frame.file.split(/[\\/]/).pop();
  return frame.line ? `${name}:${frame.line}` : name;
}

/** The colour of a worker. */
const colourOf = (worker) => `var(--worker-${worker % 8})`;

const state = {
  cursor: count,
  hidden: new Set(),
  thing: "",
  sharedOnly: false,
  query: "",
  found: [],
};

/** The steps that are shown, in their order; the bug is always the last. */
let visible = [];
function refilter() {
  visible = [];
  for (let i = 0; i < count; i++) if (isVisible(i)) visible.push(i);
  visible.push(count);
  const query = state.query.toLowerCase();
  state.found = query ? visible.filter((i) => i < count && matches(i, query)) : [];
}

function isVisible(i) {
  if (state.hidden.has(steps.worker(i))) return false;
  if (state.thing !== "") return steps.things(i).includes(Number(state.thing));
  return !state.sharedOnly || steps.isShared(i) || i === data.decisive;
}

function matches(i, query) {
  const has = (value) => value && value.toLowerCase().includes(query);
  const own = steps.own(i);
  return has(steps.text(i)) || has(steps.operation(i)) || has(own && own.function) || has(placeOf(own))
    || has(data.workers[steps.worker(i)].title)
    || steps.things(i).some((thing) => has(thingName(thing)))
    || steps.accesses(i).some(has);
}

/** The place among the visible steps of the first that is not before a step. */
function placeAmong(list, step) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}
