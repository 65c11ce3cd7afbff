import type { ServerReport } from "@wirescope/gateway/internal";
import {
  approvalKey,
  type DefinedTool,
  renderDistrust,
  type SecretRegistry,
  type ToolChange,
  ToolServerError,
  type TrustDecision,
} from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";
import { oauthSummary, renderToolChanges, trustReason, whyNoOAuth } from "@wirescope/tool-server/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import { approvalsOf, trustFor } from "../tool-server/ask-for-trust.js";
import { type ConfiguredServers, openConfiguredServers } from "../tool-server/configured-servers.js";
import type { KeyCreation } from "../tool-server/open-vault.js";
import { redactingIo } from "../tool-server/redaction.js";
import type { ServerValues } from "../tool-server/server-options.js";
import { openTrustEvaluation, type TrustEvaluation } from "../tool-server/trust-evaluation.js";
import { UsageError } from "../usage-error.js";
import { postponeWasmTierUp } from "../v8-flags.js";
import { openExplainableServers } from "../why/explain-configured.js";
import { type OAuthFlowOptions, type OAuthFlowResult, runOAuthFlow } from "../why/oauth-flow.js";
import type { PendingApproval, ServerAdmin, TrustRow } from "./server-admin.js";

/** The servers of a configuration, in this process. */
export interface LocalAdmin extends ServerAdmin {
  /**
   * Revokes an approval, also of an entry that was removed, and returns whether there was one. Connections of a running gateway stay
   * open. Rejects with a UsageError if the configuration has no such server either.
   */
  revoke(server: string): Promise<boolean>;
  /** Signs in to a server, and reports each step. */
  runOAuthFlow(options: Omit<OAuthFlowOptions, "onSecrets">): Promise<OAuthFlowResult>;
}

/** The configuration that the options name is read by the first method that needs it. `keyCreation` is for the encrypted file. */
export function createLocalAdmin(values: ServerValues, io: Io, keyCreation?: KeyCreation): LocalAdmin {
  let secrets: SecretRegistry | undefined;
  const safeIo = redactingIo(io, { redact: (text, kind) => secrets?.redact(text, kind) ?? text });
  let opening: Promise<ConfiguredServers> | undefined;
  const open = (): Promise<ConfiguredServers> => {
    opening ??= openConfiguredServers(values, io, keyCreation).then((servers) => {
      secrets = servers.secrets;
      postponeWasmTierUp();
      return servers;
    });
    return opening;
  };
  let quiet: Promise<ConfiguredServers> | undefined;
  let evaluation: Promise<TrustEvaluation> | undefined;
  const openEvaluation = (): Promise<TrustEvaluation> => {
    evaluation ??= openTrustEvaluation(values, io);
    return evaluation;
  };

  return {
    gateway: undefined,
    io: safeIo,
    async list(name) {
      const servers = await open();
      const reports: ServerReport[] = [];
      for (const each of servers.namesOf(name)) {
        reports.push(
          await reportOf(servers, each).catch((error: unknown) => {
            if (!ToolServerError.is(error) || name !== undefined) throw error;
            return { ...unconnected(servers, each), credential: undefined, failure: error };
          }),
        );
      }
      return reports;
    },
    async statuses(name) {
      quiet ??= openConfiguredServers(values, { ...io, ask: undefined, stderr: { write: () => {} } });
      const servers = await quiet;
      secrets = servers.secrets;
      const compareTools = async (server: string, tools: readonly DefinedTool[]): Promise<readonly ToolChange[]> => {
        if (values.trust) return [];
        return approvalsOf(io).compareTools(await approvalKey(servers.file, server), tools, servers.secrets.redact);
      };
      const reports = await Promise.all(servers.namesOf(name).map((each) => statusOf(servers, each, compareTools)));
      return { servers: reports, reloadFailure: undefined, notes: servers.notes() };
    },
    describe: async () => ({ vault: (await open()).vault.describe() }),
    async signIn(server, { person, isByDevice, scopes, signal }) {
      const servers = await open();
      const session = await servers.oauth(server);
      if (session === undefined) {
        throw new UsageError(`${server} ${whyNoOAuth(typeOf(servers, server))}. See ${commandLine("auth")}.`);
      }
      await session.obtainToken(person, { way: isByDevice ? "device" : undefined, scopes }, signal);
      return {
        oauth: await session.status(),
        connect: async () => (await servers.open(server)).connect(),
      };
    },
    async signOut(server, options) {
      const servers = await open();
      const session = await servers.oauth(server);
      if (session === undefined) throw new UsageError(`${server} ${whyNoOAuth(typeOf(servers, server))}.`);
      return session.signOut(undefined, options);
    },
    async approvals() {
      const { file, entries, evaluate } = await openEvaluation();
      return Promise.all(
        entries.map(async (entry): Promise<TrustRow> => {
          const changes = await approvalsOf(io).toolChanges(await approvalKey(file, entry.name));
          return { name: entry.name, type: entry.type, ...trustOf(await evaluate(entry), changes) };
        }),
      );
    },
    async approval(server): Promise<PendingApproval> {
      const { file, entries, evaluate } = await openEvaluation();
      const entry = entries.find((each) => each.name === server);
      if (entry === undefined) throw unknownServer(server, entries);
      const decision = await evaluate(entry);
      const key = await approvalKey(file, server);
      const changes = decision.state === "trusted" ? await approvalsOf(io).toolChanges(key) : [];
      return {
        name: server,
        ...trustOf(decision, changes),
        lines: decision.state === "trusted" ? renderToolChanges(server, changes) : renderDistrust(server, decision),
        isForRun: false,
        async approve() {
          if ("subject" in decision) await trustFor(io).approve(decision.subject);
          else await approvalsOf(io).acceptTools(key, changes);
          return undefined;
        },
      };
    },
    async revoke(server) {
      const { file, entries } = await openEvaluation();
      const had = await approvalsOf(io).revoke(await approvalKey(file, server));
      if (!had && !entries.some(({ name }) => name === server)) throw unknownServer(server, entries);
      return had;
    },
    async explain(server) {
      const servers = await openExplainableServers(values, io);
      secrets = servers.secrets;
      try {
        return await servers.explain(server);
      } finally {
        servers.close();
      }
    },
    runOAuthFlow: (options) =>
      runOAuthFlow(values, io, {
        ...options,
        onSecrets(known) {
          secrets = known;
        },
      }),
    reconnect: async () => notWithoutGateway("up"),
    reload: async () => notWithoutGateway("up"),
    setDebug: async () => notWithoutGateway("up", "--debug"),
    async [Symbol.asyncDispose]() {
      for (const each of [opening, quiet]) await (await each?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

function unknownServer(server: string, entries: readonly Entry[]): UsageError {
  const names = entries.map(({ name }) => name).join(", ");
  return new UsageError(`Unknown server "${server}". Servers: ${names || "none"}.`);
}

function notWithoutGateway(...start: readonly string[]): never {
  throw new UsageError(
    `No gateway is running with this configuration. Start one with ${commandLine(...start)}, or use the running one with --endpoint.`,
  );
}

/** The sign-in status of a server, without connecting to it. */
async function reportOf(servers: ConfiguredServers, name: string): Promise<ServerReport> {
  const { info } = await servers.open(name);
  const oauth = await (await servers.oauth(name))?.status();
  const { kind, summary } = info.credential();
  // The connection has not read the vault, so its own sign-in status is outdated.
  const credential = { kind, summary: oauth === undefined ? summary : oauthSummary(oauth), oauth };
  return { ...unconnected(servers, name), credential };
}

/** Connects to a server and lists its tools. */
async function statusOf(
  servers: ConfiguredServers,
  name: string,
  compareTools: (name: string, tools: readonly DefinedTool[]) => Promise<readonly ToolChange[]>,
): Promise<ServerReport> {
  let report: ServerReport = { ...unconnected(servers, name), credential: undefined };
  const readReport = (): Promise<ServerReport> =>
    reportOf(servers, name).catch((error: unknown) => {
      // A server without OAuth works without the vault; any other fails when it connects.
      if (ToolServerError.is(error, "VAULT_KEY_WRONG")) return report;
      throw error;
    });
  try {
    const connection = await servers.open(name);
    report = await readReport();
    const { name: called = "", version = "", protocolVersion } = await connection.connect();
    const { tools } = await connection.listTools();
    const description = { name: called, version, protocolVersion };
    report = await readReport();
    const toolChanges = await compareTools(name, tools);
    return { ...report, state: "READY", isConnected: true, tools: tools.length, description, toolChanges };
  } catch (error) {
    if (!ToolServerError.is(error) || error.code === "SERVER_UNKNOWN") throw error;
    return { ...report, state: "TRANSIENT_FAILURE", failure: error };
  }
}

function typeOf({ entries }: Pick<ConfiguredServers, "entries">, name: string): Entry["type"] | undefined {
  return entries.find((entry) => entry.name === name)?.type;
}

function unconnected({ entries }: ConfiguredServers, name: string): Omit<ServerReport, "credential"> {
  return {
    name,
    type: typeOf({ entries }, name),
    state: "IDLE",
    isConnected: false,
    tools: undefined,
    description: { name: "", version: "", protocolVersion: "" },
    failure: undefined,
  };
}

function trustOf(decision: TrustDecision, changes: readonly ToolChange[]): Pick<TrustRow, "state" | "reason"> {
  return { state: decision.state, reason: trustReason(decision, changes) };
}
