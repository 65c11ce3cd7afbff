import { createHash } from "node:crypto";
import { type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { type Entry, substituteEntry, variableUses } from "@wirescope/tool-server/config";
import { errorObjectOf, type Mutable, usesOAuth, variableValue } from "@wirescope/tool-server/internal";
import type { GatewayConfiguration } from "./gateway-configuration.js";
import { createGatewayServer, type GatewayServer, type GatewayServerOptions, type ServerStatus } from "./server.js";
import { type ServerSettings, type SettingsByServer, settingsFor } from "./server-settings.js";
import type { ServerSubscriptions } from "./server-subscriptions.js";
import { patternOf, type ToolFilter } from "./tool-filter.js";

/** All servers behind the gateway. */
export interface GatewayServers {
  /** In the order of the configuration. */
  readonly all: readonly GatewayServer[];
  named(name: string): GatewayServer | undefined;
  /** The server of this name. Throws SERVER_UNKNOWN if it does not exist. */
  find(name: string): GatewayServer;
  /**
   * Applies a changed configuration. Servers that did not change keep their connection; those that changed or were removed accept
   * no more calls. It does not wait for their calls in flight.
   */
  reload(configurations: readonly GatewayConfiguration[], filters: Filters, settings: SettingsByServer): Promise<void>;
  statuses(): readonly ServerStatus[];
  /** Closes all, including those that a reload replaced and that still have calls in flight. */
  close(): Promise<void>;
}

/** Which tools are offered, by server. */
export type Filters = Readonly<Record<string, ToolFilter>>;

export interface GatewayServersOptions
  extends Pick<
    GatewayServerOptions,
    "secrets" | "info" | "isUnprefixed" | "limits" | "tasks" | "clock" | "events" | "observers"
  > {}

interface LoadedServer {
  readonly server: GatewayServer;
  /** Of its entry: a reload keeps a server whose digest has not changed. */
  readonly digest: string;
  /** Its tool filter as JSON. */
  readonly filter: string;
}

export function createGatewayServers(options: GatewayServersOptions): GatewayServers {
  const { secrets, limits, events, isUnprefixed } = options;
  let loaded: readonly LoadedServer[] = [];
  let byName = new Map<string, GatewayServer>();
  /** Servers that are replaced or removed, until they are closed. */
  const draining = new Set<GatewayServer>();
  let isClosed = false;

  // Checking all calls once a second costs less than a timer for each.
  const cancelOverdue = (): void => {
    for (const server of servers.all) server.cancelOverdue();
    for (const server of draining) server.cancelOverdue();
  };
  const overdueTimer = setInterval(cancelOverdue, Math.min(1000, Math.max(10, limits.callIdleMs / 4)));
  overdueTimer.unref();

  // Not within `reload`: the server keeps its closure, which would keep all servers before it in memory.
  const create = (
    entry: Entry,
    configured: GatewayConfiguration,
    filter: ToolFilter | undefined,
    settings: ServerSettings | undefined,
    subscriptions: ServerSubscriptions | undefined,
  ): GatewayServer =>
    createGatewayServer({
      ...options,
      entry,
      configured,
      filter,
      subscriptions,
      isUnprefixed: isUnprefixed || settings?.prefix === "never",
      era: settings?.era ?? "auto",
    });

  const retire = async (server: GatewayServer): Promise<void> => {
    draining.add(server);
    await server.drain().catch(() => {});
    draining.delete(server);
  };

  /** Reports filters and settings of servers that do not exist. */
  const reportUnused = (filters: Filters, settings: SettingsByServer): void => {
    const names = servers.all.map(({ name }) => name);
    for (const name of Object.keys(settings)) {
      if (names.some(patternOf(name))) continue;
      const reason = `The settings for server ${JSON.stringify(name)} have no effect: the server does not exist.`;
      events.emit({ kind: "defect", reason });
    }
    for (const name of Object.keys(filters)) {
      if (names.includes(name)) continue;
      const list = names.join(", ") || "none";
      const reason = `The tool filter for server ${JSON.stringify(name)} has no effect: the server does not exist. Servers: ${list}.`;
      events.emit({ kind: "defect", reason });
    }
  };

  const reload: GatewayServers["reload"] = async (configurations, filters, settings) => {
    if (isClosed) return;
    const next: LoadedServer[] = [];
    const added: string[] = [];
    const changed: string[] = [];
    const before = new Map(loaded.map((one) => [one.server.name, one]));
    for (const configured of configurations) {
      for (const entry of configured.configuration.entries) {
        const { name } = entry;
        if (entry.isDisabled) continue;
        if (next.some(({ server }) => server.name === name)) {
          const reason = `Two configurations define a server ${JSON.stringify(name)}. The first is used. Rename the other.`;
          events.emit({ kind: "defect", reason });
          continue;
        }
        const given = Object.hasOwn(filters, name) ? filters[name] : undefined;
        const own = settingsFor(settings, name);
        const [digest, filter] = [digestOf(entry, configured, secrets, own), JSON.stringify(given ?? null)];
        const old = before.get(name);
        if (old === undefined) added.push(name);
        else if (old.digest !== digest || old.filter !== filter) changed.push(name);
        if (old?.digest !== digest) {
          next.push({ server: create(entry, configured, given, own, old?.server.subscriptions), digest, filter });
          continue;
        }
        next.push({ ...old, filter });
        // What prevented it from being opened may have been fixed.
        if (old.server.connectionInfo() === undefined) void old.server.reconnect();
        if (old.filter !== filter) old.server.setFilter(given);
      }
    }
    const gone = servers.all.filter((server) => !next.some((one) => one.server === server));
    const removed = gone.map(({ name }) => name).filter((name) => !changed.includes(name));
    loaded = next;
    servers.all = next.map(({ server }) => server);
    byName = new Map(servers.all.map((server) => [server.name, server]));
    reportUnused(filters, settings);
    if (before.size > 0) events.emit({ kind: "reloaded", added, removed, changed });
    if (gone.length === 0) return;
    for (const list of ["tools", "prompts", "resources"] as const) events.emit({ kind: "list-changed", list });
    for (const server of gone) void retire(server);
  };

  const find = (name: string): GatewayServer => {
    const server = byName.get(name);
    if (server !== undefined) return server;
    const list = servers.all.map((one) => one.name).join(", ") || "none";
    const problem = `Server ${JSON.stringify(name)} does not exist in the configuration of the gateway.`;
    throw new ToolServerError("SERVER_UNKNOWN", { problem, advice: `Servers: ${list}.` });
  };

  const servers: Mutable<GatewayServers> = {
    all: [],
    named: (name) => byName.get(name),
    find,
    reload,
    statuses: () => servers.all.map((server) => server.status()),
    async close() {
      isClosed = true;
      clearInterval(overdueTimer);
      await Promise.allSettled([...servers.all, ...draining].map((server) => server.close()));
    },
  };
  return servers;
}

/** A digest of the entry as it is written, its errors, its settings, the user's OAuth settings, and the values of the variables that it uses. */
function digestOf(
  entry: Entry,
  configured: GatewayConfiguration,
  secrets: SecretRegistry,
  settings: ServerSettings = {},
): string {
  const { pluginRoot, variables, configuration } = configured;
  const written = JSON.stringify(entry.written);
  const names = variableUses(entry).map(({ variable }) => variable);
  const values = [...new Set(names)].sort().map((name) => [name, variableValue(name, variables) ?? null]);
  const errors = configuration.findings.filter(({ server, severity }) => severity === "error" && server === entry.name);
  const oauth = oauthSettingsOf(entry, configured, secrets);
  const parts = [written, pluginRoot, values, errors.map(({ message }) => message), settings, oauth];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}

/** The user's OAuth settings of an entry, with its private key; or why they cannot be used. */
function oauthSettingsOf(entry: Entry, configured: GatewayConfiguration, secrets: SecretRegistry): unknown {
  if (!usesOAuth(entry)) return undefined;
  const { entry: resolved } = substituteEntry(entry, { ...configured, secrets });
  if (resolved === undefined || !("url" in resolved)) return undefined;
  try {
    return configured.oauth?.overrides?.(entry.name, resolved.url);
  } catch (error) {
    // The connection reports it.
    return errorObjectOf(error).message;
  }
}
