import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { GatewayEvent, GatewaySignIn } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry, type SecretRegistry } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished } from "vitest";
import { createBrowser, type Page } from "./browser.test.helper.js";
import { type GuardedToolServer, startGuardedToolServer } from "./guarded-tool-server.test.helper.js";
import { createLeapingClock } from "./oauth-world.test.helper.js";
import { type RealAuthorizationServer, startRealAuthorizationServer } from "./real-authorization-server.test.helper.js";

export const pollOptions = { timeout: 60_000, interval: 20 };

/** A gateway to `notes`, which requires a sign-in with a real authorization server. Everything ends with the test. */
export interface SignInWorld {
  readonly authorization: RealAuthorizationServer;
  readonly tool: GuardedToolServer;
  readonly gateway: Gateway;
  readonly events: readonly GatewayEvent[];
  /** The pages that a browser was opened at. */
  readonly opened: readonly string[];
  readonly clock: ReturnType<typeof createLeapingClock>;
  /** The default of `endpoint` is the gateway's own. */
  connect(mode: "legacy" | "modern", options?: ClientOptions, endpoint?: string): Promise<Client>;
  /** Reloads the configuration with these fields added to the entry of `notes`. */
  reload(fields: object): Promise<void>;
}

/** The configuration of servers without a sign-in, by their names and URLs. `fields` are added to each entry. */
export function signInConfiguration(
  urls: Readonly<Record<string, string>>,
  secrets: SecretRegistry,
  clock: ReturnType<typeof createLeapingClock>,
  fields: object = {},
): Parameters<typeof runGateway>[0]["configurations"][number] {
  const entries = Object.entries(urls).map(([name, url]) => [name, { type: "http", url, ...fields }]);
  return {
    configuration: parseConfiguration(JSON.stringify(Object.fromEntries(entries)), {
      secrets,
    }),
    variables: {},
    pluginRoot: process.cwd(),
    assertTrusted: async () => {},
    oauth: { vault: createMemoryVault(), allowInsecureLoopback: true },
    clock,
  };
}

/** `onOpened` is what the user does when the browser opens; default: sign in; null: there is no browser. `prepare` extends the server. */
export async function createSignInWorld(
  onOpened: ((url: string) => unknown) | null = signIn,
  more: Partial<GatewaySignIn> = {},
  prepare?: Parameters<typeof startGuardedToolServer>[1],
): Promise<SignInWorld> {
  const authorization = await startRealAuthorizationServer();
  const tool = await startGuardedToolServer(authorization, prepare);
  const secrets = createSecretRegistry();
  const clock = createLeapingClock();
  const events: GatewayEvent[] = [];
  const opened: string[] = [];
  const gateway = await runGateway({
    configurations: [signInConfiguration({ notes: tool.url }, secrets, clock)],
    secrets,
    clock,
    onEvent: (event) => void events.push(event),
    signIn: {
      ...(onOpened !== null && {
        async openBrowser(url: string) {
          opened.push(url);
          // The test may be over before their browser is.
          void Promise.resolve(onOpened(url)).catch(() => {});
          return true;
        },
      }),
      ...more,
    },
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("SIGN_IN_NEEDED");
  return {
    authorization,
    tool,
    gateway,
    events,
    opened,
    clock,
    reload: (fields) => gateway.reload([signInConfiguration({ notes: tool.url }, secrets, clock, fields)]),
    async connect(mode, options = {}, endpoint = gateway.endpoint ?? "") {
      const client = new Client(
        { name: `test-${mode}`, version: "1.0.0" },
        { versionNegotiation: { mode: mode === "modern" ? "auto" : "legacy" }, ...options },
      );
      const headers = { authorization: `Bearer ${gateway.token}` };
      await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

/** A user who signs in and consents. */
export function signIn(url: string): Promise<Page> {
  return createBrowser().signIn(url);
}

/** A user who denies access at the authorization server. */
export async function refuse(url: string): Promise<void> {
  const { searchParams, origin } = new URL(url);
  const back = new URL(searchParams.get("redirect_uri") ?? "");
  const parameters = { error: "access_denied", state: searchParams.get("state") ?? "", iss: origin };
  for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value);
  await fetch(back);
}

export const readNote = { name: "notes__read", arguments: {} };
export const note: readonly object[] = [{ type: "text", text: "milk, eggs" }];
