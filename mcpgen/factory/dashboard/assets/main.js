// What the address asks for: the overview, or the page of a server.

const overview = document.getElementById("overview");
const serverBox = document.getElementById("server");
const fleet = document.getElementById("fleet");
const pageTitle = document.title;
let lastServer = "";
let isSearchWanted = false; // once the overview is shown

function findServer() {
  if (!location.hash.startsWith("#/")) {
    return data.servers.length === 1 && location.hash === "" ? data.servers[0] : undefined;
  }
  let name = "";
  try {
    name = decodeURIComponent(location.hash.slice(2));
  } catch {
    return undefined; // no name that this page wrote
  }
  return data.servers.find(({ status }) => status.server === name);
}

function show(isFirst) {
  const found = findServer();
  overview.hidden = found !== undefined;
  serverBox.hidden = found === undefined;
  serverBox.replaceChildren();
  if (found) {
    lastServer = found.status.server;
    serverBox.append(makeServerPage(found));
    addCopying(serverBox);
    document.title = `${found.status.server} · ${pageTitle}`;
    window.scrollTo({ top: 0, behavior: "instant" });
    if (!isFirst) document.getElementById("server-title").focus({ preventScroll: true });
    return;
  }
  document.title = pageTitle;
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  if (isSearchWanted) {
    document.getElementById("search").focus();
  } else if (location.hash === "#servers") { // where the reader was
    listRowLinks(fleet).find((it) => it.textContent === lastServer)?.focus();
  }
  isSearchWanted = false;
  lastServer = "";
}

function isTyping(element) {
  return element instanceof HTMLInputElement || element instanceof HTMLSelectElement;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping(document.activeElement)) {
    event.preventDefault();
    if (overview.hidden) {
      isSearchWanted = true;
      location.hash = "#servers";
    } else {
      document.getElementById("search").focus();
    }
  } else if (event.key === "Escape" && overview.hidden && !isTyping(document.activeElement)) {
    location.hash = "#servers";
  }
});
window.addEventListener("hashchange", () => show(false));
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
});

for (const table of [fleet, document.querySelector(".coverage")]) {
  addSorting(table);
  addRowKeys(table);
}
addFilters(fleet);
addCopying(overview);
show(true);
