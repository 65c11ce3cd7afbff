import { type Implementation, InFlightSet } from "@wirescope/tool-server/internal";
import type { ClientAccount, ClientCall } from "../client-call.js";
import { createRates, type GatewayLimits, type Rates } from "../limits.js";

/** The sender of a request, identified without relying on what the client states. */
export interface Requester {
  /** Owns sessions and parked calls. */
  readonly principal: string;
  /** The key by which `clientRate` counts requests: something that a client cannot choose. */
  readonly rateKey: string;
  /** Whether a proxy forwarded the request, so that its sender may be on another machine. Default false. */
  readonly isForwarded?: boolean;
}

/** The clients, their limits and their calls in flight. */
export interface Accounts {
  /** Creates an account for a session. */
  create(requester: Requester, client: Implementation | undefined): ClientAccount;
  /** The account of a client without a session: all requests of one principal under one name share it. */
  shared(requester: Requester, client: Implementation | undefined): ClientAccount;
  /**
   * Resolves when no call is in flight. After `graceMs` the remaining calls are cancelled with this reason, and it resolves a second later
   * even if some have not ended.
   */
  idle(graceMs: number, reason: Error): Promise<void>;
}

const maxShared = 1000;
const maxLabelLength = 100;

/** Milliseconds for cancelled calls to end. */
const cancelMs = 1000;

export function createAccounts(limits: GatewayLimits): Accounts {
  const shared = new Map<string, ClientAccount>();
  const rates = createRates(limits.clientRate);
  /** The accounts that have calls in flight. */
  const busy = new InFlightSet<ClientAccount>();
  let onIdle = (): void => {};
  const create = (requester: Requester, client: Implementation | undefined): ClientAccount => {
    const { principal, rateKey, isForwarded = false } = requester;
    const label = client === undefined ? "unnamed" : labelOf(client);
    const account = new CountedAccount({ principal, label, isForwarded, rateKey, rates, limits }, (isBusy) => {
      if (isBusy) busy.add(account);
      else if (busy.delete(account) && busy.size === 0) onIdle();
    });
    return account;
  };
  return {
    create,
    shared(requester, client) {
      const { principal } = requester;
      const key = client === undefined ? principal : `${principal}\n${labelOf(client)}`;
      let account = shared.get(key);
      if (account === undefined) {
        for (const [old, { calls }] of shared.size >= maxShared ? shared : []) if (calls.size === 0) shared.delete(old);
        account = create(requester, client);
        shared.set(key, account);
      }
      return account;
    },
    async idle(graceMs, reason) {
      if (busy.size === 0) return;
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      const timer = setTimeout(() => {
        for (const { calls } of busy) for (const call of calls) call.cancel(reason);
      }, graceMs);
      const deadline = new Promise<void>((resolve) => setTimeout(resolve, graceMs + cancelMs).unref());
      await Promise.race([idle, deadline]);
      clearTimeout(timer);
    },
  };
}

interface AccountOptions extends Pick<ClientAccount, "principal" | "label" | "isForwarded"> {
  readonly rateKey: string;
  readonly rates: Rates;
  readonly limits: GatewayLimits;
}

class CountedAccount implements ClientAccount {
  readonly principal: string;
  readonly label: string;
  readonly isForwarded: boolean;
  readonly calls = new InFlightSet<ClientCall>();
  readonly #options: AccountOptions;
  readonly #onBusy: (isBusy: boolean) => void;

  constructor(options: AccountOptions, onBusy: (isBusy: boolean) => void) {
    this.principal = options.principal;
    this.label = options.label;
    this.isForwarded = options.isForwarded;
    this.#options = options;
    this.#onBusy = onBusy;
  }

  add(call: ClientCall): "concurrency" | "rate" | undefined {
    if (this.calls.size >= this.#options.limits.clientConcurrency) return "concurrency";
    if (this.count() !== undefined) return "rate";
    if (this.calls.size === 0) this.#onBusy(true);
    this.calls.add(call);
    return undefined;
  }

  remove(call: ClientCall): void {
    if (this.calls.delete(call) && this.calls.size === 0) this.#onBusy(false);
  }

  count(): "rate" | undefined {
    const { rates, rateKey } = this.#options;
    return rates.take(rateKey) ? undefined : "rate";
  }
}

/** Name and version of a client; truncated if they are long. */
function labelOf({ name, version }: Implementation): string {
  const whole = `${name} ${version}`;
  // A slice would keep the whole string in memory.
  return whole.length <= maxLabelLength ? whole : Buffer.from(whole.slice(0, maxLabelLength)).toString();
}
