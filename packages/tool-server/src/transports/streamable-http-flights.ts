import { ToolServerError } from "../errors.js";
import type { CancelSignal } from "../http/cancel-signal.js";
import type { RequestId } from "../rpc/json-rpc.js";
import { TransientSet } from "../rpc/transient-map.js";
import { connectionOver } from "./transport-life.js";

/** A message on its way, or a stream that is open. It is the signal that it was called off by. */
export interface Flight extends CancelSignal {
  /** That of the request; undefined for a notification or a response. */
  readonly id: RequestId | undefined;
  /** The same for those who need a signal of the platform; made when it is asked for. */
  readonly signal: AbortSignal;
  /** Whether it may have arrived. */
  wasWritten: boolean;
  /** Ends what is left of it. */
  callOff(reason: string): void;
  /** It is over. */
  end(): void;
  /** Why it failed: what it was called off for, else what it was. */
  failureOf(error: unknown): unknown;
}

/** All that is in flight over one transport. */
export interface Flights {
  /** Begins one, for a request of this id, which its sender may give up by the signal. */
  begin(id: RequestId | undefined, requestSignal: AbortSignal | undefined): Flight;
  /** Ends the one of a request that was called off. */
  callOff(id: RequestId): void;
  /** Resolves once none of these is in flight. */
  idle(isAwaited: (flight: Flight) => boolean): Promise<void>;
  /** Ends all, for this failure or because this side closes; resolves once those who wait for them were told. */
  callOffAll(failure: ToolServerError | undefined): Promise<void>;
}

export function createFlights(server: string): Flights {
  const flights = new TransientSet<OpenFlight>();
  const waiting = new Set<() => void>();
  const onEnd = (ended: OpenFlight): void => {
    flights.delete(ended);
    if (waiting.size > 0) for (const check of waiting) check();
  };
  return {
    begin(id, requestSignal) {
      const flight = new OpenFlight(id, requestSignal, server, onEnd);
      flights.add(flight);
      return flight;
    },
    callOff(id) {
      for (const flight of flights) if (flight.id === id) flight.callOff("It was called off.");
    },
    idle(isAwaited) {
      return new Promise((resolve) => {
        const check = (): void => {
          if ([...flights].some(isAwaited)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
    },
    async callOffAll(failure) {
      if (flights.size === 0) return;
      for (const flight of flights) flight.close(failure);
      // A rejection passes a few hands before it is heard.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

class OpenFlight implements Flight {
  readonly id: RequestId | undefined;
  wasWritten = false;
  aborted = false;
  reason: unknown = undefined;
  #controller: AbortController | undefined = undefined;
  // Mostly there is one, and then no list.
  #listener: (() => void) | undefined = undefined;
  #others: (() => void)[] | undefined = undefined;
  readonly #requestSignal: AbortSignal | undefined;
  readonly #server: string;
  readonly #onEnd: (flight: OpenFlight) => void;
  #onAbort: (() => void) | undefined = undefined;

  constructor(
    id: RequestId | undefined,
    requestSignal: AbortSignal | undefined,
    server: string,
    onEnd: (flight: OpenFlight) => void,
  ) {
    this.id = id;
    this.#requestSignal = requestSignal;
    this.#server = server;
    this.#onEnd = onEnd;
    if (requestSignal === undefined) return;
    this.#onAbort = () => this.callOff("It was called off.");
    if (requestSignal.aborted) this.#onAbort();
    else requestSignal.addEventListener("abort", this.#onAbort);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    if (this.#listener === undefined) this.#listener = listener;
    else {
      this.#others ??= [];
      this.#others.push(listener);
    }
  }

  removeEventListener(_: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#others = this.#others?.filter((other) => other !== listener);
  }

  callOff(reason: string): void {
    if (this.aborted) return;
    const details = { wasSent: this.wasWritten };
    const message = `The request to the server ${JSON.stringify(this.#server)} has ended. ${reason}`;
    this.#abort(new ToolServerError("CALL_CANCELLED", message, { details }));
  }

  /** Ends it because the transport has failed, or is closed. */
  close(failure: ToolServerError | undefined): void {
    if (!this.aborted) this.#abort(connectionOver(this.#server, failure, this.wasWritten));
  }

  end(): void {
    if (this.#onAbort !== undefined) this.#requestSignal?.removeEventListener("abort", this.#onAbort);
    this.#onEnd(this);
  }

  failureOf(error: unknown): unknown {
    if (this.aborted) return this.reason;
    // What is left of an answer that nobody wants to read.
    this.callOff("It failed.");
    return error;
  }

  #abort(reason: ToolServerError): void {
    this.aborted = true;
    this.reason = reason;
    const listeners = [this.#listener, ...(this.#others ?? [])];
    this.#listener = undefined;
    this.#others = undefined;
    for (const listener of listeners) listener?.();
    this.#controller?.abort(reason);
  }
}
