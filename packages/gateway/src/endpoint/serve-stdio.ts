import type { Readable, Writable } from "node:stream";
import {
  createLineReader,
  encodeMessage,
  faultOf,
  hasEnvelope,
  isId,
  modernVersions,
  parseMessage,
  type ReadMessage,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  readEnvelope,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Requester } from "../callers/accounts.js";
import type { Outlet } from "../callers/outlet.js";
import type { Session } from "../callers/session.js";
import { beginSession } from "./begin-session.js";
import type { EndpointParts } from "./endpoint-parts.js";
import { unsupportedVersion } from "./modern-headers.js";

/** A client that is served over pipes. */
export interface StdioClient {
  /** Resolves when it is gone: its input ended, or it was closed. */
  readonly closed: Promise<void>;
  close(): void;
}

/** What may wait for a client that does not read, in bytes. Then nothing more is read of it, and notifications are lost. */
const mostWaiting = 8 * 1024 * 1024;

/** There is one client: the process at the other end of the pipes. */
const requester: Requester = { principal: "stdio", rateKey: "stdio" };

/**
 * Serves one client over pipes, a message a line, in both eras: the handshake begins a session, and a request that names its
 * version is served by itself. Nothing else may be written to the output.
 */
export function serveStdio(parts: EndpointParts, input: Readable, output: Writable): StdioClient {
  const { accounts, stateless, subscriptions, limits } = parts;
  /** How to call off requests of the newer era. */
  const running = new Map<RequestId, () => void>();
  let session: Session | undefined;
  let isOver = false;
  let settle = (): void => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });

  const isFull = (): boolean => output.writableLength > mostWaiting;
  const write = (message: RpcMessage): void => {
    if (isOver || output.writableEnded || output.destroyed) return;
    if (isFull() && !("id" in message)) return;
    const text = encodeMessage(message);
    if (text === undefined) return;
    output.write(`${text}\n`);
    // Whoever asks and does not read would have all answers wait here.
    if (!isFull() || input.isPaused()) return;
    input.pause();
    output.once("drain", () => !isOver && input.resume());
  };
  const wire: Outlet = {
    get isOpen() {
      return !isOver;
    },
    send: write,
    respond: write,
    end: () => {},
  };

  const initialize = (message: RpcRequest): void => {
    if (session !== undefined) throw new RpcError(rpcCodes.invalidRequest, "The session is initialized already.");
    const begun = beginSession(parts, requester, message);
    session = begun.session;
    session.setStream(wire);
    write(begun.response);
  };

  const serveModern = (request: RpcRequest): void => {
    const envelope = readEnvelope(request.params);
    if (!modernVersions.includes(envelope.version as (typeof modernVersions)[number])) {
      throw unsupportedVersion(envelope.version);
    }
    const { id } = request;
    if (running.has(id)) throw new RpcError(rpcCodes.invalidRequest, "A request of this id is in flight already.");
    const outlet: Outlet = {
      get isOpen() {
        return wire.isOpen;
      },
      send: write,
      respond(message) {
        running.delete(id);
        write(message);
      },
      end: () => void running.delete(id),
    };
    // What is answered at once is over before it is known how to call it off.
    running.set(id, () => {});
    const cancel =
      request.method === "subscriptions/listen"
        ? subscriptions.begin(request, outlet)
        : stateless.request(
            { request, envelope, account: accounts.shared(requester, envelope.clientInfo), headers: undefined },
            outlet,
          );
    if (running.has(id)) running.set(id, cancel);
  };

  const receive = ({ kind, message }: ReadMessage): void => {
    if (kind === "response") session?.responded(message);
    else if (kind === "notification") {
      const cancelled = message.method === "notifications/cancelled" ? message.params?.requestId : undefined;
      if (isId(cancelled) && running.has(cancelled)) {
        running.get(cancelled)?.();
        running.delete(cancelled);
      } else session?.notified(message);
    } else {
      try {
        if (hasEnvelope(message.params)) serveModern(message);
        else if (message.method === "initialize") initialize(message);
        else if (session === undefined) throw new RpcError(rpcCodes.invalidRequest, "Begin with initialize.");
        else session.request(message, wire);
      } catch (error) {
        write({ jsonrpc: "2.0", id: message.id, error: faultOf(error) });
      }
    }
  };

  const onLine = (line: string): void => {
    if (isOver) return;
    const read = parseMessage(line);
    if ("code" in read) write({ jsonrpc: "2.0", id: null, error: read });
    else receive(read);
  };
  const onTooLong = (): true => {
    const message = `The message is larger than ${limits.messageBytes} bytes.`;
    if (!isOver) write({ jsonrpc: "2.0", id: null, error: { code: rpcCodes.invalidRequest, message } });
    return true;
  };
  const lines = createLineReader(limits.messageBytes, onLine, onTooLong);
  const onData = (chunk: Buffer): void => lines.push(chunk);
  const close = (): void => {
    if (isOver) return;
    isOver = true;
    input.off("data", onData);
    for (const cancel of running.values()) cancel();
    running.clear();
    session?.close("The client went away.");
    settle();
  };
  input.on("data", onData);
  input.once("end", close);
  input.once("close", close);
  input.once("error", close);
  output.on("error", close);
  return { closed, close };
}
