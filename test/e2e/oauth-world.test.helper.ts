import { type HostileToolServer, startHostileToolServer } from "@wirescope/quirks";
import { type Clock, createSecretRegistry, ToolServerError, type TransportInfo } from "@wirescope/tool-server";
import {
  type Ask,
  type Credential,
  createMemoryVault,
  createOAuthLogin,
  type OAuthLogin,
  type OAuthLoginOptions,
  type SignInPrompt,
} from "@wirescope/tool-server/auth";
import {
  createHttpClient,
  createStreamableHttpTransport,
  defaultLimits,
  type HttpClient,
  systemClock,
} from "@wirescope/tool-server/internal";
import { onTestFinished } from "vitest";
import { createBrowser, type Page } from "./browser.test.helper.js";
import {
  type RealAuthorizationServer,
  type RealServerOptions,
  startRealAuthorizationServer,
} from "./real-authorization-server.test.helper.js";

/** A tool server, a real authorization server, and a user of both. Everything ends with the test. */
export interface RealWorld {
  readonly authorization: RealAuthorizationServer;
  readonly tool: HostileToolServer;
  /** A user with a browser. */
  readonly person: Ask;
  readonly asked: SignInPrompt[];
  readonly pages: Page[];
  session(options?: Partial<OAuthLoginOptions>): OAuthLogin;
  /** Sends one request with a credential, over the real transport. Default: to the tool server. */
  call(credential: Credential, url?: string): Promise<Call>;
}

/** How a request ended. */
export interface Call {
  readonly status: number | undefined;
  /** How often it was sent. */
  readonly attempts: number;
  /** Why it failed. */
  readonly failure?: ToolServerError;
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
  const info: TransportInfo = {
    target: tool.url,
    connection: {
      kind: "http",
      name: "notes",
      target: tool.url,
      tenant: {},
      credential: () => ({ kind: "oauth", summary: "", headers: [], environment: [] }),
    },
  };
  const http = createHttpClient({ server: "notes", secrets, transport: () => info });
  const vault = createMemoryVault();
  const sessions: OAuthLogin[] = [];
  const asked: SignInPrompt[] = [];
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
      async show(request) {
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
      const session = createOAuthLogin({ ...base, ...given });
      sessions.push(session);
      return session;
    },
    async call(credential, url = tool.url) {
      let attempts = 0;
      const counted: HttpClient = {
        ...http,
        send(request) {
          attempts += 1;
          return http.send(request);
        },
      };
      const transport = createStreamableHttpTransport({
        ...{ server: "notes", url: new URL(url), http: counted, secrets, info, credential },
        ...{ report: () => {}, clock: systemClock, limits: defaultLimits },
      });
      await transport.start();
      try {
        await transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
        return { status: 200, attempts };
      } catch (failure) {
        if (!ToolServerError.is(failure)) throw failure;
        return { status: failure.details.status, attempts, failure };
      } finally {
        await transport.close();
      }
    },
  };
}

/** A clock that can be advanced; timers are not affected. */
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
