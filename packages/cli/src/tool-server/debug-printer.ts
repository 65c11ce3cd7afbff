import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { printableText } from "@wirescope/channelz";
import type {
  ConnectionFacts,
  Ending,
  StateChange,
  StoryEvent,
  TransportFacts,
  WireFacts,
} from "@wirescope/tool-server";
import type { Io } from "../io.js";

/**
 * Tells on standard error what tool servers do, until the returned function is called. All that they publish in words has
 * its secrets taken out already.
 */
export function printDebug(io: Io, prefix: string): () => void {
  const start = io.now().getTime();
  const say = (server: string, text: string): void => {
    const seconds = ((io.now().getTime() - start) / 1000).toFixed(3).padStart(8);
    for (const line of text.split("\n")) io.stderr.write(`${seconds}s ${printableText(`${server}: ${line}`)}\n`);
  };
  const handlers: Record<string, (message: unknown) => void> = {
    "connection:opened": (message) => {
      const facts = message as ConnectionFacts;
      say(facts.name, `${facts.kind} ${facts.target}; signs in with ${facts.credential().summary}`);
    },
    "connection:state": (message) => {
      const { subject, state, reason } = message as StateChange<ConnectionFacts>;
      say(subject.name, `${state}${reason === undefined ? "" : `: ${reason}`}`);
    },
    "transport:state": (message) => {
      const { subject, state, reason } = message as StateChange<TransportFacts>;
      say(
        subject.connection.name,
        `transport to ${subject.target} ${state}${reason === undefined ? "" : `: ${reason}`}`,
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
      const { name } = "connection" in subject ? subject.connection : subject;
      say(name, `${severity === "info" ? "" : `${severity}: `}${text}`);
    },
  };
  for (const [name, handler] of Object.entries(handlers)) subscribe(prefix + name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) unsubscribe(prefix + name, handler);
  };
}

function describeWire(wire: WireFacts): string {
  return wire.kind === "child" ? `process ${wire.pid} (${wire.command})` : `socket to ${wire.remoteName}`;
}
