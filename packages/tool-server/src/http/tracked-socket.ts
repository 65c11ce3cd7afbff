import type { Socket } from "node:net";
import type { NetworkSocketInfo, TransportInfo } from "../connection-info.js";
import { publish } from "../diagnostics.js";
import { isParserError, isUnsolicitedResponse } from "./exchange-failure.js";

const infos = new WeakMap<Socket, NetworkSocketInfo>();

/** The info of a socket; undefined for a socket that no client of ours opened. */
export function socketInfoOf(socket: Socket): NetworkSocketInfo | undefined {
  return infos.get(socket);
}

/** An open socket that is published to observers. */
export interface TrackedSocket {
  readonly info: NetworkSocketInfo;
  /** Resolves once the socket is closed. */
  readonly closed: Promise<void>;
  /** The first error of the socket. */
  readonly error: Error | undefined;
  /** Closes the socket; the reason is published. */
  end(reason: string): void;
}

/** Publishes a socket from now until it closes. `redact` redacts the reason. */
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
      publish("socket:closed", { subject: info, reason: redact(reason ?? "The server closed it.") });
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

/** Messages with which undici, whose version is pinned, destroys a socket, and what they mean to people. */
const reasons: Readonly<Record<string, string>> = {
  aborted: "A request on it was cancelled.",
  // A server that keeps connections alive may also close one after a response.
  reset: "The last response ended the connection.",
  "socket idle timeout": "It was idle.",
  "other side closed": "The server closed it.",
  closed: "The server closed it.",
};

function reasonOf(error: Error): string {
  if (isParserError(error)) return "The server violates HTTP.";
  if (isUnsolicitedResponse(error)) return "The server sent an unsolicited response.";
  return reasons[error.message] ?? `It failed: ${error.message}`;
}
