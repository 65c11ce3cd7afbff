import type { Cause } from "../explanation.js";
import type { WalkFacts } from "../facts.js";
import { answerCauses } from "./answer-causes.js";
import { childCauses } from "./child-causes.js";
import { configurationCauses } from "./configuration-causes.js";
import { earlierCauses } from "./earlier-causes.js";
import { helperCauses } from "./helper-causes.js";
import { networkCauses } from "./network-causes.js";
import { oauthCauses } from "./oauth-causes.js";
import { refusalCauses } from "./refusal-causes.js";

// In the order of a walk: of two causes that are equally likely, the earlier one may bring about the later.
const judges = [
  configurationCauses,
  helperCauses,
  networkCauses,
  childCauses,
  answerCauses,
  refusalCauses,
  oauthCauses,
  earlierCauses,
] as const;

/**
 * What may be wrong, by all that a walk found, the likeliest first; nothing where it found nothing wrong. Looks at nothing but
 * the facts. Each cause is there once, with the evidence of all that speaks for it.
 */
export function rankCauses(facts: WalkFacts): Cause[] {
  if (!hasFailed(facts)) return [];
  const causes = merged(judges.flatMap((judge) => judge(facts)));
  if (causes.length === 0) causes.push(unknown(facts));
  // The sort is stable: within a weight, the order above stays.
  return causes.sort((a, b) => b.weight - a.weight);
}

/** Whether a walk came upon anything that keeps the server from being used. */
export function hasFailed(facts: WalkFacts): boolean {
  const { findings, values, trust, helper, network, attempt, child, oauth } = facts;
  return (
    [...findings, ...values].some(({ severity }) => severity === "error") ||
    (trust !== undefined && trust.state !== "trusted") ||
    [helper?.failure, network?.failure, attempt?.failure, oauth?.vaultFailure, child?.notStarted].some(
      (failure) => failure !== undefined,
    )
  );
}

function merged(causes: readonly Cause[]): Cause[] {
  const byCode = new Map<string, Cause>();
  for (const cause of causes) {
    // Several variables may be unset, and each has a mend of its own.
    const key = isSeveral(cause) ? `${cause.cause} ${cause.mend.command ?? cause.message}` : cause.cause;
    const known = byCode.get(key);
    const [first, second] = known === undefined || known.weight < cause.weight ? [cause, known] : [known, cause];
    byCode.set(key, { ...first, evidence: [...new Set([...first.evidence, ...(second?.evidence ?? [])])] });
  }
  return [...byCode.values()];
}

function isSeveral({ cause }: Cause): boolean {
  return cause.startsWith("variable-") || cause === "entry-invalid" || cause === "child-lacks-variable";
}

function unknown({ attempt, network, helper }: WalkFacts): Cause {
  const failure = attempt?.failure ?? helper?.failure ?? network?.failure;
  return {
    cause: "unknown",
    weight: 0.1,
    message: failure?.message ?? "The walk did not come to its end, and nothing says why.",
    evidence: [],
    mend: { what: "Run it again with --debug, and look at what happens before it fails." },
  };
}
