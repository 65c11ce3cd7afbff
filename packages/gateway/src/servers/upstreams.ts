import { createHash } from "node:crypto";
import { type Clock, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { OAuthSession } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import type { Implementation, JsonObject } from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { ToolFilter } from "../catalogue/tool-filter.js";
import type { ClientCall } from "../client-call.js";
import type { GatewayListener } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import type { Notices } from "../notices.js";
import type { PluginServers } from "./plugin-servers.js";
import { createUpstream, type ServerStatus, type Upstream } from "./upstream.js";
import type { Departure } from "./upstream-calls.js";

/** All servers behind the gateway. */
export interface Upstreams {
  /** In the order of the configuration. */
  readonly all: readonly Upstream[];
  named(name: string): Upstream | undefined;
  /** The same. Throws SERVER_UNKNOWN where there is none. */
  find(name: string): Upstream;
  /**
   * Takes up a changed configuration: what did not change goes on as it is, and what changed or is gone takes no more calls.
   * Those in flight go on: it does not wait for them.
   */
  reload(plugins: readonly PluginServers[], filters: Filters): Promise<void>;
  /** Tries a server at once. Rejects with SERVER_UNKNOWN. */
  reconnect(name: string): Promise<void>;
  /** To sign in and out by OAuth; undefined where the entry brings its own credential. Rejects with SERVER_UNKNOWN. */
  oauth(name: string): Promise<OAuthSession | undefined>;
  statuses(): readonly ServerStatus[];
  /** Closes all, also what has calls in flight from before a reload. */
  close(): Promise<void>;
}

/** Which tools are offered, by server. */
export type Filters = Readonly<Record<string, ToolFilter>>;

export interface UpstreamsOptions {
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  /** Whether tools and prompts keep the names that their servers gave them. */
  readonly isUnprefixed: boolean;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly tell: GatewayListener;
  readonly notices: Notices;
  readonly observers: Pick<Required<CallObserver>, "forwarding">;
  readonly onNotification: (
    upstream: Upstream,
    method: string,
    params: JsonObject,
    call: ClientCall | undefined,
  ) => void;
}

interface Kept {
  readonly upstream: Upstream;
  /** What it was made of: where that is the same, it is the same. */
  readonly digest: string;
  /** Which of its tools are offered, as text. */
  readonly filter: string;
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { secrets, info, limits, clock, tell, notices, isUnprefixed } = options;
  let kept: readonly Kept[] = [];
  let all: readonly Upstream[] = [];
  let byName = new Map<string, Upstream>();
  /** Those that are out of use, until they are closed. */
  const leaving = new Set<Upstream>();
  let isClosed = false;

  // One look a second at all calls costs less than a timer for each.
  const cancelSilent = (): void => {
    for (const upstream of all) upstream.cancelSilent();
    for (const upstream of leaving) upstream.cancelSilent();
  };
  const silenceTimer = setInterval(cancelSilent, Math.min(1000, Math.max(10, limits.callIdleMs / 4)));
  silenceTimer.unref();

  const create = (
    entry: Entry,
    plugin: PluginServers,
    filter: ToolFilter | undefined,
    before: Upstream | undefined,
  ): Upstream => {
    const upstream: Upstream = createUpstream({
      entry,
      plugin,
      secrets,
      info,
      limits,
      filter,
      subscriptions: before?.subscriptions,
      isUnprefixed,
      clock,
      tell,
      onListChanged: (list) => notices.onListChanged(list),
      onNotification: (method, params, call) => options.onNotification(upstream, method, params, call),
      observers: options.observers,
    });
    return upstream;
  };

  const retire = async (upstream: Upstream, why: Departure): Promise<void> => {
    leaving.add(upstream);
    await upstream.drain(why).catch(() => {});
    leaving.delete(upstream);
  };

  const load = (plugins: readonly PluginServers[], filters: Filters): void => {
    if (isClosed) return;
    const next: Kept[] = [];
    const added: string[] = [];
    const changed: string[] = [];
    const before = new Map(kept.map((one) => [one.upstream.name, one]));
    for (const plugin of plugins) {
      for (const entry of plugin.configuration.entries) {
        const { name } = entry;
        if (next.some(({ upstream }) => upstream.name === name)) {
          const reason = `Two plugins have a server ${JSON.stringify(name)}: the first is used. Rename the other.`;
          tell({ kind: "defect", reason });
          continue;
        }
        const given = Object.hasOwn(filters, name) ? filters[name] : undefined;
        const [digest, filter] = [digestOf(entry, plugin), JSON.stringify(given ?? null)];
        const old = before.get(name);
        if (old === undefined) added.push(name);
        else if (old.digest !== digest || old.filter !== filter) changed.push(name);
        if (old?.digest !== digest) {
          next.push({ upstream: create(entry, plugin, given, old?.upstream), digest, filter });
          continue;
        }
        next.push({ ...old, filter });
        if (old.filter !== filter) old.upstream.setFilter(given);
      }
    }
    const strangers = Object.keys(filters).filter((name) => !next.some(({ upstream }) => upstream.name === name));
    for (const name of strangers) {
      const list = next.map(({ upstream }) => upstream.name).join(", ") || "none";
      const reason = `Tools of ${JSON.stringify(name)} are allowed or denied, and there is no such server. There are: ${list}.`;
      tell({ kind: "defect", reason });
    }
    const staying = new Set(next.map(({ upstream }) => upstream));
    const gone = kept.map(({ upstream }) => upstream).filter((upstream) => !staying.has(upstream));
    const removed = gone.map(({ name }) => name).filter((name) => !changed.includes(name));
    kept = next;
    all = next.map(({ upstream }) => upstream);
    byName = new Map(all.map((upstream) => [upstream.name, upstream]));
    if (before.size > 0) tell({ kind: "reloaded", added, removed, changed });
    if (gone.length === 0) return;
    for (const list of ["tools", "prompts", "resources"] as const) notices.onListChanged(list);
    for (const upstream of gone) void retire(upstream, changed.includes(upstream.name) ? "changed" : "removed");
  };

  const find = (name: string): Upstream => {
    const upstream = byName.get(name);
    if (upstream !== undefined) return upstream;
    const list = all.map((one) => one.name).join(", ") || "none";
    const problem = `There is no server ${JSON.stringify(name)} behind the gateway.`;
    throw new ToolServerError("SERVER_UNKNOWN", { problem, advice: `There are: ${list}.` });
  };

  return {
    get all() {
      return all;
    },
    named: (name) => byName.get(name),
    find,
    reload: async (plugins, filters) => load(plugins, filters),
    reconnect: async (name) => find(name).reconnect(),
    oauth: async (name) => find(name).oauth(),
    statuses: () => all.map((upstream) => upstream.status()),
    async close() {
      isClosed = true;
      clearInterval(silenceTimer);
      await Promise.allSettled([...all, ...leaving].map((upstream) => upstream.close()));
    },
  };
}

/** Of the entry as it is written, the errors in it, and the values of the variables that it uses. */
function digestOf(entry: Entry, plugin: PluginServers): string {
  const { pluginRoot, variables, configuration } = plugin;
  const written = JSON.stringify(entry.written);
  const names = [...written.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name]) => name ?? "");
  const values = [...new Set(names)].sort().map((name) => [name, variables[name] ?? null]);
  const errors = configuration.findings.filter(({ server, severity }) => severity === "error" && server === entry.name);
  const parts = [written, pluginRoot, values, errors.map(({ message }) => message)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}
