// The messages between this view and its host (MCP Apps 2026-01-26): JSON-RPC over postMessage.

const host = { capabilities: {}, context: {} };
const waiting = new Map(); // requests without a response, by id
let lastId = 0;

function post(message) {
  // The origin of the host is unknown to a view; only its window receives the message.
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

function notify(method, params = {}) {
  post({ method, params });
}

// Call the tool of this view through the host.
function callTool(args) {
  return request("tools/call", { name: config.tool, arguments: args });
}

function receive(message, handlers) {
  if (message.method === undefined) {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (!asked) return;
    if (isObject(message.error)) asked.reject(new Error(String(message.error.message)));
    else asked.resolve(isObject(message.result) ? message.result : {});
    return;
  }
  const params = isObject(message.params) ? message.params : {};
  if (message.id === undefined) {
    if (Object.hasOwn(handlers, message.method)) handlers[message.method](params);
  } else if (message.method === "ping" || message.method === "ui/resource-teardown") {
    post({ id: message.id, result: {} });
  } else {
    post({ id: message.id, error: { code: -32601, message: "Method not found" } });
  }
}

function listen(handlers) {
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || !isObject(event.data)) return;
    if (event.data.jsonrpc === "2.0") receive(event.data, handlers);
  });
}

const RIGHT_TO_LEFT = new Set(["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]);
const VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;

function directionOf(locale) {
  try {
    return RIGHT_TO_LEFT.has(new Intl.Locale(locale).language) ? "rtl" : "ltr";
  } catch {
    return "ltr";
  }
}

// Apply the theme, the language and the size that the host states; `changes` may be a part of it.
function applyContext(changes) {
  Object.assign(host.context, changes);
  const { theme, locale, styles, containerDimensions, safeAreaInsets } = host.context;
  const page = document.documentElement;
  if (theme === "light" || theme === "dark") page.style.setProperty("color-scheme", theme);
  if (typeof locale === "string") {
    page.lang = locale;
    page.dir = directionOf(locale);
  }
  for (const [name, value] of Object.entries(isObject(styles?.variables) ? styles.variables : {})) {
    if (VARIABLE.test(name) && typeof value === "string") page.style.setProperty(name, value);
  }
  const { height, maxHeight } = isObject(containerDimensions) ? containerDimensions : {};
  const limit = Number(height ?? maxHeight);
  if (limit > 0) page.style.setProperty("--view-height", `${limit}px`);
  for (const side of ["top", "right", "bottom", "left"]) {
    const inset = Number(safeAreaInsets?.[side]);
    if (inset > 0) page.style.setProperty(`--inset-${side}`, `${inset}px`);
  }
}

// Tell the host the size of the view whenever it changes.
function reportSize() {
  let told = "";
  new ResizeObserver(() => {
    const { width, height } = app.getBoundingClientRect();
    const size = { width: Math.ceil(width), height: Math.ceil(height) };
    if (`${size.width} ${size.height}` === told) return;
    told = `${size.width} ${size.height}`;
    notify("ui/notifications/size-changed", size);
  }).observe(app);
}
