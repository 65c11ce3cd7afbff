import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { type StartedGateway, startGateway } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { everything } from "./real-servers.test.helper.js";
import { processesOf } from "./tool-server-world.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };
const token = `token-${randomUUID()}`;

/** The gateway as a separate process, on a port; resolves when its servers are connected. Ends with the test. */
function startUp({ shared, env, folder }: LoginWorld, port: string): Promise<StartedGateway> {
  const options = ["--port", port, "--token-file", "token", "--log", "off", "--trust"];
  return startGateway([...options, ...shared], { env, cwd: folder });
}

type CallTool = (params: { name: string; arguments: Record<string, unknown> }) => Promise<object>;

interface TestClient {
  readonly callTool: CallTool;
  close(): Promise<void>;
}

const requestInit = { headers: { authorization: `Bearer ${token}` } };

const connectNew = (mode: "auto" | "legacy") => async (url: URL) => {
  const client = new Client({ name: `test-${mode}`, version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client as TestClient;
};

const kinds: Readonly<Record<string, (url: URL) => Promise<TestClient>>> = {
  "SDK 2.x, newer era": connectNew("auto"),
  "SDK 2.x, older era": connectNew("legacy"),
  async "SDK 1.x"(url) {
    const client = new OldClient({ name: "test-old", version: "1" });
    // The types of 1.x do not support exact optional properties.
    await client.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient["connect"]>[0]);
    return client as TestClient;
  },
};

interface Load {
  /** How many rounds of calls succeeded. */
  rounds: number;
  /** How often the client had to start a new session. */
  sessions: number;
  /** Failures other than the end of the gateway or of a session, and calls before a server has connected. */
  readonly failures: string[];
}

/** Calls a tool of each server repeatedly, as an agent does: it starts a new session only if its own is gone. */
function load(connect: (url: URL) => Promise<TestClient>, url: URL, isDone: () => boolean): Load & { ended: unknown } {
  const load: Load = { rounds: 0, sessions: 0, failures: [] };
  // The gateway that ended, or the next one before its servers have connected.
  const isTemporary = (error: unknown): boolean =>
    /fetch failed|terminated|socket|closed|ECONN|has not connected yet|did not list/i.test(wordsOf(error));
  const work = async (): Promise<void> => {
    let client: TestClient | undefined;
    while (!isDone()) {
      try {
        if (client === undefined) {
          client = await connect(url);
          load.sessions += 1;
        }
        const [read, echo] = await Promise.all([
          client.callTool({ name: "notes__read", arguments: {} }),
          client.callTool({ name: "all__echo", arguments: { message: "still here" } }),
        ]);
        expect(JSON.stringify(read)).toContain("milk, eggs");
        expect(JSON.stringify(echo)).toContain("still here");
        load.rounds += 1;
      } catch (error) {
        const isForgotten = /Session not found/.test(wordsOf(error));
        if (isForgotten) {
          await client?.close().catch(() => {});
          client = undefined;
        } else if (isTemporary(error)) await new Promise((resolve) => setTimeout(resolve, 20));
        else load.failures.push(wordsOf(error));
      }
    }
    await client?.close().catch(() => {});
  };
  return Object.assign(load, { ended: work() });
}

function wordsOf(error: unknown): string {
  return error instanceof Error
    ? `${error.message} ${error.cause === undefined ? "" : wordsOf(error.cause)}`
    : String(error);
}

test("lets clients continue without a sign-in and leaves no process after a gateway is killed under load and restarted", async () => {
  const world = await createLoginWorld();
  const mark = `wirescope-restart-${randomUUID()}`;
  world.configure({
    notes: { type: "http", url: world.tool.url },
    all: { command: process.execPath, args: [everything, "stdio", mark] },
  });
  writeFileSync(join(world.folder, "token"), token, { mode: 0o600 });
  expect((await world.run(["login", "notes", "--trust"], { person: browsingPerson() })).code).toBe(0);
  const signIns = (): number => world.authorization.count("/auth");
  const signedIn = signIns();
  expect(signedIn).toBeGreaterThan(0);

  const first = await startUp(world, String(await freePort()));
  const url = new URL(first.endpoint);
  let isDone = false;
  const loads = Object.entries(kinds).map(([kind, connect]) => [kind, load(connect, url, () => isDone)] as const);
  const rounds = (): number[] => loads.map(([, { rounds: count }]) => count);
  try {
    await expect.poll(() => Math.min(...rounds()), pollOptions).toBeGreaterThan(5);

    first.process.kill("SIGKILL");
    await first.ended;
    const before = rounds();
    await expect.poll(() => processesOf(mark), pollOptions).toEqual([]);

    await startUp(world, url.port);
    await expect.poll(() => rounds().every((count, index) => count > (before[index] ?? 0) + 5), pollOptions).toBe(true);
  } finally {
    isDone = true;
    await Promise.all(loads.map(([, { ended }]) => ended));
  }
  expect(Object.fromEntries(loads.map(([kind, { failures }]) => [kind, failures]))).toEqual({
    "SDK 2.x, newer era": [],
    "SDK 2.x, older era": [],
    "SDK 1.x": [],
  });
  // Modern clients have no sessions; a legacy client learns that its session is gone, and starts another.
  expect(loads.map(([, { sessions }]) => sessions)).toEqual([1, 2, 2]);
  expect(signIns()).toBe(signedIn);
  expect(world.tool.seen.size).toBe(1);
});
