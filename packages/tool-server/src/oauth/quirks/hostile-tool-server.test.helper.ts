import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type LoggedRequest, readRequest } from "./hostile-authorization-server.test.helper.js";
import type { Quirk } from "./quirk-table.test.helper.js";

/** A tool server that wants a token, and whose manners can be switched off one by one. */
export interface HostileToolServer {
  readonly origin: string;
  readonly url: string;
  readonly quirks: Set<Quirk>;
  readonly requests: readonly LoggedRequest[];
  /** The issuers that it names. */
  authorizationServers: readonly string[];
  /** The scope of its challenge; none where it is empty. */
  challengedScope: string;
  scopesSupported: readonly string[] | undefined;
  /** The scope that each request needs; 403 without it. */
  neededScope: string | undefined;
  close(): Promise<void>;
}

export interface HostileToolServerOptions {
  readonly quirks?: readonly Quirk[];
  readonly authorizationServers?: readonly string[];
  /** The scopes that a token is good for; undefined where it is not. */
  readonly scopesOf: (accessToken: string) => readonly string[] | undefined | Promise<readonly string[] | undefined>;
}

const wellKnown = "/.well-known/oauth-protected-resource";

export async function startHostileToolServer(options: HostileToolServerOptions): Promise<HostileToolServer> {
  const quirks = new Set(options.quirks);
  const requests: LoggedRequest[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const has = (quirk: Quirk): boolean => quirks.has(quirk);
  const self: HostileToolServer = {
    origin,
    url: `${origin}/mcp`,
    quirks,
    requests,
    authorizationServers: options.authorizationServers ?? [],
    challengedScope: "notes:read",
    scopesSupported: ["notes:read"],
    neededScope: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const metadata = (): unknown => ({
    resource: has("resource-of-another")
      ? "https://evil.example/mcp"
      : has("resource-with-slash")
        ? `${self.url}/`
        : self.url,
    authorization_servers: self.authorizationServers,
    scopes_supported: self.scopesSupported,
  });

  const metadataPath = (): string => {
    if (has("resource-metadata-elsewhere")) return "/about/me.json";
    return has("resource-metadata-at-root") ? wellKnown : `${wellKnown}/mcp`;
  };

  const challenge = (more = "", scope = self.challengedScope): string => {
    if (has("resource-challenge-silent")) return "Bearer";
    const isNamed =
      !has("resource-metadata-at-root") && !has("resource-without-metadata") && !has("resource-metadata-html");
    const parts = [
      more,
      scope === "" ? "" : `scope="${scope}"`,
      isNamed ? `resource_metadata="${origin}${metadataPath()}"` : "",
    ];
    return `Bearer ${parts.filter((part) => part !== "").join(", ")}`;
  };

  const respond = async ({ path, headers }: LoggedRequest): Promise<[number, string, Record<string, string>?]> => {
    if (path === "/mcp") {
      const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
      const scopes = token === undefined ? undefined : await options.scopesOf(token);
      if (scopes === undefined || has("resource-refuses-all")) return [401, "{}", { "www-authenticate": challenge() }];
      const needed = has("resource-wants-more") ? `more:${requests.length}` : self.neededScope;
      if (needed === undefined || scopes.includes(needed)) return [200, `{"jsonrpc":"2.0","id":1,"result":{}}`];
      return [403, "{}", { "www-authenticate": challenge('error="insufficient_scope"', needed) }];
    }
    if (has("resource-metadata-html") && path.startsWith("/.well-known/"))
      return [200, "<!doctype html>", { "content-type": "text/html" }];
    if (path === metadataPath() && !has("resource-without-metadata")) return [200, JSON.stringify(metadata())];
    return [404, "no"];
  };

  server.on("request", async (incoming, response) => {
    const request = await readRequest(incoming, origin);
    requests.push(request);
    const [status, body, headers] = await respond(request);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  return self;
}
