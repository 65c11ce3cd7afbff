import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { onTestFinished } from "vitest";
import type { GatewayEvent } from "./events.js";
import type { Gateway } from "./gateway.js";
import type { GatewayOptions } from "./gateway-options.js";
import { runGateway } from "./run-gateway.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";

export interface TestGateway {
  readonly gateway: Gateway;
  readonly url: string;
  readonly endpoint: string;
  readonly token: string;
  readonly events: readonly GatewayEvent[];
}

/** A trusted configuration with these servers. */
export function configurationOf(entries: object, changes: Partial<GatewayConfiguration> = {}): GatewayConfiguration {
  return {
    configuration: parseConfiguration(JSON.stringify({ mcpServers: entries })),
    variables: { PATH: process.env.PATH },
    pluginRoot: process.cwd(),
    assertTrusted: async () => {},
    backOff: { firstMs: 20, maxMs: 200 },
    ...changes,
  };
}

/** Starts a gateway with these servers, until the test ends. */
export async function startTestGateway(entries: object, options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const events: GatewayEvent[] = [];
  const gateway = await runGateway({
    configurations: [configurationOf(entries)],
    secrets: createSecretRegistry(),
    onEvent: (event) => void events.push(event),
    ...options,
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const { url = "", endpoint = "", token = "" } = gateway;
  return { gateway, url, endpoint, token, events };
}

/** Poll options that are long enough for a busy machine. */
export const pollOptions = { timeout: 60_000, interval: 10 };

/** Limits with which a client waits for the list of a server that starts, however busy the machine is. */
export const slowLists: { readonly listMs: number } = { listMs: pollOptions.timeout };

export type Mode = "modern" | "legacy";

/** A client of SDK 2.x, until the test ends. */
export async function connect(
  { endpoint, token }: Pick<TestGateway, "endpoint" | "token">,
  mode: Mode,
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => {},
): Promise<Client> {
  const client = new Client(
    { name: `test-${mode}`, version: "1.0.0" },
    { versionNegotiation: { mode: mode === "modern" ? "auto" : "legacy" }, ...options },
  );
  prepare(client);
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** A client of SDK 1.x, until the test ends. */
export async function connectOld(
  { endpoint, token }: Pick<TestGateway, "endpoint" | "token">,
  capabilities: Record<string, object> = {},
  prepare: (client: OldClient) => void = () => {},
): Promise<OldClient> {
  const client = new OldClient({ name: "test-old", version: "1.0.0" }, { capabilities });
  prepare(client);
  const headers = { authorization: `Bearer ${token}` };
  const transport = new OldTransport(new URL(endpoint), { requestInit: { headers } });
  // The types of 1.x do not know exact optional properties.
  await client.connect(transport as Parameters<OldClient["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

/** The text of the first block of a result. */
export function textOf(result: object): string {
  const { content } = result as { content?: readonly { readonly text?: string }[] };
  return content?.[0]?.text ?? "";
}

/** Posts a message as it is. */
export function post(
  { endpoint, token }: Pick<TestGateway, "endpoint" | "token">,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(endpoint, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
