import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { ClientChannel } from "../http/client-channel.js";
import { addressText } from "../http/client-connection.js";
import type { UndiciExchange } from "./undici-exchange.js";

/** The requests and connections of undici to one origin. */
export class UndiciChannel extends ClientChannel {
  readonly #exchanges = new Set<UndiciExchange>();
  /** Connections that are being made. */
  #attempts = 0;
  /** Whether it has anything to show: not if all its requests are shown elsewhere. */
  #hasShown = false;

  constructor(registry: Registry, handle: ChannelHandle, target: string) {
    super(registry, handle, target, true);
  }

  /** Whether it can be dropped, because everything it was created for is shown elsewhere. */
  get isSuperfluous(): boolean {
    return !this.#hasShown && !this.isUsed;
  }

  /** Whether requests are waiting, or in progress. */
  get isUsed(): boolean {
    return this.#exchanges.size > 0;
  }

  begin(exchange: UndiciExchange): void {
    this.exchangeBegan();
    this.#exchanges.add(exchange);
  }

  callStarted(): void {
    this.#hasShown = true;
    this.handle.callStarted();
  }

  end(exchange: UndiciExchange): void {
    if (!this.#exchanges.delete(exchange)) return;
    this.exchangeEnded();
    // undici connects for waiting requests only, and says nothing about an attempt that a closed client gave up.
    if (!this.isUsed) for (; this.#attempts > 0; this.#attempts -= 1) this.connectivity.fail();
  }

  attemptBegan(): void {
    this.#attempts += 1;
    this.connectivity.begin();
  }

  /** An attempt became a connection, which counts by itself. */
  attemptSucceeded(): void {
    if (this.#attempts === 0) return;
    this.#attempts -= 1;
    this.connectivity.fail();
  }

  attemptFailed(error: unknown): void {
    this.#hasShown = true;
    if (this.#attempts > 0) this.#attempts -= 1;
    else this.connectivity.begin();
    for (const failed of failedAddresses(error)) {
      const { connectivity } = this.subchannelAt(addressText({ ip: failed.address, port: failed.port }));
      connectivity.begin();
      connectivity.fail(causeOf(failed));
    }
    this.connectivity.fail(causeOf(error));
  }
}

type AddressError = Error & { readonly address: string; readonly port: number };

/** The addresses that were tried, each with its error; a name with several addresses fails with an AggregateError. */
function failedAddresses(error: unknown): AddressError[] {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.filter(
    (each): each is AddressError =>
      each instanceof Error &&
      typeof (each as Partial<AddressError>).address === "string" &&
      typeof (each as Partial<AddressError>).port === "number",
  );
}
