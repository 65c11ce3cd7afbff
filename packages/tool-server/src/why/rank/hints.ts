import type { AttemptFacts } from "../facts.js";

/** What a server said when it refused, in its challenge and in the body. */
export function wordsOfRefusal({ answer, refusal }: AttemptFacts): string {
  const { error, description } = refusal?.challenge ?? {};
  return [error, description, answer?.title, answer?.excerpt].filter(Boolean).join(" ");
}

/** That an administrator has to do something first; the codes are those of Microsoft's sign-in. */
export const approvalHint: RegExp =
  /\badmin(istrator)?s?\b.{0,60}\b(approv|consent|allow|grant|enabl|permit)|\b(approv|consent)\w*\b.{0,40}\b(requir|need|pending|missing|await)|\b(need|require|await|pending)\w*\b.{0,30}\b(approv|consent)|not (been |yet )*(approved|installed|enabled)\b.{0,40}|\bAADSTS(65001|65004|90094|900941|650052)\b/i;

/** That the tenant or workspace is the wrong one. */
export const tenantHint: RegExp =
  /\b(tenant|workspace|organi[sz]ation|account|project|team)\b.{0,60}\b(not found|unknown|invalid|mismatch|not (a |an )?member|no access|does not|doesn't|denied|wrong|belong|disabled|required|missing)|\b(unknown|invalid|wrong|missing|no such|not (a |an )?member of( th(e|is))?) (tenant|workspace|organi[sz]ation|account|project|team)\b|\bAADSTS(50020|90002|500011|50194|700016)\b/i;

export const expiryHint: RegExp = /\bexpir(ed|y)\b/i;

export const scopeHint: RegExp =
  /insufficient[_ ](scope|permission|privilege)s?|\b(scope|permission|privilege)s?\b.{0,40}\b(missing|required|insufficient|lack|needed)|\b(missing|required|insufficient|lacks?)\b.{0,40}\b(scope|permission|privilege)s?\b/i;

export const audienceHint: RegExp =
  /\baudience\b|\b(invalid|wrong|bad) aud\b|\baud\b.{0,20}\b(invalid|mismatch|claim)/i;

/** That a version of the protocol is not spoken. */
export const versionHint: RegExp = /protocol version|version.{0,30}(not supported|unsupported)/i;

/** That a server refuses a credential in the words of the protocol, or in its own. */
export const credentialHint: RegExp =
  /unauthori[sz]ed|not authenticated|authentication (failed|required|error)|(invalid|missing|wrong|bad) (api |access |auth )?(token|key|credential|password)/i;
