import { type HostileToolServer, startHostileToolServer } from "@wirescope/quirks";
import {
  type Clock,
  type Credential,
  createHttpClient,
  createMemoryVault,
  createOAuthSession,
  createSecretRegistry,
  type OAuthSession,
  type OAuthSessionOptions,
  type SignIn,
  type SignInRequest,
  systemClock,
} from "@wirescope/tool-server";
import { onTestFinished } from "vitest";
import { createBrowser, type Page } from "./browser.test.helper.js";
import {
  type RealAuthorizationServer,
  type RealServerOptions,
  startRealAuthorizationServer,
} from "./real-authorization-server.test.helper.js";

/** A tool server, a real authorization server, and a user of both. All ends with the test. */
export interface RealWorld {
  readonly authorization: RealAuthorizationServer;
  readonly tool: HostileToolServer;
  /** Someone with a browser. */
  readonly person: SignIn;
  readonly asked: SignInRequest[];
  readonly pages: Page[];
  session(options?: Partial<OAuthSessionOptions>): OAuthSession;
}

export async function createRealWorld(options: RealServerOptions = {}): Promise<RealWorld> {
  const authorization = await startRealAuthorizationServer(options);
  const tool = await startHostileToolServer({
    authorizationServers: [authorization.issuer],
    scopesOf: async (token) => (await authorization.find(token))?.scopes,
  });
  tool.scopesSupported = ["openid", "notes:read"];
  tool.challengedScope = "";
  const secrets = createSecretRegistry();
  const http = createHttpClient({
    server: "notes",
    secrets,
    transport: () => ({
      target: tool.url,
      connection: {
        kind: "http",
        name: "notes",
        target: tool.url,
        tenant: {},
        credential: () => ({ kind: "oauth", summary: "", headers: [], environment: [] }),
      },
    }),
  });
  const vault = createMemoryVault();
  const sessions: OAuthSession[] = [];
  const asked: SignInRequest[] = [];
  const pages: Page[] = [];
  onTestFinished(async () => {
    await Promise.all(sessions.map((session) => session.close()));
    await http.close();
    await Promise.all([tool.close(), vault.dispose()]);
  });
  return {
    authorization,
    tool,
    asked,
    pages,
    person: {
      async begin(request) {
        asked.push(request);
        pages.push(await createBrowser().open(request.way.url));
        return undefined;
      },
    },
    session(given = {}) {
      const base = {
        server: "notes",
        url: tool.url,
        profile: "test",
        vault,
        http,
        secrets,
        allowInsecureLoopback: true,
      };
      const session = createOAuthSession({ ...base, ...given });
      sessions.push(session);
      return session;
    },
  };
}

/** A clock that can be put forward; who waits, waits as long as ever. */
export function createLeapingClock(): Clock & { leap(ms: number): void } {
  let ahead = 0;
  return {
    ...systemClock,
    now: () => Date.now() + ahead,
    leap(ms) {
      ahead += ms;
    },
  };
}

/** One request to the tool server with a credential, as a transport sends it: again where the credential says so. */
export async function callTool(
  { url }: { readonly url: string },
  credential: Credential,
): Promise<{ status: number; attempts: number; reason?: string; code?: string | undefined }> {
  for (let attempt = 1; ; attempt += 1) {
    const sent = await credential.headers();
    const answer = await fetch(url, { method: "POST", headers: { ...sent }, body: "{}" });
    await answer.text();
    if (answer.ok) return { status: answer.status, attempts: attempt };
    const decision = await credential.refused({
      status: answer.status,
      sent,
      attempt,
      challenge: answer.headers.get("www-authenticate") ?? undefined,
      dpopNonce: answer.headers.get("dpop-nonce") ?? undefined,
    });
    if (decision.action === "give-up") return { status: answer.status, attempts: attempt, ...decision };
  }
}
