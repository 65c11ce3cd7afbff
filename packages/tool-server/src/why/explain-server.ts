import type { Cause, Fix } from "../causes/cause.js";
import { fixBySignIn } from "../causes/fixes.js";
import { redactValue } from "../connection/connection-failures.js";
import { createServerSecrets } from "../connection/servers/entry-info.js";
import type { WalkEvidence } from "./evidence.js";
import type { ExplainOptions, Explanation, Note, Step } from "./explanation.js";
import { findCauses, hasFailed } from "./rank/find-causes.js";
import { requirementsOf } from "./requirements.js";
import { stepsOf } from "./steps.js";
import { walkServer } from "./walk/walk-server.js";

/** Walks a server and explains what was seen. Import it from `lazy-explain.ts`, which loads this on first use. */
export async function walkAndExplain(options: ExplainOptions): Promise<Explanation> {
  const entry = options.configuration.entries.find(({ name }) => name === options.server);
  const secrets = entry === undefined ? options.secrets.scope() : createServerSecrets(entry, options.secrets);
  const seen = await walkServer({ ...options, secrets }, reportSteps(options, secrets.redact));
  const explanation = explain(seen);
  const causes = explanation.causes.map((cause) => ({ ...cause, fix: fixInProcess(cause, options) }));
  // All evidence was redacted when it was collected; this catches a secret that became known only later.
  return redactValue({ ...explanation, causes }, secrets.redact) as Explanation;
}

/** Reports the steps that are known so far, each once, and again when it has changed. */
function reportSteps(
  { onStep }: ExplainOptions,
  redact: (text: string) => string,
): ((seen: WalkEvidence) => void) | undefined {
  if (onStep === undefined) return undefined;
  const reported = new Map<string, string>();
  return (seen) => {
    for (const step of stepsOf(seen)) {
      const shown = redactValue(step, redact) as Step;
      const text = JSON.stringify(shown);
      if (step.outcome === "skipped" || reported.get(step.step) === text) continue;
      reported.set(step.step, text);
      onStep(shown);
    }
  };
}

/** Says how to set a variable for the process that reads it. */
function fixInProcess({ code, fix }: Cause, { setVariable }: ExplainOptions): Fix {
  if (fix.variable === undefined || setVariable === undefined) return fix;
  const how = setVariable(fix.variable);
  // The general advice about a missing value says the same, but less precisely.
  const isMissing = code === "variable-unset" || code === "variable-empty";
  return { ...fix, advice: isMissing ? how : `${fix.advice} ${how}`, command: undefined };
}

/** The explanation of what a walk saw. */
export function explain(seen: WalkEvidence): Explanation {
  const causes = findCauses(seen);
  return {
    server: seen.server,
    type: seen.type,
    isWell: !hasFailed(seen),
    causes,
    notes: notesOf(seen).filter(({ code }) => !causes.some((cause) => cause.code === code)),
    steps: stepsOf(seen),
    requirements: requirementsOf(seen),
    permissions: permissionsOf(seen),
  };
}

function notesOf(seen: WalkEvidence): Note[] {
  const { offer } = seen;
  if (offer === undefined) return [];
  const { issuer, headers, evidence } = offer;
  const problem = `The server supports OAuth with ${issuer}. Prefer it to a token in ${headers.join(" and ")}: OAuth tokens expire, are renewed automatically and are stored encrypted.`;
  return [{ code: "oauth-offered", problem, evidence, fix: fixBySignIn(seen, offer) }];
}

/** The permissions that a sign-in would request. */
function permissionsOf({ attempt, oauth }: WalkEvidence): readonly string[] | undefined {
  const named = [attempt?.refusal?.challenge?.scopes, oauth?.resource?.scopes, oauth?.before?.scopes];
  return named.find((scopes) => scopes !== undefined && scopes.length > 0);
}
