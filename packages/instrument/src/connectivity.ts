import type { ChannelHandle, ConnectivityState, SubchannelHandle } from "@wirescope/channelz";

/** The state of a channel or subchannel, derived from its connections and connection attempts. */
export class Connectivity {
  readonly #handle: ChannelHandle | SubchannelHandle;
  #connecting = 0;
  #connected = 0;

  constructor(handle: ChannelHandle | SubchannelHandle) {
    this.#handle = handle;
  }

  /** Whether there are no connections and no attempts. */
  get isIdle(): boolean {
    return this.#connecting === 0 && this.#connected === 0;
  }

  /** A connection attempt started. */
  begin(): void {
    this.#connecting += 1;
    this.#settle();
  }

  /** A connection attempt succeeded. */
  succeed(): void {
    this.#connecting -= 1;
    this.#connected += 1;
    this.#settle();
  }

  /** A connection attempt failed; without a cause, it was cancelled. */
  fail(cause?: string): void {
    this.#connecting -= 1;
    this.#settle(cause);
  }

  /** A connection ended; with a cause, it was lost. */
  end(cause?: string): void {
    this.#connected -= 1;
    this.#settle(cause);
  }

  #settle(cause?: string): void {
    const state = this.#next(cause);
    move(this.#handle, state, state === "TRANSIENT_FAILURE" ? cause : undefined);
    if (cause !== undefined && state !== "TRANSIENT_FAILURE") {
      this.#handle.trace(`Connection failed: ${cause}`, { severity: "warning" });
    }
  }

  #next(cause: string | undefined): ConnectivityState {
    if (this.#connected > 0) return "READY";
    if (this.#connecting > 0) return "CONNECTING";
    if (cause !== undefined) return "TRANSIENT_FAILURE";
    // A failure lasts until the next attempt begins.
    return this.#handle.state === "TRANSIENT_FAILURE" ? "TRANSIENT_FAILURE" : "IDLE";
  }
}

/** Sets a state using only the transitions that gRPC allows, through an intermediate state if there is no direct one. */
function move(handle: ChannelHandle | SubchannelHandle, to: ConnectivityState, cause: string | undefined): void {
  const from = handle.state;
  if (from === "READY" && to === "CONNECTING") handle.setState("IDLE");
  const isResting = from === "IDLE" || from === "TRANSIENT_FAILURE";
  if (isResting && from !== to && (to === "READY" || to === "TRANSIENT_FAILURE")) handle.setState("CONNECTING");
  handle.setState(to, cause);
}
