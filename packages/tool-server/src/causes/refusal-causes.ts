import { isPlainScope } from "../command-line.js";
import { isoTime } from "../duration.js";
import { type Cause, type CauseCode, type Fix, rankCauses } from "./cause-table.js";
import { type FixTarget, fixByCommand, fixField, fixHelper, fixVariable } from "./fixes.js";
import { type Statement, states } from "./peer-text.js";
import {
  asksForToken,
  describeRefusal,
  type HeaderDefect,
  type HeaderEvidence,
  namedKeyHeader,
  type RefusalEvidence,
  statedReason,
} from "./refusal-evidence.js";
import { sourceText, tenantCauses, tokenCauses } from "./token-causes.js";

/** The possible causes of a 401 or 403, the likeliest first. Errors and `why` both use this. */
export function explainRefusal(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  return rankCauses(refusalCauses(refusal, target));
}

/** The possible causes of a 401 or 403, not ranked; none for another status. */
export function refusalCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  if (refusal.status !== 401 && refusal.status !== 403) return [];
  return [
    ...(refusal.oauth === "supported" ? signInCauses(refusal, target) : entryCauses(refusal, target)),
    ...tokenCauses(refusal, target),
    ...tenantCauses(refusal, target),
    ...statedCauses(refusal, target),
  ];
}

/** Causes in a credential of the entry, or in its absence. */
function entryCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const { status, headers } = refusal;
  const named = namedKeyHeader(refusal);
  // A header of another name may be that of an API key, unless the server asks for a certain one.
  const mayBeKey = (header: HeaderEvidence): boolean =>
    named === undefined ? knownSchemes(refusal).length === 0 : isSameHeader(header.name, named);
  const mayHaveKey = hasCredential(refusal) || possibleCredentials(refusal).some(mayBeKey);
  const isMissing = (status === 401 || named !== undefined) && !mayHaveKey;
  return [
    ...headers.flatMap((header) => headerCauses(refusal, target, header)),
    ...wrongHeader(refusal, target),
    ...challengedScope(refusal),
    ...(status === 401 ? originCauses(refusal) : []),
    isMissing ? nothingSent(refusal, target) : general(refusal),
  ];
}

interface DefectRow {
  readonly code: CauseCode;
  readonly problem: string;
  readonly advice: string;
}

function unsetValue(value: "undefined" | "null"): DefectRow {
  const problem = `contains the value ${value} instead of a credential: a variable that it is built from is not set.`;
  return { code: "credentials-malformed", problem, advice: "Set that variable." };
}

/** The causes that the form of a header shows. */
const defects: Readonly<Record<Exclude<HeaderDefect, "scheme-case">, DefectRow>> = {
  placeholder: {
    code: "variable-placeholder",
    problem: "contains the placeholder of an example, not a credential.",
    advice: "Set the real credential.",
  },
  undefined: unsetValue("undefined"),
  null: unsetValue("null"),
  "no-scheme": {
    code: "scheme-missing",
    problem: 'starts with neither "Bearer " nor "Basic ". Servers reject a bare token.',
    advice: 'Write "Bearer " before the token.',
  },
  "no-credentials": {
    code: "credentials-malformed",
    problem: "has no credentials after its scheme.",
    advice: "Add the token after the scheme.",
  },
  "scheme-doubled": {
    code: "scheme-doubled",
    problem: "contains its scheme twice.",
    advice: "Remove one of the two schemes: the variable or the helper already adds it.",
  },
  quoted: {
    code: "credentials-malformed",
    problem: "has quotes around its token.",
    advice: "Remove the quotes.",
  },
  "basic-not-base64": {
    code: "credentials-malformed",
    problem: "uses Basic, but does not contain the base64 of user:password.",
    advice: "Encode user:password as base64.",
  },
};

function headerCauses(refusal: RefusalEvidence, target: FixTarget, header: HeaderEvidence): Cause[] {
  const evidence = describeRefusal(refusal);
  const { name, scheme, defect } = header;
  if (defect !== undefined && defect !== "scheme-case") {
    const { code, problem, advice } = defects[defect];
    const write = defect === "no-scheme" ? `"Bearer ${variableOf(header)}"` : undefined;
    const fix = fixHeader(refusal, target, header, advice, write);
    return [{ code, weight: 0.95, problem: `${name}${sourceText(header)} ${problem}`, evidence, fix }];
  }
  const requested = knownSchemes(refusal);
  const isRequested = refusal.challenge?.schemes.some((each) => each.toLowerCase() === scheme?.toLowerCase());
  if (scheme === undefined) return [];
  const spelling = defect === "scheme-case" && refusal.status === 401 ? [spellingCause(refusal, target, header)] : [];
  if (requested.length === 0 || isRequested) return spelling;
  const problem = `${name}${sourceText(header)} uses the scheme ${scheme}, but the server asks for ${requested.join(" or ")}.`;
  const advice = `Use the scheme ${requested.join(" or ")}.`;
  const fix = fixHeader(refusal, target, { ...header, variables: [] }, advice);
  return [{ code: "scheme-differs", weight: 0.9, problem, evidence, fix }, ...spelling];
}

/** Schemes are case-insensitive, but some servers compare them exactly, and then reject a valid credential. */
function spellingCause(refusal: RefusalEvidence, target: FixTarget, header: HeaderEvidence): Cause {
  const { name, scheme } = header;
  const problem = `${name}${sourceText(header)} does not write its scheme as "${scheme}". Some servers accept no other spelling.`;
  // No value to write: only the file shows what is around its variable.
  const fix = fixHeader(refusal, target, { ...header, variables: [] }, `Change only the scheme, to "${scheme}".`);
  return { code: "credentials-malformed", weight: 0.7, problem, evidence: describeRefusal(refusal), fix };
}

/**
 * A credential in another header than the one that the server names, or that the challenge asks for. A challenge of a known scheme
 * asks for Authorization; one with an unknown scheme may mean a custom header.
 */
function wrongHeader(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const { status, headers, challenge } = refusal;
  const header = headers.find(({ isCredential }) => isCredential);
  if (header === undefined) return [];
  const { name } = header;
  const named = namedKeyHeader(refusal);
  const wrong = (asked: string, needed: string, value: string, weight: number): Cause[] => {
    if (headers.some((each) => isSameHeader(each.name, needed))) return [];
    const problem = `The server asks for ${asked}, but the token is in ${name}${sourceText(header)}.`;
    const how = value === "" ? needed : `${needed}, as "${value}" and the token,`;
    const advice = `Send the token in ${how} instead of in ${name}.`;
    const fix = fixHeader(refusal, target, header, advice, `"${needed}": "${value}${variableOf(header)}"`);
    return [{ code: "wrong-header", weight, problem, evidence: describeRefusal(refusal), fix }];
  };
  if (named !== undefined) return wrong(named, named, "", 0.94);
  const requested = knownSchemes(refusal);
  const isCustom = challenge?.schemes.some((scheme) => schemeName(scheme) === undefined) ?? false;
  if (status !== 401 || requested.length === 0 || isCustom) return [];
  const scheme = requested.includes("Bearer") ? "Bearer" : (requested[0] ?? "");
  // Servers with API keys name that header in their documentation, and often send the challenge of their framework.
  const weight = /api[-_]?key/i.test(name) ? 0.15 : 0.94;
  return wrong(`Authorization: ${requested.join(" or ")}`, "Authorization", `${scheme} `, weight);
}

/** A permission that the server says is missing. */
function challengedScope(refusal: RefusalEvidence): Cause[] {
  const { challenge, helper, headers } = refusal;
  if (challenge?.error !== "insufficient_scope" || !mayHaveCredential(refusal)) return [];
  const list = challenge.scopes.length === 0 ? "" : `: ${challenge.scopes.join(" ")}`;
  const problem = `The server requires a permission that the token lacks${list}.`;
  const isFromHelper =
    helper !== undefined && headers.some(({ isCredential, from }) => isCredential && from === "helper");
  const fix = isFromHelper
    ? fixHelper(helper.path, "Change the helper so that it requests a token with this permission.")
    : fixVariable(credentialVariable(refusal) ?? "API_TOKEN", "Set it to a token with this permission.");
  return [{ code: "scope-missing", weight: 0.95, problem, evidence: describeRefusal(refusal), fix }];
}

/** The sources of the credential: the value may simply be wrong. */
function originCauses(refusal: RefusalEvidence): Cause[] {
  const { headers, helper } = refusal;
  const evidence = describeRefusal(refusal);
  const rejected = (subject: string, fix: Fix): Cause => ({
    code: "token-refused",
    weight: 0.5,
    problem: `The server rejects ${subject}. The credential may be wrong, revoked, or for another environment.`,
    evidence,
    fix,
  });
  const byVariable = headersWithVariables(refusal).map(({ name, variables }) => {
    const [variable = ""] = variables;
    const advice = `Set ${variable} to the current credential of this server.`;
    return rejected(`${name}, which contains ${variables.join(" and ")}`, fixVariable(variable, advice));
  });
  const names = headers.filter(({ from }) => from === "helper").map(({ name }) => name);
  if (helper === undefined || names.length === 0) return byVariable;
  const when = helper.obtainedAt === undefined ? "" : ` at ${isoTime(helper.obtainedAt)}`;
  const subject = `${names.join(" and ")}, which the helper ${helper.path} returned${when}`;
  const fix = fixHelper(helper.path, "Run the helper by hand and check what it returns.");
  return [...byVariable, rejected(subject, fix)];
}

function general(refusal: RefusalEvidence): Cause {
  const evidence = describeRefusal(refusal);
  if (refusal.status === 403) {
    const ask = "Ask the issuer of the credential for the permission, or use one that has it.";
    return permissionMissing(refusal, hasCredential(refusal) ? ask : addCredential);
  }
  const problem = "The server rejects the credential. It may be wrong, revoked, or for another environment.";
  const fix = { advice: "Get a new credential from the operator of the server." };
  return { code: "token-refused", weight: 0.2, problem, evidence, fix };
}

const addCredential = "Add a credential to the headers if the server requires one, or ask its operator for access.";

function permissionMissing(refusal: RefusalEvidence, advice: string): Cause {
  const problem = hasCredential(refusal)
    ? "The server accepts the credential, but does not allow the request."
    : "The server does not allow the request, which had no credential.";
  return { code: "permission-missing", weight: 0.5, problem, evidence: describeRefusal(refusal), fix: { advice } };
}

function isSameHeader(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function hasCredential({ headers }: RefusalEvidence): boolean {
  return headers.some(({ isCredential }) => isCredential);
}

/** Whether the request had a credential, or a header whose value may be one. */
function mayHaveCredential(refusal: RefusalEvidence): boolean {
  return hasCredential(refusal) || possibleCredentials(refusal).length > 0;
}

function nothingSent(refusal: RefusalEvidence, target: FixTarget): Cause {
  const named = namedKeyHeader(refusal);
  const requested = named === undefined ? knownSchemes(refusal) : [named];
  const schemes = requested.length === 0 ? "" : ` It asks for ${requested.join(" or ")}.`;
  const oauth =
    refusal.oauth === "unsupported"
      ? " It publishes no OAuth metadata, so it probably requires a token or an API key."
      : "";
  const isBasic = requested.length > 0 && requested.every((scheme) => scheme === "Basic");
  const problem = `The server requires a credential, but the request had none.${schemes}${oauth}`;
  const advice = "Add a credential to the headers.";
  const authorization = isBasic ? "Basic ${BASIC_CREDENTIALS}" : "Bearer ${API_TOKEN}";
  const value = named === undefined ? `"Authorization": "${authorization}"` : `"${named}": "\${API_KEY}"`;
  const fix = fixField(target, "entry", advice, `"headers": {${value}}`);
  return { code: "credential-missing", weight: 0.95, problem, evidence: describeRefusal(refusal), fix };
}

/** Causes in a sign-in with OAuth, as far as the stored token and the challenge show them. */
function signInCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const { status, signIn, challenge } = refusal;
  const evidence = describeRefusal(refusal);
  if (signIn === undefined) return [];
  const asks = status === 401 || asksForToken(challenge) || (challenge?.resourceMetadata.length ?? 0) > 0;
  const problem = "The server requires a sign-in, and none is stored.";
  const signInNeeded: Cause[] =
    // Without a user, the failure of the grant says what to do.
    signIn.isSignedIn || signIn.canRefresh || !asks
      ? []
      : [{ code: "sign-in-needed", weight: 0.9, problem, evidence, fix: fixByCommand(target, ["login"], "Sign in.") }];
  if (status === 401) return signInNeeded;
  const advice = "Ask an administrator of the server for the permission, or sign in with an account that has it.";
  if (!hasCredential(refusal)) return [...signInNeeded, permissionMissing(refusal, advice)];
  const missing = (challenge?.scopes ?? []).filter((scope) => !signIn.scopes?.includes(scope));
  if (challenge?.error !== "insufficient_scope" || missing.length === 0) return [permissionMissing(refusal, advice)];
  const lacking = `The token lacks the permission ${missing.join(", ")}, which the server requires.`;
  const scopes = challenge.scopes.filter(isPlainScope).flatMap((scope) => ["--scope", scope]);
  const fix = fixByCommand(target, ["login"], "Sign in again and grant the permission.", scopes);
  return [{ code: "scope-missing", weight: 0.95, problem: lacking, evidence, fix }, permissionMissing(refusal, advice)];
}

/** The causes that the server itself states. */
function statedCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const stated = statedReason(refusal);
  const evidence = describeRefusal(refusal);
  const found = (statement: Statement, code: CauseCode, weight: number, problem: string, fix: Fix): Cause[] =>
    states(stated, statement) ? [{ code, weight, problem, evidence, fix }] : [];
  const variable = credentialVariable(refusal);
  const renew =
    refusal.oauth === "supported"
      ? fixByCommand(target, ["login"], "Sign in again.")
      : variable === undefined
        ? { advice: "Get a new credential from the operator of the server." }
        : fixVariable(variable, `Get a new credential and set ${variable}.`);
  // Without a credential, these are the server's usual words for a missing one.
  const aboutCredential = !mayHaveCredential(refusal)
    ? []
    : [
        ...found("token-expired", "token-expired", 0.9, "The server says that the token has expired.", renew),
        ...found(
          "audience-wrong",
          "wrong-audience",
          0.88,
          "The server says that the token is for another audience.",
          renew,
        ),
        ...found("scope-missing", "scope-missing", 0.85, "The server says that a permission is missing.", renew),
      ];
  return [
    ...aboutCredential,
    ...found(
      "approval-needed",
      "approval-needed",
      0.92,
      "The server says that an administrator must approve it first.",
      {
        advice: "Ask an administrator of the server, or of your organization there, to approve this client.",
      },
    ),
    ...(refusal.status === 403 ? [possibleApproval(evidence)] : []),
  ];
}

function possibleApproval(evidence: readonly string[]): Cause {
  const problem = "An administrator may have to approve the client or the account first.";
  const fix = { advice: "Ask an administrator of the server whether this client must be approved." };
  return { code: "approval-needed", weight: 0.25, problem, evidence, fix };
}

/** A correction of a header's value, at the source of the value. */
function fixHeader(
  { helper }: RefusalEvidence,
  target: FixTarget,
  { name, from, variables }: HeaderEvidence,
  advice: string,
  write?: string,
): Fix {
  const [variable] = variables;
  if (from === "helper" && helper !== undefined) return fixHelper(helper.path, `Change the helper. ${advice}`);
  return write === undefined && variable !== undefined
    ? fixVariable(variable, advice)
    : fixField(target, `headers.${name}`, advice, write);
}

/** The reference to the variable in a header's value. */
function variableOf({ variables }: HeaderEvidence): string {
  return `\${${variables[0] ?? "API_TOKEN"}}`;
}

/**
 * The headers whose values come from variables of the user or from the helper, except those that select a tenant. If none is known to
 * be a credential, each of them may be one.
 */
function possibleCredentials({ headers, tenants }: RefusalEvidence): HeaderEvidence[] {
  const credentials = headers.filter(({ isCredential }) => isCredential);
  return (credentials.length === 0 ? headers : credentials).filter(
    ({ name, variables, from }) =>
      (variables.length > 0 || from === "helper") && !tenants.some(({ header }) => header === name),
  );
}

function headersWithVariables(refusal: RefusalEvidence): HeaderEvidence[] {
  return possibleCredentials(refusal).filter(({ variables }) => variables.length > 0);
}

function credentialVariable(refusal: RefusalEvidence): string | undefined {
  return headersWithVariables(refusal)[0]?.variables[0];
}

const schemeNames = new Map(
  ["Basic", "Bearer", "Digest", "DPoP", "Negotiate"].map((name) => [name.toLowerCase(), name] as const),
);

/** The usual spelling of a known scheme. An unknown scheme is the server's text, and is not repeated. */
function schemeName(scheme: string): string | undefined {
  return schemeNames.get(scheme.toLowerCase());
}

function knownSchemes({ challenge }: RefusalEvidence): string[] {
  return [...new Set((challenge?.schemes ?? []).flatMap((scheme) => schemeName(scheme) ?? []))];
}
