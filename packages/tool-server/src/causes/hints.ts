/** An administrator must approve something first; the AADSTS codes are those of Microsoft Entra. */
export const approvalHint: RegExp =
  /\badmin(istrator)?s?\b.{0,60}\b(approv|consent|allow|grant|enabl|permit)|\b(approv|consent)\w*\b.{0,40}\b(requir|need|pending|missing|await)|\b(need|require|await|pending)\w*\b.{0,30}\b(approv|consent)|not (been |yet )*(approved|installed|enabled)\b.{0,40}|\bAADSTS(65001|65004|90094|900941|650052)\b/i;

/** The tenant or workspace is wrong. */
export const tenantHint: RegExp =
  /\b(tenant|workspace|organi[sz]ation|account|project|team)\b.{0,60}\b(not found|unknown|invalid|mismatch|not (a |an )?member|no access|does not|doesn't|denied|wrong|belong|disabled|required|missing)|\b(unknown|invalid|wrong|missing|no such|not (a |an )?member of( th(e|is))?) (tenant|workspace|organi[sz]ation|account|project|team)\b|\bAADSTS(50020|90002|500011|50194|700016)\b/i;

export const expiryHint: RegExp = /\bexpir(ed|y)\b/i;

export const scopeHint: RegExp =
  /insufficient[_ ](scope|permission|privilege)s?|\b(scope|permission|privilege)s?\b.{0,40}\b(missing|required|insufficient|lack|needed)|\b(missing|required|insufficient|lacks?)\b.{0,40}\b(scope|permission|privilege)s?\b/i;

export const audienceHint: RegExp =
  /\baudience\b|\b(invalid|wrong|bad) aud\b|\baud\b.{0,20}\b(invalid|mismatch|claim)/i;

/** The protocol version is not supported. */
export const versionHint: RegExp = /protocol version|version.{0,30}(not supported|unsupported)/i;

/** The server rejects a credential, in a protocol error or in its own message. */
export const credentialHint: RegExp =
  /unauthori[sz]ed|not authenticated|authentication (failed|required|error)|(invalid|missing|wrong|bad) (api |access |auth )?(token|key|credential|password)/i;
