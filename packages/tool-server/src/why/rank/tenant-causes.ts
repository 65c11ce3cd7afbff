import type { Cause, Mend } from "../explanation.js";
import type { RefusalFacts, WalkFacts } from "../facts.js";
import { refusalEvidence } from "./evidence.js";
import { tenantHint, wordsOfRefusal } from "./hints.js";
import { mendField, mendVariable } from "./mends.js";

/** Whether the tenant or workspace is the wrong one: by what the token says, by what the server says, or because one is chosen at all. */
export function tenantCauses(facts: WalkFacts, refusal: RefusalFacts): Cause[] {
  const evidence = refusalEvidence(facts);
  const words = facts.attempt === undefined ? "" : wordsOfRefusal(facts.attempt);
  const mend = mendOf(facts);
  const causes: Cause[] = [];
  const add = (weight: number, message: string, more: readonly string[] = []): void => {
    causes.push({ cause: "wrong-tenant", weight, message, evidence: [...evidence, ...more], mend });
  };
  const claims = refusal.tokens.flatMap(({ tenants }) => tenants);
  for (const { header, value } of refusal.tenants) {
    if (claims.length === 0 || claims.some((claim) => claim.value === value)) continue;
    const list = claims.map((claim) => `${claim.claim} ${JSON.stringify(claim.value)}`).join(", ");
    const message = `${header} chooses ${JSON.stringify(value)}, and the token is of another tenant.`;
    add(0.9, message, [`${header}: ${value}; the token has ${list}.`]);
  }
  if (tenantHint.test(words)) add(0.87, "The server says that the tenant or workspace is not the right one.");
  if (facts.tenants.length > 0 && refusal.status === 403) {
    const list = [...new Set(facts.tenants.map(({ variable }) => variable))].join(", ");
    add(0.45, `The tenant or workspace is chosen by ${list}. The credential may belong to another one.`);
  }
  return causes;
}

function mendOf(facts: WalkFacts): Mend {
  const [tenant] = facts.tenants;
  if (tenant !== undefined) {
    return mendVariable(
      tenant.variable,
      "Set it to the tenant that the credential belongs to, or use a credential of this one.",
    );
  }
  return mendField(facts, "entry", "Choose the tenant that the credential belongs to, in the url or by a header.");
}
