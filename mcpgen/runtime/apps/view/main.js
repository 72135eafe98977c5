// From the messages of the host to what the view shows.

function notice(kind, title, more = "") {
  const role = kind === "danger" ? "alert" : "status";
  return element(
    "div",
    { class: `notice ${kind}`, role },
    element("strong", {}, text(title)),
    more ? element("p", {}, text(more)) : null,
  );
}

function contentText(result) {
  const blocks = Array.isArray(result.content) ? result.content : [];
  return blocks.filter((block) => block?.type === "text").map((block) => String(block.text)).join("\n");
}

// Return the structured result; a host of an older revision has it as text only.
function structuredOf(result) {
  if (result.structuredContent !== undefined) return result.structuredContent;
  try {
    return JSON.parse(contentText(result));
  } catch {
    return undefined;
  }
}

function resultNodes(result) {
  const structured = result.isError ? undefined : structuredOf(result);
  if (isObject(structured) && Object.keys(structured).length) return [recordNode(structured)];
  return [element("p", { class: "long" }, text(contentText(result) || "No content."))];
}

// Return the arguments for the next page of the list; null after the last one.
function nextPage(args, structured, count) {
  const next = config.next_page;
  if (!next || !host.capabilities.serverTools || count === 0) return null;
  if (next.more && structured[next.more] === false) return null;
  const given = args[next.argument];
  let value = null;
  if (next.kind === "cursor") value = valueAt(structured, next.cursor) || null;
  else if (next.kind === "last_item") value = valueAt(valueAt(structured, config.items).at(-1), next.cursor) ?? null;
  else if (next.kind === "page") value = (given ?? next.first ?? 0) + (args.max_pages ?? 1);
  else if (next.kind === "offset") value = (given ?? 0) + count;
  return value === null ? null : { ...args, [next.argument]: value };
}

const SHOW = { table: showTable, chart: showChart, gallery: showGallery };

class View {
  constructor() {
    this.args = {};
    this.count = element("span", { class: "count", dir: "auto" });
    this.body = element("main");
    announcing = element("p", { class: "announcement", role: "status", dir: "auto" });
    const heading = element("header", {}, element("h1", {}, text(config.title)), this.count);
    app.replaceChildren(heading, this.body, announcing);
    this.form = config.kind === "form" ? new Form(this.body) : null;
    if (!this.form) this.body.append(element("p", { class: "empty", role: "status" }, "Waiting for the result\u2026"));
  }

  takeInput(args) {
    this.args = isObject(args) ? args : {};
    this.form?.show(this.args);
  }

  takeResult(result) {
    if (this.form) {
      this.form.finish(result);
      return;
    }
    this.body.replaceChildren();
    if (result.isError) {
      this.body.append(notice("danger", "The call did not succeed.", contentText(result)));
      return;
    }
    const structured = structuredOf(result);
    const value = valueAt(structured, config.items ?? []);
    if (config.kind === "record") showRecord(this.body, value);
    else this.showList(Array.isArray(value) ? value.filter((item) => item !== null) : null, structured, result);
  }

  showList(rows, structured, result) {
    if (rows === null || rows.length === 0) {
      const told = rows === null ? contentText(result) : "";
      this.body.append(element("p", { class: "empty" }, text(told || "There is nothing to show.")));
      return;
    }
    const shown = SHOW[config.kind](this.body, rows);
    this.count.textContent = shown.summary;
    this.offerMore(shown, this.args, structured, rows.length);
  }

  offerMore(shown, args, structured, count) {
    const following = nextPage(args, structured, count);
    if (following === null) return;
    const button = element("button", { type: "button" }, "Load more");
    const holder = element("div", { class: "buttons" }, button);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const result = await callTool(following);
        if (result.isError) throw new Error(contentText(result));
        const page = structuredOf(result);
        const rows = valueAt(page, config.items ?? []);
        const found = Array.isArray(rows) ? rows.filter((item) => item !== null) : [];
        shown.add(found);
        holder.remove();
        this.count.textContent = `${formatNumber(shown.count())} loaded`;
        announce(found.length ? `${formatNumber(found.length)} more.` : "There is no more.");
        this.offerMore(shown, following, page, found.length);
      } catch (error) {
        button.disabled = false;
        announce(visible(`The next page was not loaded: ${error.message}`));
      }
    });
    this.body.append(holder);
  }

  cancel(reason) {
    const told = notice("warning", "The call was cancelled.", typeof reason === "string" ? reason : "");
    this.body.replaceChildren(told);
  }
}

async function start() {
  const view = new View();
  listen({
    "ui/notifications/tool-input": (params) => view.takeInput(params.arguments),
    "ui/notifications/tool-result": (params) => view.takeResult(params),
    "ui/notifications/tool-cancelled": (params) => view.cancel(params.reason),
    "ui/notifications/host-context-changed": applyContext,
  });
  const initialized = await request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: config.tool, version: "1.0.0" },
    appCapabilities: { availableDisplayModes: ["inline"] },
  });
  if (isObject(initialized.hostCapabilities)) host.capabilities = initialized.hostCapabilities;
  if (isObject(initialized.hostContext)) applyContext(initialized.hostContext);
  notify("ui/notifications/initialized");
  reportSize();
}

start();
