// A client of the TypeScript SDK for 2026-07-28: `typescript-client-2.4.0 SERVER [TOOL [ARGUMENTS]]`. The first
// argument is the folder of Node's modules. Otherwise as `mcp_1_30.py`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, command, tool, given = "{}"] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const client = new Client(
  { name: "journey", version: "1" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } },
);
client.setRequestHandler("elicitation/create", ({ params }) => {
  const action = process.env.ANSWER ?? "accept";
  console.log(`asked: ${params.message}\nanswered: ${action}`);
  return action === "accept" ? { action, content: {} } : { action };
});
await client.connect(new StdioClientTransport({ command, env: process.env, stderr: "inherit" }));
console.log(`revision: ${client.getNegotiatedProtocolVersion()}`);
if (tool === undefined) {
  const { tools } = await client.listTools();
  console.log(`tools: ${tools.map((it) => it.name).join(", ")}`);
} else {
  try {
    const result = await client.callTool({ name: tool, arguments: JSON.parse(given) });
    console.log(result.isError ? "error:" : "result:");
    for (const content of result.content) console.log(pretty(content.text));
  } catch (error) {
    console.log(`refused: ${error.message}`);
  }
}
await client.close();

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
