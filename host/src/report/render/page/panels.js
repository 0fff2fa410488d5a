// The panels: the steps as a list, the source, what is known of the present step, and the story.

const ROW = 30;

/** Browsers bound the height of an element. */
const listHeight = () => Math.min(visible.length * ROW, 8e6);

/** The list of steps holds elements only for the rows that can be seen. */
function renderList() {
  const box = byId("steps"), tall = byId("tall"), ratio = (visible.length * ROW) / listHeight();
  const top = box.scrollTop, first = Math.max(0, Math.floor((top * ratio) / ROW) - 4);
  const last = Math.min(visible.length, first + Math.ceil(box.clientHeight / ROW) + 10);
  const found = new Set(state.found);
  const made = [];
  for (let at = first; at < last; at++) {
    const row = rowOf(visible[at], found);
    row.style.top = `${top + at * ROW - top * ratio}px`;
    row.setAttribute("aria-posinset", at + 1);
    row.setAttribute("aria-setsize", visible.length);
    made.push(row);
  }
  tall.replaceChildren(...made);
}

function rowOf(step, found) {
  const isBug = step === count, worker = isBug ? data.culprit : steps.worker(step);
  const row = element("div", "step");
  row.id = `step-${step}`;
  row.role = "option";
  row.dataset.step = step;
  row.setAttribute("aria-selected", step === state.cursor);
  row.classList.toggle("bug", isBug);
  row.classList.toggle("decisive", step === data.decisive);
  row.classList.toggle("found", found.has(step));
  row.classList.toggle("private", !isBug && !steps.isShared(step));
  row.append(element("span", "number", isBug ? "✖" : (step === data.decisive ? "! " : "") + (numbers[step] || "⏱")));
  const name = element("span", "who", worker < 0 ? "" : data.workers[worker].name);
  if (worker >= 0) name.style.setProperty("--own", colourOf(worker));
  row.append(name, element("span", "what", null, rich(isBug ? data.message : steps.text(step))));
  row.append(element("span", "place", isBug ? "" : placeOf(steps.own(step))));
  return row;
}

function revealRow() {
  const box = byId("steps"), at = placeAmong(visible, state.cursor);
  const top = (at / visible.length) * listHeight();
  byId("tall").style.height = `${listHeight()}px`;
  if (top < box.scrollTop + ROW || top > box.scrollTop + box.clientHeight - 2 * ROW) box.scrollTop = top - box.clientHeight / 2;
  renderList();
  byId("steps").setAttribute("aria-activedescendant", `step-${state.cursor}`);
}

/** The frame that the source panel shows: of the bug, that of who did it. */
function presentFrame() {
  if (state.cursor < count) return steps.own(state.cursor);
  const end = data.ends.find((worker) => worker.culprit) || data.ends.find((worker) => worker.own >= 0);
  return end && end.own >= 0 ? end.stack[end.own] : undefined;
}

let shownFile = null;
function renderSource() {
  const frame = presentFrame(), code = byId("code"), source = frame && data.sources.find((s) => s.file === frame.file);
  byId("file").textContent = frame && frame.file ? `${frame.file}${frame.line ? `:${frame.line}` : ""}` : "Source";
  byId("changed").hidden = !(source && source.changed);
  if (!source) {
    shownFile = null;
    const why = !frame ? "The line of this step is not known." : !frame.file ? "The module has no line table."
      : "The text of this file is not at hand.";
    code.replaceChildren(element("p", "empty", why));
    return;
  }
  if (shownFile !== source.file) {
    shownFile = source.file;
    const lines = [];
    source.parts.forEach(([first, part], index) => {
      if (index) lines.push(element("div", "gap", "⋯"));
      part.forEach((line, offset) => {
        const row = element("div", "line", null, element("span", "number", first + offset), element("code", "", line || " "));
        row.dataset.line = first + offset;
        lines.push(row);
      });
    });
    code.replaceChildren(...lines);
  }
  code.querySelectorAll(".current").forEach((row) => { row.classList.remove("current"); row.removeAttribute("aria-current"); });
  const current = code.querySelector(`[data-line="${frame.line}"]`);
  if (!current) return;
  current.classList.add("current");
  current.setAttribute("aria-current", "true");
  current.style.setProperty("--own", state.cursor < count ? colourOf(steps.worker(state.cursor)) : "var(--bug)");
  const top = current.offsetTop;
  if (top < code.scrollTop + 30 || top > code.scrollTop + code.clientHeight - 60) code.scrollTop = top - code.clientHeight / 2;
}

function definition(list, term, ...values) {
  if (!values.length) return;
  list.append(element("dt", "", term));
  values.forEach((value) => list.append(value instanceof Node ? value : element("dd", "", null, rich(value))));
}

/** A text that leads to a step. */
function jump(content, step) {
  const button = element("button", "jump", null, rich(content));
  button.type = "button";
  button.addEventListener("click", () => go(step));
  return element("dd", "", null, button);
}

function stackList(frames) {
  const list = element("ol", "stack");
  frames.forEach((frame) => {
    const row = element("li", frame.library ? "library" : "", frame.function);
    if (frame.file) row.append(element("span", "place", ` ${frame.library ? placeOf(frame) : frame.file + (frame.line ? `:${frame.line}` : "")}`));
    list.append(row);
  });
  return element("dd", "", null, list);
}

function renderDetails() {
  const list = element("dl"), step = state.cursor;
  if (step === count) {
    definition(list, "the bug", data.message);
    data.structure.forEach((line) => definition(list, "", line));
    data.ends.forEach((end) => {
      definition(list, end.title, end.doing);
      if (end.stack.length) list.append(stackList(end.stack));
    });
    definition(list, "output", ...data.output.map(outputLine));
  } else {
    const worker = steps.worker(step), accesses = steps.accesses(step);
    const who = element("dd", "who", data.workers[worker].title);
    who.style.setProperty("--own", colourOf(worker));
    definition(list, stepName(step), who);
    definition(list, "operation", steps.operation(step));
    if (accesses.length) definition(list, "memory", ...accesses);
    const links = (linksOf.get(step) || []).map((index) => data.links[index]);
    for (const [from, to, kind, thing] of links) {
      const through = thing >= 0 ? ` (${thingName(thing)})` : "", word = text(kind);
      const order = word === "wakes" ? "" : step === from ? ", happens before" : ", happens after";
      const other = step === from ? to : from, name = data.workers[steps.worker(other)].name;
      definition(list, `${word}${order}`, jump(`${stepName(other)} of ${name}${through}`, other));
    }
    const spans = data.spans.filter((span) => span[2] <= step && spanEnd(span) > step);
    const said = spans.map((span) => jump(`${data.workers[span[0]].name} ${text(span[5])} since ${stepName(span[2])}`, span[2]));
    definition(list, "now", ...said);
    definition(list, "output before", ...data.output.filter((line) => line.at <= step).slice(-5).map(outputLine));
    const stack = steps.stack(step);
    if (stack.length) definition(list, "stack", stackList(stack));
  }
  byId("now").replaceChildren(list);
}

function outputLine(line) {
  return element("dd", "output", `${line.worker}: ${line.text}`);
}

function setUpStory() {
  const box = byId("rows"), story = data.story;
  if (!story || !story.rows.length) {
    box.replaceChildren(element("p", "empty", "There is no story of this bug."));
    return;
  }
  // Many columns are too narrow to read.
  const inColumns = story.workers.length <= 4, columns = inColumns ? story.workers.length : 2;
  const nameCell = (kind, worker) => {
    const cell = element(kind, "who", worker.name);
    const index = data.workers.findIndex((other) => other.title === worker.title);
    if (index >= 0) cell.style.setProperty("--own", colourOf(index));
    return cell;
  };
  const table = element("table"), head = element("tr", "", null, element("th", "number", "step"));
  if (inColumns) story.workers.forEach((worker) => head.append(nameCell("th", worker)));
  else head.append(element("th", "", "worker"), element("th"));
  head.append(element("th", "place", "line"));
  table.append(element("thead", "", null, head));
  const body = element("tbody");
  const note = (words) => body.append(element("tr", "gap", null, cellOver(columns + 2, words)));
  story.rows.forEach((row) => {
    if (row.skipped) note(`⋯ ${row.skipped} more ${row.skipped === 1 ? "row" : "rows"}`);
    const line = element("tr", row.decisive ? "decisive" : "");
    line.dataset.step = row.at < 0 ? count : row.at;
    line.tabIndex = 0;
    line.append(element("td", "number", (row.decisive ? "! " : "") + (row.at < 0 ? "✖" : numbers[row.at] || "")));
    const what = () => element("td", "what", null, rich(row.text));
    if (inColumns) story.workers.forEach((_, column) => line.append(column === row.worker ? what() : element("td")));
    else line.append(nameCell("td", story.workers[row.worker]), what());
    line.append(element("td", "place", placeOf(row.place)));
    body.append(line);
    if (row.repeats) note(`↺ ${row.repeats[0] > 1 ? `these ${row.repeats[0]} rows ` : ""}${row.repeats[1]} times`);
  });
  table.append(body);
  const jumpTo = (event) => {
    const row = event.target.closest("tr[data-step]");
    if (!row) return;
    if (event.type === "keydown") {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
    }
    go(Number(row.dataset.step));
  };
  table.addEventListener("click", jumpTo);
  table.addEventListener("keydown", jumpTo);
  box.replaceChildren(table);
}

function cellOver(columns, content) {
  const cell = element("td", "", content);
  cell.colSpan = columns;
  return cell;
}

/** Marks the last row of the story that has begun. */
function markStory() {
  const rows = [...byId("rows").querySelectorAll("tr[data-step]")];
  const begun = rows.filter((row) => Number(row.dataset.step) <= state.cursor);
  const present = begun[begun.length - 1];
  rows.forEach((row) => row.classList.toggle("current", row === present));
  const box = byId("rows");
  if (!present) return;
  const top = present.offsetTop, bottom = top + present.offsetHeight;
  if (top < box.scrollTop + 34 || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
}
