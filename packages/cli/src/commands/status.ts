import { setTimeout as delay } from "node:timers/promises";
import { printableText } from "@wirescope/channelz/internal";
import type { ServerReport } from "@wirescope/gateway/internal";
import { authText } from "@wirescope/gateway/internal/status-text";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { describeProblem } from "@wirescope/tool-server/internal/errors";
import type { ServerAdmin, ServerStatuses } from "../admin/server-admin.js";
import { exitCode } from "../failure.js";
import { parseDuration } from "../option-values.js";
import { formatJson, jsonOf } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { statusPaint, statusText } from "../output/server-status.js";
import { type Column, renderTable } from "../output/table.js";
import { wrap } from "../output/text-layout.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const {
  header: _header,
  env: _env,
  "oauth-client-id": _clientId,
  "oauth-scope": _scope,
  "oauth-callback-port": _port,
  ...shared
} = serverOptions;
const clearScreen = "\u001b[H\u001b[2J\u001b[3J";

/** Shows whether each server works. */
export const statusCommand: Command = defineAdminCommand({
  name: "status",
  summary: "show whether each server works: state, tools, authentication, reason",
  parameters: ["[server]"],
  options: {
    watch: { type: "boolean", help: "repeat until Ctrl-C; with --json, one line for each change" },
    interval: { type: "string", placeholder: "duration", help: "time between two reads with --watch; default: 2s" },
    ...shared,
    endpoint: serverOptions.endpoint,
  },
  notes: [
    "If a gateway is running with the same configuration, it shows the servers of the gateway. Otherwise it connects to",
    "all approved servers of the configuration. It asks nothing, and starts no server that is not approved.",
    "The exit code is 1 if a server does not work, or if the gateway could not reload its changed configuration.",
  ],
  isChange: () => false,
  check({ interval, watch }) {
    if (interval !== undefined) parseDuration(interval, "--interval");
    if (interval !== undefined && !watch) throw new UsageError("--interval requires --watch.");
  },
  async use({ admin, screen, values, positionals: [name] }) {
    if (!values.watch) {
      const statuses = await admin.statuses(name);
      const lines = values.json
        ? [formatJson(jsonOf(documentOf(admin, statuses)))]
        : await linesOf(admin, statuses, screen);
      screen.printAll(lines);
      return codeOf(statuses);
    }
    return watch(admin, name, screen, values.json, parseDuration(values.interval ?? "2s", "--interval"));
  },
});

/** Prints the status whenever it changes, until the process is interrupted. */
async function watch(
  admin: ServerAdmin,
  name: string | undefined,
  screen: Screen,
  isJson: boolean,
  intervalMs: number,
): Promise<number> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  let last = "";
  let code: number = exitCode.ok;
  try {
    while (!stop.signal.aborted) {
      const statuses = await admin.statuses(name);
      code = codeOf(statuses);
      const lines = isJson
        ? [JSON.stringify(jsonOf(documentOf(admin, statuses)))]
        : await linesOf(admin, statuses, screen);
      const text = lines.join("\n");
      if (text !== last) {
        const isFirst = last === "";
        if (!isJson && screen.width !== undefined) admin.io.stdout.write(clearScreen);
        else if (!isJson && !isFirst) screen.print("");
        screen.print(text);
      }
      last = text;
      await delay(intervalMs, undefined, { signal: stop.signal }).catch(() => {});
    }
    return code;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** A server that was not used yet counts as working. */
function isWell({ state, failure }: ServerReport): boolean {
  return failure === undefined && (state === "READY" || state === "IDLE");
}

function codeOf({ servers, reloadFailure }: ServerStatuses): number {
  return servers.every(isWell) && reloadFailure === undefined ? exitCode.ok : exitCode.failure;
}

function documentOf({ gateway }: ServerAdmin, { servers, reloadFailure, notes }: ServerStatuses): object {
  const rows = servers.map((server) => {
    const { name, type, state, tools, credential, description, toolChanges = [] } = server;
    const failed = isWell(server) ? undefined : reasonDocument(server.failure);
    const since = server.failingSince === undefined ? {} : { since: timeText(server.failingSince) };
    const reason = failed && { ...failed, ...since };
    return [
      name,
      {
        type,
        state,
        works: isWell(server),
        tools,
        auth: credential?.summary,
        server: description,
        failure: reason,
        toolChanges: toolChanges.length === 0 ? undefined : toolChanges.map(({ kind: _, ...change }) => change),
      },
    ] as const;
  });
  return { gateway, servers: Object.fromEntries(rows), reloadFailure: reasonDocument(reloadFailure), notes };
}

function reasonDocument(failure: ServerReport["failure"]): { code: string | undefined; message: string } | undefined {
  return failure && { code: failure.code, message: failure.message };
}

async function linesOf(
  { gateway }: ServerAdmin,
  { servers, reloadFailure, notes }: ServerStatuses,
  screen: Screen,
): Promise<string[]> {
  const { palette, width } = screen;
  const lines = gateway === undefined ? [] : [`Servers of the gateway at ${gateway}.`, ""];
  if (reloadFailure !== undefined) {
    const text = `The gateway could not reload its changed configuration. ${reloadFailure.message}`;
    lines.push(...wrap(printableText(text), width, "").map(palette.bad), "");
  }
  for (const note of notes) lines.push(...wrap(printableText(note), width, "").map(palette.warning), "");
  if (servers.length === 0) return [...lines, "No servers."];
  lines.push(...renderTable(columns(screen), servers, width));
  const advised = new Set<string>();
  for (const server of servers) {
    const { name, failure, failingSince, toolChanges = [] } = server;
    if (toolChanges.length > 0) {
      // Loaded late: the commands that read Channelz start without it.
      const { renderToolChanges } = await import("@wirescope/tool-server/internal");
      lines.push("", ...renderToolChanges(name, toolChanges).flatMap((line) => wrapIndented(line, width)));
      lines.push(`  ${palette.strong(printableText(commandLine("trust", name)))}`);
    }
    if (failure === undefined || isWell(server)) continue;
    const since = failingSince === undefined ? "" : `, failing since ${timeText(failingSince)}`;
    lines.push("", ...wrap(printableText(`${name}${since}: ${reasonOf(failure, advised)}`), width, ""));
    lines.push(`  ${palette.strong(printableText(nextOf(name, failure)))}`);
  }
  return lines;
}

function wrapIndented(line: string, width: number | undefined): string[] {
  const text = line.trimStart();
  return wrap(text, width, " ".repeat(line.length - text.length));
}

/**
 * Why a server does not work, without the gateway's advice to sign in, because the command for this user is printed below, and
 * without advice that another server has already.
 */
function reasonOf(failure: NonNullable<ServerReport["failure"]>, advised: Set<string>): string {
  if (!(failure instanceof Error)) return failure.message;
  const isKnown = failure.details.signIn !== undefined || advised.has(failure.advice);
  advised.add(failure.advice);
  return isKnown ? describeProblem(failure) : failure.message;
}

/** A time to the second. It is not relative, so that --watch prints nothing if nothing changes. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The command that fixes it, or that says more. */
function nextOf(server: string, { code, details }: NonNullable<ServerReport["failure"]>): string {
  if (code === "NOT_TRUSTED") return commandLine("trust", server);
  const { scopes = [] } = details?.signIn ?? {};
  if (code === "SIGN_IN_NEEDED") return commandLine("login", server, ...scopes.flatMap((scope) => ["--scope", scope]));
  return commandLine("why", server);
}

function columns({ palette }: Screen): Column<ServerReport>[] {
  return [
    { title: "SERVER", minWidth: 8, text: ({ name }) => name, paint: () => palette.strong },
    {
      title: "STATUS",
      minWidth: 19,
      text: (server) => statusText(asStatus(server)),
      paint: (server) => statusPaint(asStatus(server), palette),
    },
    { title: "TOOLS", align: "right", text: ({ tools }) => (tools === undefined ? "-" : String(tools)) },
    { title: "AUTH", minWidth: 12, text: authOf },
    {
      title: "SOFTWARE",
      minWidth: 10,
      text: ({ description: { name, version } }) => `${name} ${version}`.trim() || "-",
    },
  ];
}

function asStatus({ state, failure }: ServerReport): Parameters<typeof statusText>[0] {
  if (failure === undefined) return { state };
  return { state, failure: failure instanceof Error ? { code: failure.code, error: failure } : { code: undefined } };
}

function authOf(server: ServerReport): string {
  return authText(asStatus(server), server.credential?.summary, server.credential?.oauth?.isSignedIn);
}
