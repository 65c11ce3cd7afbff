import { printableText } from "@wirescope/channelz/internal";
import { stateText } from "@wirescope/gateway/internal/status-text";
import {
  type ConnectionInfo,
  channels,
  type SocketInfo,
  type ToolServerChannelName,
  type ToolServerMessages,
} from "@wirescope/tool-server";
import type { CredentialDescription, HeaderDescription } from "@wirescope/tool-server/auth";
import type { Io } from "../io.js";

type Handlers = { readonly [Name in ToolServerChannelName]?: (message: ToolServerMessages[Name]) => void };

/** Prints the debug log of tool servers to standard error, until the returned function is called. */
export function printDebug(io: Io): () => void {
  const start = io.now().getTime();
  return followDebug((server, line) => {
    const seconds = ((io.now().getTime() - start) / 1000).toFixed(3).padStart(8);
    io.stderr.write(`${seconds}s ${printableText(`${server}: ${line}`)}\n`);
  });
}

/**
 * Reports the events of tool servers as lines, until the returned function is called. Published events are already redacted, and contain
 * only the names of headers.
 */
export function followDebug(onLine: (server: string, line: string) => void): () => void {
  const say = (server: string, text: string): void => {
    for (const line of text.split("\n")) onLine(server, line);
  };
  const loggedHeaders = new WeakMap<ConnectionInfo, string>();
  /** Logs the headers that are sent if they have changed: a helper provides them only after it has run. */
  const sayHeaders = (info: ConnectionInfo): void => {
    const headers = describeHeaders(info.credential());
    if (headers === undefined || loggedHeaders.get(info) === headers) return;
    loggedHeaders.set(info, headers);
    say(info.name, headers);
  };
  const handlers: Handlers = {
    "connection:opened"(info) {
      say(info.name, `${info.kind} ${info.target}; auth: ${info.credential().summary}`);
      sayHeaders(info);
    },
    "connection:state"({ subject, state, reason }) {
      sayHeaders(subject);
      say(subject.name, `${stateText(state)}${reason === undefined ? "" : `: ${reason}`}`);
    },
    "transport:state"({ subject, state, reason }) {
      say(
        subject.connection.name,
        `transport to ${subject.target} ${stateText(state)}${reason === undefined ? "" : `: ${reason}`}`,
      );
    },
    "socket:opened": (socket) => say(socket.transport.connection.name, describeSocket(socket)),
    "socket:closed"({ subject, reason }) {
      say(subject.transport.connection.name, `${describeSocket(subject)} ended: ${reason}`);
    },
    trace({ subject, severity, text }) {
      const info = "connection" in subject ? subject.connection : subject;
      say(info.name, `${severity === "info" ? "" : `${severity}: `}${text}`);
      sayHeaders(info);
    },
  };
  const subscriptions = Object.entries(handlers) as [ToolServerChannelName, (message: unknown) => void][];
  for (const [name, handler] of subscriptions) channels[name].subscribe(handler);
  return () => {
    for (const [name, handler] of subscriptions) channels[name].unsubscribe(handler);
  };
}

/** The headers that a credential sends, without their values; undefined if it sends none. */
export function describeHeaders({ headers }: Pick<CredentialDescription, "headers">): string | undefined {
  return headers.length === 0 ? undefined : `sends ${headers.map(describeHeader).join("; ")}`;
}

/** A header without its value. */
function describeHeader({ name, scheme, variables, from }: HeaderDescription): string {
  const origin = variables.length > 0 ? ` (${variables.join(", ")})` : from === "configuration" ? "" : ` (${from})`;
  return `${name}: ${scheme === undefined ? "" : `${scheme} `}[redacted]${origin}`;
}

function describeSocket(socket: SocketInfo): string {
  return socket.kind === "child" ? `process ${socket.pid} (${socket.command})` : `socket to ${socket.remoteName}`;
}
