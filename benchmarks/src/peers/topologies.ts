import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PeerName } from "./install-peers.js";
import type { Program } from "./program.js";

/** One way to lead a client to a server, by us and by those who can do it too. */
export interface Topology {
  readonly name: string;
  /** The goal for calls in a second with 16 in flight, in those of a peer; undefined if there is no goal. */
  readonly leastRate?: number;
  readonly ours: readonly Program[];
  readonly peers: readonly Program[];
}

const wirescope = fileURLToPath(new URL("../../../packages/cli/bin/wirescope.js", import.meta.url));
const server = fileURLToPath(new URL("../raw-tool-server.js", import.meta.url));
const bareProxy = fileURLToPath(new URL("../bare-proxy.js", import.meta.url));

/**
 * All topologies, to a raw server that listens at `url`, or is a child of the program. `peer` gives a file of a peer;
 * without it none are measured. No peer proxies HTTP to HTTP; mcp-hub does, with routes of its own instead of the protocol.
 */
export function topologiesOf(
  url: string,
  folder: string,
  peer: ((name: PeerName, path: string) => string) | undefined,
): readonly Topology[] {
  const file = (name: string, entry: object): string => {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify({ mcpServers: { raw: entry } }));
    return path;
  };
  const http = file("http", { type: "http", url });
  const stdio = file("stdio", { command: process.execPath, args: [server, "stdio"] });
  const up = (config: string, ...more: string[]): string[] => {
    return [wirescope, "up", "--config", config, "--trust", "--allow-insecure-loopback", "--log", "off", ...more];
  };
  const listening = (config: string): Program => ({
    name: "wirescope up",
    speaks: "http",
    tool: "raw__echo",
    args: (port) => up(config, "--no-token", "--port", String(port)),
  });
  const ofPeer = (name: PeerName, path: string, rest: Omit<Program, "name">): readonly Program[] =>
    peer === undefined ? [] : [{ ...rest, name, args: (port) => [peer(name, path), ...rest.args(port)] }];
  return [
    {
      name: "HTTP to HTTP",
      leastRate: 3,
      ours: [listening(http)],
      peers: ofPeer("mcp-hub", "dist/cli.js", {
        speaks: "hub",
        tool: "echo",
        args: (port) => ["--port", String(port), "--config", file("hub", { url })],
      }),
    },
    {
      name: "HTTP to stdio",
      leastRate: 3,
      ours: [listening(stdio)],
      peers: [
        ...ofPeer("mcp-proxy", "dist/bin/mcp-proxy.mjs", {
          speaks: "http",
          tool: "echo",
          args: (port) => {
            const where = ["--host", "127.0.0.1", "--port", String(port), "--server", "stream"];
            return [...where, "--", process.execPath, server, "stdio"];
          },
        }),
        // Without --stateful it starts a process for each request.
        ...ofPeer("supergateway", "dist/index.js", {
          speaks: "http",
          tool: "echo",
          args: (port) => {
            const what = ["--stdio", `"${process.execPath}" "${server}" stdio`, "--outputTransport", "streamableHttp"];
            return [...what, "--stateful", "--port", String(port), "--logLevel", "none"];
          },
        }),
        {
          name: "bare proxy",
          speaks: "http",
          tool: "echo",
          args: (port) => [bareProxy, String(port), process.execPath, server, "stdio"],
          isReference: true,
        },
      ],
    },
    {
      name: "stdio to HTTP",
      ours: [
        { name: "wirescope up --stdio", speaks: "stdio", tool: "raw__echo", args: () => up(http, "--stdio") },
        {
          name: "wirescope bridge",
          speaks: "stdio",
          tool: "echo",
          args: () => [wirescope, "bridge", url, "--allow-insecure-loopback"],
        },
      ],
      peers: [
        ...ofPeer("mcp-remote", "dist/proxy.js", {
          speaks: "stdio",
          tool: "echo",
          args: () => [url, "--allow-http", "--transport", "http-only"],
        }),
        ...ofPeer("supergateway", "dist/index.js", {
          speaks: "stdio",
          tool: "echo",
          args: () => ["--streamableHttp", url, "--logLevel", "none"],
        }),
      ],
    },
  ];
}
