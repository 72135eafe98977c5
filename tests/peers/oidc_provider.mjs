// An authorization server: `oidc-provider`, which signs every user in without a page.
//
// Usage: node oidc_provider.mjs JSON, where JSON is {resource, scopes, clients, port}.
// It prints its issuer, and serves until its standard input ends. The user is `login_hint`, else "alice".
// Access tokens for the resource are JWTs; `opaque: true` makes them opaque, for introspection.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.NODE_PREFIX}/package.json`);
const { default: Provider, errors } = await import(
  pathToFileURL(require.resolve("oidc-provider")),
);

const settings = JSON.parse(process.argv[2]);
const server = createServer();
await new Promise((resolve) => server.listen(settings.port ?? 0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

// What the metadata documents of clients are fetched with: this machine's own ones are not https.
const metadata = settings.metadata ?? {};

const provider = new Provider(issuer, {
  clients: settings.clients ?? [],
  scopes: ["openid", "offline_access", ...settings.scopes],
  pkce: { required: () => true },
  clientDefaults: { grant_types: ["authorization_code", "refresh_token"] },
  ttl: { AccessToken: settings.lifetime ?? 600, ClientCredentials: settings.lifetime ?? 600 },
  fetch: async (url, options) => {
    const document = metadata[String(url)];
    return document ? Response.json(document) : fetch(url, options);
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => settings.resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        audience: resource,
        scope: settings.scopes.join(" "),
        accessTokenFormat: settings.opaque ? "opaque" : "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  interactions: { policy: [] },
  extraClientMetadata: {
    properties: ["redirect_uris"],
    validator: (_ctx, _key, uris, { redirect_uris = uris }) => {
      const isSafe = (uri) => uri.startsWith("https:") || /^http:..(127.0.0.1|localhost)[:/]/.test(uri);
      if (!(redirect_uris ?? []).every(isSafe))
        throw new errors.InvalidClientMetadata("redirect_uris must be https or on this machine");
    },
  },
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
  loadExistingGrant: async (ctx) => {
    const { client, session, params } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({
      accountId: session.accountId,
      clientId: client.clientId,
    });
    grant.addOIDCScope("openid offline_access");
    for (const resource of [params.resource ?? settings.resource].flat())
      grant.addResourceScope(resource, settings.scopes.join(" "));
    await grant.save(600);
    return grant;
  },
});

// No page is ever shown, whatever the client asks for.
provider.use((ctx, next) => {
  const { prompt, ...query } = ctx.query;
  if (ctx.path === "/auth" && prompt !== undefined) ctx.query = query;
  return next();
});

// A session with a user, whatever cookies came.
const { Session } = provider;
Session.get = async (ctx) => {
  const session = new Session({});
  session.loginAccount({ accountId: String(ctx.query?.login_hint ?? "alice") });
  return session;
};

provider.on("server_error", (_ctx, error) => console.error(error));
server.on("request", provider.callback());
console.log(issuer);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
