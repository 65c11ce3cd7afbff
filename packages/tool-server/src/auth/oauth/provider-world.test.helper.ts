import { get } from "node:https";
import { type Provider, type ProviderServer, providerTable, startProvider } from "@wirescope/quirks";
import { onTestFinished } from "vitest";
import { startConnectProxy } from "../../http/connect-proxy.test.helper.js";
import { createHttpClient } from "../../http/create-http-client.js";
import { createSelfSigned } from "../../http/self-signed.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createMemoryVault } from "../vault/memory-vault.js";
import type { OAuthLoginOptions } from "./login/login-options.js";
import { createOAuthCredential } from "./login/oauth-credential.js";
import { createOAuthLogin, type OAuthLogin } from "./login/oauth-login.js";
import { testTransport } from "./oauth-world.test.helper.js";
import type { Ask } from "./sign-in/ask.js";

/** An imitated provider at its real host names, behind a proxy, and a user who signs in there. All ends with the test. */
export interface ProviderWorld {
  readonly provider: ProviderServer;
  /** The variables and certificates that every request to it needs. */
  readonly variables: { readonly HTTPS_PROXY: string };
  readonly ca: string;
  readonly person: Ask;
  /** The pages that the user was sent to. */
  readonly pages: URL[];
  session(options?: Partial<OAuthLoginOptions>): OAuthLogin;
  /** The status of a request to the tool server with the token of a session, after a sign-in if one is needed. */
  call(session: OAuthLogin): Promise<number>;
}

const hosts = Object.values(providerTable).flatMap(({ tool, host, authorizePath, tokenPath }) => {
  const urls = [tool, `https://${host}`, authorizePath, tokenPath];
  return urls.flatMap((url) => (url.startsWith("https://") ? [new URL(url).hostname] : []));
});
/** For all worlds: a client loads all CAs for each list of additional ones. */
const tls = createSelfSigned(2020, 2056, [...hosts, "*.contoso.example", "mcp.slack.example"]);

export async function createProviderWorld(
  name: Provider,
  options: { host?: string | undefined } = {},
): Promise<ProviderWorld> {
  const provider = await startProvider({ provider: name, tls, host: options.host });
  const port = Number(new URL(provider.origin).port);
  const proxy = await startConnectProxy({ everythingTo: port });
  const variables = { HTTPS_PROXY: proxy.url() };
  const secrets = createSecretRegistry();
  const settings = { server: "notes", transport: () => testTransport, secrets, variables, tls: { ca: tls.cert } };
  const http = createHttpClient(settings);
  const vault = createMemoryVault();
  const sessions: OAuthLogin[] = [];
  onTestFinished(async () => {
    await Promise.all(sessions.map((session) => session.close()));
    await http.close();
    await provider.close();
  });
  const pages: URL[] = [];
  const person: Ask = {
    async show(request) {
      if (request.way.kind !== "browser") throw new Error("No browser is asked for.");
      const page = new URL(request.way.url);
      pages.push(page);
      await fetch(await locationOf(page, port, tls.cert));
      return undefined;
    },
  };
  return {
    provider,
    variables,
    ca: tls.cert,
    person,
    pages,
    session(given = {}) {
      const session = createOAuthLogin({
        server: "notes",
        url: provider.toolUrl,
        profile: "test",
        vault,
        http,
        secrets,
        ...given,
      });
      sessions.push(session);
      return session;
    },
    async call(session) {
      const credential = createOAuthCredential({ session, signIn: person });
      for (let attempt = 1; ; attempt += 1) {
        const sent = await credential.headers();
        const response = await http.send({
          method: "POST",
          url: new URL(provider.toolUrl),
          headers: { ...sent },
          body: "{}",
          peer: "the tool server",
        });
        await response.text(10_000);
        const challenge = response.headers["www-authenticate"];
        if (response.status !== 401) return response.status;
        const decision = await credential.refused({ status: 401, sent, attempt, challenge });
        if (decision.action === "give-up") return response.status;
      }
    },
  };
}

/** Where the sign-in page redirects to. */
function locationOf(page: URL, port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = `${page.pathname}${page.search}`;
    const headers = { host: page.host };
    get({ host: "127.0.0.1", port, path, headers, servername: page.hostname, ca }, (response) => {
      response.resume();
      const { location } = response.headers;
      if (location === undefined) reject(new Error(`The page has the status ${response.statusCode}.`));
      else resolve(location);
    }).on("error", reject);
  });
}
