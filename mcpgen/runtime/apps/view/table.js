// A list of objects as a table. Only the rows in sight are in the page, however long the list is.

const ROW_HEIGHT = 37; // pixels, as in the style sheet
const SPARE_ROWS = 8; // above and below those in sight
const SAMPLE = 60; // rows that decide the widths of columns

const MAX_COLUMN = 270; // pixels
const CELL_PADDING = 26;

// Return the widths of the columns in pixels, from their labels and the first rows.
function columnWidths(columns, rows) {
  const drawing = document.createElement("canvas").getContext("2d");
  drawing.font = `600 14px ${getComputedStyle(app).fontFamily}`;
  const widthOf = (written) => drawing.measureText(written.slice(0, 60)).width;
  return columns.map((column) => {
    const label = widthOf(column.label) + 12; // with the arrow of the order
    const cells = rows.slice(0, SAMPLE).map((row) => widthOf(formatValue(valueAt(row, column.path), column)) * 0.94);
    return Math.ceil(Math.min(Math.max(label, ...cells), MAX_COLUMN)) + CELL_PADDING;
  });
}

function compareBy(column) {
  const collator = new Intl.Collator(undefined, { numeric: true });
  return (one, other) => {
    const left = valueAt(one, column.path);
    const right = valueAt(other, column.path);
    const [noLeft, noRight] = [left ?? null, right ?? null].map((value) => value === null);
    if (noLeft || noRight) return noLeft - noRight;
    if (typeof left === "number" && typeof right === "number") return left - right;
    return collator.compare(formatValue(left), formatValue(right));
  };
}

class Table {
  constructor(rows, columns, onOpen) {
    this.rows = [...rows];
    this.columns = columns;
    this.onOpen = onOpen;
    this.active = 0; // index of the row that has the keyboard
    this.first = -1; // index of the first row in the page
    this.sorted = { column: null, isDescending: false };
    this.original = this.rows;
    this.above = element("tr", { class: "space", "aria-hidden": "true" }, element("td", { colspan: columns.length }));
    this.below = this.above.cloneNode(true);
    this.body = element("tbody", {}, this.above, this.below);
    this.head = element("tr", { "aria-rowindex": 1 }, ...columns.map((column) => this.headCell(column)));
    const widths = columnWidths(columns, this.rows);
    const total = widths.reduce((sum, width) => sum + width, 0);
    const cols = widths.map((width) => {
      const col = element("col");
      col.style.setProperty("width", `${width}px`);
      return col;
    });
    this.table = element(
      "table",
      { role: "grid", "aria-label": config.title, "aria-colcount": columns.length },
      element("colgroup", {}, ...cols),
      element("thead", {}, this.head),
      this.body,
    );
    this.table.style.setProperty("min-width", `${total}px`);
    this.node = element("div", { class: "scroller" }, this.table);
    this.node.addEventListener("scroll", () => requestAnimationFrame(() => this.fill()));
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.fill(true)).observe(this.node);
    this.resize();
  }

  headCell(column) {
    const sort = element("button", { type: "button", onclick: () => this.sortBy(column) }, text(column.label));
    return element("th", { scope: "col", class: this.alignment(column), "aria-sort": "none" }, sort);
  }

  alignment(column) {
    return column.type === "integer" || column.type === "number" ? "number" : "";
  }

  sortBy(column) {
    const isSame = this.sorted.column === column;
    if (isSame && this.sorted.isDescending) {
      this.sorted = { column: null, isDescending: false }; // the third press restores the API's order
      this.rows = this.original;
    } else {
      this.sorted = { column, isDescending: isSame };
      this.rows = [...this.original].sort(compareBy(column));
      if (isSame) this.rows.reverse();
    }
    [...this.head.cells].forEach((cell, number) => {
      const order = this.sorted.isDescending ? "descending" : "ascending";
      cell.setAttribute("aria-sort", this.columns[number] === this.sorted.column ? order : "none");
    });
    this.active = 0;
    this.node.scrollTop = 0;
    this.fill(true);
  }

  add(rows) {
    this.original = [...this.original, ...rows];
    const { column, isDescending } = this.sorted;
    this.rows = column ? [...this.original].sort(compareBy(column)) : this.original;
    if (column && isDescending) this.rows.reverse();
    this.resize();
  }

  resize() {
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    const height = (this.rows.length + 1) * ROW_HEIGHT + 2;
    this.node.style.setProperty("--content-height", `${height}px`);
    this.fill(true);
  }

  // Put the rows into the page that are in sight.
  fill(isChanged = false) {
    const inSight = Math.ceil((this.node.clientHeight || 480) / ROW_HEIGHT);
    const top = Math.floor(this.node.scrollTop / ROW_HEIGHT) - SPARE_ROWS;
    const first = Math.max(0, Math.min(top, this.rows.length - 1));
    if (!isChanged && Math.abs(first - this.first) < SPARE_ROWS / 2) return;
    this.first = first;
    const last = Math.min(this.rows.length, first + inSight + 2 * SPARE_ROWS);
    const hadFocus = this.body.contains(document.activeElement);
    while (this.above.nextSibling !== this.below) this.above.nextSibling.remove();
    for (let index = first; index < last; index++) this.below.before(this.makeRow(index));
    this.above.firstChild.style.setProperty("height", `${first * ROW_HEIGHT}px`);
    this.below.firstChild.style.setProperty("height", `${(this.rows.length - last) * ROW_HEIGHT}px`);
    // The keyboard keeps its place; a row out of sight is found again by any arrow key.
    const held = this.rowNode(this.active) ?? this.rowNode(Math.min(first + SPARE_ROWS, last - 1));
    held?.setAttribute("tabindex", "0");
    if (hadFocus) held?.focus({ preventScroll: true });
  }

  makeRow(index) {
    const row = element("tr", {
      "aria-rowindex": index + 2,
      "data-index": index,
      class: index === this.rows.length - 1 ? "last" : null,
      tabindex: -1,
      onclick: () => this.open(index),
      onfocus: () => (this.active = index),
    });
    for (const column of this.columns) {
      const value = valueAt(this.rows[index], column.path);
      const shown = valueNode(value, column, -1);
      const title = visible(formatValue(value, column));
      row.append(element("td", { class: this.alignment(column), title: title.length > 20 ? title : null }, shown));
    }
    return row;
  }

  rowNode(index) {
    return this.body.querySelector(`tr[data-index="${index}"]`);
  }

  open(index) {
    this.move(index);
    this.onOpen(this.rows[index], () => this.move(this.active));
  }

  // Give the keyboard to a row, and bring it into sight.
  move(index) {
    this.active = Math.max(0, Math.min(index, this.rows.length - 1));
    const top = this.active * ROW_HEIGHT;
    const space = this.node.clientHeight - 2 * ROW_HEIGHT; // without the head
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + space) this.node.scrollTop = top - space;
    this.fill(!this.rowNode(this.active));
    for (const row of this.body.querySelectorAll('tr[tabindex="0"]')) row.setAttribute("tabindex", "-1");
    const row = this.rowNode(this.active);
    row?.setAttribute("tabindex", "0");
    row?.focus({ preventScroll: true });
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / ROW_HEIGHT) - 2);
    const moves = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.rows.length - 1,
    };
    if (Object.hasOwn(moves, event.key)) this.move(moves[event.key]);
    else if (event.key === "Enter" && event.target.tagName === "TR") this.open(this.active);
    else return;
    event.preventDefault();
  }
}

// Show the members of an item below the list; closing gives the keyboard back.
function detailPanel() {
  const panel = element("section", { class: "panel", hidden: "", "aria-label": "Details" });
  let giveBack = () => {};
  const close = () => {
    panel.hidden = true;
    panel.replaceChildren();
    giveBack();
  };
  panel.addEventListener("keydown", (event) => event.key === "Escape" && close());
  const open = (item, onClose) => {
    giveBack = onClose;
    const button = element("button", { type: "button", class: "quiet", onclick: close }, "Close");
    const content = isObject(item) ? recordNode(item) : nestedNode(item, {}, 0);
    panel.replaceChildren(element("div", { class: "bar" }, element("h2", {}, "Details"), button), content);
    panel.hidden = false;
    button.focus();
    panel.scrollIntoView({ block: "nearest" });
  };
  return { panel, open };
}

function showTable(body, rows) {
  const { panel, open } = detailPanel();
  const table = new Table(rows, config.columns, open);
  body.append(table.node, panel);
  return { summary: countOf(rows.length, "row"), add: (more) => table.add(more), count: () => table.original.length };
}

function countOf(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`;
}
