import type { ClientHttp2Session } from "node:http2";
import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { Connectivity } from "../connectivity.js";
import { followSession } from "./follow-session.js";
import { targetOfSession, unixTarget } from "./session-target.js";

/** How a `node:http2` client session appears in Channelz. */
export interface ObserveSessionOptions {
  /** The parent channel, whose creator reports its calls and state. Default: a new channel, which closes with the session. */
  readonly channel?: ChannelHandle;
  /** The target of the session, such as `https://example.com`. Default: the path, or else the session's origin. */
  readonly target?: string;
  /** The path of the Unix socket that it connects to, which Node does not report for a client. */
  readonly path?: string | undefined;
}

/**
 * Shows an HTTP/2 client session in the registry, from now until it closes: a channel, a subchannel for the connection, its socket,
 * and all calls.
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
