import type { Cause, Fix } from "./cause.js";
import { type FixTarget, fixField, fixVariable } from "./fixes.js";
import { tenantHint } from "./hints.js";
import { describeRefusal, type RefusalEvidence, statedReason } from "./refusal-evidence.js";

/** Whether the tenant or workspace is the wrong one: by the token, by what the server says, or because one is selected at all. */
export function tenantCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const { tokens, tenants, tenantVariables, status } = refusal;
  const evidence = describeRefusal(refusal);
  const fix = fixFor(refusal, target);
  const causes: Cause[] = [];
  const add = (weight: number, problem: string, more: readonly string[] = []): void => {
    causes.push({ code: "wrong-tenant", weight, problem, evidence: [...evidence, ...more], fix });
  };
  const claims = tokens.flatMap((token) => token.tenants);
  for (const { header, value } of tenants) {
    if (claims.length === 0) add(0.3, `${header} selects a tenant. The credential may belong to another one.`);
    if (claims.length === 0 || claims.some((claim) => claim.value === value)) continue;
    const list = claims.map((claim) => `${claim.claim} ${JSON.stringify(claim.value)}`).join(", ");
    const problem = `${header} selects ${JSON.stringify(value)}, but the token belongs to another tenant.`;
    add(0.9, problem, [`${header}: ${value}; the token has ${list}.`]);
  }
  if (tenantHint.test(statedReason(refusal))) add(0.87, "The server says that the tenant or workspace is wrong.");
  if (tenantVariables.length > 0 && status === 403) {
    const list = [...new Set(tenantVariables)].join(", ");
    add(0.45, `${list} selects the tenant or workspace. The credential may belong to another one.`);
  }
  return causes;
}

function fixFor({ tenantVariables: [variable] }: RefusalEvidence, target: FixTarget): Fix {
  if (variable !== undefined) {
    return fixVariable(
      variable,
      `Set ${variable} to the tenant that the credential belongs to, or use a credential of this tenant.`,
    );
  }
  return fixField(target, "entry", "Select the tenant that the credential belongs to, in the url or in a header.");
}
