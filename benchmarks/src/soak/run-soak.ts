import type { ServerStatus } from "@wirescope/gateway";
import type { Census } from "./census.js";
import { type Child, startChild } from "./child.js";
import { createChurn } from "./churn.js";
import { type ClientLife, liveAsClient, pause } from "./client-life.js";
import { startFleet } from "./fleet.js";
import type { GatewayAddress, Peak } from "./gateway-process.js";
import { createLedger, type Ledger } from "./ledger.js";
import { createRandom } from "./random.js";

export interface SoakOptions {
  readonly clients: number;
  readonly servers: number;
  /** How long the churn lasts, without setup and teardown. */
  readonly durationMs: number;
  readonly reloads: number;
  readonly kills: number;
  /** Milliseconds between two calls of a client, on average. */
  readonly thinkMs: number;
  /** Milliseconds after which the gateway ends a session without a client; 0 if they are ended for it, which is quicker. */
  readonly sessionIdleMs: number;
  readonly seed: number;
  /** Hears what is being done. */
  readonly report: (text: string) => void;
}

export interface SoakOutcome {
  readonly ledger: Ledger;
  /** How many there are. */
  readonly servers: number;
  /** All servers connected, no client yet. */
  readonly cold: Census;
  /** After a first wave of clients, so that all code has run. */
  readonly warm: Census;
  readonly peak: Census;
  /** The longest that the event loop of the gateway stood still. */
  readonly pauseMs: number;
  readonly after: Census;
  /** Servers that did not come back, and what clients left behind. Must be empty. */
  readonly leftOver: readonly string[];
}

const settleMs = 90_000;

/** Lets clients come, call, change their minds and go, while the gateway is reloaded and its servers are killed. */
export async function runSoak(options: SoakOptions): Promise<SoakOutcome> {
  const { report, clients, durationMs } = options;
  const random = createRandom(options.seed);
  const fleet = await startFleet(options.servers);
  const sessionIdleMs = options.sessionIdleMs || 600_000;
  const orphans = new Set<string>();
  const limits = { sessionIdleMs, callIdleMs: 60_000, inputMs: 60_000 };
  const gateway = await startChild("gateway-process.js", [JSON.stringify(limits)], ["--expose-gc"]);
  try {
    const address = await gateway.ask<GatewayAddress>({ kind: "address" });
    const crowd = async (
      ledger: Ledger,
      ms: number,
      isPolite: boolean,
      alongside: (isOver: () => boolean) => Promise<void>,
    ): Promise<void> => {
      const endsAt = performance.now() + ms;
      const life: Omit<ClientLife, "random"> = {
        ...address,
        endpoint: `${address.url}/mcp`,
        ledger,
        servers: () => churn.present,
        isOver: () => performance.now() >= endsAt,
        thinkMs: options.thinkMs,
        callsPerConnection: 10,
        isPolite,
        sessionIdleMs,
        orphans,
      };
      const all = Array.from({ length: clients }, (_, index) =>
        liveAsClient(index, { ...life, random: random.fork() }),
      );
      await Promise.all([...all, alongside(life.isOver)]);
    };
    const ledger = createLedger();
    const churn = createChurn(gateway, fleet, ledger, random.fork());
    await churn.restore();
    const cold = await settle(gateway, address, undefined);
    report(`${options.servers} servers are connected. A first wave of ${clients} clients comes.`);
    await crowd(ledger, durationMs / 10, true, async () => {});
    const warm = await settle(gateway, address, cold.census);
    report(`The first wave is gone. Now for ${Math.round(durationMs / 1000)} s of churn.`);
    await crowd(ledger, durationMs, false, async (isOver) => {
      const times = async (count: number, act: () => Promise<void>): Promise<void> => {
        for (let time = 0; time < count && !isOver(); time += 1) {
          await pause((durationMs / count) * 0.8);
          await act();
        }
      };
      await Promise.all([times(options.reloads, churn.reload), times(options.kills, churn.kill)]);
    });
    await churn.restore();
    report("All clients are gone.");
    if (options.sessionIdleMs === 0) await endSessions(address, orphans);
    const after = await settle(gateway, address, cold.census);
    const { census: peak, pauseMs } = await gateway.ask<Peak>({ kind: "peak" });
    return {
      ledger,
      servers: options.servers,
      cold: cold.census,
      warm: warm.census,
      peak,
      pauseMs,
      after: after.census,
      leftOver: [...new Set([...cold.leftOver, ...warm.leftOver, ...after.leftOver])],
    };
  } finally {
    await gateway.end();
    await fleet.http.end();
  }
}

async function endSessions({ url, token }: GatewayAddress, sessions: ReadonlySet<string>): Promise<void> {
  for (const session of sessions) {
    const headers = { authorization: `Bearer ${token}`, "mcp-session-id": session, connection: "close" };
    await fetch(`${url}/mcp`, { method: "DELETE", headers });
  }
}

interface Settled {
  readonly census: Census;
  readonly leftOver: readonly string[];
}

/** Waits until nothing is left of clients, all servers are there, and no more is held than before; or until time is up. */
async function settle(gateway: Child, address: GatewayAddress, base: Census | undefined): Promise<Settled> {
  const endsAt = performance.now() + settleMs;
  for (;;) {
    const leftOver = [...(await unsettledServers(gateway)), ...(await leftOfClients(address))];
    const held = await gateway.ask<Census>({ kind: "count" });
    const isSettled = leftOver.length === 0 && (base === undefined || growthOf(held, base).length === 0);
    if (isSettled || performance.now() > endsAt) return { census: await gateway.ask({ kind: "census" }), leftOver };
    await pause(500);
  }
}

async function unsettledServers(gateway: Child): Promise<readonly string[]> {
  const states = await gateway.ask<ServerStatus[]>({ kind: "states" });
  return states.flatMap(({ name, state, tools, callsInFlight, failure }) => [
    ...(state === "READY" && tools !== undefined
      ? []
      : [`${name} is ${state}: ${failure?.message ?? "its tools are not known"}`]),
    ...(callsInFlight === 0 ? [] : [`${name} has ${callsInFlight} calls in flight`]),
  ]);
}

const gauges = ["sessions", "event_streams", "listeners", "parked_calls", "calls_in_flight"];

async function leftOfClients({ url, token }: GatewayAddress): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${token}`, connection: "close" };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return gauges.flatMap((name) => {
    const value = new RegExp(`^wirescope_gateway_${name} (\\d+)$`, "m").exec(text)?.[1];
    return value === "0" ? [] : [`${name}: ${value}`];
  });
}

/** What is held more than before, in words: sockets, processes and objects of the registry. */
export function growthOf(after: Census, before: Census): readonly string[] {
  const kinds = ["channels", "subchannels", "servers", "sockets"] as const;
  const pairs: readonly [string, number, number][] = [
    ["files", after.files, before.files],
    ["sockets", after.sockets, before.sockets],
    ["processes", after.processes, before.processes],
    ...kinds.map(
      (kind) => [`${kind} in the registry`, after.registry[kind], before.registry[kind]] as [string, number, number],
    ),
  ];
  return pairs.flatMap(([what, now, then]) => (now > then ? [`${what}: ${then} before, ${now} after`] : []));
}
