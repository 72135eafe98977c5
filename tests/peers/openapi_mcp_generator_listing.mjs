// Prints the tools that openapi-mcp-generator makes of an OpenAPI document, one JSON line for each.
//
// `openapi_mcp_generator_listing.mjs PACKAGE FILE`: PACKAGE is the folder of the installed package.
// A line has `operation` ("GET /path") and `definition`: the members that the servers which it
// generates list. A definition that is no JSON, because it contains itself, is `null`.
import { pathToFileURL } from 'node:url';

const [, , folder, file] = process.argv;
const { getToolsFromOpenApi } = await import(pathToFileURL(`${folder}/dist/api.js`));
const options = { dereference: true, baseUrl: 'https://api.example.com' };
for (const tool of await getToolsFromOpenApi(file, options)) {
  const operation = `${tool.method.toUpperCase()} ${tool.pathTemplate}`;
  const { name, description, inputSchema } = tool;
  let line;
  try {
    line = JSON.stringify({ operation, definition: { name, description, inputSchema } });
  } catch {
    line = JSON.stringify({ operation, definition: null });
  }
  console.log(line);
}
