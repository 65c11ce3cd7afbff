import type { Socket } from "node:net";
import type { NetworkSocketInfo, TransportInfo } from "../connection-info.js";
import { publish } from "../diagnostics.js";
import { isParserError, isUnaskedResponse } from "./exchange-failure.js";

const infos = new WeakMap<Socket, NetworkSocketInfo>();

/** The info of a socket; undefined for a socket that no client of ours opened. */
export function socketInfoOf(socket: Socket): NetworkSocketInfo | undefined {
  return infos.get(socket);
}

/** A socket that is open. */
export interface TrackedSocket {
  readonly info: NetworkSocketInfo;
  /** Resolves once the socket is closed. */
  readonly closed: Promise<void>;
  /** The first error of the socket. */
  readonly error: Error | undefined;
  /** Ends the socket, for this reason. */
  end(reason: string): void;
}

/** Publishes a socket as a `SocketInfo`, from now until it closes. `redact` takes secrets out of the reason. */
export function trackSocket(
  socket: Socket,
  transport: TransportInfo,
  remoteName: string,
  redact: (text: string) => string,
): TrackedSocket {
  const info: NetworkSocketInfo = { kind: "socket", transport, socket, remoteName };
  infos.set(socket, info);
  publish("socket:opened", info);
  let reason: string | undefined;
  let error: Error | undefined;
  socket.on("error", (met) => {
    error ??= met;
    reason ??= reasonOf(met);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      publish("socket:closed", { subject: info, reason: redact(reason ?? "The server ended it.") });
      resolve();
    });
  });
  return {
    info,
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
