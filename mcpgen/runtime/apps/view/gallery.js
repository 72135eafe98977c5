// A list of pictures. Only the tiles in sight are in the page.

const TILE_HEIGHT = 232; // pixels with the gap, as in the style sheet
const TILE_WIDTH = 190;
const SPARE_LINES = 1;
const PICTURE = /^data:image\/(?:avif|gif|jpeg|png|webp);base64,[A-Za-z0-9+/=\s]+$/;

// Return the source of a picture that the policy of this page permits, or "".
function pictureSource(value) {
  if (typeof value !== "string") return "";
  if (PICTURE.test(value)) return value;
  const address = linkAddress(value);
  return address && (config.image_origins ?? []).includes(new URL(address).origin) ? address : "";
}

class Gallery {
  constructor(items, columns, onOpen) {
    this.items = [...items];
    [this.picture, ...this.captions] = columns;
    this.onOpen = onOpen;
    this.active = 0;
    this.first = -1;
    this.list = element("ul", { class: "tiles", "aria-label": config.title });
    this.node = element("div", { class: "scroller gallery" }, this.list);
    this.node.addEventListener("scroll", () => requestAnimationFrame(() => this.fill()));
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.fill(true)).observe(this.node);
    this.fill(true);
  }

  add(items) {
    this.items.push(...items);
    this.fill(true);
  }

  fill(isChanged = false) {
    const width = this.node.clientWidth || 600;
    this.across = Math.max(1, Math.floor(width / TILE_WIDTH));
    const lines = Math.ceil(this.items.length / this.across);
    const first = Math.max(0, Math.floor(this.node.scrollTop / TILE_HEIGHT) - SPARE_LINES);
    if (!isChanged && first === this.first) return;
    this.first = first;
    this.node.style.setProperty("--content-height", `${lines * TILE_HEIGHT + 12}px`);
    const inSight = Math.ceil((this.node.clientHeight || 480) / TILE_HEIGHT) + 2 * SPARE_LINES + 1;
    const last = Math.min(lines, first + inSight);
    const hadFocus = this.list.contains(document.activeElement);
    const tiles = [];
    for (let index = first * this.across; index < Math.min(last * this.across, this.items.length); index++) {
      tiles.push(this.makeTile(index));
    }
    this.list.replaceChildren(...tiles);
    this.list.style.setProperty("grid-template-columns", `repeat(${this.across}, minmax(0, 1fr))`);
    this.list.style.setProperty("padding-top", `${first * TILE_HEIGHT}px`);
    this.list.style.setProperty("padding-bottom", `${Math.max(0, lines - last) * TILE_HEIGHT}px`);
    const held = this.tile(this.active) ?? tiles[0]?.firstChild;
    held?.setAttribute("tabindex", "0");
    if (hadFocus) held?.focus({ preventScroll: true });
  }

  makeTile(index) {
    const item = this.items[index];
    const captions = this.captions.map((column) => [column, valueAt(item, column.path)]);
    const title = captions.length ? formatValue(captions[0][1], captions[0][0]) : "";
    const button = element(
      "button",
      { type: "button", class: "tile", "data-index": index, tabindex: -1, onclick: () => this.open(index) },
      this.makePicture(valueAt(item, this.picture.path), title),
      ...captions.map(([column, value], number) =>
        element("span", { class: number ? "caption" : "title" }, text(formatValue(value, column) || "\u2013")),
      ),
    );
    button.addEventListener("focus", () => (this.active = index));
    return element("li", { "aria-setsize": this.items.length, "aria-posinset": index + 1 }, button);
  }

  makePicture(value, title) {
    const letter = () =>
      element("span", { class: "picture none", "aria-hidden": "true" }, text([...title][0] ?? "\u2013"));
    const source = pictureSource(value);
    if (!source) return letter();
    const image = element("img", {
      class: "picture",
      src: source,
      alt: visible(title),
      decoding: "async",
      referrerpolicy: "no-referrer",
    });
    image.addEventListener("error", () => image.replaceWith(letter()));
    return image;
  }

  tile(index) {
    return this.list.querySelector(`[data-index="${index}"]`);
  }

  open(index) {
    this.active = index;
    this.onOpen(this.items[index], () => this.move(index));
  }

  move(index) {
    this.active = Math.max(0, Math.min(index, this.items.length - 1));
    const top = Math.floor(this.active / this.across) * TILE_HEIGHT;
    const space = this.node.clientHeight - TILE_HEIGHT;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + space) this.node.scrollTop = top - Math.max(0, space);
    this.fill(!this.tile(this.active));
    for (const tile of this.list.querySelectorAll('[tabindex="0"]')) tile.setAttribute("tabindex", "-1");
    const tile = this.tile(this.active);
    tile?.setAttribute("tabindex", "0");
    tile?.focus({ preventScroll: true });
  }

  onKey(event) {
    const forward = document.documentElement.dir === "rtl" ? -1 : 1;
    const moves = {
      ArrowRight: this.active + forward,
      ArrowLeft: this.active - forward,
      ArrowDown: this.active + this.across,
      ArrowUp: this.active - this.across,
      Home: 0,
      End: this.items.length - 1,
    };
    if (!Object.hasOwn(moves, event.key)) return;
    this.move(moves[event.key]);
    event.preventDefault();
  }
}

function showGallery(body, items) {
  const { panel, open } = detailPanel();
  const gallery = new Gallery(items, config.columns, open);
  body.append(gallery.node, panel);
  return { summary: countOf(items.length, "picture"), add: (more) => gallery.add(more), count: () => gallery.items.length };
}
