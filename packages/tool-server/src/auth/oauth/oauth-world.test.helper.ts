import {
  type HostileAuthorizationServer,
  type HostileToolServer,
  type Quirk,
  startHostileAuthorizationServer,
  startHostileToolServer,
} from "@wirescope/quirks";
import { onTestFinished } from "vitest";
import type { TransportInfo } from "../../connection-info.js";
import { createHttpClient } from "../../http/create-http-client.js";
import type { HttpClient } from "../../http/http-client.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import type { Credential } from "../credentials/credential.js";
import { createMemoryVault } from "../vault/memory-vault.js";
import type { Vault } from "../vault/vault.js";
import type { OAuthLoginOptions } from "./login/login-options.js";
import { createOAuthCredential } from "./login/oauth-credential.js";
import { createOAuthLogin, type OAuthLogin } from "./login/oauth-login.js";
import type { HeldToken } from "./login-store.js";
import type { OAuthEvent } from "./oauth-log.js";
import type { Ask, SignInPrompt } from "./sign-in/ask.js";

/** A tool server, its authorization server, and a user of both. All ends with the test. */
export interface OAuthWorld {
  readonly authorization: HostileAuthorizationServer;
  readonly tool: HostileToolServer;
  readonly vault: Vault;
  readonly secrets: SecretRegistry;
  readonly events: OAuthEvent[];
  readonly http: HttpClient;
  /** The sign-in requests so far. */
  readonly signInRequests: SignInPrompt[];
  /** A user who opens the url and follows it. */
  readonly person: Ask;
  session(options?: Partial<OAuthLoginOptions>): OAuthLogin;
  /** A credential over a session; no user is asked unless `signIn` is given. */
  credential(options?: Partial<OAuthLoginOptions>, signIn?: Ask): { credential: Credential; session: OAuthLogin };
}

/** The transport that sockets of tests belong to. */
export const testTransport: TransportInfo = {
  target: "test",
  connection: {
    kind: "http",
    name: "notes",
    target: "test",
    tenant: {},
    credential: () => ({ kind: "oauth", summary: "", headers: [], environment: [] }),
  },
};

export async function createOAuthWorld(
  quirks: readonly Quirk[] = [],
  options: { readonly secrets?: SecretRegistry } = {},
): Promise<OAuthWorld> {
  const authorization = await startHostileAuthorizationServer({ quirks });
  const tool = await startHostileToolServer({
    quirks,
    authorizationServers: [authorization.issuer],
    scopesOf: (token) => authorization.scopesOf(token),
  });
  const secrets = options.secrets ?? createSecretRegistry();
  const http = createTestHttpClient(secrets);
  const vault = createMemoryVault();
  const events: OAuthEvent[] = [];
  const { person, signInRequests } = createPerson();
  const sessions: OAuthLogin[] = [];
  onTestFinished(async () => {
    await Promise.all(sessions.map((session) => session.close()));
    await http.close();
    await Promise.all([authorization.close(), tool.close(), vault.dispose()]);
  });
  const session = (given: Partial<OAuthLoginOptions> = {}): OAuthLogin => {
    const created = createOAuthLogin({
      server: "notes",
      url: tool.url,
      profile: "test",
      vault,
      http,
      secrets,
      allowInsecureLoopback: true,
      ...given,
    });
    created.context.log.subscribe((event) => events.push(event));
    sessions.push(created);
    return created;
  };
  return {
    authorization,
    tool,
    vault,
    secrets,
    events,
    http,
    signInRequests,
    person,
    session,
    credential(given, signIn) {
      const created = session(given);
      return { session: created, credential: createOAuthCredential({ session: created, signIn }) };
    },
  };
}

/** The real HTTP client. */
export function createTestHttpClient(secrets: SecretRegistry): HttpClient {
  return createHttpClient({ server: "notes", transport: () => testTransport, secrets });
}

export interface Person {
  readonly person: Ask;
  /** The sign-in requests so far. */
  readonly signInRequests: SignInPrompt[];
  /** The last page of each sign-in. */
  readonly pages: string[];
}

/** A user who signs in whenever asked: opens the url, and follows the redirects. */
export function createPerson(): Person {
  const signInRequests: SignInPrompt[] = [];
  const pages: string[] = [];
  return {
    signInRequests,
    pages,
    person: {
      async show(request) {
        signInRequests.push(request);
        if (request.way.kind === "browser") pages.push(await (await browse(request.way.url)).text());
        return undefined;
      },
    },
  };
}

/** The token that a session would send now. */
export async function currentToken(session: OAuthLogin): Promise<HeldToken | undefined> {
  return (await session.tokens())?.current();
}

/** The token that a session sends instead of a refused one. */
export async function replaceToken(
  session: OAuthLogin,
  refused: HeldToken | undefined,
): Promise<HeldToken | undefined> {
  return (await session.tokens())?.replace(refused);
}

/** Follows a url as a browser would, and returns the last response. */
export async function browse(url: string): Promise<Response> {
  return fetch(url, { redirect: "follow" });
}

/** Sends one request to the tool server with a credential, as a transport does: again if the credential says so. */
export async function callTool(tool: Pick<HostileToolServer, "url">, credential: Credential): Promise<ToolCall> {
  for (let attempt = 1; ; attempt += 1) {
    const sent = await credential.headers();
    const response = await fetch(tool.url, { method: "POST", headers: { ...sent }, body: "{}" });
    await response.text();
    if (response.ok) return { status: response.status, attempts: attempt };
    const decision = await credential.refused({
      status: response.status,
      sent,
      attempt,
      challenge: response.headers.get("www-authenticate") ?? undefined,
      dpopNonce: response.headers.get("dpop-nonce") ?? undefined,
    });
    if (decision.action === "give-up") return { status: response.status, attempts: attempt, ...decision };
  }
}

export interface ToolCall {
  readonly status: number;
  readonly attempts: number;
  readonly reason?: string;
  readonly advice?: string | undefined;
  readonly code?: string | undefined;
}
