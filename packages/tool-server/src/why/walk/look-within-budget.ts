import type { DiscoveryBudget, Look } from "../../auth/oauth/discovery/discovery-budget.js";
import { isFinding } from "../failure-facts.js";

/** A look of a discovery, which has failed where its budget is spent or the time of the walk is over. */
export async function lookWithin(budget: DiscoveryBudget, url: URL): Promise<Look> {
  try {
    return await budget.look(url);
  } catch (error) {
    if (!isFinding(error)) throw error;
    return { kind: "failed", error };
  }
}
