import { argumentsOf, descendantsOf } from "./census.js";
import type { Child } from "./child.js";
import { pause } from "./client-life.js";
import type { Fleet, FleetServer } from "./fleet.js";
import type { Ledger } from "./ledger.js";
import type { Random } from "./random.js";

/** What is done to the gateway and its servers while clients call. */
export interface Churn {
  /** The servers that are in the configuration now. */
  readonly present: readonly FleetServer[];
  /** Takes servers out of the configuration, puts back those that were out, and changes others. */
  reload(): Promise<void>;
  /** Ends a server without warning; it comes back. */
  kill(): Promise<void>;
  /** Puts all servers back. */
  restore(): Promise<void>;
}

export function createChurn(gateway: Child, fleet: Fleet, ledger: Ledger, random: Random): Churn {
  const generations = new Map(fleet.servers.map(({ name }) => [name, 0]));
  let present: readonly FleetServer[] = [];
  let out = new Map<FleetServer, () => void>();
  const busy = new Set<FleetServer>();

  const take = (count: number): readonly FleetServer[] => {
    const taken = new Set<FleetServer>();
    const free = present.filter((server) => !busy.has(server));
    while (taken.size < Math.min(count, free.length)) taken.add(random.pick(free));
    for (const server of taken) busy.add(server);
    return [...taken];
  };

  const load = async (next: readonly FleetServer[]): Promise<void> => {
    const entries = next.map((server) => [server.name, server.entry(generations.get(server.name) ?? 0)]);
    await gateway.ask({ kind: "reload", entries: Object.fromEntries(entries) });
    present = next;
  };

  const killChild = async (name: string): Promise<void> => {
    const isServer = (pid: number): boolean => argumentsOf(pid).includes(name);
    // None if it is about to be started again. In a sandbox there are several, and one may respond for a while after the others were killed.
    const pids = descendantsOf(gateway.pid).filter(isServer);
    for (const pid of pids) killIfAlive(pid);
    while (pids.some(isServer)) await pause(5);
  };

  return {
    get present() {
      return present;
    },
    async reload() {
      const share = Math.max(1, Math.round(fleet.servers.length / 32));
      const [removed, changed] = [take(share), take(share)];
      const back = out;
      out = new Map(removed.map((server) => [server, ledger.disturb(server.name, "taken out by a reload")]));
      const done = changed.map((server) => {
        generations.set(server.name, (generations.get(server.name) ?? 0) + 1);
        return ledger.disturb(server.name, "changed by a reload");
      });
      await load(fleet.servers.filter((server) => !removed.includes(server)));
      ledger.counts.reloads += 1;
      for (const settle of [...done, ...back.values()]) settle();
      for (const server of [...removed, ...changed]) busy.delete(server);
    },
    async kill() {
      const [server] = take(1);
      if (server === undefined) return;
      const settle = ledger.disturb(server.name, "killed");
      if (server.transport === "stdio") await killChild(server.name);
      else await fleet.http.ask({ kind: "kill", name: server.name, downMs: random.between(50, 1000) });
      ledger.counts.kills += 1;
      settle();
      busy.delete(server);
    },
    async restore() {
      await load(fleet.servers);
      for (const settle of out.values()) settle();
      out = new Map();
    },
  };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
