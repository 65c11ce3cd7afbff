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

/** Runs this at the end of the test, in reverse order. */
export function defer(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** After each test, closes everything that it opened; resources or processes that are left then fail it. */
export function expectNothingLeft(): void {
  let before: Record<string, number> = {};
  let processes = 0;
  beforeEach(async () => {
    processes = processesOf(mark).length;
    before = activeResources();
    // The runner has its own timers, which come and go.
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

/** Processes with this in their arguments were started by this file. */
export const mark: string = `wirescope-e2e-${randomUUID()}`;

const watched = ["TCPSocketWrap", "TLSWrap", "TCPServerWrap", "PipeWrap", "ProcessWrap", "Timeout"];

/** How many sockets, pipes, children and timers keep this process alive. */
export function activeResources(): Record<string, number> {
  const active = process.getActiveResourcesInfo();
  return Object.fromEntries(watched.map((kind) => [kind, active.filter((each) => each === kind).length]));
}

/** The resources of which there are more than before. */
function moreThan(before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(activeResources()).filter(([kind, count]) => count > (before[kind] ?? 0)));
}

/** Repeats the check until it does not throw. */
export async function until<T>(check: () => T | Promise<T>, withinMs = 60_000): Promise<T> {
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

/** The ids of the processes with this in their arguments. */
export function processesOf(text: string): number[] {
  try {
    const found = execFileSync("pgrep", ["-f", text], { encoding: "utf8" });
    return found.trim().split("\n").map(Number);
  } catch {
    return [];
  }
}

/** A folder that is removed after the test. */
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
    configuration: parseConfiguration(text, { secrets }),
    secrets,
  });
  defer(() => servers.close());
  return servers;
}

/** A connection to the server of this entry, with the name `faulty`; it closes with the test. */
export function openConnection(entry: unknown, options: WorldOptions = {}): Promise<Connection> {
  return openServers({ faulty: entry }, options).open("faulty");
}

/** The ToolServerError of a promise that must reject. */
export async function failureOf(promise: Promise<unknown>): Promise<ToolServerError> {
  const error = await promise.then(
    (value) => new Error(`It resolved with ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  );
  if (!ToolServerError.is(error)) throw error;
  return error;
}

/** Calls a tool and returns the text of its result. */
export async function textOf(
  connection: Connection,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const { content } = await connection.callTool({ name, arguments: args });
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
