// MCPJam's checks of MCP Apps against one server; prints the checks as JSON.
//
// Usage: node mcpjam_apps.mjs JSON, where JSON is {serverUrl}.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.NODE_PREFIX}/package.json`);
const { MCPAppsConformanceTest } = await import(pathToFileURL(require.resolve("@mcpjam/sdk")));

const { serverUrl } = JSON.parse(process.argv[2]);
const { checks, discovery } = await new MCPAppsConformanceTest({ url: serverUrl }).run();
console.log(JSON.stringify({ checks, discovery }));
process.exit(0);
