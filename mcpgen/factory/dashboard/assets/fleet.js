// The tables of the overview: sorting, search and filters.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Turn the heads of a table into buttons that sort it. */
function addSorting(table) {
  const heads = [...table.querySelectorAll("thead th[data-sort]")];
  for (const head of heads) {
    const button = make("button", { type: "button", title: "Sort" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isDescending = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      sortRows(table, findColumn(table, head), isDescending);
      say(`Sorted by ${button.textContent}, ${head.getAttribute("aria-sort")}`);
    });
  }
}

/** The number of the column of a head, where heads may span columns and rows. */
function findColumn(table, wanted) {
  const taken = [];
  for (const [row, line] of [...table.tHead.rows].entries()) {
    taken[row] ??= [];
    let column = 0;
    for (const head of line.cells) {
      while (taken[row][column]) column += 1;
      if (head === wanted) return column;
      for (let below = 0; below < head.rowSpan; below += 1) {
        taken[row + below] ??= [];
        for (let beside = 0; beside < head.colSpan; beside += 1) {
          taken[row + below][column + beside] = true;
        }
      }
    }
  }
  return 0;
}

function sortRows(table, column, isDescending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [row.cells[column].dataset.sort ?? "", row]);
  rows.sort(([one], [other]) => collator.compare(one, other) * (isDescending ? -1 : 1));
  body.append(...rows.map(([, row]) => row));
}

const NEEDS = [["", "All states"], ["failing", "Failing"], ["conflict", "Edited by hand"],
  ["breaking", "Breaking change"], ["waiver_expired", "Waiver expired"],
  ["regenerate", "To be regenerated"], ["stale", "Stale"], ["unknown", "Never checked"],
  ["waived", "Waived"], ["ready", "Ready to publish"]];
const STAGE_NAMES = ["declared", "generated", "linted", "tested", "conformant", "live", "packaged",
  "published"];

/** Add the search field and the filters above the table of servers. */
function addFilters(table) {
  const rows = [...table.tBodies[0].rows].map((row) => [row,
    `${row.textContent} ${row.dataset.tools}`.toLowerCase()]);
  const search = make("input", { type: "search", id: "search", placeholder: "Server, API, tool, owner",
    autocomplete: "off", spellcheck: "false", "aria-label": "Search servers" });
  const needs = makeChoice("State", NEEDS);
  const stages = makeChoice("Stage", [["", "All stages"],
    ...STAGE_NAMES.map((name) => [name, `At ${name}`]), ["none", "At no stage"]]);
  const count = make("span", { class: "count", role: "status" });
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      const isShown = words.every((word) => text.includes(word))
        && (!needs.value || row.dataset.needs.split(" ").includes(needs.value))
        && (!stages.value || (row.dataset.reached || "none") === stages.value);
      row.hidden = !isShown;
      shown += isShown ? 1 : 0;
    }
    count.textContent = shown === rows.length ? countServers(shown)
      : `${shown.toLocaleString("en-US")} of ${countServers(rows.length)}`;
  };
  search.addEventListener("input", apply);
  for (const each of [needs, stages]) each.addEventListener("change", apply);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) {
      search.value = "";
      apply();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      focusRow(table, 0);
    } else if (event.key === "Enter") {
      listRowLinks(table)[0]?.click();
    }
  });
  document.getElementById("filters").append(search, make("kbd", { "aria-hidden": "true" }, "/"),
    needs, stages, count);
  apply();
}

function countServers(number) {
  return `${number.toLocaleString("en-US")} server${number === 1 ? "" : "s"}`;
}

function makeChoice(label, options) {
  return make("select", { "aria-label": label },
    options.map(([value, shown]) => make("option", { value }, shown)));
}

function listRowLinks(table) {
  return [...table.querySelectorAll("tbody tr:not([hidden]) th[scope=row] :is(a, button)")];
}

function focusRow(table, at) {
  const links = listRowLinks(table);
  links[Math.max(0, Math.min(at, links.length - 1))]?.focus();
}

/** Move between the rows of a table with the arrow keys, Home and End. */
function addRowKeys(table) {
  table.addEventListener("keydown", (event) => {
    const at = listRowLinks(table).indexOf(document.activeElement);
    const step = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: Infinity }[event.key];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    if (step < 0) document.getElementById("search")?.focus();
    else focusRow(table, step);
  });
}
