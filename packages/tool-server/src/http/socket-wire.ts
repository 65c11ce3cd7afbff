import type { Socket } from "node:net";
import { publish } from "../diagnostics/channels.js";
import type { SocketWire, TransportFacts } from "../diagnostics/facts.js";
import { isParserError, isUnaskedResponse } from "./exchange-failure.js";

const wires = new WeakMap<Socket, SocketWire>();

/** The wire that a socket is seen as; undefined for a socket that no client of ours opened. */
export function wireOf(socket: Socket): SocketWire | undefined {
  return wires.get(socket);
}

/** A wire that is open. */
export interface OpenWire {
  readonly facts: SocketWire;
  /** Resolves once the socket is closed. */
  readonly closed: Promise<void>;
  /** The first error of the socket. */
  readonly error: Error | undefined;
  /** Ends the socket, for this reason. */
  end(reason: string): void;
}

/** Publishes a socket as a wire, from now until it closes. `redact` takes secrets out of the reason. */
export function openWire(
  socket: Socket,
  transport: TransportFacts,
  remoteName: string,
  redact: (text: string) => string,
): OpenWire {
  const facts: SocketWire = { kind: "socket", transport, socket, remoteName };
  wires.set(socket, facts);
  publish("wire:opened", facts);
  let reason: string | undefined;
  let error: Error | undefined;
  socket.on("error", (met) => {
    error ??= met;
    reason ??= reasonOf(met);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      publish("wire:closed", { subject: facts, reason: redact(reason ?? "The server ended it.") });
      resolve();
    });
  });
  return {
    facts,
    closed,
    get error() {
      return error;
    },
    end(why) {
      reason ??= why;
      socket.destroy();
    },
  };
}

/** What undici destroys a socket with, in our words. */
const reasons: Readonly<Record<string, string>> = {
  aborted: "A request on it was called off.",
  // Also of a server that keeps connections alive: it may end any of them with a response.
  reset: "No other request can be sent on it after the last response.",
  "socket idle timeout": "It was idle.",
  "other side closed": "The server ended it.",
  closed: "The server ended it.",
};

function reasonOf(error: Error): string {
  if (isParserError(error)) return "The server does not speak HTTP as it should.";
  if (isUnaskedResponse(error)) return "The server spoke without being asked.";
  return reasons[error.message] ?? `It broke: ${error.message}`;
}
