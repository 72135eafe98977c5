// Elements and texts. Text of the API reaches the page only as text nodes, never as markup.

const config = JSON.parse(document.getElementById("view").textContent);
const app = document.getElementById("app");

// Make an element. Strings among the children become text nodes; null and undefined are left out.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Characters that change the order of others, or that nobody sees: they are written out.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;

function visible(text) {
  return text.replace(
    UNSEEN,
    (hidden) => `\u27e8U+${hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );
}

// A text of the API, in a direction of its own.
function text(value, attributes = {}) {
  return element("bdi", attributes, visible(String(value)));
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function valueAt(value, path) {
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

const ACRONYMS = new Set(["cpc", "cpm", "ctr", "id", "ip", "isbn", "sku", "uri", "url"]);

// Write the name of a member as words: "publishedOn" gives "Published on".
function makeLabel(name) {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[\s_.-]+/)
    .filter(Boolean)
    .map((word) => (ACRONYMS.has(word.toLowerCase()) ? word.toUpperCase() : word.toLowerCase()));
  const joined = words.join(" ");
  return joined ? joined[0].toUpperCase() + joined.slice(1) : name;
}

const TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/;
const DATE = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/;
const COMPACT_DATE = /^(\d{4})(\d{2})(\d{2})\d{0,2}$/;

// Return the milliseconds of a time or a date, and whether it is a date only; null for other texts.
function parseTime(value, isAxis = false) {
  if (typeof value !== "string") return null;
  if (TIME.test(value)) {
    const at = Date.parse(value.replace(" ", "T"));
    return Number.isNaN(at) ? null : { at, isDate: false };
  }
  const parts = DATE.exec(value) ?? (isAxis ? COMPACT_DATE.exec(value) : null);
  if (!parts) return null;
  const at = Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3] ?? 1));
  return Number.isNaN(at) ? null : { at, isDate: true };
}

function formatTime({ at, isDate }) {
  const options = isDate
    ? { dateStyle: "medium", timeZone: "UTC" }
    : { dateStyle: "medium", timeStyle: "short", timeZone: host.context.timeZone };
  try {
    return new Intl.DateTimeFormat(host.context.locale, options).format(at);
  } catch {
    return new Date(at).toISOString(); // a locale or a zone that the browser does not know
  }
}

function formatNumber(value, options = {}) {
  try {
    return new Intl.NumberFormat(host.context.locale, options).format(value);
  } catch {
    return String(value);
  }
}

const MAX_CELL = 400; // characters
const NAMES = ["name", "title", "label", "displayName", "display_name"];

// Return what stands for an item of a list on one line: its name, if it has one.
function shortItem(item) {
  if (!isObject(item)) return item;
  const name = NAMES.map((member) => valueAt(item, [member])).find((it) => typeof it === "string" && it !== "");
  return name ?? item;
}

// Write a value on one line.
function formatValue(value, column = {}) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") {
    const time = column.format === "date" || column.format === "date-time" ? parseTime(value) : null;
    return time ? formatTime(time) : value.slice(0, MAX_CELL);
  }
  if (typeof value !== "object") return String(value);
  const members = Array.isArray(value) ? value.slice(0, 50).map(shortItem) : Object.values(value);
  const areScalars = members.every((member) => typeof member !== "object" || member === null);
  const isShort = Array.isArray(value) ? areScalars : areScalars && members.length <= 3;
  const separator = Array.isArray(value) ? ", " : " ";
  const written = isShort
    ? members.filter((member) => member !== null && member !== "").map((it) => formatValue(it)).join(separator)
    : JSON.stringify(value);
  return written.slice(0, MAX_CELL);
}

// Return the address of a link that the host may be asked to open, or "".
function linkAddress(value) {
  if (typeof value !== "string" || !/^https?:\/\/\S+$/i.test(value) || value.length > 2000) return "";
  try {
    const url = new URL(value);
    return url.username || url.password ? "" : url.href;
  } catch {
    return "";
  }
}

// A value as a node: a link that the host opens, or a text.
function valueNode(value, column = {}, tabindex = 0) {
  const address = linkAddress(value);
  if (address && host.capabilities.openLinks) {
    const open = (event) => {
      event.stopPropagation();
      request("ui/open-link", { url: address }).catch(() => announce("The link was not opened."));
    };
    return element("button", { type: "button", class: "link", tabindex, onclick: open }, text(value));
  }
  const written = formatValue(value, column);
  return written === "" ? element("span", { class: "absent" }, "\u2013") : text(written);
}

let announcing = null;

// Say something to assistive technology, and show it below the view.
function announce(told) {
  if (announcing) announcing.textContent = told;
}
