import { type EventEmitter, errorMonitor } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import type { ChannelHandle, ChannelInit, Registry } from "@wirescope/channelz";
import { causeOf } from "../http/cause.js";
import { Connectivity } from "../http/connectivity.js";
import { observeHttp2Session } from "../http2/observe-client.js";
import type { SessionOwner } from "../http2/session-owner.js";
import { stopObserving } from "../observation.js";
import { CallCounter } from "./counted-calls.js";

/** The channel of a transport, from its first use until it is shut down. */
interface Life {
  readonly channel: ChannelHandle;
  readonly counter: CallCounter;
  readonly connectivity: Connectivity;
}

/** The channel of a transport over HTTP/2, in the state of the sessions that its session manager makes. */
export class TransportChannel implements SessionOwner {
  readonly registry: Registry;
  readonly #init: ChannelInit;
  readonly #path: string | undefined;
  readonly #sessions = new Set<ClientHttp2Session>();
  #life: Life | undefined;
  #isStopped = false;

  constructor(registry: Registry, init: ChannelInit, path: string | undefined) {
    this.registry = registry;
    this.#init = init;
    this.#path = path;
    this.#begin();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** What counts a call that begins now. */
  readonly counter = (): CallCounter | undefined => (this.#isStopped ? undefined : this.#begin().counter);

  sessionOpened(session: ClientHttp2Session): void {
    if (this.#isStopped || session.destroyed) return;
    const { channel, connectivity } = this.#begin();
    const target = this.#path === undefined ? new URL(this.#init.target!).host : `unix:${this.#path}`;
    observeHttp2Session(this.registry, session, { channel, target, path: this.#path });
    this.#sessions.add(session);
    let cause: string | undefined;
    let isConnected = false;
    const onConnect = (): void => {
      isConnected = true;
      connectivity.succeed();
    };
    connectivity.begin();
    if (session.connecting) session.prependOnceListener("connect", onConnect);
    else onConnect();
    traceAttempts(session, channel);
    // Heard without being handled: what the application does about errors stays its own affair.
    session.on(errorMonitor, (error: Error) => {
      cause = isCancel(error) ? undefined : causeOf(error);
    });
    session.once("close", () => {
      this.#sessions.delete(session);
      if (isConnected) connectivity.end(cause);
      else connectivity.fail(cause);
    });
  }

  /** The application has done with it for now. Should it use it again, that is a new channel. */
  shutDown(reason: string): void {
    this.#life?.channel.close(reason);
    this.#life = undefined;
  }

  /** Shows it no longer. */
  stop(reason: string): void {
    this.#isStopped = true;
    for (const session of this.#sessions) stopObserving(session, reason);
    this.#sessions.clear();
    this.shutDown(reason);
  }

  #begin(): Life {
    if (this.#life !== undefined) return this.#life;
    const channel = this.registry.addChannel(this.#init);
    this.#life = { channel, counter: new CallCounter(channel), connectivity: new Connectivity(channel) };
    return this.#life;
  }
}

/** Tells which addresses are tried, and what became of those that failed. */
function traceAttempts(session: ClientHttp2Session, channel: ChannelHandle): void {
  if (!session.connecting) return;
  const socket: EventEmitter = session.socket;
  const onAttempt = (ip: string, port: number): void => channel.trace(`Trying ${ip} port ${port}`);
  const onFailed = (ip: string, port: number, _family: number, error: Error): void => {
    channel.trace(`Tried ${ip} port ${port} in vain: ${causeOf(error)}`, { severity: "warning" });
  };
  socket.on("connectionAttempt", onAttempt);
  socket.on("connectionAttemptFailed", onFailed);
}

/** Connect ends sessions that it no longer needs with an error that says so, and does not take that for a failure. */
function isCancel(error: Error & { readonly code?: unknown }): boolean {
  return error.name === "ConnectError" && error.code === 1;
}
