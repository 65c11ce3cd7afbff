import { printableText } from "@wirescope/channelz/internal";
import type { GatewayEvent, GatewayListener, GatewayListenOptions } from "@wirescope/gateway";
import { stateText } from "@wirescope/gateway/internal/status-text";
import { quoteText } from "@wirescope/tool-server/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";

/** An event of the gateway, or a line of debug mode. */
type LogEvent = GatewayEvent | { readonly kind: "debug"; readonly server: string; readonly text: string };

type EventOf<Kind extends LogEvent["kind"]> = Extract<LogEvent, { readonly kind: Kind }>;

/** How many bytes may wait for a reader of standard error that has stopped reading. Then lines are dropped. */
const maxUnreadBytes = 8 * 1024 * 1024;

/**
 * Logs the events of a gateway to standard error, one line each, as text or JSON. The lines of one turn of the event loop are written
 * together after it: such writes are synchronous in Node, and would delay calls.
 */
export function createEventLog(io: Io, form: "pretty" | "json"): (event: LogEvent) => void {
  let waiting = "";
  const flush = (): void => {
    process.off("exit", flush);
    const text = waiting;
    waiting = "";
    if (text !== "") io.stderr.write(text);
  };
  const write = (line: string): void => {
    if (waiting === "") {
      setImmediate(flush);
      process.once("exit", flush);
    }
    waiting += `${line}\n`;
  };
  const isRepeated = createRepeatFilter();
  // Without the date at a terminal.
  const timeStart = io.stderr.isTTY ? 11 : 0;
  const writeEvent = (whole: LogEvent): void => {
    // Arguments are only for the audit log, and the key only for comparison.
    const { arguments: _a, repeatKey: _k, ...event } = { arguments: undefined, repeatKey: undefined, ...whole };
    const time = io.now().toISOString();
    if (form === "json") write(JSON.stringify({ time, ...event }));
    else write(`${time.slice(timeStart, 23)}${timeStart === 0 ? "Z" : ""} ${printableText(describe(event))}`);
  };
  let dropped = 0;
  return (event) => {
    if (isRepeated(event)) return;
    if ((io.stderr.writableLength ?? 0) > maxUnreadBytes) {
      dropped += 1;
      return;
    }
    if (dropped > 0) {
      const reason = `${dropped} lines of the log were dropped, because standard error was not read. Check the program that reads it.`;
      dropped = 0;
      writeEvent({ kind: "defect", reason });
    }
    writeEvent(event);
  };
}

/**
 * Whether an event only repeats a known failure of a server: each connection attempt does, and each list that omits the server. A
 * failure is logged again if its reason changes, or after the server was connected.
 */
function createRepeatFilter(): (event: LogEvent) => boolean {
  /** The last reason of each failing server, without the parts that differ each time. */
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
      const { method, server, name, outcome, durationMs, reason, clientName } = event;
      const what = [method, server, name].filter(Boolean).join(" ");
      return `${clientName} ${what}: ${outcome} in ${Math.round(durationMs)} ms${reason === undefined ? "" : `; ${reason}`}`;
    }
    case "session-opened":
    case "session-closed":
      return `${event.clientName} ${event.kind === "session-opened" ? "connected" : "disconnected"}: ${event.reason}`;
    case "server-state":
      return `${event.server}: ${stateText(event.state)}${event.reason === undefined ? "" : `: ${event.reason}`}`;
    case "omitted":
      return `${event.server} omitted from ${event.list}: ${event.reason}`;
    case "tool-changed":
      return toolChangeText(event);
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

function toolChangeText({ server, tool, field, before, after }: EventOf<"tool-changed">): string {
  const texts = `${quoteText(before ?? "")} is now ${quoteText(after ?? "")}`;
  return `${server}: ${field} of the tool ${quoteText(tool)} has changed since the approval: ${texts}. Review it: ${commandLine("trust", server)}`;
}

/**
 * Logs changed certificate files and expiring certificates. Without a log, invalid files and expiring certificates are reported on
 * standard error, because clients would eventually be unable to connect.
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
