// The page of one server.

function makeServerPage(details) {
  const { status } = details;
  const parts = [
    ["Stages", makeStages(status), null],
    ["Tools", makeTools(details), details.tools.length],
    ["Operations without a tool", makeLeftOut(details), details.left_out.length],
    ["Requirements", makeRequirements(details), null],
    ["Clients", makeClients(status), null],
    ["Findings of lint", makeFindings(details), details.findings.length + details.more_findings],
    ["Waivers", makeWaivers(status), status.waivers.length],
    ["Install", makeInstall(details), null],
    ["History", makeHistory(details), details.history.length],
  ].filter(([, part]) => part !== null);
  const page = make("article", {},
    data.servers.length > 1 ? make("a", { class: "back", href: "#servers" }, "← All servers") : null,
    makeHead(status),
    make("ul", { class: "jump" }, parts.map(([title], at) => {
      const link = make("a", { href: `#/${encodeURIComponent(status.server)}` }, title);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const target = document.getElementById(`part-${at}`);
        target.scrollIntoView();
        target.focus({ preventScroll: true });
      });
      return make("li", {}, link);
    })));
  for (const [at, [title, part, count]] of parts.entries()) {
    page.append(make("h3", { id: `part-${at}`, tabindex: "-1" }, title,
      count === null ? null : make("span", { class: "count" }, countOf(count))), part);
  }
  return page;
}

function makeHead(status) {
  const facts = [["Distribution", status.name], ["Version", status.version || "unknown"],
    ["Published", status.published || "unknown"], ["Owner", status.owners.join(", ") || "nobody"],
    ["Tools", countOf(status.tools)], ["Tokens", countOf(status.tokens)],
    ["Stage", status.reached ?? "none"], ["Source", status.source || "none recorded"]];
  return make("div", {},
    make("div", { class: "title" },
      make("h2", { id: "server-title", tabindex: "-1" }, status.server),
      make("span", { class: "note" }, status.api)),
    make("dl", { class: "facts" }, facts.map(([name, value]) =>
      make("div", { class: name === "Source" ? "wide" : null }, make("dt", {}, name), make("dd", {}, value)))),
    status.needs.length === 0 ? null : make("ul", { class: "alert", "aria-label": "Attention" },
      status.needs.map((need) => make("li", {},
        make("span", { class: "what" }, `${capitalize(need.kind)}: ${need.message}`),
        linkFile(status.server, need.evidence), make("span", {}, makeCommand(need.command))))));
}

function makeStages(status) {
  const rows = [...status.stages.map((stage) => [stage.name, stage.proof]), ["source", status.drift]];
  return makeTable("Stages", ["stage", "state", "result", "evidence", "age", "next"],
    rows.map(([name, proof]) => [capitalize(name), makeState(proof.state),
      proof.summary + (proof.changed.length ? ` (changed: ${proof.changed.join(", ")})` : ""),
      linkFile(status.server, proof.evidence) ?? "–",
      makeProofAge(proof),
      makeCommand(proof.command) ?? "–"]), "stages-table");
}

function makeTools({ status, tools }) {
  if (tools.length === 0) return make("p", { class: "empty" }, "No tools are known.");
  const evidence = findProof(status, "tested");
  const box = makeTable("Tools", ["tool", "operation", "annotations", "tokens", "cases"],
    tools.map((tool) => [makeToolName(tool, status),
      tool.operation ? make("code", {}, tool.operation) : "–", makeTags(tool.annotations),
      countOf(tool.tokens), tool.cases === undefined ? "unknown"
        : linkFile(status.server, evidence?.evidence, countOf(tool.cases)) ?? countOf(tool.cases)]));
  addRowKeys(box.querySelector("table"));
  return box;
}

function makeToolName(tool, status) {
  const button = make("button", { type: "button", class: "name", "aria-expanded": "false" }, tool.name);
  let more = null;
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (more === null) {
      more = make("tr", { class: "more", role: "row" },
        make("td", { colspan: "5", role: "cell" }, makeToolDetails(tool, status)));
      button.closest("tr").after(more);
    }
    more.hidden = isOpen;
  });
  return [button, tool.title && tool.title !== tool.name
    ? make("span", { class: "note" }, tool.title) : null];
}

function makeToolDetails(tool, status) {
  const schemas = [["Arguments", tool.input_schema], ["Results", tool.output_schema]]
    .filter(([, schema]) => schema !== undefined)
    .map(([title, schema]) => make("div", {}, make("h4", {}, title),
      make("pre", { tabindex: "0" }, JSON.stringify(schema, null, 2))));
  return [make("p", { class: "said" }, tool.description ?? "No description."),
    tool.input_schema === undefined
      ? make("p", { class: "note" }, "Its schemas are not in this file, which would become too large; ",
        linkFile(status.server, "mcpgen.lock", "mcpgen.lock"), " names the file that has them.")
      : make("div", { class: "schemas" }, schemas)];
}

function makeTags(words) {
  const tags = words.map((word) =>
    make("span", { class: word === "destructive" ? "tag strong" : "tag" }, word));
  return tags.length ? make("span", { class: "tags" }, tags) : "none";
}

function makeLeftOut({ operations, left_out: leftOut, status }) {
  if (operations === 0) return make("p", { class: "empty" }, "No operations are recorded.");
  if (leftOut.length === 0) {
    return make("p", { class: "empty" }, `All ${countOf(operations)} operations have a tool (`,
      linkFile(status.server, "mcpgen.lock"), ").");
  }
  return makeTable("Operations without a tool", ["operation", "kind", "reason"],
    leftOut.map((it) => [make("code", {}, it.id), it.is_excluded ? "excluded" : "unmapped",
      it.reason]));
}

function makeRequirements({ status, requirements }) {
  const revisions = Object.entries(requirements).sort(([one], [other]) => (one < other ? -1 : 1));
  const proof = findProof(status, "conformant");
  if (revisions.length === 0) return make("p", { class: "empty" }, "Never validated.");
  const isCurrent = proof && (proof.state === "passed" || proof.state === "failed");
  const rows = revisions.map(([revision, it]) => [revision,
    makeState(!isCurrent ? proof?.state ?? "unknown" : it.verdict === "PASS" ? "passed" : "failed",
      isCurrent ? it.verdict : proof?.state ?? "unknown"),
    `${it.reliable === false ? "~" : ""}${it.score}`, `${Math.floor(100 * it.coverage)} %`,
    countOf(it.passed), countOf(it.failed), countOf(it.untested), countOf(it.not_applicable),
    linkFile(status.server, proof?.evidence) ?? "–", makeProofAge(proof)]);
  return make("div", {}, makeTable("Requirements by revision", ["revision", "verdict", "score",
    "coverage", "passed", "failed", "untested", "not applicable", "evidence", "age"], rows),
    makeRequirementList("Violated", "findings", revisions),
    makeRequirementList("Not decided", "undecided", revisions));
}

function makeRequirementList(title, key, revisions) {
  const where = new Map();
  for (const [revision, it] of revisions) {
    for (const id of Array.isArray(it[key]) ? it[key] : []) {
      where.set(id, [...where.get(id) ?? [], revision]);
    }
  }
  if (where.size === 0) return null;
  return [make("h4", {}, title), makeTable(title, ["id", "level", "requirement", "revisions"],
    [...where].map(([id, found]) => [make("code", {}, id),
      data.requirements[id]?.level.toUpperCase() ?? "–",
      data.requirements[id]?.requirement ?? "–",
      found.length === revisions.length ? "all" : found.join(", ")]))];
}

const EFFECTS = { ok: "passed", degraded: "stale", dropped: "failed", breaks: "failed" };

function makeClients(status) {
  const cells = [...Object.entries(status.clients),
    ...status.fine_clients.map((id) => [id, { effect: "ok", tools: 0, limits: [] }])];
  if (cells.length === 0) return make("p", { class: "empty" }, "No current evidence of lint.");
  const proof = findProof(status, "linted");
  return makeTable("Clients", ["client", "effect", "tools", "limits", "evidence", "age"],
    cells.map(([id, cell]) => [data.clients[id] ?? id,
      makeState(EFFECTS[cell.effect] ?? "failed", cell.effect), cell.tools ? countOf(cell.tools) : "–",
      cell.limits.join("; ") || "–", linkFile(status.server, proof?.evidence) ?? "–",
      makeProofAge(proof)]));
}

function makeFindings({ findings, more_findings: more, status }) {
  if (findings.length + more === 0) return null;
  return make("div", {}, more === 0 ? null : make("p", { class: "lead" },
    `${countOf(more)} more are not in this file, which would become too large: `,
    linkFile(status.server, findProof(status, "linted")?.evidence) ?? "no evidence"), makeTable("Findings of lint", ["rule", "severity", "finding", "help", "number"],
    findings.map((it) => [make("code", {}, it.rule), it.severity,
      it.tool ? `${it.tool}: ${it.message}` : it.message, it.help ?? "", countOf(it.count ?? 1)])));
}

function makeWaivers(status) {
  if (status.waivers.length === 0) return null;
  return makeTable("Waivers", ["rule", "reason", "owner", "expires", "findings", "evidence"],
    status.waivers.map((it) => [make("code", {}, it.rule), it.reason, it.owner,
      it.is_expired ? makeState("failed", `${it.expires}, expired`) : it.expires,
      countOf(it.findings), linkFile(status.server, "waivers.yaml")]));
}

function makeInstall({ install, status }) {
  if (install.length === 0) return null;
  const choices = install.flatMap((it, at) => it.clients.map((title) => [String(at), title]));
  const select = makeChoice("Client", choices);
  const shown = make("pre", { tabindex: "0" });
  const show = () => {
    const { text } = install[Number(select.value)];
    shown.textContent = text?.trimEnd() ?? `# Not in this file, which would become too large.
mcpgen add ${status.server} --dry-run`;
  };
  select.addEventListener("change", show);
  show();
  return make("div", {}, make("div", { class: "install" }, select,
    makeCopyButton(() => shown.textContent, null)), shown);
}

function makeHistory({ history, status }) {
  if (history.length === 0) return null;
  return makeTable("History", ["check", "result", "outcome", "time", "age", "evidence"],
    history.map((it) => [it.check, it.result,
      makeState(it.outcome === "passed" ? "passed" : it.outcome ? "failed" : "unknown",
        it.outcome || "unknown"), it.time || "no date", makeAge(it.time),
      linkFile(status.server, `.mcpgen/evidence/${it.check}.json`)]));
}

function findProof(status, name) {
  return status.stages.find((stage) => stage.name === name)?.proof;
}
