import { shellWord } from "../../command-line.js";
import type { RefusalCause, RefusalFinding } from "../../refusal-finding.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { AttemptFacts, RefusalFacts, WalkFacts } from "../facts.js";
import { refusalEvidence } from "./evidence.js";
import { approvalHint, audienceHint, expiryHint, scopeHint, wordsOfRefusal } from "./hints.js";
import { mendBy, mendField, mendVariable, offerMend } from "./mends.js";
import { hasOAuthEvidence } from "./oauth-evidence.js";
import { tenantCauses } from "./tenant-causes.js";
import { tokenCauses } from "./token-causes.js";

/** Why a server answered 401 or 403 to a credential of the configuration, or to none. */
export function refusalCauses(facts: WalkFacts): Cause[] {
  const { attempt } = facts;
  const refusal = attempt?.refusal;
  if (attempt === undefined || refusal === undefined) return [];
  const isByOAuth = attempt.credential === "oauth" && hasOAuthEvidence(facts);
  const found = isByOAuth ? [] : refusal.findings.flatMap((finding) => causeOf(facts, refusal, finding));
  const isBare = !refusal.carriesCredential && refusal.status === 401;
  const rest = isByOAuth ? [] : [isBare ? nothingSent(facts) : general(facts, refusal)];
  return [
    ...found,
    ...rest,
    ...tokenCauses(facts, refusal),
    ...tenantCauses(facts, refusal),
    ...wordCauses(facts, attempt),
  ];
}

const codes: Readonly<Record<RefusalCause, readonly [CauseCode, number] | undefined>> = {
  // Judged by whether what was sent is a credential at all.
  "nothing-sent": undefined,
  placeholder: ["variable-placeholder", 0.95],
  "scheme-missing": ["scheme-missing", 0.95],
  "credentials-malformed": ["credentials-malformed", 0.95],
  "scheme-differs": ["scheme-differs", 0.9],
  "wrong-header": ["wrong-header", 0.94],
  "token-expired": ["token-expired", 0.95],
  "token-not-yet-valid": ["token-not-yet-valid", 0.95],
  "clock-skew": ["clock-skew", 0.5],
  "scope-missing": ["scope-missing", 0.95],
  // What the server said is evidence of the others.
  "server-says": undefined,
  variable: ["token-refused", 0.5],
  helper: ["token-refused", 0.5],
  tenant: ["wrong-tenant", 0.3],
  permission: ["permission-missing", 0.5],
};

function causeOf(facts: WalkFacts, refusal: RefusalFacts, finding: RefusalFinding): Cause[] {
  const [cause, weight] = codes[finding.cause] ?? [];
  if (cause === undefined || weight === undefined) return [];
  const isTimes = cause === "token-expired" || cause === "token-not-yet-valid" || cause === "clock-skew";
  // A token's own times are judged with both clocks in tokenCauses.
  if (isTimes && refusal.tokens.length > 0) return [];
  const evidence = refusalEvidence(facts);
  const message = cause === "token-refused" ? refusedMessage(finding) : finding.message;
  return [{ cause, weight, message, evidence, mend: mendOf(facts, cause, finding) }];
}

function refusedMessage({ header = "the credential", variables, cause }: RefusalFinding): string {
  const from = cause === "helper" ? ", which the helper gives" : `, which is made of ${variables.join(" and ")}`;
  return `The server does not accept ${header}${from}. It may be wrong, revoked, or of another environment.`;
}

/** What a refusal always may mean. */
function general(facts: WalkFacts, { status }: RefusalFacts): Cause {
  const evidence = refusalEvidence(facts);
  if (status === 403) {
    const mend = { what: "Ask who gave you the credential for the permission, or use one that has it." };
    const message = "The server knows who asks, and does not allow it.";
    return { cause: "permission-missing", weight: 0.3, message, evidence, mend };
  }
  const message = "The server does not accept the credential. It may be wrong, revoked, or of another environment.";
  const mend = { what: "Get a new credential from who runs the server." };
  return { cause: "token-refused", weight: 0.2, message, evidence, mend };
}

function nothingSent(facts: WalkFacts): Cause {
  const asked = facts.attempt?.refusal?.challenge?.schemes ?? [];
  const wish = asked.length === 0 ? "" : ` It asks for ${asked.join(" or ")}.`;
  const isOpen = facts.attempt?.credential === "oauth";
  const offer = isOpen ? " It publishes nothing for a sign-in by OAuth: it wants a token or an API key." : "";
  const isBasic = asked.length > 0 && asked.every((scheme) => scheme === "basic");
  return {
    cause: "nothing-sent",
    weight: 0.95,
    message: `The server requires a credential, and the request carried none.${wish}${offer}`,
    evidence: refusalEvidence(facts),
    mend: mendField(
      facts,
      "entry",
      "Give the entry a credential, and set the variable.",
      `"headers": {"Authorization": "${isBasic ? "Basic ${BASIC_CREDENTIALS}" : "Bearer ${API_TOKEN}"}"}`,
    ),
  };
}

function mendOf(facts: WalkFacts, cause: CauseCode, finding: RefusalFinding): Mend {
  const { header, variables, scheme = "Bearer" } = finding;
  const field = header === undefined ? "entry" : `headers.${header}`;
  const [variable] = variables;
  const isOfHelper = facts.helper?.headers.some((name) => name.toLowerCase() === header?.toLowerCase()) ?? false;
  switch (cause) {
    case "wrong-header": {
      if (isOfHelper)
        return {
          what: `Let the helper write Authorization, as "${scheme} " and the token, instead of ${header}.`,
          command: shellWord(facts.helper?.path ?? ""),
        };
      const what = `Write Authorization instead of ${header}.`;
      return mendField(facts, field, what, `"Authorization": "${scheme} \${${variable ?? "API_TOKEN"}}"`);
    }
    case "scheme-missing": {
      if (isOfHelper)
        return {
          what: 'Let the helper write "Bearer " before the token.',
          command: shellWord(facts.helper?.path ?? ""),
        };
      return mendField(facts, field, 'Write "Bearer " before the token.', `"Bearer \${${variable ?? "API_TOKEN"}}"`);
    }
    case "scheme-differs":
      return mendField(facts, field, "Write the scheme that the server asks for.");
    case "scope-missing":
      return variable === undefined && facts.helper !== undefined
        ? { what: "Let the helper ask for a token with that permission.", command: shellWord(facts.helper.path) }
        : mendVariable(credentialVariable(facts) ?? "API_TOKEN", "Get a token with that permission, and set it.");
    case "permission-missing":
      return { what: "Ask who gave you the credential for the permission, or use one that has it." };
    default:
      if (finding.cause === "helper")
        return {
          what: "Run the helper by hand, and look at what it gives.",
          command: shellWord(facts.helper?.path ?? ""),
        };
      return variable === undefined
        ? mendField(facts, field, "Correct the value.")
        : mendVariable(variable, "Set it to the current credential of this server.");
  }
}

/** What the server itself said of it. */
function wordCauses(facts: WalkFacts, attempt: AttemptFacts): Cause[] {
  const words = wordsOfRefusal(attempt);
  const isForbidden = attempt.refusal?.status === 403;
  const isByOAuth = attempt.credential === "oauth";
  const evidence = refusalEvidence(facts);
  const variable = credentialVariable(facts);
  const anew = isByOAuth
    ? mendBy(facts, ["login"], "Sign in again.")
    : variable === undefined
      ? { what: "Get a new credential from who runs the server." }
      : mendVariable(variable, "Get a new credential, and set it.");
  const found = (hint: RegExp, cause: CauseCode, weight: number, message: string, mend: Mend): Cause[] =>
    hint.test(words) ? [{ cause, weight, message, evidence, mend }] : [];
  return [
    ...found(expiryHint, "token-expired", 0.9, "The server says that the token has expired.", anew),
    ...found(audienceHint, "wrong-audience", 0.88, "The server says that the token is for another audience.", anew),
    ...found(scopeHint, "scope-missing", 0.85, "The server says that a permission is lacking.", anew),
    ...found(approvalHint, "approval-needed", 0.92, "The server says that an administrator has to approve it first.", {
      what: "Ask an administrator of the server, or of your organization there, to approve this client.",
    }),
    ...(isForbidden ? [possibleApproval(evidence)] : []),
    ...offer(facts, attempt, evidence),
  ];
}

function possibleApproval(evidence: readonly string[]): Cause {
  return {
    cause: "approval-needed",
    weight: 0.25,
    message: "An administrator may have to approve the client or the account first.",
    evidence,
    mend: { what: "Ask an administrator of the server whether this client has to be approved." },
  };
}

/** That the server could be signed in to by OAuth, where the entry brings a credential of its own. */
function offer(facts: WalkFacts, { refusal, credential }: AttemptFacts, evidence: readonly string[]): Cause[] {
  const places = refusal?.challenge?.resourceMetadata ?? [];
  const isStatic = credential === "headers" || credential === "helper";
  if ((places.length === 0 && facts.offer === undefined) || !isStatic || facts.type === "ws") return [];
  const named = places.length === 0 ? (facts.offer?.evidence ?? []) : [`Its challenge names ${places.join(", ")}.`];
  return [
    {
      cause: "oauth-offered",
      weight: 0.35,
      message: "The server offers to sign in by OAuth. A credential of the entry is never given up for that by itself.",
      evidence: [...evidence, ...named],
      mend: facts.offer
        ? offerMend(facts, facts.offer)
        : mendBy(facts, ["login"], "Take headers and headersHelper out of the entry, then sign in."),
    },
  ];
}

/** The variable that the credential comes from, as far as it is one. */
function credentialVariable({ attempt }: WalkFacts): string | undefined {
  return attempt?.refusal?.findings.find(({ cause, variables }) => cause === "variable" && variables.length > 0)
    ?.variables[0];
}
