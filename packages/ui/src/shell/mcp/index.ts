export { type AppDocument, readApp } from "./apps.js";
export { inputRequests, type PendingInputRequest } from "./input-requests.js";
export { objectOf, type RpcObject } from "./mcp-client.js";
export { groupByServer, type Offer, type OfferKind, searchOffers } from "./offer.js";
export {
  completeArgument,
  offers,
  offersFailure,
  resourceUpdates,
  setSubscribed,
  subscribedResources,
  watchOffers,
} from "./offers.js";
export { declineResponse } from "./run-flow.js";
export { cancelRun, endOfRun, forgetRuns, type Run, runs, startRun } from "./runs.js";
export { isSecretInput, keepInTab, keptInTab } from "./tab-storage.js";
