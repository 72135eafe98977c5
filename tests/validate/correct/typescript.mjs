// A small server on the TypeScript SDK: `typescript.mjs NODE_MODULES PACKAGE [PORT]`.
//
// Over stdio, or over HTTP with the protection against DNS rebinding that the SDK offers.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, name, port] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (path) => import(pathToFileURL(require.resolve(path)).href);

const { z } = await load("zod");
const isFirst = name === "@modelcontextprotocol/sdk";
const { McpServer, ResourceTemplate } = await load(isFirst ? `${name}/server/mcp.js` : name);
const { StdioServerTransport } = await load(isFirst ? `${name}/server/stdio.js` : `${name}/stdio`);

const shape = (fields) => (isFirst ? fields : z.object(fields));

function makeServer() {
  const server = new McpServer({ name: "typescript-server", version: "1.0.0" });
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
  return server;
}

// Each session has a server and a transport of its own.
async function serveFirst() {
  const { StreamableHTTPServerTransport } = await load(`${name}/server/streamableHttp.js`);
  const transports = new Map();
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (id !== undefined && !transports.has(id)) {
      response.writeHead(404).end();
      return;
    }
    let transport = transports.get(id);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (created) => transports.set(created, transport),
        onsessionclosed: (closed) => transports.delete(closed),
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
        allowedOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  };
}

// A handler of web requests, which serves both eras without sessions.
async function serveSecond() {
  const sdk = await load(name);
  const handler = sdk.createMcpHandler(makeServer);
  return async (request, response) => {
    const asked = new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      ...(request.method === "POST" && { body: Readable.toWeb(request), duplex: "half" }),
    });
    const answer =
      sdk.hostHeaderValidationResponse(asked, sdk.localhostAllowedHostnames()) ??
      sdk.originValidationResponse(asked, sdk.localhostAllowedOrigins()) ??
      (await handler.fetch(asked));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) {
      response.end();
      return;
    }
    const body = Readable.fromWeb(answer.body);
    response.on("close", () => body.destroy());
    body.on("error", () => response.destroy());
    body.pipe(response);
  };
}

if (port === undefined) {
  await makeServer().connect(new StdioServerTransport());
} else {
  const serve = await (isFirst ? serveFirst() : serveSecond());
  createServer(serve).listen(Number(port), "127.0.0.1");
}
