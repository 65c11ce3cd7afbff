import type { Origins } from "../http/origins.js";
import { guardUndici } from "./guard-undici.js";
import { type Origin, originKey } from "./origin.js";
import type { UndiciChannel } from "./undici-channel.js";

interface Attempt {
  /** Undefined until it is shown. */
  channel?: UndiciChannel | undefined;
  isOver: boolean;
}

/** The maximum number of HTTP/2 origins that are remembered. */
const maxHttp2Origins = 1000;

/**
 * The connection attempts of undici clients. An attempt is shown only if it takes longer than a turn of the event loop: a faster
 * one got an existing connection, which may be shown elsewhere, such as one of a tool server.
 */
export class ConnectAttempts {
  readonly #origins: Origins<UndiciChannel>;
  /** By connect function, which the clients of a pool share. */
  readonly #byConnector = new WeakMap<object, Attempt[]>();
  /** Origins whose connections use HTTP/2, which `node:http2` shows. */
  readonly #http2Origins = new Set<string>();
  #isStopped = false;

  constructor(origins: Origins<UndiciChannel>) {
    this.#origins = origins;
  }

  begin(connector: object, origin: Origin): void {
    const attempt: Attempt = { isOver: false };
    const others = this.#byConnector.get(connector);
    if (others === undefined) this.#byConnector.set(connector, [attempt]);
    else others.push(attempt);
    if (this.#http2Origins.has(originKey(origin))) return;
    const show = guardUndici(() => {
      if (attempt.isOver || this.#isStopped) return;
      attempt.channel = this.#origins.at(origin.protocol, origin.host, origin.port, "");
      attempt.channel.attemptBegan();
    });
    setImmediate(show).unref();
  }

  /** Ends an attempt; returns the channel that showed it. */
  end(connector: object): UndiciChannel | undefined {
    const attempt = this.#byConnector.get(connector)?.shift();
    if (attempt !== undefined) attempt.isOver = true;
    return attempt?.channel;
  }

  /** Remembers whether connections to an origin use HTTP/2. */
  setHttp2(origin: Origin, isHttp2: boolean): void {
    const key = originKey(origin);
    if (!isHttp2) {
      this.#http2Origins.delete(key);
      return;
    }
    if (this.#http2Origins.size >= maxHttp2Origins) this.#http2Origins.clear();
    this.#http2Origins.add(key);
  }

  stop(): void {
    this.#isStopped = true;
  }
}
