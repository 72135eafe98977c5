// The arguments of a call: what is or was sent, to be checked, changed and sent again. The server
// asks for its own confirmation whatever this form does.

const MAX_FIELD_DEPTH = 3;

function resolve(schema, depth = 0) {
  if (!isObject(schema) || depth > 8) return {};
  const found = /^#\/\$defs\/(.+)$/.exec(schema.$ref ?? "");
  if (found) {
    const target = config.input_schema.$defs?.[found[1].replaceAll("~1", "/").replaceAll("~0", "~")];
    return { ...resolve(target, depth + 1), ...schema, $ref: undefined };
  }
  const others = (schema.anyOf ?? schema.oneOf ?? []).filter((it) => it?.type !== "null");
  if (others.length === 1) return { ...resolve(others[0], depth + 1), ...schema, anyOf: undefined, oneOf: undefined };
  return schema;
}

function typeOf(schema) {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  return types.length === 1 ? types[0] : "";
}

class InvalidField extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

let lastField = 0;

// A labelled input for one argument; `read` returns its value, undefined if it is left out.
class Field {
  constructor(name, schema, isRequired, value, depth = 0) {
    this.name = name;
    this.schema = resolve(schema);
    this.isRequired = isRequired;
    this.wasGiven = value !== undefined;
    const type = typeOf(this.schema);
    const isNested = type === "object" && isObject(this.schema.properties) && depth < MAX_FIELD_DEPTH;
    if (isNested && (value === undefined || isObject(value))) this.makeGroup(value ?? {}, depth);
    else this.makeInput(type, value);
  }

  makeGroup(value, depth) {
    this.fields = makeFields(this.schema, value, depth + 1);
    const legend = element("legend", {}, text(makeLabel(this.name)));
    this.node = element("fieldset", {}, legend, ...this.fields.map((field) => field.node));
    this.undescribed = Object.fromEntries(
      Object.entries(value).filter(([name]) => !this.fields.some((field) => field.name === name)),
    );
  }

  makeInput(type, value) {
    const id = `field-${++lastField}`;
    const attributes = { id, "aria-describedby": `${id}-about`, "aria-required": this.isRequired ? "true" : null };
    this.kind = "text";
    if (Array.isArray(this.schema.enum) || type === "boolean") {
      this.kind = "choice";
      this.choices = this.schema.enum ?? [true, false];
      const options = this.choices.map((choice, number) =>
        element("option", { value: number }, visible(formatValue(choice) || "null")),
      );
      this.input = element("select", attributes, element("option", { value: "" }, "\u2013"), ...options);
      const chosen = this.choices.findIndex((choice) => choice === value);
      this.input.value = chosen < 0 ? "" : String(chosen);
    } else if (type === "integer" || type === "number") {
      this.kind = "number";
      this.input = element("input", { ...attributes, type: "text", inputmode: "decimal", dir: "ltr" });
      this.input.value = value ?? "";
    } else if (type === "string") {
      const isLong = typeof value === "string" && (value.length > 70 || value.includes("\n"));
      this.input = isLong
        ? element("textarea", { ...attributes, rows: 4, dir: "auto" })
        : element("input", { ...attributes, type: this.schema.format === "date" ? "date" : "text", dir: "auto" });
      this.input.value = value ?? "";
    } else {
      this.kind = "json";
      this.input = element("textarea", { ...attributes, rows: 4, class: "code", dir: "ltr", spellcheck: "false" });
      this.input.value = value === undefined ? "" : JSON.stringify(value, null, 2);
    }
    this.initial = this.input.value;
    this.value = value;
    this.problem = element("span", { class: "problem" });
    const about = element("span", { id: `${id}-about`, class: "about" }, text(this.schema.description ?? ""), this.problem);
    const name = element("span", { class: "name" }, text(makeLabel(this.name)), this.isRequired ? element("span", { class: "required" }, " required") : null);
    this.node = element("label", { for: id }, name, this.input, about);
  }

  get isBlank() {
    return this.fields ? this.fields.every((field) => field.isBlank) : this.input.value === "";
  }

  read() {
    if (this.fields) {
      // What an object requires is required only if there is the object.
      if (!this.isRequired && !this.wasGiven && this.isBlank) return undefined;
      const read = readFields(this.fields, this.undescribed);
      return Object.keys(read).length || this.wasGiven || this.isRequired ? read : undefined;
    }
    this.problem.textContent = "";
    this.input.removeAttribute("aria-invalid");
    const written = this.input.value;
    if (written === this.initial) {
      if (this.isRequired && this.value === undefined) this.fail("This is required.");
      return this.value; // exactly what it was
    }
    if (written === "") {
      if (this.isRequired && this.kind !== "text") this.fail("This is required.");
      return this.isRequired ? "" : undefined;
    }
    if (this.kind === "choice") return this.choices[Number(written)];
    if (this.kind === "number") return this.readNumber(written.trim());
    return this.kind === "json" ? this.readJson(written) : written;
  }

  readNumber(written) {
    const number = Number(written);
    if (!Number.isFinite(number)) this.fail("Write a number.");
    if (typeOf(this.schema) === "integer" && !Number.isSafeInteger(number)) this.fail("Write a whole number.");
    return number;
  }

  readJson(written) {
    try {
      return JSON.parse(written);
    } catch {
      return this.fail("Write JSON: a text in double quotes, a number, a list or an object.");
    }
  }

  fail(message) {
    this.problem.textContent = message;
    this.input.setAttribute("aria-invalid", "true");
    throw new InvalidField(this, message);
  }
}

function makeFields(schema, values, depth = 0) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(
    ([name, member]) => new Field(name, member, required.has(name), values[name], depth),
  );
}

function readFields(fields, others = {}) {
  const read = { ...others };
  for (const field of fields) {
    const value = field.read();
    if (value !== undefined) read[field.name] = value;
  }
  return read;
}

class Form {
  constructor(body) {
    this.body = body;
    this.args = {};
    this.state = "sending";
  }

  get isChangeable() {
    return Boolean(host.capabilities.serverTools);
  }

  show(args) {
    this.args = args;
    this.render();
  }

  finish(result) {
    this.result = result;
    this.state = "done";
    this.render();
  }

  // Show what is sent, as it is sent: the operation and every argument.
  summary(title) {
    const operation = config.operation ? element("code", { class: "operation" }, visible(config.operation)) : null;
    const isEmpty = Object.keys(this.args).length === 0;
    const sent = isEmpty ? element("p", { class: "empty" }, "No arguments.") : exactNode(this.args);
    return element("section", { class: "sent" }, element("h2", {}, title), operation, sent);
  }

  button(label, onclick, style = "") {
    return element("button", { type: "button", class: style, onclick }, label);
  }

  render() {
    const shown = { sending: this.sending, done: this.done, editing: this.editing, review: this.review };
    this.body.replaceChildren(...shown[this.state].call(this).filter(Boolean));
  }

  go(state) {
    this.state = state;
    this.render();
    this.body.querySelector("input, select, textarea, button")?.focus();
  }

  sending() {
    const told = config.confirm
      ? notice("warning", config.confirm, "Nothing is sent until you agree to the question of your client.")
      : notice("info", "Waiting for the answer\u2026");
    return [told, this.summary(config.confirm ? "What will be sent" : "What is sent")];
  }

  done() {
    const result = this.result;
    const failed = Boolean(result.isError);
    const told = failed ? notice("danger", "The call did not succeed.") : notice("success", "Sent.");
    const answer = element("section", { class: "answer" }, element("h2", {}, "Answer"), ...resultNodes(result));
    const again = this.isChangeable ? this.button("Change and send again", () => this.go("editing")) : null;
    return [told, this.summary("What was sent"), answer, again && element("div", { class: "buttons" }, again)];
  }

  editing() {
    const fields = makeFields(config.input_schema, this.args);
    const names = new Set(fields.map((field) => field.name));
    const others = Object.fromEntries(Object.entries(this.args).filter(([name]) => !names.has(name)));
    const submit = () => {
      try {
        this.args = readFields(fields, others);
      } catch (error) {
        if (!(error instanceof InvalidField)) throw error;
        error.field.input.focus();
        return;
      }
      if (config.read_only) this.send();
      else this.go("review");
    };
    const label = config.read_only ? "Send" : "Review";
    const buttons = element(
      "div",
      { class: "buttons" },
      this.button(label, submit, "primary"),
      this.button("Cancel", () => this.go("done")),
    );
    // No <form>: hosts need not permit a sandboxed page to submit one.
    const onkeydown = (event) => {
      if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
      event.preventDefault(); // of the press, which would reach the button that gets the focus
      submit();
    };
    const attributes = { class: "fields", role: "form", "aria-label": config.title, onkeydown };
    return [element("div", attributes, ...fields.map((field) => field.node), buttons)];
  }

  review() {
    const style = config.destructive ? "danger" : "primary";
    const warning = config.destructive
      ? notice("danger", "This changes or deletes something.", "Check what is sent.")
      : notice("info", "Check what is sent.");
    const buttons = element(
      "div",
      { class: "buttons" },
      this.button("Back", () => this.go("editing")),
      this.button("Send", () => this.send(), style),
    );
    return [warning, this.summary("What will be sent"), buttons];
  }

  async send() {
    this.state = "sending";
    this.render();
    try {
      this.finish(await callTool(this.args));
      tellModel(this.args, this.result);
    } catch (error) {
      this.finish({ isError: true, content: [{ type: "text", text: error.message }] });
    }
    this.body.querySelector("button")?.focus();
  }
}

// Let the model know what the user did, where the host takes that.
function tellModel(args, result) {
  if (!host.capabilities.updateModelContext) return;
  const answer = contentText(result).slice(0, 2000);
  const told = `The user sent \`${config.tool}\` again in its form, with ${JSON.stringify(args)}. ${answer}`;
  request("ui/update-model-context", { content: [{ type: "text", text: told }] }).catch(() => {});
}
