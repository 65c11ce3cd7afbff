import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { printableText } from "@wirescope/channelz/internal";
import type {
  ConnectionFacts,
  Ending,
  StateChange,
  StoryEvent,
  TransportFacts,
  WireFacts,
} from "@wirescope/tool-server";
import type { CredentialDescription, HeaderDescription } from "@wirescope/tool-server/auth";
import type { Io } from "../io.js";
import { stateText } from "../output/server-status.js";

/** Prints to standard error what tool servers do, until the returned function is called. */
export function printDebug(io: Io, prefix: string): () => void {
  const start = io.now().getTime();
  return followDebug(prefix, (server, line) => {
    const seconds = ((io.now().getTime() - start) / 1000).toFixed(3).padStart(8);
    io.stderr.write(`${seconds}s ${printableText(`${server}: ${line}`)}\n`);
  });
}

/**
 * Reports what tool servers do, line by line, until the returned function is called. All that they publish has its secrets
 * taken out already, and of headers only the names are known here.
 */
export function followDebug(prefix: string, onLine: (server: string, line: string) => void): () => void {
  const say = (server: string, text: string): void => {
    for (const line of text.split("\n")) onLine(server, line);
  };
  const toldHeaders = new WeakMap<ConnectionFacts, string>();
  /** Tells the headers that are sent, where they are others than before: a helper gives them only when it has run. */
  const sayHeaders = (facts: ConnectionFacts): void => {
    const headers = describeHeaders(facts.credential());
    if (headers === undefined || toldHeaders.get(facts) === headers) return;
    toldHeaders.set(facts, headers);
    say(facts.name, headers);
  };
  const handlers: Record<string, (message: unknown) => void> = {
    "connection:opened": (message) => {
      const facts = message as ConnectionFacts;
      say(facts.name, `${facts.kind} ${facts.target}; signs in with ${facts.credential().summary}`);
      sayHeaders(facts);
    },
    "connection:state": (message) => {
      const { subject, state, reason } = message as StateChange<ConnectionFacts>;
      sayHeaders(subject);
      say(subject.name, `${stateText(state)}${reason === undefined ? "" : `: ${reason}`}`);
    },
    "transport:state": (message) => {
      const { subject, state, reason } = message as StateChange<TransportFacts>;
      say(
        subject.connection.name,
        `transport to ${subject.target} ${stateText(state)}${reason === undefined ? "" : `: ${reason}`}`,
      );
    },
    "wire:opened": (message) =>
      say((message as WireFacts).transport.connection.name, describeWire(message as WireFacts)),
    "wire:closed": (message) => {
      const { subject, reason } = message as Ending<WireFacts>;
      say(subject.transport.connection.name, `${describeWire(subject)} ended: ${reason}`);
    },
    story: (message) => {
      const { subject, severity, text } = message as StoryEvent;
      const facts = "connection" in subject ? subject.connection : subject;
      say(facts.name, `${severity === "info" ? "" : `${severity}: `}${text}`);
      sayHeaders(facts);
    },
  };
  for (const [name, handler] of Object.entries(handlers)) subscribe(prefix + name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) unsubscribe(prefix + name, handler);
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

function describeWire(wire: WireFacts): string {
  return wire.kind === "child" ? `process ${wire.pid} (${wire.command})` : `socket to ${wire.remoteName}`;
}
