import { type Cause, type Fix, rankCauses } from "../causes/cause-table.js";
import { fixBySignIn } from "../causes/fixes.js";
import { redactValue } from "../connection/connection-failures.js";
import { createServerSecrets } from "../connection/servers/entry-info.js";
import type { WalkEvidence } from "./evidence.js";
import type { ExplainOptions, Explanation, Note, Step } from "./explanation.js";
import { childCauses } from "./rank/child-causes.js";
import { configurationCauses, helperCauses } from "./rank/configuration-causes.js";
import { networkCauses } from "./rank/network-causes.js";
import { refusalCausesOfWalk } from "./rank/refusal-causes.js";
import { responseCauses } from "./rank/response-causes.js";
import { signInCauses, signInFailureCauses, storedFailureCauses } from "./rank/sign-in-causes.js";
import { requirementsOf } from "./requirements.js";
import { describeOmitted, stepsOf } from "./steps.js";
import { walkServer } from "./walk/walk-server.js";

/** Walks a server and explains what was observed. Import it from `lazy-explain.ts`, which loads this on first use. */
export async function walkAndExplain(options: ExplainOptions): Promise<Explanation> {
  const entry = options.configuration.entries.find(({ name }) => name === options.server);
  const secrets = entry === undefined ? options.secrets.scope() : createServerSecrets(entry, options.secrets);
  const redact = (text: string): string => secrets.redact(text, "own");
  const seen = await walkServer({ ...options, secrets }, reportSteps(options, redact));
  const explanation = explain(seen);
  const causes = explanation.causes.map((cause) => ({ ...cause, fix: fixInProcess(cause, options) }));
  // All evidence was redacted when it was collected; this catches a secret that became known only later.
  return redactValue({ ...explanation, causes }, redact) as Explanation;
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

/** Adds how to set a variable for the process that reads it. */
function fixInProcess({ code, fix }: Cause, { setVariable }: ExplainOptions): Fix {
  if (fix.variable === undefined || setVariable === undefined) return fix;
  const how = setVariable(fix.variable);
  // The general advice about a missing value says the same, but less precisely.
  const isMissing = code === "variable-unset" || code === "variable-empty";
  return { ...fix, advice: isMissing ? how : `${fix.advice} ${how}`, command: undefined };
}

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
  const { offer, attempt } = seen;
  const omitted = describeOmitted(attempt?.connected);
  const notes: Note[] =
    omitted === undefined
      ? []
      : [
          {
            code: "tools-invalid",
            problem: omitted,
            evidence: [],
            fix: { advice: "Fix the definitions in the server." },
          },
        ];
  // Whatever works here, a call may need more.
  const { lastFailure } = seen.oauth ?? {};
  if (lastFailure?.operation === "step-up") notes.push(...storedFailureCauses(seen, lastFailure));
  if (offer === undefined) return notes;
  const { issuer, headers, evidence } = offer;
  const problem = `The server supports OAuth with ${issuer}. Prefer it to a token in ${headers.join(" and ")}: OAuth tokens expire, are renewed automatically and are stored encrypted.`;
  return [...notes, { code: "oauth-offered", problem, evidence, fix: fixBySignIn(seen, offer) }];
}

/** The permissions that a sign-in would request. */
function permissionsOf({ attempt, oauth }: WalkEvidence): readonly string[] | undefined {
  const named = [attempt?.refusal?.challenge?.scopes, oauth?.resource?.scopes, oauth?.before?.scopes];
  return named.find((scopes) => scopes !== undefined && scopes.length > 0);
}

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

/** The possible causes of what a walk observed, the likeliest first; none if nothing failed. A pure function of the evidence. */
export function findCauses(seen: WalkEvidence): Cause[] {
  if (!hasFailed(seen)) return [];
  const causes = finders.flatMap((find) => find(seen));
  return causes.length === 0 ? [unknown(seen)] : rankCauses(causes);
}

/** Whether a walk observed anything that prevents the server from being used. */
export function hasFailed(seen: WalkEvidence): boolean {
  const { isDisabled = false, findings, values, trust, helper, network, attempt, child, oauth } = seen;
  return (
    isDisabled ||
    [...findings, ...values].some(({ severity }) => severity === "error") ||
    (trust !== undefined && trust.state !== "trusted") ||
    [helper?.failure, network?.failure, attempt?.failure, oauth?.vaultFailure, child?.notStarted].some(
      (failure) => failure !== undefined,
    )
  );
}

function unknown({ attempt, network, helper }: WalkEvidence): Cause {
  const failure = attempt?.failure ?? helper?.failure;
  const nextStep = "Run the command again with --debug to see what happens before the failure.";
  return {
    code: "unknown",
    weight: 0.1,
    problem: (failure ?? network?.failure)?.message ?? "The diagnosis did not complete, and no error says why.",
    evidence: [],
    fix: { advice: failure?.advice || nextStep },
  };
}
