// The timeline: a lane for each worker, with what it holds and waits for, arrows between lanes, and how likely the bug
// is above them. Only what can be seen is drawn.

const LANE = 46, STRIP = data.curve.length ? 58 : 0, TOP = 8, BOTTOM = 18;
const canvas = byId("lanes");
const timeline = { left: 0, zoom: 1, width: 0, height: TOP + STRIP + LANE * data.workers.length + BOTTOM };
const ZOOM_MAX = 48, ARROWS_MAX = 600;

const laneTop = (worker) => TOP + STRIP + worker * LANE;
const laneMiddle = (worker) => laneTop(worker) + LANE / 2;
const xOf = (step) => (step - timeline.left) * timeline.zoom;
const stepAt = (x) => timeline.left + x / timeline.zoom;
const least = () => Math.min(ZOOM_MAX, timeline.width / (count + 2));

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    workers: Array.from({ length: 8 }, (_, i) => of(`--worker-${i}`)),
    text: of("--text"), muted: of("--muted"), line: of("--line"), panel: of("--panel"), band: of("--band"),
    bug: of("--bug"), holds: of("--holds"), waits: of("--waits"), mark: of("--mark"), orders: of("--orders"),
  };
}

function resize() {
  const scale = window.devicePixelRatio || 1;
  timeline.width = canvas.clientWidth;
  canvas.style.height = `${timeline.height}px`;
  canvas.width = Math.round(timeline.width * scale);
  canvas.height = Math.round(timeline.height * scale);
  zoomTo(timeline.zoom, timeline.width / 2);
}

function clampLeft() {
  const seen = timeline.width / timeline.zoom;
  timeline.left = Math.max(-0.5, Math.min(timeline.left, count + 1.5 - seen));
  if (seen >= count + 2) timeline.left = -0.5;
}

function zoomTo(zoom, x) {
  const anchor = stepAt(x);
  timeline.zoom = Math.max(least(), Math.min(ZOOM_MAX, zoom));
  timeline.left = anchor - x / timeline.zoom;
  clampLeft();
  draw();
}

/** Scrolls so that the cursor can be seen with some of what is around it. */
function reveal() {
  const margin = Math.min(120, timeline.width / 4), x = xOf(state.cursor);
  if (x < margin || x > timeline.width - margin) timeline.left = state.cursor - timeline.width / 2 / timeline.zoom;
  clampLeft();
}

let drawn = 0;
function draw() {
  if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; paint(); });
}

function paint() {
  const scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d"), colour = colours();
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, timeline.width, timeline.height);
  const from = Math.max(0, Math.floor(stepAt(0)) - 1), to = Math.min(count, Math.ceil(stepAt(timeline.width)) + 1);
  data.workers.forEach((_, worker) => {
    pen.fillStyle = worker % 2 ? colour.panel : colour.band;
    pen.fillRect(0, laneTop(worker), timeline.width, LANE);
  });
  paintSpans(pen, colour, from, to);
  paintSteps(pen, colour, from, to);
  paintLinks(pen, colour, from, to);
  paintStrip(pen, colour, from, to);
  paintMarks(pen, colour);
  paintNumbers(pen, colour, from, to);
}

function paintSpans(pen, colour, from, to) {
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const span of data.spans) {
    const [worker, kind, begin] = span, end = spanEnd(span);
    if (end < from || begin > to) continue;
    const left = Math.max(-4, xOf(begin)), right = Math.min(timeline.width + 4, xOf(end)), wide = Math.max(1, right - left);
    pen.globalAlpha = state.hidden.has(worker) ? 0.25 : 1;
    const waits = text(kind) === "waits";
    if (waits) {
      pen.strokeStyle = colour.waits;
      pen.setLineDash([3, 3]);
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(left, laneMiddle(worker));
      pen.lineTo(right, laneMiddle(worker));
      pen.stroke();
      pen.setLineDash([]);
    } else {
      pen.fillStyle = colour.holds;
      pen.beginPath();
      pen.roundRect(left, laneTop(worker) + LANE - 9, wide, 5, 2.5);
      pen.fill();
    }
    // A part of a label says little.
    const name = text(span[5]).replaceAll("`", "");
    if (waits && pen.measureText(name).width < wide - 10) {
      pen.fillStyle = colour.muted;
      pen.fillText(name, left + 6, laneMiddle(worker) - 9);
    }
  }
  pen.globalAlpha = 1;
}

function paintSteps(pen, colour, from, to) {
  // Runs that are narrower than a pixel are drawn as one.
  let first = 0;
  for (let high = runs.length; first < high;) {
    const middle = (first + high) >> 1;
    if (runs[middle][2] < from) first = middle + 1;
    else high = middle;
  }
  const until = new Map();
  for (let r = first; r < runs.length && runs[r][1] <= to; r++) {
    const [worker, begin, end] = runs[r], left = xOf(begin - 0.5), right = xOf(end + 0.5);
    if (right - left < 1 && left < (until.get(worker) ?? -1)) continue;
    until.set(worker, left + 1);
    pen.fillStyle = colour.workers[worker % 8];
    pen.globalAlpha = state.hidden.has(worker) ? 0.12 : timeline.zoom < 3 ? 0.85 : 0.22;
    pen.beginPath();
    pen.roundRect(left, laneMiddle(worker) - 7, Math.max(1, right - left), 14, Math.min(7, (right - left) / 2));
    pen.fill();
  }
  pen.globalAlpha = 1;
  if (timeline.zoom < 3) return;
  const size = Math.min(10, timeline.zoom * 0.7);
  for (let i = from; i < Math.min(to + 1, count); i++) {
    const worker = steps.worker(i), shown = isVisible(i), big = shown ? size : Math.min(3, size);
    pen.fillStyle = colour.workers[worker % 8];
    pen.globalAlpha = shown ? 1 : 0.45;
    pen.beginPath();
    pen.arc(xOf(i), laneMiddle(worker), big / 2, 0, 7);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function paintLinks(pen, colour, from, to) {
  const near = new Set(linksOf.get(state.cursor) || []);
  const inSight = (link) => link[1] >= from && link[0] <= to && !state.hidden.has(steps.worker(link[0]))
    && !state.hidden.has(steps.worker(link[1]));
  let seen = 0;
  for (const link of data.links) if (inSight(link)) seen++;
  timeline.arrowsLeftOut = seen > ARROWS_MAX;
  data.links.forEach((link, index) => {
    if (!inSight(link) || (timeline.arrowsLeftOut && !near.has(index))) return;
    const [begin, end, kind] = link, wakes = text(kind) === "wakes";
    const x1 = xOf(begin), y1 = laneMiddle(steps.worker(begin)), x2 = xOf(end), y2 = laneMiddle(steps.worker(end));
    const down = Math.sign(y2 - y1), strong = near.has(index);
    pen.strokeStyle = pen.fillStyle = wakes ? colour.waits : colour.orders;
    pen.globalAlpha = strong ? 1 : 0.5;
    pen.lineWidth = strong ? 2.5 : 1.25;
    pen.setLineDash(wakes ? [2, 3] : []);
    const startY = y1 + down * 8, endY = y2 - down * 9, bend = Math.min(40, Math.abs(x2 - x1) / 2 + 6);
    pen.beginPath();
    pen.moveTo(x1, startY);
    pen.bezierCurveTo(x1 + bend * 0.3, startY + down * 14, x2 - bend, endY - down * 14, x2, endY);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x2, endY + down * 3);
    pen.lineTo(x2 - 4, endY - down * 4);
    pen.lineTo(x2 + 4, endY - down * 4);
    pen.fill();
  });
  pen.globalAlpha = 1;
}

function paintStrip(pen, colour) {
  if (!STRIP) return;
  const y = (share) => TOP + 4 + (STRIP - 18) * (1 - share);
  pen.strokeStyle = colour.line;
  pen.lineWidth = 1;
  for (const share of [0, 1]) {
    pen.beginPath();
    pen.moveTo(0, y(share) + 0.5);
    pen.lineTo(timeline.width, y(share) + 0.5);
    pen.stroke();
  }
  // Each point was measured just before its step; between two of them nothing is known.
  const points = data.curve.map(([step, bugs, of]) => [xOf(step - 0.5), y(bugs / of)]);
  pen.beginPath();
  pen.moveTo(points[0][0], y(0));
  points.forEach(([x, top]) => pen.lineTo(x, top));
  pen.lineTo(points[points.length - 1][0], y(0));
  pen.fillStyle = colour.bug;
  pen.globalAlpha = 0.14;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = colour.bug;
  pen.lineWidth = 1.75;
  pen.beginPath();
  points.forEach(([x, top], i) => (i ? pen.lineTo(x, top) : pen.moveTo(x, top)));
  pen.stroke();
  if (points.length < 200) {
    pen.fillStyle = colour.bug;
    points.forEach(([x, top]) => { pen.beginPath(); pen.arc(x, top, 2, 0, 7); pen.fill(); });
  }
}

function paintMarks(pen, colour) {
  const bottom = timeline.height - BOTTOM;
  if (data.decisive >= 0) {
    const x = xOf(data.decisive);
    pen.strokeStyle = pen.fillStyle = colour.bug;
    pen.setLineDash([4, 3]);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, TOP);
    pen.lineTo(x, bottom);
    pen.stroke();
    pen.setLineDash([]);
    pen.font = "bold 14px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText("!", x, bottom + 9);
  }
  const end = xOf(count);
  pen.fillStyle = colour.bug;
  pen.globalAlpha = 0.5;
  pen.fillRect(end - 1, TOP, 2, bottom - TOP);
  pen.globalAlpha = 1;
  pen.font = "bold 14px system-ui, sans-serif";
  pen.textAlign = "center";
  // Of a bug that one worker did, in its lane.
  if (data.culprit >= 0) pen.fillText("✖", end, laneMiddle(data.culprit) + 1);
  pen.textAlign = "left";
  const x = xOf(state.cursor);
  pen.fillStyle = colour.mark;
  pen.globalAlpha = 0.16;
  const wide = Math.max(6, Math.min(timeline.zoom, 18));
  pen.fillRect(x - wide / 2, TOP, wide, bottom - TOP);
  pen.globalAlpha = 1;
  pen.fillRect(x - 0.75, TOP, 1.5, bottom - TOP);
}

/** Numbers of steps below the lanes. */
function paintNumbers(pen, colour, from, to) {
  pen.fillStyle = colour.muted;
  pen.font = "10px system-ui, sans-serif";
  pen.textAlign = "center";
  const apart = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000].find((n) => n * timeline.zoom >= 44) || 1e5;
  for (let i = from; i < Math.min(to, count); i++) {
    if (numbers[i] && numbers[i] % apart === 0 && i !== data.decisive) pen.fillText(numbers[i], xOf(i), timeline.height - 8);
  }
  pen.textAlign = "left";
}

function setUpTimeline() {
  const names = byId("names");
  if (STRIP) {
    const strip = element("div", "strip", "bug likelihood");
    strip.style.height = `${STRIP}px`;
    strip.append(element("small", "", `${data.curve.length} places, at random from there on`));
    names.append(strip);
  }
  names.style.paddingTop = `${TOP}px`;
  data.workers.forEach((worker, index) => {
    const name = element("div", "name", worker.name);
    name.title = worker.title;
    name.style.setProperty("--own", colourOf(index));
    name.style.height = `${LANE}px`;
    names.append(name);
  });
  canvas.setAttribute("aria-label", `Timeline of ${data.workers.length} workers and ${count} steps; arrow keys step`);
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.offsetX, left: timeline.left, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const by = event.offsetX - grabbed.x;
    grabbed.moved ||= Math.abs(by) > 4;
    if (!grabbed.moved) return;
    timeline.left = grabbed.left - by / timeline.zoom;
    clampLeft();
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = grabbed;
    grabbed = null;
    if (!was || was.moved) return;
    const wanted = Math.max(0, Math.min(count, Math.round(stepAt(event.offsetX))));
    const at = placeAmong(visible, wanted), around = [visible[at - 1], visible[at]].filter((i) => i !== undefined);
    around.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
    go(around[0]);
  });
  canvas.addEventListener("pointercancel", () => { grabbed = null; });
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoomTo(timeline.zoom * Math.exp(-event.deltaY / 200), event.offsetX);
    } else if (event.deltaX) {
      event.preventDefault();
      timeline.left += event.deltaX / timeline.zoom;
      clampLeft();
      draw();
    }
  }, { passive: false });
  new ResizeObserver(resize).observe(canvas);
}
