// One object: names and values, with objects and lists inside it.

const MAX_NESTING = 4;
const MAX_INSIDE = 50; // items of a list inside a record

const MAX_TEXT = 20_000; // characters
const MAX_DATA_URL = 60;

function textNode(value) {
  if (value === "" || linkAddress(value)) return valueNode(value);
  const most = value.startsWith("data:") ? MAX_DATA_URL : MAX_TEXT;
  return text(value.length > most ? `${value.slice(0, most)}\u2026` : value, { class: "long" });
}

function nestedNode(value, column, depth) {
  if (typeof value === "string" && !column.format) {
    const time = parseTime(value);
    return time ? text(formatTime(time), { title: value }) : textNode(value);
  }
  if (Array.isArray(value) && value.some(isObject) && depth < MAX_NESTING) {
    const items = value.slice(0, MAX_INSIDE).map((item) =>
      element("li", {}, isObject(item) ? recordNode(item, [], depth + 1) : valueNode(item)),
    );
    const rest = value.length - items.length;
    return element("ol", { class: "items" }, ...items, rest ? element("li", {}, `and ${rest} more`) : null);
  }
  const written = formatValue(value, column);
  if (isObject(value) && depth < MAX_NESTING && Object.keys(value).length) {
    const isShort = !written.startsWith("{") && written.length < 40;
    return isShort ? valueNode(value, column) : recordNode(value, [], depth + 1);
  }
  return valueNode(value, column);
}

// Lay out the members of an object; `columns` chooses and names them, [] shows all.
function recordNode(value, columns = [], depth = 0) {
  const shown = columns.length
    ? columns
    : Object.keys(value).map((name) => ({ path: [name], label: makeLabel(name) }));
  const list = element("dl", { class: depth ? "nested" : "record" });
  for (const column of shown) {
    const member = valueAt(value, column.path);
    list.append(
      element("div", {}, element("dt", {}, text(column.label)), element("dd", {}, nestedNode(member, column, depth))),
    );
  }
  return list;
}

// Lay out arguments as they are sent: every value is written as it is, and none is left out.
function exactNode(value) {
  if (typeof value === "string") return text(value === "" ? '""' : value, { class: "long" });
  if (!isObject(value) || Object.keys(value).length === 0) return text(JSON.stringify(value), { class: "long" });
  const rows = Object.entries(value).map(([name, member]) =>
    element("div", {}, element("dt", {}, text(name)), element("dd", {}, exactNode(member))),
  );
  return element("dl", {}, ...rows);
}

function showRecord(body, value) {
  if (isObject(value)) body.append(recordNode(value, config.columns));
  else body.append(element("p", { class: "empty" }, "There is nothing to show."));
  return { summary: "" };
}
