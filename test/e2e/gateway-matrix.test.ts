import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { type Guard, startGuard } from "./gateway-matrix.test.helper.js";
import { startRealAuthorizationServer } from "./real-authorization-server.test.helper.js";
import { everything, startEverything } from "./real-servers.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };
const secret = "a-secret-of-this-test";
const basic = Buffer.from(`ada:${secret}`).toString("base64");

/** The headers that a request must have, by the kind of credential, and the fields of the entry that send them. */
const credentials: Readonly<
  Record<string, { readonly isGood: (headers: IncomingHttpHeaders) => boolean; readonly entry: object }>
> = {
  bearer: {
    isGood: ({ authorization }) => authorization === `Bearer ${secret}`,
    entry: { headers: { Authorization: `Bearer \${SECRET}` } },
  },
  basic: {
    isGood: ({ authorization }) => authorization === `Basic ${basic}`,
    entry: { headers: { Authorization: `Basic \${BASIC}` } },
  },
  key: {
    isGood: (headers) => headers["x-api-key"] === secret,
    entry: { headers: { "X-API-Key": `\${SECRET}` } },
  },
  helper: {
    isGood: (headers) => headers["x-helped"] === secret,
    entry: { headersHelper: `\${HOST_PLUGIN_ROOT}/helper.sh` },
  },
};

const transports = {
  http: { behind: "streamableHttp", type: "http", scheme: "http", path: "/mcp" },
  sse: { behind: "sse", type: "sse", scheme: "http", path: "/sse" },
  ws: { behind: "ws", type: "ws", scheme: "ws", path: "/message" },
} as const;

type Call = (name: string, args: Record<string, unknown>) => Promise<unknown>;

interface TestClient {
  readonly names: () => Promise<readonly string[]>;
  readonly call: Call;
}

const connectNew = (mode: "auto" | "legacy") => async (url: string, headers: Record<string, string>) => {
  const client = new Client({ name: `test-${mode}`, version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
  } satisfies TestClient;
};

const clients: Readonly<Record<string, (url: string, headers: Record<string, string>) => Promise<TestClient>>> = {
  "SDK 2.x, newer era": connectNew("auto"),
  "SDK 2.x, older era": connectNew("legacy"),
  async "SDK 1.x"(url, headers) {
    const client = new OldClient({ name: "test-old", version: "1" });
    const transport = new OldTransport(new URL(url), { requestInit: { headers } });
    // The types of 1.x do not support exact optional properties.
    await client.connect(transport as Parameters<OldClient["connect"]>[0]);
    onTestFinished(() => client.close());
    return {
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, args) => client.callTool({ name, arguments: args }),
    };
  },
  async "@ai-sdk/mcp"(url, headers) {
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    onTestFinished(() => client.close());
    const tools = await client.tools();
    return {
      names: async () => Object.keys(tools),
      call: async (name, args) => tools[name]?.execute(args, { toolCallId: name, messages: [] }),
    };
  },
};

/** A folder with a helper that prints the headers, until the test ends. */
function folderWithHelper(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-matrix-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "helper.sh"), `#!/bin/sh\nprintf '{"X-Helped": "${secret}"}'\n`);
  chmodSync(join(folder, "helper.sh"), 0o755);
  return folder;
}

/** A gateway to the reference server over every transport, behind every credential. */
async function startMatrix(): Promise<{ gateway: Gateway; guards: Readonly<Record<string, Guard>> }> {
  const authorization = await startRealAuthorizationServer();
  const entries: Record<string, object> = {
    "stdio-env": { command: process.execPath, args: [everything, "stdio"], env: { API_TOKEN: `\${SECRET}` } },
  };
  const guards: Record<string, Guard> = {};
  await Promise.all(
    Object.entries(transports).map(async ([transport, { behind, type, scheme, path }]) => {
      const { port, stop } = await startEverything(behind);
      onTestFinished(stop);
      for (const [credential, { isGood, entry }] of Object.entries(credentials)) {
        const guard = await startGuard({ before: port, isGood, path });
        guards[`${transport}-${credential}`] = guard;
        entries[`${transport}-${credential}`] = { type, url: `${scheme}://127.0.0.1:${guard.port}${path}`, ...entry };
      }
      // A WebSocket entry has its own credential.
      if (transport === "ws") return;
      const isGood = async ({ authorization: sent = "" }: IncomingHttpHeaders): Promise<boolean> =>
        (await authorization.find(sent.replace(/^Bearer /, ""))) !== undefined;
      const guard = await startGuard({ before: port, isGood, path, issuer: authorization.issuer });
      guards[`${transport}-oauth`] = guard;
      entries[`${transport}-oauth`] = { type, url: `${scheme}://127.0.0.1:${guard.port}${path}` };
    }),
  );
  const vault = createMemoryVault();
  onTestFinished(() => vault.dispose());
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: entries })),
        variables: { PATH: process.env.PATH, SECRET: secret, BASIC: basic },
        pluginRoot: folderWithHelper(),
        assertTrusted: async () => {},
        backOff: { firstMs: 20, maxMs: 200 },
        oauth: { vault, allowInsecureLoopback: true },
      },
    ],
    secrets: createSecretRegistry(),
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  for (const name of ["http-oauth", "sse-oauth"]) {
    const session = await gateway.oauth(name);
    await session?.signIn({
      async show({ way }) {
        await createBrowser().open(way.url);
        return undefined;
      },
    });
    await gateway.reconnect(name);
  }
  return { gateway, guards };
}

test("[TS-FILE-2] [TS-HEADER-1] [TS-HELPER-3] [TS-KEY-1] [TS-STDIO-1] [TS-OAUTH-12] serves the reference server to every kind of client, over every transport and behind every credential", async () => {
  const { gateway, guards } = await startMatrix();
  const names = ["stdio-env", ...Object.keys(guards)].sort();
  const states = () => Object.fromEntries(gateway.servers().map(({ name, state }) => [name, state]));
  await expect.poll(states, pollOptions).toEqual(Object.fromEntries(names.map((name) => [name, "READY"])));

  const refused = Object.fromEntries(Object.entries(guards).map(([name, guard]) => [name, guard.refused]));
  for (const [kind, connect] of Object.entries(clients)) {
    const { endpoint = "", token = "" } = gateway;
    const client = await connect(endpoint, { authorization: `Bearer ${token}` });
    const offered = await client.names();
    const echoes = await Promise.all(
      names.map(async (name) => {
        const message = `${kind} by ${name}`;
        const result = await client.call(`${name}__echo`, { message });
        return offered.includes(`${name}__echo`) && JSON.stringify(result).includes(message) ? name : [name, result];
      }),
    );
    expect(echoes, kind).toEqual(names);
    const env = JSON.stringify(await client.call("stdio-env__get-env", {}));
    expect(env.includes("API_TOKEN") && env.includes(secret), kind).toBe(true);
  }
  // Each call carried its credential: none had to be refused first.
  expect(Object.fromEntries(Object.entries(guards).map(([name, guard]) => [name, guard.refused]))).toEqual(refused);
});
