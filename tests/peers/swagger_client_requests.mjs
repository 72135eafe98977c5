// swagger-client as a judge: the requests that it makes of given arguments, one JSON a line.
//
// Each line of stdin is {"document": ..., "calls": [...]}, as tests/corpus/calls.py writes them;
// each line of stdout has the request of each call. The folder with node_modules is an argument.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import path from "node:path";

const require = createRequire(path.resolve(process.argv[2], "package.json"));
const { default: Swagger } = await import(require.resolve("swagger-client"));
const SwaggerClient = Swagger.default ?? Swagger;
const SECONDS_A_DOCUMENT = 90;
const BASE_URL = "https://judged.example";
console.warn = console.error = () => {};

let last = {};

// Calls of one operation follow each other, so only the last one is kept.
async function resolved(document, operation) {
  if (last.document !== document || last.operation !== operation)
    last = { document, operation, ...(await resolve(document, operation)) };
  return last;
}

// Responses have no part in a request, and resolving their schemas takes most of the time.
async function resolve(document, name) {
  const [method, pathName] = split(name);
  const { parameters, [method.toLowerCase()]: whole } = document.paths[pathName];
  const { responses, callbacks, ...asked } = whole;
  const alone = { ...(parameters && { parameters }), [method.toLowerCase()]: asked };
  const refersToPaths = JSON.stringify(alone).includes("#/paths/");
  const paths = { ...(refersToPaths && document.paths), [pathName]: alone };
  const at = ["paths", pathName];
  const part = { ...document, paths };
  const { spec: operation } = await SwaggerClient.resolveSubtree(part, [...at, method.toLowerCase()]);
  const { spec: shared } = parameters
    ? await SwaggerClient.resolveSubtree(part, [...at, "parameters"])
    : { spec: undefined };
  const item = { [method.toLowerCase()]: operation, ...(shared && { parameters: Object.values(shared) }) };
  // What only a credential fills is not among the arguments, and is not judged.
  for (const parameter of [...(operation.parameters ?? []), ...(item.parameters ?? [])])
    if (parameter.in !== "path") parameter.required = false;
  return { spec: { ...document, paths: { [pathName]: item } }, declared: operation, shared };
}

async function requestOf(document, call) {
  const [method, pathName] = split(call.operation);
  const { spec, declared, shared } = await resolved(document, call.operation);
  const parameters = {};
  for (const [location, values] of Object.entries(call.values))
    for (const [name, value] of Object.entries(values)) parameters[`${location}.${name}`] = value;
  const options = { spec, baseURL: BASE_URL, operationId: `${method.toLowerCase()}-${pathName}`, parameters };
  if ("body" in call) addBody(options, document, declared, shared, call);
  return spelled(await SwaggerClient.buildRequest(options));
}

function addBody(options, document, operation, shared, call) {
  options.requestContentType = call.content_type;
  if (!document.swagger) {
    options.requestBody = call.body;
    return;
  }
  const declared = [...(operation.parameters ?? []), ...Object.values(shared ?? {})];
  const body = declared.find((parameter) => parameter.in === "body");
  if (body) options.parameters[`body.${body.name}`] = call.body;
  else
    for (const [name, value] of Object.entries(call.body)) options.parameters[`formData.${name}`] = value;
}

function split(operation) {
  const at = operation.indexOf(" ");
  return [operation.slice(0, at), operation.slice(at + 1)];
}

async function spelled(request) {
  const made = { method: request.method, url: request.url, headers: Object.entries(request.headers), body: null };
  if (request.body instanceof FormData) {
    made.parts = [];
    for (const [name, value] of request.body.entries())
      made.parts.push([name, Buffer.from(typeof value === "string" ? value : await value.arrayBuffer()).toString("base64")]);
  } else if (request.body !== undefined) {
    // What `execute` does before it sends.
    const text = typeof request.body === "object" ? JSON.stringify(request.body) : String(request.body);
    made.body = Buffer.from(text).toString("base64");
  }
  return made;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { document, calls } = JSON.parse(line);
  const made = [];
  const until = Date.now() + SECONDS_A_DOCUMENT * 1000;
  for (const call of calls) {
    try {
      if (Date.now() > until) throw new Error(`over ${SECONDS_A_DOCUMENT} seconds for the document`);
      made.push(await requestOf(document, call));
    } catch (error) {
      made.push({ failed: String(error).slice(0, 200) });
    }
  }
  console.log(JSON.stringify(made));
}
