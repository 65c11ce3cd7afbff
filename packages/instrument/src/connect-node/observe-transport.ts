import type { RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { ConnectTransportOptions, GrpcTransportOptions, GrpcWebTransportOptions } from "@connectrpc/connect-node";
import type { Registry } from "@wirescope/channelz";
import { ClientChannel } from "../http/client-channel.js";
import { channelKey, type Owned, patchClients } from "../http/patch-clients.js";
import { patchConnect, sessionOwnerKey } from "../http2/patch-module.js";
import { noteObserved } from "../observation.js";
import { CallCounter, countCalls } from "./counted-calls.js";
import { channelOfManager, finalizers, type SessionManager, TransportChannel } from "./transport-channel.js";

/** Options of any of the transports of `@connectrpc/connect-node`. */
export type TransportOptions = ConnectTransportOptions | GrpcTransportOptions | GrpcWebTransportOptions;

/** How a transport of connect-node appears in Channelz. */
export interface ObserveTransportOptions {
  /** What the channel is called. */
  readonly name?: string;
}

interface Marked {
  readonly counter: () => CallCounter | undefined;
  /** The Node.js options of the transport; they live as long as it does. */
  readonly nodeOptions: object | undefined;
  readonly stop: (reason: string) => void;
}

/**
 * Shows the transport that is made with the options it returns: a channel whose target is `baseUrl`, in the state of its
 * connections and with its calls by their outcome, over subchannels and sockets.
 *
 * ```ts
 * const transport = createGrpcTransport(observeTransport(registry, { baseUrl: "http://127.0.0.1:8080" }));
 * ```
 *
 * The channel is shut down when the transport is dropped, when its `sessionManager` is aborted, or by `stopObserving` of
 * the returned options. Transports that share a session manager share a channel.
 */
export function observeTransport<O extends TransportOptions>(
  registry: Registry,
  options: O,
  { name = "" }: ObserveTransportOptions = {},
): O {
  const { counter, nodeOptions, stop } = isHttp1(options)
    ? markHttp1(registry, options, name)
    : markHttp2(registry, options, name);
  const observed = {
    ...options,
    ...(nodeOptions !== undefined && { nodeOptions }),
    interceptors: [...(options.interceptors ?? []), countCalls(counter)],
  };
  noteObserved(observed, stop);
  return observed;
}

function markHttp2(registry: Registry, options: TransportOptions, name: string): Marked {
  patchConnect();
  const init = { name, target: options.baseUrl };
  const { sessionManager } = options as { readonly sessionManager?: SessionManager };
  if (sessionManager !== undefined) {
    const channel = channelOfManager(registry, sessionManager, init);
    return { counter: channel.counter, nodeOptions: undefined, stop: (reason) => channel.stop(reason) };
  }
  const { path } = (options.nodeOptions ?? {}) as { readonly path?: unknown };
  const channel = new TransportChannel(registry, init, typeof path === "string" ? path : undefined);
  const nodeOptions = { ...options.nodeOptions, [sessionOwnerKey]: channel };
  finalizers.register(nodeOptions, channel);
  return { counter: channel.counter, nodeOptions, stop: (reason) => channel.stop(reason) };
}

function markHttp1(registry: Registry, options: TransportOptions, name: string): Marked {
  patchClients();
  const handle = registry.addChannel({ name, target: options.baseUrl });
  const channel = new ClientChannel(registry, handle, options.baseUrl, false);
  const calls = new CallCounter(handle);
  const stop = (reason: string): void => channel.close(reason);
  const nodeOptions = ownedRequests((options.nodeOptions ?? {}) as RequestOptions, channel);
  finalizers.register(nodeOptions, { stop });
  return { counter: () => (channel.isClosed ? undefined : calls), nodeOptions, stop };
}

/** Options whose requests belong to a channel. If the application opens the connections itself, the connections are marked. */
function ownedRequests(options: RequestOptions, channel: ClientChannel): RequestOptions & Owned {
  const { createConnection } = options;
  if (createConnection === undefined) return { ...options, [channelKey]: channel };
  const own = (socket: object | null | undefined): void => {
    if (socket) (socket as Socket & Owned)[channelKey] = channel;
  };
  return {
    ...options,
    [channelKey]: channel,
    createConnection(target, made) {
      const socket = createConnection(target, (error, later) => {
        own(later);
        made(error, later);
      });
      own(socket);
      return socket;
    },
  };
}

function isHttp1(options: TransportOptions): boolean {
  return "httpVersion" in options && options.httpVersion === "1.1";
}
