// A small server on the TypeScript SDK: `typescript.mjs NODE_MODULES PACKAGE`, over stdio.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, name] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (path) => import(pathToFileURL(require.resolve(path)).href);

const { z } = await load("zod");
const isFirst = name === "@modelcontextprotocol/sdk";
const { McpServer, ResourceTemplate } = await load(isFirst ? `${name}/server/mcp.js` : name);
const { StdioServerTransport } = await load(isFirst ? `${name}/server/stdio.js` : `${name}/stdio`);

const server = new McpServer({ name: "typescript-server", version: "1.0.0" });
const shape = (fields) => (isFirst ? fields : z.object(fields));

server.registerTool(
  "add",
  {
    description: "Add two integers.",
    inputSchema: shape({ a: z.number().int(), b: z.number().int() }),
    outputSchema: shape({ sum: z.number().int() }),
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({
    content: [{ type: "text", text: JSON.stringify({ sum: a + b }) }],
    structuredContent: { sum: a + b },
  }),
);
server.registerResource(
  "hello",
  "memo://hello",
  { description: "A text.", mimeType: "text/plain" },
  async (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "hello" }] }),
);
server.registerPrompt(
  "greet",
  { description: "Greet somebody.", argsSchema: shape({ name: z.string() }) },
  async ({ name: who }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${who}.` } }],
  }),
);
await server.connect(new StdioServerTransport());
