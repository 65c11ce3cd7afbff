import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Connection,
  createSecretRegistry,
  createToolServers,
  type SecretRegistry,
  ToolServerError,
  type ToolServers,
  type ToolServersOptions,
} from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { afterEach, beforeEach, expect } from "vitest";

const cleanups: (() => unknown)[] = [];

/** Does this at the end of the test, before what was deferred earlier. */
export function defer(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** After each test, all that it opened is closed; what is left of it then, in this process or as one of its own, fails it. */
export function expectNothingLeft(): void {
  let before: Record<string, number> = {};
  let processes = 0;
  beforeEach(async () => {
    processes = processesOf(mark).length;
    before = activeResources();
    // The runner has timers of its own, which come and go.
    for (let look = 0; look < 5; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      for (const [kind, count] of Object.entries(activeResources())) before[kind] = Math.min(before[kind] ?? 0, count);
    }
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await until(() => expect(moreThan(before)).toEqual({}));
    await until(() => expect(processesOf(mark).length).toBeLessThanOrEqual(processes));
  });
}

/** A process with this in its arguments was started by this file. */
export const mark: string = `wirescope-e2e-${randomUUID()}`;

const watched = ["TCPSocketWrap", "TLSWrap", "TCPServerWrap", "PipeWrap", "ProcessWrap", "Timeout"];

/** How many sockets, pipes, children and timers keep this process alive. */
export function activeResources(): Record<string, number> {
  const active = process.getActiveResourcesInfo();
  return Object.fromEntries(watched.map((kind) => [kind, active.filter((each) => each === kind).length]));
}

/** What there is more of than there was. */
function moreThan(before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(activeResources()).filter(([kind, count]) => count > (before[kind] ?? 0)));
}

/** Checks again and again until it does not throw; between the checks there is no timer of ours. */
export async function until<T>(check: () => T | Promise<T>, withinMs = 20_000): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** The processes that have this in their arguments. */
export function processesOf(text: string): number[] {
  try {
    const found = execFileSync("pgrep", ["-f", text], { encoding: "utf8" });
    return found.trim().split("\n").map(Number);
  } catch {
    return [];
  }
}

/** A folder that goes with the test. */
export function temporaryFolder(atEnd: typeof defer = defer): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-e2e-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export type WorldOptions = Partial<Omit<ToolServersOptions, "configuration" | "secrets">> & {
  readonly secrets?: SecretRegistry;
};

/** The servers of a configuration; they close with the test. */
export function openServers(entries: Record<string, unknown>, options: WorldOptions = {}): ToolServers {
  const secrets = options.secrets ?? createSecretRegistry();
  const text = JSON.stringify({ mcpServers: entries });
  const servers = createToolServers({
    variables: { PATH: process.env.PATH, HOME: process.env.HOME },
    pluginRoot: process.cwd(),
    assertTrusted: async () => {},
    settings: { info: { name: "wirescope-test", version: "0.0.0" } },
    backOff: { firstMs: 20, maxMs: 200 },
    ...options,
    configuration: parseConfiguration(text, { allowInsecureLoopback: true, secrets }),
    secrets,
  });
  defer(() => servers.close());
  return servers;
}

/** A connection to a server of this entry, which is named `faulty`; it closes with the test. */
export function openConnection(entry: unknown, options: WorldOptions = {}): Promise<Connection> {
  return openServers({ faulty: entry }, options).open("faulty");
}

/** The failure of what must fail, and in our words. */
export async function failureOf(promise: Promise<unknown>): Promise<ToolServerError> {
  const error = await promise.then(
    (value) => new Error(`It did not fail, but gave ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  );
  if (!ToolServerError.is(error)) throw error;
  return error;
}

/** Calls a tool for its text. */
export async function textOf(
  connection: Connection,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const { content } = await connection.callTool({ name, arguments: args });
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
