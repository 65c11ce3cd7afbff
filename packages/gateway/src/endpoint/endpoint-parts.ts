import type { Accounts, Requester } from "../clients/accounts.js";
import type { Listenings } from "../clients/listenings.js";
import type { Sessions } from "../clients/sessions.js";
import type { StatelessRequests } from "../clients/stateless-requests.js";
import type { Dispatch } from "../hub/dispatch.js";
import type { Hub } from "../hub/hub.js";
import type { GatewayLimits } from "../limits.js";
import type { Metrics } from "../metrics.js";
import type { EventStreams } from "./event-streams.js";
import type { HttpRequest } from "./http-exchange.js";

/** What every way to reach the gateway is made of. */
export interface EndpointParts {
  readonly hub: Hub;
  readonly limits: GatewayLimits;
  readonly metrics: Metrics;
  readonly dispatch: Dispatch;
  readonly sessions: Sessions;
  readonly stateless: StatelessRequests;
  readonly listenings: Listenings;
  readonly accounts: Accounts;
  readonly streams: EventStreams;
  readonly requesterOf: (request: HttpRequest) => Requester;
}
