import type { SocketHandle } from "@wirescope/channelz";
import type { ObservedCalls } from "./observed-calls.js";

/** A socket of a tool server, in the registry. */
export class ObservedSocket {
  readonly handle: SocketHandle;
  readonly #parent: ObservedCalls;
  #inFlight = 0;

  constructor(handle: SocketHandle, parent: ObservedCalls) {
    this.handle = handle;
    this.#parent = parent;
    parent.add(this);
  }

  get isClosed(): boolean {
    return this.handle.isClosed;
  }

  streamStarted(): void {
    this.#inFlight += 1;
    this.handle.localStreamStarted();
  }

  streamSucceeded(): void {
    if (this.#streamEnded()) this.handle.streamSucceeded();
  }

  streamFailed(): void {
    if (this.#streamEnded()) this.handle.streamFailed();
  }

  /** It has ended. */
  end(reason: string): void {
    if (this.isClosed) return;
    this.close(reason);
    this.#parent.childClosed();
  }

  close(reason: string): void {
    this.handle.close(reason);
  }

  /** Whether the end of a stream counts. One that was under way before it was observed has begun, too. */
  #streamEnded(): boolean {
    if (this.#inFlight > 0) this.#inFlight -= 1;
    else if (this.isClosed) return false;
    else this.handle.localStreamStarted();
    return true;
  }
}
