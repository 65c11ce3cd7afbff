import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/client";
import { onTestFinished, vi } from "vitest";

/** The main file of a package, relative to its package.json. */
function mainOf(description: string): string {
  return join(dirname(fileURLToPath(description)), "dist", "index.js");
}

/** Published servers, as programs. */
export const everything: string = mainOf(import.meta.resolve("@modelcontextprotocol/server-everything/package.json"));
export const memory: string = mainOf(import.meta.resolve("@modelcontextprotocol/server-memory/package.json"));
export const filesystem: string = mainOf(import.meta.resolve("@modelcontextprotocol/server-filesystem/package.json"));
export const supergateway: string = mainOf(import.meta.resolve("supergateway/package.json"));

/** Runs a server until the test is over. */
export async function runServer(args: readonly string[], port: number): Promise<void> {
  onTestFinished(await startServer(args, port));
}

/** Starts a server, and returns how to stop it. By TERM, it ends the servers that it started. */
export async function startServer(
  args: readonly string[],
  port: number,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, args, { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
  const ended = once(child, "exit");
  await vi.waitFor(() => reach(port), { timeout: 60_000, interval: 20 });
  return async () => {
    child.kill(signal);
    await ended;
  };
}

/** Rejects if nothing listens. */
async function reach(port: number): Promise<void> {
  const socket = connect(port, "localhost");
  await once(socket, "connect");
  socket.destroy();
}

/** Calls a tool that returns text. */
export async function callTool(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
