import type { ClientHttp2Session } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { Connectivity } from "../connectivity.js";
import { followSession } from "./follow-session.js";
import { targetOfSession, unixTarget } from "./session-target.js";

/** How a client session of `node:http2` appears in Channelz. */
export interface ObserveSessionOptions {
  /** The channel that the session serves, whose calls and state are reported by its creator. Default: one of its own, which closes with it. */
  readonly channel?: ChannelHandle;
  /** What the session was asked to connect to, such as `https://example.com`. Default: the path, or else the session's origin. */
  readonly target?: string;
  /** The path of the Unix socket that it connects to, which Node does not report for a client. */
  readonly path?: string | undefined;
}

/**
 * Shows a client's session of HTTP/2 in the registry, from now until it closes: a channel, a subchannel for the
 * connection, its socket, and all calls.
 */
export function observeHttp2Session(
  registry: Registry,
  session: ClientHttp2Session,
  options: ObserveSessionOptions = {},
): ChannelHandle {
  const { path } = options;
  const target = options.target ?? (path === undefined ? targetOfSession(session) : unixTarget(path));
  if (options.channel !== undefined) {
    const { channel } = options;
    followSession(registry, session, { channel, target, path, countsCalls: false, connectivity: undefined });
    return channel;
  }
  const channel = registry.addChannel({ target });
  const connectivity = new Connectivity(channel);
  const onEnded = (why: string): void => channel.close(why);
  followSession(registry, session, { channel, target, path, countsCalls: true, connectivity, onEnded });
  return channel;
}
