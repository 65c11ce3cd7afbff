import type { ChannelHandle, SubchannelHandle } from "@wirescope/channelz";
import { WeakList } from "../weak-list.js";

/** A child of a connection or a transport. */
interface Child {
  readonly isClosed: boolean;
  close(reason: string): void;
}

/** A tool server connection or one of its transports, in the registry. */
export class ObservedCalls implements Child {
  readonly handle: ChannelHandle | SubchannelHandle;
  readonly parent: ObservedCalls | undefined;
  /** Weak, so that observation keeps nothing alive. */
  readonly #children = new WeakList<Child>();
  #inFlight = 0;
  #ending: string | undefined;

  constructor(handle: ChannelHandle | SubchannelHandle, parent: ObservedCalls | undefined) {
    this.handle = handle;
    this.parent = parent;
    parent?.add(this);
  }

  get isClosed(): boolean {
    return this.handle.isClosed;
  }

  callStarted(): void {
    this.#inFlight += 1;
    this.handle.callStarted();
  }

  callSucceeded(): void {
    if (this.#callEnded()) this.handle.callSucceeded();
  }

  callFailed(): void {
    if (this.#callEnded()) this.handle.callFailed();
  }

  add(child: Child): void {
    this.#children.add(child);
  }

  /** Ends it. It is shown until everything under it has ended: child processes and sockets may take a while. */
  end(reason: string): void {
    if (this.#ending !== undefined || this.isClosed) return;
    this.#ending = reason;
    if (this.#hasChildren()) this.handle.setState("SHUTDOWN", reason);
    else this.#finish(reason);
  }

  /** A child has closed. */
  childClosed(): void {
    if (this.#ending !== undefined && !this.isClosed && !this.#hasChildren()) this.#finish(this.#ending);
  }

  /** Removes it from the registry at once, with everything under it. */
  close(reason: string): void {
    for (const child of this.#children) child.close(reason);
    this.handle.close(reason);
  }

  #finish(reason: string): void {
    this.handle.close(reason);
    this.parent?.childClosed();
  }

  #hasChildren(): boolean {
    for (const child of this.#children) if (!child.isClosed) return true;
    return false;
  }

  /** Whether to count the end of a call. A call that started before the observation is counted as started now. */
  #callEnded(): boolean {
    if (this.#inFlight > 0) this.#inFlight -= 1;
    else if (this.isClosed) return false;
    else this.handle.callStarted();
    return true;
  }
}
