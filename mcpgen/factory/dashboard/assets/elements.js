// Elements, made without any HTML: a text of a document is never more than a text.

const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const NOW = Date.parse(data.now);
const UNITS = [[31536000, "y"], [2592000, "mo"], [86400, "d"], [3600, "h"], [60, "min"]];

/** Make an element. A child is a node or a text; null is left out. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== false) made.setAttribute(key, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") made.append(child);
  }
  return made;
}

function makeIcon(name) {
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  icon.append(use);
  return icon;
}

const STATES = new Set(["passed", "failed", "stale", "unknown"]);

/** A state as a sign and a word; anything else than the four states is unknown. */
function makeState(state, word = state) {
  const known = STATES.has(state) ? state : "unknown";
  return make("span", { class: `state ${known}` }, makeIcon(known), make("span", {}, word));
}

/** How long before the examination something was recorded, as in `Surroundings.format_age`. */
function makeAge(time) {
  const seconds = (NOW - Date.parse(time)) / 1000;
  if (!time || Number.isNaN(seconds)) return make("span", { class: "age" }, "no date");
  const found = UNITS.find(([size, unit]) =>
    seconds >= 2 * size || (seconds >= size && unit !== "mo"));
  const shown = found ? `${Math.floor(seconds / found[0])} ${found[1]}` : "now";
  return make("time", { class: "age", datetime: time, title: time }, shown);
}

/** The age of the evidence of a proof, as in `format_proof_age`. */
function makeProofAge(proof) {
  return proof?.evidence ? makeAge(proof.time) : make("span", { class: "age" }, "no evidence");
}

/** A link to a file of a server. */
function linkFile(server, file, shown) {
  if (!file) return null;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return make("a", { href: `${data.folders[server]}/${path}` }, shown ?? file.split("/").at(-1));
}

function makeCommand(command) {
  return command ? make("code", { class: "command" }, command) : null;
}

function capitalize(name) {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function countOf(number) {
  return number === null || number === undefined ? "unknown" : number.toLocaleString("en-US");
}

/** A table whose rows are lists of cells; the first cell of a row is its head. */
function makeTable(caption, heads, rows, kind = "") {
  const isNumber = heads.map((head) => NUMBERS.has(head));
  const table = make("table", { role: "table", class: `stacked ${kind}` },
    make("caption", { class: "hidden" }, caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, heads.map((head, at) =>
      make("th", { role: "columnheader", scope: "col", class: isNumber[at] ? "number" : null },
        capitalize(head))))));
  const body = make("tbody", { role: "rowgroup" });
  for (const cells of rows) {
    body.append(make("tr", { role: "row" }, cells.map((cell, at) => at === 0
      ? make("th", { role: "rowheader", scope: "row" }, cell)
      : make("td", { role: "cell", "data-head": capitalize(heads[at]),
        class: isNumber[at] ? "number" : null },
cell))));
  }
  table.append(body);
  return make("div", { class: "scroll" }, table);
}

const NUMBERS = new Set(["tokens", "cases", "score", "coverage", "passed", "failed", "untested",
  "not applicable", "tools", "findings", "number"]);

function say(message) {
  document.getElementById("live").textContent = message;
}

/** Add buttons that copy the commands below an element. */
function addCopying(root) {
  for (const command of root.querySelectorAll(".command:not(.with-button)")) {
    command.classList.add("with-button");
    const box = make("span", { class: "copy" });
    command.replaceWith(box);
    box.append(command, makeCopyButton(() => command.textContent, command));
  }
}

function makeCopyButton(read, source) {
  const button = make("button", { type: "button", class: "small copied" }, "Copy");
  button.setAttribute("aria-label", `Copy ${source ? source.textContent : "the text"}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(read());
      button.textContent = "Copied";
      say("Copied");
    } catch {
      if (source) getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return button;
}
