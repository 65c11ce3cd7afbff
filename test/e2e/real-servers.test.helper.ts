import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** The reference server, as a program. */
export const everything: string = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");

const supergateway = require.resolve("supergateway/dist/index.js");

/** Prints the port of a server on standard error, because these servers do not report it. */
const printPort = `data:text/javascript,${encodeURIComponent(`
import { subscribe } from "node:diagnostics_channel";
subscribe("tracing:net.server.listen:asyncEnd", ({ server }) => {
  process.stderr.write("[[port " + server.address()?.port + "]]");
});`)}`;

/** A server that listens on this machine. */
export interface RealServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts the reference server behind HTTP or SSE, or behind a gateway to WebSocket. */
export function startEverything(behind: "streamableHttp" | "sse" | "ws", port = 0): Promise<RealServer> {
  const args =
    behind === "ws"
      ? [
          supergateway,
          "--port",
          String(port),
          "--outputTransport",
          "ws",
          "--stdio",
          `${process.execPath} ${everything} stdio`,
        ]
      : [everything, behind];
  const child = spawn(process.execPath, ["--import", printPort, ...args], {
    env: { ...process.env, PORT: String(port) },
    // Its input stays open, because some servers end with it.
    stdio: ["pipe", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  return new Promise((resolve, reject) => {
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
      const port = /\[\[port (\d+)\]\]/.exec(stderr)?.[1];
      if (port !== undefined) resolve({ port: Number(port), stop });
    });
    child.once("close", (code) => reject(new Error(`The server ended with code ${code}: ${stderr}`)));
  });
}
