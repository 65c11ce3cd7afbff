import {
  AuthMethod,
  Check_Outcome,
  ConnectivityState,
  type ExplainResponse,
  type OAuthState,
  type Revocation,
  Revocation_Outcome,
  SignOutProof_Outcome,
  type SignOutResponse,
  Transport,
} from "@wirescope/gateway/admin";
import type {
  CauseCode,
  CredentialKind,
  Entry,
  Explanation,
  Note,
  OAuthDescription,
  Outcome,
  RevocationResult,
  SignOutProof,
  SignOutReport,
  StepName,
} from "@wirescope/tool-server";

// What comes from the gateway, in the words that the commands print.

export function oauthOf(message: OAuthState): OAuthDescription {
  return {
    isSignedIn: message.signedIn,
    issuer: message.issuer || undefined,
    account: message.account || undefined,
    scopes: message.scopes.length === 0 ? undefined : message.scopes,
    expiresAt: msOf(message.expireTime),
    obtainedAt: msOf(message.obtainTime),
    tokenType: message.tokenType === "Bearer" || message.tokenType === "DPoP" ? message.tokenType : undefined,
    canRefresh: message.renewable,
    pausedUntil: msOf(message.pauseEndTime),
  };
}

const kinds: Readonly<Record<AuthMethod, CredentialKind>> = {
  [AuthMethod.UNSPECIFIED]: "none",
  [AuthMethod.NONE]: "none",
  [AuthMethod.HEADERS]: "headers",
  [AuthMethod.HELPER]: "helper",
  [AuthMethod.ENVIRONMENT]: "environment",
  [AuthMethod.OAUTH]: "oauth",
};

export function credentialKindOf(method: AuthMethod): CredentialKind {
  return kinds[method] ?? "none";
}

const types: Readonly<Partial<Record<Transport, Entry["type"]>>> = {
  [Transport.HTTP]: "http",
  [Transport.SSE]: "sse",
  [Transport.WEBSOCKET]: "ws",
  [Transport.STDIO]: "stdio",
};

export function typeOf(transport: Transport): Entry["type"] | undefined {
  return types[transport];
}

export function isReady(state: ConnectivityState): boolean {
  return state === ConnectivityState.READY;
}

export function signOutReportOf(server: string, { wiped, proof, problems }: SignOutResponse): SignOutReport {
  return {
    server,
    wiped: wiped.map(({ issuer, accessToken, refreshToken }) => ({
      issuer,
      accessToken: revocationOf(accessToken),
      refreshToken: refreshToken && revocationOf(refreshToken),
    })),
    proof: proofOf(proof),
    problems,
  };
}

function revocationOf(message: Revocation | undefined): RevocationResult {
  switch (message?.outcome) {
    case Revocation_Outcome.REVOKED:
      return { kind: "revoked" };
    case Revocation_Outcome.UNSUPPORTED:
      return { kind: "unsupported" };
    default:
      return { kind: "failed", reason: message?.reason ?? "The gateway does not say." };
  }
}

function proofOf(message: SignOutResponse["proof"]): SignOutProof {
  const { outcome, status = 0, reason = "The gateway does not say.", expireTime } = message ?? {};
  switch (outcome) {
    case SignOutProof_Outcome.REFUSED:
      return { kind: "refused", status };
    case SignOutProof_Outcome.ACCEPTED:
      return { kind: "accepted", status, until: msOf(expireTime) };
    case SignOutProof_Outcome.NOTHING:
      return { kind: "nothing" };
    default:
      return { kind: "unclear", reason };
  }
}

const outcomes: Readonly<Record<Check_Outcome, Outcome>> = {
  [Check_Outcome.UNSPECIFIED]: "skipped",
  [Check_Outcome.OK]: "ok",
  [Check_Outcome.FAILED]: "failed",
  [Check_Outcome.SKIPPED]: "skipped",
};

export function explanationOf(message: ExplainResponse): Explanation {
  const { server, transport, well, causes, notes, steps, demands, permissions } = message;
  return {
    server,
    type: typeOf(transport),
    isWell: well,
    causes: causes.map((cause) => ({ ...noteOf(cause), weight: cause.weight })),
    notes: notes.map(noteOf),
    steps: steps.map(({ name, outcome, evidence }) => ({
      step: name as StepName,
      outcome: outcomes[outcome] ?? "skipped",
      evidence,
    })),
    demands: demands.map(({ name, outcome, evidence }) => ({
      demand: name,
      outcome: outcomes[outcome] ?? "skipped",
      evidence,
    })),
    permissions: permissions.length === 0 ? undefined : permissions,
  };
}

function noteOf({ code, message, evidence, mend }: ExplainResponse["causes"][number]): Note {
  return {
    cause: code as CauseCode,
    message,
    evidence,
    mend: {
      what: mend?.what ?? "",
      command: mend?.command || undefined,
      place: mend?.file ? { file: mend.file, line: mend.line, column: mend.column } : undefined,
      write: mend?.write || undefined,
    },
  };
}

function msOf(time: OAuthState["expireTime"]): number | undefined {
  return time === undefined ? undefined : Number(time.seconds) * 1000 + Math.round(time.nanos / 1e6);
}
