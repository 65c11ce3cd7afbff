import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "./child.js";
import type { Era } from "./marking-server.js";

/** A server of the soak, as the configuration names it. */
export interface FleetServer {
  readonly name: string;
  readonly transport: "http" | "stdio";
  readonly era: Era;
  /** Whether it is the SDK's reference server, which only echoes. */
  readonly isReference: boolean;
  /** Whether its questions of different calls can be distinguished. */
  readonly canAsk: boolean;
  /** The entry; with another generation it is another. */
  entry(generation: number): object;
}

/** All servers, and the process that those of HTTP live in. */
export interface Fleet {
  readonly servers: readonly FleetServer[];
  readonly http: Child;
}

const require = createRequire(import.meta.url);
const reference = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");
const script = fileURLToPath(new URL("stdio-server.js", import.meta.url));

/** Of 32 servers one is the SDK's, three eighths are children, and the rest are reached by HTTP; half are of each era. */
export async function startFleet(size: number): Promise<Fleet> {
  const plans = Array.from({ length: size }, (_, index) => ({
    name: `s${index}`,
    transport: index % 8 < 3 ? ("stdio" as const) : ("http" as const),
    era: index % 2 === 0 ? ("legacy" as const) : ("modern" as const),
    isReference: index % 32 === 0,
  }));
  const named = (era: Era): string =>
    plans.flatMap((plan) => (plan.transport === "http" && plan.era === era ? [plan.name] : [])).join(",");
  const http = await startChild("http-servers.js", [named("legacy"), named("modern")]);
  const ports = await http.ask<Record<string, number>>({ kind: "ports" });
  const servers = plans.map(({ name, transport, era, isReference }): FleetServer => {
    const stdioOf = (generation: number) => ({
      command: process.execPath,
      // The last is for those who look for the process.
      args: isReference ? [reference, "stdio", name] : [script, era, name],
      env: { GENERATION: `${generation}` },
    });
    const httpOf = (generation: number) => ({
      type: "http",
      url: `http://127.0.0.1:${ports[name]}/mcp`,
      headers: { "x-generation": `${generation}` },
    });
    return {
      name,
      transport,
      era,
      isReference,
      canAsk: !isReference && (transport === "http" || era === "modern"),
      entry: transport === "stdio" ? stdioOf : httpOf,
    };
  });
  return { servers, http };
}
