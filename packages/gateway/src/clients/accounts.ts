import type { Implementation } from "@wirescope/tool-server/rpc";
import { createAdmission } from "../admission.js";
import type { GatewayLimits } from "../limits.js";
import { createRates } from "../rates.js";
import type { ClientAccount } from "./caller.js";

/** Who sends requests, as far as the gateway can tell without believing the client. */
export interface Requester {
  /** The owner of sessions and of calls that wait. */
  readonly principal: string;
  /** By what requests are counted for `clientRate`: something that a client cannot choose. */
  readonly rateKey: string;
}

/** The limits of clients. */
export interface Accounts {
  /** Creates an account for a session. */
  create(requester: Requester, client: Implementation | undefined): ClientAccount;
  /** The account of a client without a session: all requests of one principal under one name share it. */
  shared(requester: Requester, client: Implementation | undefined): ClientAccount;
}

const mostShared = 1000;
const longestLabel = 100;

/** What a client calls itself: the beginning of it, where it is long. */
function labelOf({ name, version }: Implementation): string {
  const whole = `${name} ${version}`;
  // A slice would keep the whole in memory for as long as the slice lives.
  return whole.length <= longestLabel ? whole : Buffer.from(whole.slice(0, longestLabel)).toString();
}

export function createAccounts(limits: GatewayLimits): Accounts {
  const { clientConcurrency: concurrency, clientRate: rate } = limits;
  const shared = new Map<string, ClientAccount>();
  const rates = createRates(rate);
  const create = ({ principal, rateKey }: Requester, client: Implementation | undefined): ClientAccount => {
    const label = client === undefined ? "unnamed" : labelOf(client);
    const admission = createAdmission({ concurrency, rate: Number.POSITIVE_INFINITY });
    return {
      principal,
      label,
      enter() {
        const full = admission.enter();
        if (full !== undefined || rates.take(rateKey)) return full;
        admission.leave();
        return "rate";
      },
      leave: admission.leave,
      get inFlight() {
        return admission.inFlight;
      },
    };
  };
  return {
    create,
    shared(requester, client) {
      const { principal } = requester;
      const key = client === undefined ? principal : `${principal}\n${labelOf(client)}`;
      let account = shared.get(key);
      if (account === undefined) {
        for (const [old, { inFlight }] of shared.size >= mostShared ? shared : [])
          if (inFlight === 0) shared.delete(old);
        account = create(requester, client);
        shared.set(key, account);
      }
      return account;
    },
  };
}
