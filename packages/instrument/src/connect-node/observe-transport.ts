import type { RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { ConnectTransportOptions, GrpcTransportOptions, GrpcWebTransportOptions } from "@connectrpc/connect-node";
import type { Registry } from "@wirescope/channelz";
import { ClientChannel } from "../http/client-channel.js";
import { channelKey, type Owned, patchClients } from "../http/patch-clients.js";
import { patchConnect, sessionOwnerKey } from "../http2/patch-module.js";
import { markObserved } from "../observation.js";
import { CallCounter, countCalls } from "./counted-calls.js";
import { channelOfManager, finalizers, type SessionManager, TransportChannel } from "./transport-channel.js";

/** Options of any `@connectrpc/connect-node` transport. */
export type TransportOptions = ConnectTransportOptions | GrpcTransportOptions | GrpcWebTransportOptions;

/** How a connect-node transport appears in Channelz. */
export interface ObserveTransportOptions {
  /** The name of the channel. */
  readonly name?: string;
}

interface TransportObservation {
  readonly counter: () => CallCounter | undefined;
  /** The Node.js options of the transport, which are garbage-collected with it. */
  readonly nodeOptions: object | undefined;
  readonly stop: (reason: string) => void;
}

/**
 * Shows the transport that is created with the returned options as a channel whose target is `baseUrl`, with its subchannels and
 * sockets, the state of its connections, and the outcomes of its calls.
 *
 * ```ts
 * const transport = createGrpcTransport(observeTransport(registry, { baseUrl: "http://127.0.0.1:8080" }));
 * ```
 *
 * The channel is shut down when the transport is garbage-collected, when its `sessionManager` is aborted, or by `stopObserving`
 * with the returned options. Transports that share a session manager share a channel.
 */
export function observeTransport<O extends TransportOptions>(
  registry: Registry,
  options: O,
  { name = "" }: ObserveTransportOptions = {},
): O {
  const isHttp1 = "httpVersion" in options && options.httpVersion === "1.1";
  const { counter, nodeOptions, stop } = isHttp1
    ? observeHttp1(registry, options, name)
    : observeHttp2(registry, options, name);
  const observed = {
    ...options,
    ...(nodeOptions !== undefined && { nodeOptions }),
    interceptors: [...(options.interceptors ?? []), countCalls(counter)],
  };
  markObserved(observed, stop);
  return observed;
}

function observeHttp2(registry: Registry, options: TransportOptions, name: string): TransportObservation {
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

function observeHttp1(registry: Registry, options: TransportOptions, name: string): TransportObservation {
  patchClients();
  const handle = registry.addChannel({ name, target: options.baseUrl });
  const channel = new ClientChannel(registry, handle, options.baseUrl, false);
  const calls = new CallCounter(handle);
  const stop = (reason: string): void => channel.close(reason);
  const nodeOptions = ownedRequests((options.nodeOptions ?? {}) as RequestOptions, channel);
  finalizers.register(nodeOptions, { stop });
  return { counter: () => (channel.isClosed ? undefined : calls), nodeOptions, stop };
}

/** Options whose requests belong to a channel. If the application opens its own connections, they are marked too. */
function ownedRequests(options: RequestOptions, channel: ClientChannel): RequestOptions & Owned {
  const { createConnection } = options;
  if (createConnection === undefined) return { ...options, [channelKey]: channel };
  const own = (socket: object | null | undefined): void => {
    if (socket) (socket as Socket & Owned)[channelKey] = channel;
  };
  return {
    ...options,
    [channelKey]: channel,
    createConnection(target, callback) {
      const socket = createConnection(target, (error, laterSocket) => {
        own(laterSocket);
        callback(error, laterSocket);
      });
      own(socket);
      return socket;
    },
  };
}
