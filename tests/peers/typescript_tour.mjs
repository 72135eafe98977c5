// Visits everything-mcp with a TypeScript client: `typescript_tour.mjs client|sdk`, run in the
// folder whose node_modules has it. Reads `mode` and `command` and `environment`, or `url`, as
// JSON on stdin; prints what the client understood.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const order = JSON.parse(await text(process.stdin));
const isNew = process.argv[2] === "client";

const packages = isNew
  ? ["@modelcontextprotocol/client", "@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"]
  : ["index", "streamableHttp", "stdio"].map((it) => `@modelcontextprotocol/sdk/client/${it}.js`);
const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] =
  await Promise.all(packages.map(load));

const answers = {
  "elicitation/create": () => ({
    action: "accept",
    content: { username: "ada", email: "a@b.example" },
  }),
  "sampling/createMessage": () => ({
    role: "assistant",
    content: { type: "text", text: "Hello" },
    model: "m",
  }),
  "roots/list": () => ({ roots: [{ uri: "file:///work" }] }),
};
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const logged = [];
const progress = [];
const options = { capabilities };
if (isNew) options.versionNegotiation = { mode: order.mode };
const client = new Client({ name: "tour", version: "1" }, options);
if (isNew) {
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  client.setNotificationHandler("notifications/message", (it) => void logged.push(it));
} else {
  const types = await load("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(types.ElicitRequestSchema, answers["elicitation/create"]);
  client.setRequestHandler(types.CreateMessageRequestSchema, answers["sampling/createMessage"]);
  client.setRequestHandler(types.ListRootsRequestSchema, answers["roots/list"]);
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, (it) => void logged.push(it));
}
const [command, ...args] = order.command ?? [];
const transport = order.url
  ? new StreamableHTTPClientTransport(new URL(order.url))
  : new StdioClientTransport({ command, args, env: order.environment, stderr: "ignore" });
await client.connect(transport);

const call = (name, given = {}, meta = undefined, options = undefined) => {
  const params = { name, arguments: given, ...(meta && { _meta: meta }) };
  return isNew ? client.callTool(params, options) : client.callTool(params, undefined, options);
};
const onprogress = (it) => void progress.push(it.progress);
const said = async (...given) => (await call(...given)).content[0].text;
const prompt = await client.getPrompt({
  name: "test_prompt_with_arguments",
  arguments: { arg1: "a", arg2: "b" },
});
const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
  argument: { name: "arg1", value: "par" },
});
const seen = {
  revision: isNew ? client.getNegotiatedProtocolVersion() : (transport.protocolVersion ?? "2025-11-25"),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  prompts: (await client.listPrompts()).prompts.length,
  resources: (await client.listResources()).resources.length,
  templates: (await client.listResourceTemplates()).resourceTemplates.length,
  kinds: (await call("test_multiple_content_types")).content.map((it) => it.type),
  structured: (await call("test_structured_content")).structuredContent,
  failed: (await call("test_error_handling")).isError,
  elicited: await said("test_elicitation", { message: "Who?" }),
  sampled: await said("test_sampling", { prompt: "Hello?" }),
  roots: await said("test_list_roots"),
  said: await said("test_tool_with_progress", {}, undefined, { onprogress }),
  prompt: prompt.messages[0].content.text,
  read: await read("test://static-text"),
  templated: JSON.parse(await read("test://template/7/data")).id,
  completed: completed.completion.values,
};
await call("test_tool_with_logging", {}, { "io.modelcontextprotocol/logLevel": "info" });
await client.close();
console.log(JSON.stringify({ ...seen, progress, logged: logged.length }));
