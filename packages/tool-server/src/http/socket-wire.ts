import type { Socket } from "node:net";
import { publish } from "../diagnostics/channels.js";
import type { SocketWire, TransportFacts } from "../diagnostics/facts.js";

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
    reason ??= `It broke: ${met.message}`;
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
