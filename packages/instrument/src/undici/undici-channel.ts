import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { ClientChannel } from "../http/client-channel.js";
import { addressText } from "../http/client-connection.js";

/** The channel of undici's requests and connections to one origin. */
export class UndiciChannel extends ClientChannel {
  /** The number of connection attempts in progress. */
  #attempts = 0;
  /** Whether it has shown anything but attempts in progress. */
  #hasShown = false;

  constructor(registry: Registry, handle: ChannelHandle, target: string) {
    super(registry, handle, target, true);
  }

  /** Whether the connections that it was created for turned out to be shown elsewhere. */
  get isSuperfluous(): boolean {
    return !this.#hasShown && this.isIdle;
  }

  /** A request was written to a connection, or failed before that. */
  callStarted(): void {
    this.#hasShown = true;
    this.exchangeBegan();
    this.handle.callStarted();
  }

  attemptBegan(): void {
    this.#attempts += 1;
    this.connectivity.begin();
  }

  /** An attempt ended without a failure: it became a connection, which counts by itself, or was given up. */
  attemptEnded(): void {
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

  /** No request is waiting any more. Ends all attempts, because undici does not report an attempt that a closed client gave up. */
  endAttempts(): void {
    while (this.#attempts > 0) this.attemptEnded();
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
