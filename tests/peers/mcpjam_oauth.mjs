// MCPJam's OAuth conformance flows against one server; prints their results as JSON.
//
// Usage: node mcpjam_oauth.mjs JSON, where JSON is {serverUrl, flows, metadata}:
// the flows of OAuthConformanceSuite, and metadata documents of clients by their URLs.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.NODE_PREFIX}/package.json`);
const { OAuthConformanceSuite } = await import(pathToFileURL(require.resolve("@mcpjam/sdk")));

const { serverUrl, flows, metadata } = JSON.parse(process.argv[2]);
const defaults = {
  auth: { mode: "headless" },
  oauthConformanceChecks: true,
  verification: { listTools: true },
  fetchFn: async (url, options) =>
    metadata[String(url)] ? Response.json(metadata[String(url)]) : fetch(url, options),
};
const suite = new OAuthConformanceSuite({ serverUrl, defaults, flows });
const { results } = await suite.run();
const summary = results.map(({ label, passed, steps, verification }) => ({
  label,
  passed,
  tools: verification?.listTools?.toolCount,
  steps: steps.map(({ step, status, error }) => ({ step, status, error: error?.message })),
}));
console.log(JSON.stringify(summary));
process.exit(0);
