// Numbers over a time or over names: one panel for each series, so that no scale hides another.

const PANEL_HEIGHT = 190;
const MARGIN = { top: 14, bottom: 26, start: 54, end: 14 };
const MAX_BARS = 60;

// Return the points in the order of the axis, and whether the axis is a time.
function readPoints(rows, columns) {
  const [axis, ...series] = columns;
  const points = rows.map((row) => ({
    x: valueAt(row, axis.path),
    y: series.map((column) => {
      const value = valueAt(row, column.path);
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      return Number.isFinite(number) ? number : null;
    }),
  }));
  const one = (x) => (Array.isArray(x) && x.length === 1 ? x[0] : x);
  const times = points.map((point) => parseTime(one(point.x), true));
  const isTime = points.length > 1 && times.every((time) => time !== null);
  points.forEach((point, index) => {
    point.at = isTime ? times[index].at : index;
    point.label = isTime ? formatTime(times[index]) : formatValue(point.x, axis);
    point.short = point.label.length > 18 ? `${point.label.slice(0, 17)}\u2026` : point.label;
  });
  if (isTime) {
    points.sort((left, right) => left.at - right.at);
    shortenTimes(points, times.every((time) => time.isDate));
  }
  return { points, series, axis, isTime };
}

const DAY = 86_400_000; // milliseconds

// Write times on the axis without the parts that all of them share.
function shortenTimes(points, areDates) {
  const span = points.at(-1).at - points[0].at;
  const zone = areDates ? "UTC" : host.context.timeZone;
  let parts = { hour: "numeric", minute: "2-digit" };
  if (areDates || span > 2 * DAY) parts = { day: "numeric", month: "short" };
  if (span > 370 * DAY) parts = { month: "short", year: "numeric" };
  try {
    const format = new Intl.DateTimeFormat(host.context.locale, { ...parts, timeZone: zone });
    for (const point of points) point.short = format.format(point.at);
  } catch {
    // the labels stay as they are: the browser does not know the locale or the zone
  }
}

// Return round numbers for an axis that covers `least` to `most`.
function ticksOf(least, most, count = 4) {
  const span = most - least || Math.abs(most) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let tick = Math.floor(least / step); tick * step < most + step * 0.999; tick++) ticks.push(tick * step);
  return ticks;
}

// Keep the lowest and the highest point of each pixel, so that no peak is lost.
function thinOut(points, number, width) {
  if (points.length <= 2 * width) return points;
  const kept = new Set([0, points.length - 1]);
  const size = points.length / width;
  for (let bucket = 0; bucket < width; bucket++) {
    let [low, high] = [-1, -1];
    for (let index = Math.floor(bucket * size); index < Math.min((bucket + 1) * size, points.length); index++) {
      const value = points[index].y[number];
      if (value === null) continue;
      if (low < 0 || value < points[low].y[number]) low = index;
      if (high < 0 || value > points[high].y[number]) high = index;
    }
    if (low >= 0) kept.add(low).add(high);
  }
  return [...kept].sort((left, right) => left - right).map((index) => points[index]);
}

class Panel {
  constructor(chart, column, number) {
    this.chart = chart;
    this.column = column;
    this.number = number;
    this.reading = element("span", { class: "reading" });
    this.drawing = svg("svg", { role: "img" });
    const title = element("h2", {}, text(column.label));
    this.node = element("section", { class: "plot" }, element("div", { class: "bar" }, title, this.reading), this.drawing);
    this.drawing.addEventListener("pointermove", (event) => chart.readAt(event.offsetX));
    this.drawing.addEventListener("pointerleave", () => chart.read(-1));
  }

  draw(width) {
    const { points, isLine } = this.chart;
    const values = points.map((point) => point.y[this.number]).filter((value) => value !== null);
    const ticks = ticksOf(Math.min(0, ...bounds(values)), Math.max(0, ...bounds(values)));
    const [least, most] = [ticks[0], ticks.at(-1)];
    const bottom = PANEL_HEIGHT - MARGIN.bottom;
    this.y = (value) => bottom - ((value - least) / (most - least || 1)) * (bottom - MARGIN.top);
    const first = points[0]?.label ?? "";
    const about = `${this.column.label}: ${countOf(points.length, "value")}, from ${first} to ${points.at(-1)?.label ?? ""}`;
    this.drawing.setAttribute("aria-label", visible(about));
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("height", PANEL_HEIGHT);
    this.mark = svg("g");
    const isRightToLeft = this.chart.isRightToLeft;
    const grid = ticks.map((tick) => {
      const y = this.y(tick);
      const label = svg("text", {
        x: isRightToLeft ? width - MARGIN.start + 8 : MARGIN.start - 8,
        y: y + 4,
        class: "end",
      });
      label.textContent = formatNumber(tick, { notation: "compact", maximumFractionDigits: 2 });
      const line = { x1: this.chart.left, x2: this.chart.right, y1: y, y2: y };
      return svg("g", {}, svg("line", { ...line, class: tick === 0 ? "base" : "grid" }), label);
    });
    this.drawing.replaceChildren(...grid, isLine ? this.line() : this.bars(), ...this.axis(), this.mark);
  }

  line() {
    const { points, x, right, left } = this.chart;
    const shown = thinOut(points, this.number, Math.max(1, Math.floor(right - left)));
    let path = "";
    for (const point of shown) {
      const value = point.y[this.number];
      if (value === null) continue;
      path += `${path ? "L" : "M"}${x(point).toFixed(1)} ${this.y(value).toFixed(1)}`;
    }
    return svg("path", { d: path, class: "line" });
  }

  bars() {
    const { points, x, band } = this.chart;
    const wide = Math.max(1, Math.min(band * 0.68, 56));
    const made = points.map((point) => {
      const value = point.y[this.number] ?? 0;
      const [top, base] = [this.y(Math.max(value, 0)), this.y(Math.min(value, 0))];
      const place = { x: x(point) - wide / 2, y: top, width: wide, height: Math.max(base - top, value ? 1 : 0) };
      return svg("rect", { ...place, rx: 2, class: "mark" });
    });
    return svg("g", {}, ...made);
  }

  // Write as many labels below the axis as fit.
  axis() {
    const { points, x, left, right } = this.chart;
    const longest = points.reduce((most, point) => Math.max(most, point.short.length), 1);
    const room = longest * 6.6 + 18;
    const labels = [];
    const step = Math.max(1, Math.ceil((points.length * room) / Math.max(right - left, 1)));
    let last = -Infinity;
    for (let index = 0; index < points.length; index += step) {
      const half = (room - 18) / 2;
      const middle = Math.max(left - 8 + half, Math.min(x(points[index]), right + 8 - half));
      if (Math.abs(middle - last) < room - 10) continue; // the first and the last one are moved inwards
      last = middle;
      const label = svg("text", { x: middle, y: PANEL_HEIGHT - 6, class: "middle" });
      label.textContent = visible(points[index].short);
      labels.push(label);
    }
    return labels;
  }

  read(point) {
    const value = point?.y[this.number] ?? null;
    this.reading.textContent = point
      ? visible(`${point.label}: ${value === null ? "no value" : formatNumber(value)}`)
      : "";
    if (!point) return this.mark.replaceChildren();
    const x = this.chart.x(point);
    const line = svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: PANEL_HEIGHT - MARGIN.bottom, class: "cursor" });
    const dot = value === null ? [] : [svg("circle", { cx: x, cy: this.y(value), r: 4, class: "dot" })];
    return this.mark.replaceChildren(line, ...dot);
  }
}

// Return the least and the most of many numbers.
function bounds(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [0, 0]);
}

class Chart {
  constructor(rows, columns) {
    this.read = this.read.bind(this);
    this.rows = rows;
    this.columns = columns;
    this.active = -1;
    this.node = element("div", {
      class: "plots",
      tabindex: 0,
      role: "group",
      "aria-label": `${config.title}. Use the arrow keys to read values.`,
    });
    this.node.addEventListener("keydown", (event) => this.onKey(event));
    this.load();
    this.panels = this.series.map((column, number) => new Panel(this, column, number));
    this.node.append(...this.panels.map((panel) => panel.node));
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  load() {
    Object.assign(this, readPoints(this.rows, this.columns));
    this.isLine = this.points.length > 1 && (this.isTime || this.points.length > MAX_BARS);
  }

  add(rows) {
    this.rows = [...this.rows, ...rows];
    this.load();
    this.draw();
  }

  draw() {
    const width = Math.max(this.node.clientWidth, 200);
    this.isRightToLeft = document.documentElement.dir === "rtl"; // names read from the right
    const [start, end] = this.isRightToLeft ? [MARGIN.end, MARGIN.start] : [MARGIN.start, MARGIN.end];
    this.left = start;
    this.right = width - end;
    const span = this.right - this.left;
    this.band = span / Math.max(this.points.length, 1);
    const [from, to] = [this.points[0]?.at ?? 0, this.points.at(-1)?.at ?? 1];
    const along = this.isLine
      ? (point) => ((point.at - from) / (to - from || 1)) * span
      : (point) => (this.points.indexOf(point) + 0.5) * this.band;
    this.x = this.isRightToLeft && !this.isTime ? (point) => this.right - along(point) : (point) => this.left + along(point);
    for (const panel of this.panels) panel.draw(width);
    this.read(this.active);
  }

  readAt(offset) {
    let best = -1;
    this.points.forEach((point, index) => {
      const distance = Math.abs(this.x(point) - offset);
      if (best < 0 || distance < Math.abs(this.x(this.points[best]) - offset)) best = index;
    });
    this.read(best);
  }

  read(index) {
    this.active = index;
    for (const panel of this.panels) panel.read(this.points[index]);
  }

  onKey(event) {
    const forward = this.isRightToLeft && !this.isTime ? -1 : 1;
    const last = this.points.length - 1;
    const moves = { ArrowRight: this.active + forward, ArrowLeft: this.active - forward, Home: 0, End: last };
    if (!Object.hasOwn(moves, event.key)) return;
    this.read(Math.max(0, Math.min(moves[event.key], last)));
    const told = this.panels.map((panel) => `${panel.column.label} ${panel.reading.textContent}`);
    announce(told.join("; "));
    event.preventDefault();
  }
}

function showChart(body, rows) {
  const chart = new Chart(rows, config.columns);
  body.append(chart.node);
  let table = null;
  const details = element("details", {}, element("summary", {}, "Show the numbers"));
  details.addEventListener("toggle", () => {
    if (table || !details.open) return;
    const { panel, open } = detailPanel();
    table = new Table(chart.rows, config.columns, open);
    details.append(table.node, panel);
  });
  body.append(details);
  const add = (more) => {
    chart.add(more);
    table?.add(more);
  };
  return { summary: countOf(rows.length, "value"), add, count: () => chart.rows.length };
}
