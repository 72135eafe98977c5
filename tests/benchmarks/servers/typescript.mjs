// The same tools on McpServer of the TypeScript SDK: `typescript.mjs NODE_MODULES TOOLS`.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, count] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (path) => import(pathToFileURL(require.resolve(path)).href);

const { z } = await load("zod");
const { McpServer } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");

function makeServer() {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  const inputSchema = z.strictObject({ text: z.string(), times: z.number().int() });
  for (let index = 0; index < Number(count); index += 1) {
    const described = { description: "Repeat a text.", inputSchema };
    server.registerTool(`repeat_${index}`, described, async ({ text, times }) => ({
      content: [{ type: "text", text: text.repeat(times) }],
    }));
  }
  return server;
}

serveStdio(makeServer);
