import {
  cancelledIdOf,
  type Implementation,
  isObject,
  type LogLevel,
  type Mutable,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcObject,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { CallSession, ClientAccount, ClientCall, RequestHeaders, WatchedResource } from "../client-call.js";
import type { Dispatch } from "../dispatch/dispatch.js";
import type { MergedServer } from "../dispatch/merged-server.js";
import type { EventHandlers } from "../events.js";
import { isExtensionNotification } from "../extension-messages.js";
import type { MessageWriter } from "./message-writer.js";
import { createOutgoingRequests } from "./outgoing-requests.js";
import { type CallHost, SessionCall } from "./session-call.js";
import { subscribed } from "./subscriptions.js";
import { createUrlElicitations } from "./url-elicitations.js";

export interface SessionInit {
  readonly id: string;
  readonly account: ClientAccount;
  readonly protocolVersion: string;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: RpcObject;
  readonly dispatch: Dispatch;
  /** Forwards an extension notification to the servers that it concerns. */
  readonly forwardNotification: MergedServer["notify"];
  /** Milliseconds for the client to respond to a request. */
  readonly inputMs: number;
  /** The client has set another log level. */
  readonly onLogLevel: () => void;
  /** Called once, at its end. */
  readonly onClosed: (session: Session, reason: string) => void;
}

/** A session of a legacy client, over any transport. */
export interface Session extends CallSession {
  readonly account: ClientAccount;
  readonly logLevel: LogLevel | undefined;
  /** The events that it forwards to the client. */
  readonly handlers: EventHandlers;
  /** Whether the client waits for nothing: it has no open stream, and no request whose response could still be sent. */
  isIdle(): boolean;
  /** When it was last used, in milliseconds since the epoch. */
  readonly usedAt: number;
  /** A message for it has arrived, but is handled later. */
  touch(): void;
  /** Dispatches a request; its response and related messages are sent to the writer. */
  request(request: RpcRequest, writer: MessageWriter, headers?: RequestHeaders): void;
  /** Throws an RpcError if the client has reached a limit. */
  notified(notification: RpcNotification): void;
  responded(response: RpcResponse): void;
  /** Sets the stream for messages that relate to no request. The previous one is ended. */
  setStream(writer: MessageWriter): void;
  /** The stream has ended. */
  loseStream(writer: MessageWriter): void;
  /** Ends it: calls in flight are cancelled. */
  close(reason: string): void;
}

/** How many resources one session may watch. */
const maxWatched = 1000;
/** The maximum length of the `initialize` parameters, in characters: they are kept for the lifetime of the session. */
const maxInitLength = 16_384;

/** How often an open request to a client is checked: it ends when all streams of the client are closed. */
const goneCheckMs = 500;

interface Watched {
  readonly resource: WatchedResource;
  /** Ends the subscription on the server, if the server did not refuse it. */
  readonly release: () => void;
}

export function createSession(init: SessionInit): Session {
  const { id, account, capabilities, dispatch, inputMs } = init;
  const outgoing = createOutgoingRequests(inputMs);
  const watched = new Map<string, Watched>();
  const elicitations = createUrlElicitations();
  let stream: MessageWriter | undefined;
  let isClosed = false;

  const notify = (method: string, params?: RpcObject): void => {
    if (stream?.isOpen)
      stream.send(params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params });
  };
  const reach = (writer: MessageWriter): MessageWriter | undefined =>
    writer.isOpen ? writer : stream?.isOpen ? stream : undefined;

  const ask: CallHost["ask"] = async (call, method, params, signal, during) => {
    const { elicitationId } = params?.mode === "url" ? params : {};
    const elicitation = typeof elicitationId === "string" ? elicitationId : undefined;
    if (elicitation !== undefined) elicitations.add(elicitation, call.route?.server ?? "");
    let isAccepted = false;
    const gone = new AbortController();
    const timer = setInterval(() => {
      if (session.isIdle()) gone.abort();
    }, goneCheckMs);
    try {
      const either = signal === undefined ? gone.signal : AbortSignal.any([signal, gone.signal]);
      const reply = await outgoing.send(method, params, during, either, (message) => {
        const open = reach(call.writer);
        if (open === undefined) throw new RpcError(rpcCodes.failed, "The client that made the call has disconnected.");
        open.send(message);
      });
      isAccepted = reply.action === "accept";
      return reply;
    } finally {
      clearInterval(timer);
      if (elicitation !== undefined && !isAccepted) elicitations.remove(elicitation);
    }
  };

  /** The call in flight with this id. */
  const find = (requestId: RequestId): ClientCall | undefined => account.calls.find(({ id }) => id === requestId);
  const isAwaited = (): boolean => {
    for (const call of account.calls) if (call instanceof SessionCall && call.writer.isOpen) return true;
    return false;
  };

  const session: Mutable<Session> = {
    id,
    shortId: id.slice(0, 8),
    account,
    protocolVersion: init.protocolVersion,
    logLevel: undefined,
    usedAt: Date.now(),
    isIdle: () => !stream?.isOpen && !isAwaited(),
    touch() {
      session.usedAt = Date.now();
    },
    setLogLevel(level) {
      session.logLevel = level;
      init.onLogLevel();
    },
    request(request, writer, headers) {
      session.usedAt = Date.now();
      if (find(request.id) !== undefined) {
        const error = { code: rpcCodes.invalidRequest, message: "A request with this id is already in flight." };
        writer.respond({ jsonrpc: "2.0", id: request.id, error }, 200);
        return;
      }
      dispatch(new SessionCall(host, request, writer, headers));
    },
    notified(notification) {
      session.usedAt = Date.now();
      const cancelled = cancelledIdOf(notification);
      if (cancelled !== undefined) find(cancelled)?.cancel();
      else if (isExtensionNotification(notification.method)) {
        dispatch.count(account);
        init.forwardNotification(notification, capabilities);
      }
    },
    responded(response) {
      session.usedAt = Date.now();
      outgoing.responded(response);
    },
    setStream(writer) {
      session.usedAt = Date.now();
      const before = stream;
      stream = writer;
      before?.end();
    },
    loseStream(writer) {
      if (stream !== writer) return;
      stream = undefined;
      session.usedAt = Date.now();
    },
    async watch(uri, resource) {
      if (watched.has(uri)) return;
      if (watched.size >= maxWatched) {
        const message = `A session can subscribe to at most ${maxWatched} resources. Unsubscribe from some first.`;
        throw new RpcError(rpcCodes.invalidParams, message);
      }
      const request = resource.subscribe();
      const entry: Watched = { resource, release: subscribed(request, resource.unsubscribe).release };
      watched.set(uri, entry);
      try {
        await request;
      } catch (error) {
        if (watched.get(uri) === entry) watched.delete(uri);
        throw error;
      }
      if (isClosed) session.unwatch(uri);
    },
    unwatch(uri) {
      const entry = watched.get(uri);
      if (entry === undefined) return;
      watched.delete(uri);
      entry.release();
    },
    handlers: {
      "list-changed": ({ list }) => notify(`notifications/${list}/list_changed`),
      "resource-updated"(updated) {
        for (const [uri, { resource }] of watched) {
          if (resource.uri === updated.uri && resource.server === updated.server)
            notify("notifications/resources/updated", { uri });
        }
      },
      // If such a server is added again, the client can subscribe again.
      reloaded({ removed }) {
        for (const [uri, { resource }] of watched) if (removed.includes(resource.server)) session.unwatch(uri);
      },
      "task-status"({ session: owner, params }) {
        if (owner === id) notify("notifications/tasks/status", params);
      },
      "extension-notification"({ session: owner, method, params }) {
        if (owner === id) notify(method, params);
      },
      "elicitation-completed"({ server, elicitationId }) {
        if (elicitations.complete(elicitationId, server))
          notify("notifications/elicitation/complete", { elicitationId });
      },
    },
    close(reason) {
      if (isClosed) return;
      isClosed = true;
      for (const uri of [...watched.keys()]) session.unwatch(uri);
      for (const call of account.calls) call.cancel();
      outgoing.close("The session of the client ended.");
      stream?.end();
      stream = undefined;
      init.onClosed(session, reason);
    },
  };
  const host: CallHost = { session, capabilities, reach, notify, ask };
  return session;
}

/** Validates the parameters of `initialize`. Throws an RpcError. */
export function readInitialize(
  params: RpcObject | undefined,
): Pick<SessionInit, "capabilities" | "clientInfo"> & { readonly requested: string } {
  const { protocolVersion, capabilities, clientInfo } = params ?? {};
  if (typeof protocolVersion !== "string")
    throw new RpcError(rpcCodes.invalidParams, "initialize requires a string `protocolVersion`.");
  const named = isObject(clientInfo) && typeof clientInfo.name === "string";
  const init = {
    requested: protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: named ? { name: String(clientInfo.name), version: String(clientInfo.version ?? "") } : undefined,
  };
  if (JSON.stringify(init).length > maxInitLength) {
    const message = `The parameters of initialize exceed ${maxInitLength} characters. Shorten them.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  }
  return init;
}
