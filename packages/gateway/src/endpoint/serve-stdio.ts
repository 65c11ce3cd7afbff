import type { Readable, Writable } from "node:stream";
import {
  cancelledIdOf,
  createLineReader,
  encodeMessage,
  errorObjectOf,
  hasEnvelope,
  InFlightMap,
  modernVersions,
  type ParsedMessage,
  parseMessage,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  readEnvelope,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Requester } from "../callers/accounts.js";
import type { MessageWriter } from "../callers/message-writer.js";
import type { Session } from "../callers/session.js";
import { isExtensionNotification } from "../extension-messages.js";
import { beginSession } from "./begin-session.js";
import type { EndpointContext } from "./endpoint-context.js";
import { shuttingDown } from "./http-messages.js";
import { unsupportedVersion } from "./modern-http.js";

/** A client that is served over stdio. */
export interface StdioClient {
  /** Resolves when its input has ended, or it was closed. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Buffered bytes for a client that does not read. Above this, nothing more is read from the client, and notifications are dropped. */
const maxBufferedBytes = 8 * 1024 * 1024;

/** The only client: the process at the other end of the pipes. */
const requester: Requester = { principal: "stdio", rateKey: "stdio" };

/**
 * Serves one client over stdio, one message per line, in both eras: `initialize` starts a session, and a request that contains its
 * version is stateless. Nothing else may be written to the output.
 */
export function serveStdio(context: EndpointContext, input: Readable, output: Writable): StdioClient {
  const { accounts, dispatch, stateless, subscriptions, limits, events, isClosing } = context;
  /** Modern requests, by id. After a cancellation, a client may use the id again before the first request has ended. */
  const running = new InFlightMap<RequestId, { cancel(): void }>();
  let session: Session | undefined;
  let isClosed = false;
  let settle = (): void => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });

  const isFull = (): boolean => output.writableLength > maxBufferedBytes;
  const write = (message: RpcMessage): void => {
    if (isClosed || output.writableEnded || output.destroyed) return;
    if (isFull() && !("id" in message)) return;
    const text = encodeMessage(message);
    if (text === undefined) return;
    output.write(`${text}\n`);
    // A client that sends requests but does not read would fill the memory with responses.
    if (!isFull() || input.isPaused()) return;
    input.pause();
    output.once("drain", () => !isClosed && input.resume());
  };
  const shared: MessageWriter = {
    get isOpen() {
      return !isClosed;
    },
    send: write,
    respond: write,
    end: () => {},
  };

  const initialize = (message: RpcRequest): void => {
    if (session !== undefined) throw new RpcError(rpcCodes.invalidRequest, "The session is already initialized.");
    const begun = beginSession(context, requester, message);
    session = begun.session;
    session.setStream(shared);
    write(begun.response);
  };

  const serveModern = (request: RpcRequest): void => {
    const envelope = readEnvelope(request.params);
    if (!modernVersions.includes(envelope.version)) throw unsupportedVersion(envelope.version);
    const { id } = request;
    if (running.get(id) !== undefined)
      throw new RpcError(rpcCodes.invalidRequest, "A request with this id is already in flight.");
    // The response may be sent before the function is known.
    const own = { cancel: () => {} };
    const end = (): boolean => running.get(id) === own && running.delete(id);
    const writer: MessageWriter = {
      get isOpen() {
        return shared.isOpen;
      },
      send: write,
      respond(message) {
        if (end()) write(message);
      },
      end: () => void end(),
    };
    const account = accounts.shared(requester, envelope.clientInfo);
    const isSubscription = request.method === "subscriptions/listen";
    if (isSubscription) dispatch.count(account);
    running.add(id, own);
    own.cancel = isSubscription
      ? subscriptions.begin(request, account.principal, writer)
      : stateless.request({ request, envelope, account, headers: undefined }, writer);
  };

  const notifyModern = (message: RpcNotification): void => {
    try {
      const envelope = hasEnvelope(message.params) ? readEnvelope(message.params) : undefined;
      dispatch.count(accounts.shared(requester, envelope?.clientInfo));
      context.merged.notify(message, envelope?.capabilities);
    } catch (error) {
      // A notification has no response that could report what is wrong with it.
      events.reportIfDefect(error);
    }
  };

  const receive = ({ kind, message }: ParsedMessage): void => {
    if (kind === "response") session?.responded(message);
    else if (kind === "notification") {
      const cancelled = cancelledIdOf(message);
      const request = cancelled === undefined ? undefined : running.get(cancelled);
      if (cancelled !== undefined && request !== undefined) {
        request.cancel();
        running.delete(cancelled);
      } else if (session !== undefined) session.notified(message);
      else if (isExtensionNotification(message.method)) notifyModern(message);
    } else if (isClosing()) throw shuttingDown();
    else if (hasEnvelope(message.params)) serveModern(message);
    else if (message.method === "initialize") initialize(message);
    else if (session === undefined) throw new RpcError(rpcCodes.invalidRequest, "Send initialize first.");
    else session.request(message, shared);
  };

  const onLine = (line: string): void => {
    if (isClosed) return;
    const read = parseMessage(line);
    if ("code" in read) {
      write({ jsonrpc: "2.0", id: null, error: read });
      return;
    }
    try {
      receive(read);
    } catch (error) {
      events.reportIfDefect(error);
      if (read.kind === "request") write({ jsonrpc: "2.0", id: read.message.id, error: errorObjectOf(error) });
    }
  };
  const onTooLong = (): true => {
    const message = `The message exceeds the limit of ${limits.messageBytes} bytes.`;
    events.emit({ kind: "refused", limit: "message-bytes", reason: message });
    if (!isClosed) write({ jsonrpc: "2.0", id: null, error: { code: rpcCodes.invalidRequest, message } });
    return true;
  };
  const lines = createLineReader(limits.messageBytes, onLine, onTooLong);
  const onData = (chunk: Buffer): void => lines.push(chunk);
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    input.off("data", onData);
    for (const [, request] of running.entries()) request.cancel();
    running.clear();
    session?.close("client disconnected");
    settle();
  };
  input.on("data", onData);
  input.once("end", close);
  input.once("close", close);
  input.once("error", close);
  output.on("error", close);
  return { closed, close };
}
