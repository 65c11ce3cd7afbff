import { createAdmission } from "../admission.js";
import type { GatewayLimits } from "../limits.js";
import type { Implementation } from "../rpc/protocol.js";
import type { ClientAccount } from "./caller.js";

/** What clients may take. */
export interface Accounts {
  /** One of its own, for a session. */
  create(principal: string, client: Implementation | undefined): ClientAccount;
  /** The one of a client that has no session: all requests of one principal under one name share it. */
  shared(principal: string, client: Implementation | undefined): ClientAccount;
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
  const shared = new Map<string, ClientAccount>();
  const create = (principal: string, client: Implementation | undefined): ClientAccount => {
    const { clientConcurrency: concurrency, clientRate: rate } = limits;
    const label = client === undefined ? "unnamed" : labelOf(client);
    const admission = createAdmission({ concurrency, rate });
    return {
      principal,
      label,
      enter: admission.enter,
      leave: admission.leave,
      get inFlight() {
        return admission.inFlight;
      },
    };
  };
  return {
    create,
    shared(principal, client) {
      const key = client === undefined ? principal : `${principal}\n${labelOf(client)}`;
      let account = shared.get(key);
      if (account === undefined) {
        for (const [old, { inFlight }] of shared.size >= mostShared ? shared : [])
          if (inFlight === 0) shared.delete(old);
        account = create(principal, client);
        shared.set(key, account);
      }
      return account;
    },
  };
}
