import { createHash } from "node:crypto";
import type { OAuthLogin } from "../../auth/oauth/login/oauth-login.js";
import type { Entry } from "../../config/entry.js";
import { partsOfFindings } from "../../config/finding.js";
import { type Configuration, disabledParts, unknownServer } from "../../config/parse-configuration.js";
import { resolveEntry, resolveOrigin, unusable, type Variables, variableValue } from "../../config/substitute-entry.js";
import { variableUses } from "../../config/variable-uses.js";
import { ToolServerError } from "../../errors.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { Connection } from "../connection.js";
import {
  type AssertTrusted,
  type OpenedToolServer,
  openToolServer,
  type ToolServerSettings,
} from "./open-tool-server.js";

/** The tool servers of one configuration. */
export interface ToolServers {
  /** The entries, in the order of the file. */
  readonly entries: readonly Entry[];
  /**
   * Opens the connection to a server. The same values of its variables, and so the same tenant and user, share one connection;
   * others get their own, with their own credentials. `variables` override the user's, to select a tenant. Rejects with a ToolServerError:
   * SERVER_UNKNOWN, ENTRY_INVALID, NOT_TRUSTED, or as `openToolServer` throws.
   */
  open(name: string, variables?: Variables): Promise<Connection>;
  /**
   * The OAuth session of a server, to sign in and out; undefined if the entry has its own credential. Rejects as `open` does.
   */
  oauth(name: string, variables?: Variables): Promise<OAuthLogin | undefined>;
  /** The connections that are open. */
  readonly connections: readonly Connection[];
  /** Closes them all. */
  close(): Promise<void>;
}

/** A configuration, and the dependencies of its servers. */
export interface ToolServersOptions extends ToolServerSettings {
  readonly configuration: Configuration;
  readonly variables: Variables;
  readonly pluginRoot: string;
  readonly secrets: SecretRegistry;
  /** Awaited before an entry is opened, and before each start, connection and run of a helper: files change. */
  readonly assertTrusted: AssertTrusted;
}

/** Creates the tool servers of a configuration. None is opened yet. */
export function createToolServers(options: ToolServersOptions): ToolServers {
  const { configuration, variables } = options;
  const { entries } = configuration;
  const open = new Map<string, Promise<OpenedToolServer>>();
  const connections: Connection[] = [];
  let isClosed = false;

  const openNew = async (entry: Entry, merged: Variables): Promise<OpenedToolServer> => {
    const opened = await openEntry({ ...options, variables: merged }, entry);
    if (isClosed) {
      await opened.connection.close();
      throw closed();
    }
    connections.push(opened.connection);
    return opened;
  };

  const find = (name: string, tenantVariables: Variables): Promise<OpenedToolServer> => {
    if (isClosed) throw closed();
    const entry = entries.find((candidate) => candidate.name === name);
    if (entry === undefined) {
      assertValid(name, configuration);
      throw unknownServer(name, configuration);
    }
    const merged = { ...variables, ...tenantVariables };
    const key = keyOf(entry, merged);
    const found = open.get(key);
    if (found !== undefined) return found;
    const opened = openNew(entry, merged);
    open.set(key, opened);
    // A failed attempt is repeated the next time: a variable may be set, or an approval given.
    opened.catch(() => open.delete(key));
    return opened;
  };

  return {
    entries,
    connections,
    async open(name, tenantVariables = {}) {
      return (await find(name, tenantVariables)).connection;
    },
    async oauth(name, tenantVariables = {}) {
      return (await find(name, tenantVariables)).oauth;
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(open.values());
      await Promise.allSettled(connections.map((connection) => connection.close()));
      connections.length = 0;
      open.clear();
    },
  };
}

/** Opens one server of a configuration, if its entry has no errors and is trusted. Rejects as `ToolServers.open` does. */
export async function openEntry(options: ToolServersOptions, entry: Entry): Promise<OpenedToolServer> {
  assertValid(entry.name, options.configuration);
  if (entry.isDisabled) throw new ToolServerError("SERVER_DISABLED", disabledParts(entry.name));
  const origin = resolveOrigin(entry, options.variables);
  // Checked before the approval, because the user would have to approve it again after the fix.
  if (origin !== undefined && "problem" in origin) {
    throw unusable(entry, options.variables, { problem: origin.problem, advice: "" });
  }
  await options.assertTrusted(entry, options.variables);
  const resolved = resolveEntry(entry, options);
  return openToolServer({ ...options, entry, resolved, entries: options.configuration.entries });
}

/** Differs if any variable of the entry differs: two users may share a tenant. */
function keyOf(entry: Entry, variables: Variables): string {
  const names = new Set(variableUses(entry).map(({ variable }) => variable));
  const values = [...names].sort().map((variable) => [variable, variableValue(variable, variables) ?? null]);
  return createHash("sha256")
    .update(JSON.stringify([entry.name, values]))
    .digest("base64");
}

/** An entry with errors is not used, because an error may make it unsafe. */
function assertValid(name: string, { findings }: Configuration): void {
  const errors = findings.filter(({ server, severity }) => severity === "error" && server === name);
  if (errors.length === 0) return;
  const placed = errors.map(({ line, column, message, fix }) => ({
    // A configuration created by code has no lines.
    message: line === 0 ? message : `${line}:${column}: ${message}`,
    fix,
  }));
  const subject = `The server ${JSON.stringify(name)} cannot be used.`;
  throw new ToolServerError("ENTRY_INVALID", { subject, ...partsOfFindings(placed) });
}

function closed(): ToolServerError {
  return new ToolServerError("CONNECTION_CLOSED", { problem: "The tool servers were closed.", advice: "" });
}
