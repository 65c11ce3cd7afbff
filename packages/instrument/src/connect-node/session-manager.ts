import type { ClientHttp2Session, ClientSessionOptions } from "node:http2";
import type { ConnectTransportOptions } from "@connectrpc/connect-node";
import type { ChannelInit, Registry } from "@wirescope/channelz";
import { sessionOwnerKey } from "../http2/session-owner.js";
import { finalizers } from "./finalizers.js";
import { TransportChannel } from "./transport-channel.js";

/** What a transport takes as a session manager. */
export type SessionManager = NonNullable<Extract<ConnectTransportOptions, { httpVersion: "2" }>["sessionManager"]>;

/** What Connect's own manager has beside that, documented or not. Each may be missing. */
interface Internals {
  abort?(reason?: Error): void;
  http2SessionOptions?: (ClientSessionOptions & { readonly path?: unknown }) | undefined;
  readonly s?: { readonly t?: string; readonly conn?: ClientHttp2Session };
}

const channels = new WeakMap<SessionManager, TransportChannel>();

/**
 * The channel of a session manager that the application made: one for all transports that share it. It is shut down when
 * the manager is aborted. A manager of another make is asked nothing, so its sessions are not seen.
 */
export function channelOfManager(
  registry: Registry,
  manager: SessionManager,
  init: ChannelInit & { readonly target: string },
): TransportChannel {
  const known = channels.get(manager);
  if (known !== undefined && known.registry === registry && !known.isStopped) return known;
  known?.stop("observed again");
  const internals = manager as Internals;
  const { path } = internals.http2SessionOptions ?? {};
  const channel = new TransportChannel(registry, init, typeof path === "string" ? path : undefined);
  if ("http2SessionOptions" in internals) {
    internals.http2SessionOptions = { ...internals.http2SessionOptions, [sessionOwnerKey]: channel } as object;
  }
  const { abort } = internals;
  if (abort !== undefined && known === undefined) {
    internals.abort = (reason) => {
      Reflect.apply(abort, manager, [reason]);
      channels.get(manager)?.shutDown(reason?.message ?? "aborted");
    };
  }
  // One that is connected already.
  if (internals.s?.t === "ready" && internals.s.conn !== undefined) channel.sessionOpened(internals.s.conn);
  channels.set(manager, channel);
  finalizers.register(manager, channel);
  return channel;
}
