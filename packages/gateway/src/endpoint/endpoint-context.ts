import type { Accounts, Requester } from "../callers/accounts.js";
import type { Sessions } from "../callers/sessions.js";
import type { StatelessRequests } from "../callers/stateless-requests.js";
import type { ClientSubscriptions } from "../callers/subscriptions.js";
import type { ClientAccount } from "../client-call.js";
import type { Dispatch } from "../dispatch/dispatch.js";
import type { MergedServer } from "../dispatch/merged-server.js";
import type { GatewayEvents } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import type { EventStreams } from "./event-streams.js";
import type { EndpointRequest } from "./http-request.js";
import type { TurnQueue } from "./turn-queue.js";

/** What the endpoints of all transports share. */
export interface EndpointContext {
  readonly merged: MergedServer;
  readonly limits: GatewayLimits;
  readonly events: Pick<GatewayEvents, "emit" | "reportIfDefect">;
  readonly dispatch: Dispatch;
  readonly sessions: Sessions;
  readonly stateless: StatelessRequests;
  readonly subscriptions: ClientSubscriptions;
  readonly accounts: Accounts;
  readonly streams: EventStreams;
  readonly turns: TurnQueue;
  readonly requesterOf: (request: EndpointRequest) => Requester;
  /** Shows the name that a client states on its connection. */
  readonly nameClient: (request: EndpointRequest, account: Pick<ClientAccount, "label">) => void;
  /** Whether the gateway is shutting down: it only finishes what is in flight. */
  readonly isClosing: () => boolean;
}
