import { printableText } from "@wirescope/channelz/internal";
import type { GatewayEvent, GatewayListener, GatewayListenOptions } from "@wirescope/gateway";
import { stateText } from "@wirescope/gateway/internal/status-text";
import type { Io } from "../io.js";

/** What the log shows: the events of a gateway, and what debug mode adds. */
type LogEvent = GatewayEvent | { readonly kind: "debug"; readonly server: string; readonly text: string };

/**
 * Writes what happens in a gateway to standard error, a line each: for people, or as JSON for machines. The lines of one turn of the
 * event loop go together, after it: Node waits for each such write, and a call need not wait for its line.
 */
export function createEventLog(io: Io, form: "pretty" | "json"): (event: LogEvent) => void {
  let waiting = "";
  const flush = (): void => {
    const text = waiting;
    waiting = "";
    if (text !== "") io.stderr.write(text);
  };
  process.once("exit", flush);
  const write = (line: string): void => {
    if (waiting === "") setImmediate(flush);
    waiting += `${line}\n`;
  };
  const isRepeated = createRepeatFilter();
  // At a terminal the day is known; a file is read later.
  const timeStart = io.stderr.isTTY ? 11 : 0;
  return (whole) => {
    if (isRepeated(whole)) return;
    // Arguments are for the audit alone, and the key only compares.
    const { arguments: _a, repeatKey: _k, ...event } = { arguments: undefined, repeatKey: undefined, ...whole };
    const time = io.now().toISOString();
    if (form === "json") write(JSON.stringify({ time, ...event }));
    else write(`${time.slice(timeStart, 23)}${timeStart === 0 ? "Z" : ""} ${printableText(describe(event))}`);
  };
}

/**
 * Whether an event only repeats that a server fails: each attempt to connect does, and each list without it. A failure is logged
 * again if its reason changes, or after the server was connected.
 */
function createRepeatFilter(): (event: LogEvent) => boolean {
  /** The last reason of each server that fails, without what differs each time. */
  const failing = new Map<string, string>();
  return (event) => {
    switch (event.kind) {
      case "omitted":
        return failing.has(event.server);
      case "server-state": {
        if (event.state === "CONNECTING") return failing.has(event.server);
        const before = failing.get(event.server);
        const reason = event.repeatKey ?? event.reason ?? "";
        if (event.state !== "TRANSIENT_FAILURE") failing.delete(event.server);
        else failing.set(event.server, reason);
        return event.state === "TRANSIENT_FAILURE" && before === reason;
      }
      case "reloaded":
        for (const server of [...event.changed, ...event.removed]) failing.delete(server);
        return false;
      default:
        return false;
    }
  };
}

function describe(event: LogEvent): string {
  switch (event.kind) {
    case "call": {
      const { method, server, name, outcome, durationMs, reason, client } = event;
      const what = [method, server, name].filter(Boolean).join(" ");
      return `${client} ${what}: ${outcome} in ${Math.round(durationMs)} ms${reason === undefined ? "" : `; ${reason}`}`;
    }
    case "session-opened":
    case "session-closed":
      return `${event.client} ${event.kind === "session-opened" ? "connected" : "disconnected"}: ${event.reason}`;
    case "server-state":
      return `${event.server}: ${stateText(event.state)}${event.reason === undefined ? "" : `: ${event.reason}`}`;
    case "omitted":
      return `${event.server} omitted from ${event.list}: ${event.reason}`;
    case "debug":
      return `${event.server}: ${event.text}`;
    case "sign-in":
      return `${event.server}: ${event.reason}`;
    case "refused":
      return `refused (${event.limit}): ${event.reason}`;
    case "reloaded": {
      const parts = [
        event.added.length > 0 ? `added ${event.added.join(", ")}` : "",
        event.changed.length > 0 ? `changed ${event.changed.join(", ")}` : "",
        event.removed.length > 0 ? `removed ${event.removed.join(", ")}` : "",
      ].filter((part) => part !== "");
      return `configuration reloaded: ${parts.join("; ") || "nothing changed"}`;
    }
    case "certificates":
    case "defect":
      return event.reason;
  }
}

/**
 * Logs changed certificate files and certificates that expire. Without a log, files that cannot be used and certificates that expire are reported on
 * standard error, because sooner or later nobody could call any more.
 */
export function logCertificateChanges(
  listen: GatewayListenOptions,
  io: Io,
  log: GatewayListener | undefined,
): GatewayListenOptions {
  if (listen.tls === undefined) return listen;
  const logDefect = (reason: string): void => {
    if (log !== undefined) log({ kind: "defect", reason });
    else io.stderr.write(`wirescope: ${printableText(reason)}\n`);
  };
  return {
    ...listen,
    tls: {
      ...listen.tls,
      onChange({ isUsable, files, message }) {
        if (!isUsable) logDefect(message);
        else log?.({ kind: "certificates", files, reason: message });
      },
      onExpiring: ({ message }) => logDefect(message),
    },
  };
}
