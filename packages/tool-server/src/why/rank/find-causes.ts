import { type Cause, rankCauses } from "../../causes/cause.js";
import type { WalkEvidence } from "../evidence.js";
import { childCauses } from "./child-causes.js";
import { configurationCauses, helperCauses } from "./configuration-causes.js";
import { networkCauses } from "./network-causes.js";
import { refusalCausesOfWalk } from "./refusal-causes.js";
import { responseCauses } from "./response-causes.js";
import { signInCauses, signInFailureCauses } from "./sign-in-causes.js";

// In the order of the walk: of two equally likely causes, the earlier may be the reason for the later.
const finders = [
  configurationCauses,
  helperCauses,
  networkCauses,
  childCauses,
  responseCauses,
  refusalCausesOfWalk,
  signInCauses,
  signInFailureCauses,
] as const;

/** The possible causes of what a walk saw, the likeliest first; none if nothing failed. A pure function of the evidence. */
export function findCauses(seen: WalkEvidence): Cause[] {
  if (!hasFailed(seen)) return [];
  const causes = finders.flatMap((find) => find(seen));
  return causes.length === 0 ? [unknown(seen)] : rankCauses(causes);
}

/** Whether a walk saw anything that prevents the server from being used. */
export function hasFailed(seen: WalkEvidence): boolean {
  const { findings, values, trust, helper, network, attempt, child, oauth } = seen;
  return (
    [...findings, ...values].some(({ severity }) => severity === "error") ||
    (trust !== undefined && trust.state !== "trusted") ||
    [helper?.failure, network?.failure, attempt?.failure, oauth?.vaultFailure, child?.notStarted].some(
      (failure) => failure !== undefined,
    )
  );
}

function unknown({ attempt, network, helper }: WalkEvidence): Cause {
  const failure = attempt?.failure ?? helper?.failure ?? network?.failure;
  return {
    code: "unknown",
    weight: 0.1,
    problem: failure?.message ?? "The diagnosis did not complete, and no error says why.",
    evidence: [],
    fix: { advice: "Run the command again with --debug to see what happens before the failure." },
  };
}
