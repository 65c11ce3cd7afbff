import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type {
  OAuthStep,
  OAuthStepFields,
  SignInPrompt as Prompt,
  RevocationResult,
  SignOutReport,
} from "@wirescope/tool-server/auth";
import {
  type Revocation,
  Revocation_Outcome,
  type RevocationSchema,
  type SignInFieldSchema,
  type SignInPrompt,
  SignInPromptSchema,
  type SignInStep,
  SignInStepSchema,
  type SignOutResponse,
  SignOutResponseSchema,
} from "../../gen/wirescope/v1/admin_pb.js";
import { checkOutcomes, nameOf } from "./enums.js";
import { msOf, timeOf } from "./server-message.js";

/** What the user has to do to sign in, as a message. */
export function promptToMessage(id: string, prompt: Prompt): SignInPrompt {
  const { issuer, tokenOrigin = "", scopes, newScopes, vault, way } = prompt;
  return create(SignInPromptSchema, {
    signInId: id,
    issuer,
    tokenOrigin,
    scopes: [...scopes],
    newScopes: [...newScopes],
    storage: vault.warning ?? vault.summary,
    way:
      way.kind === "browser"
        ? { case: "browser", value: { url: way.url, redirectUri: way.redirectUri } }
        : {
            case: "device",
            value: {
              url: way.url,
              userCode: way.userCode,
              completeUrl: way.completeUrl ?? "",
              ...timeOf("expireTime", way.expiresAt),
            },
          },
  });
}

export function signInStepToMessage(step: OAuthStep): SignInStep {
  const { name, outcome, method = "", url = "", sent, status = 0, received, durationMs = 0, failure = "" } = step;
  return create(SignInStepSchema, {
    name,
    outcome: checkOutcomes[outcome],
    method,
    url,
    sent: fieldsOf(sent),
    status,
    received: fieldsOf(received),
    durationMs,
    failure,
  });
}

function fieldsOf(fields: OAuthStepFields = {}): MessageInitShape<typeof SignInFieldSchema>[] {
  return Object.entries(fields).map(([name, value]) => ({ name, value }));
}

export function promptFromMessage(server: string, prompt: SignInPrompt): Prompt {
  const { issuer, tokenOrigin, scopes, newScopes, storage, way } = prompt;
  return {
    server,
    issuer,
    tokenOrigin: tokenOrigin || undefined,
    reason: "asked",
    scopes,
    newScopes,
    vault: { kind: "file", summary: storage },
    way:
      way.case === "device"
        ? {
            kind: "device",
            url: way.value.url,
            userCode: way.value.userCode,
            completeUrl: way.value.completeUrl || undefined,
            expiresAt: msOf(way.value.expireTime) ?? 0,
          }
        : { kind: "browser", url: way.value?.url ?? "", redirectUri: way.value?.redirectUri ?? "" },
  };
}

const revocations = {
  revoked: Revocation_Outcome.REVOKED,
  unsupported: Revocation_Outcome.UNSUPPORTED,
  failed: Revocation_Outcome.FAILED,
} as const;

export function signOutToMessage({ wiped, problems, remaining }: SignOutReport): SignOutResponse {
  return create(SignOutResponseSchema, {
    wiped: wiped.map(({ issuer, accessToken, refreshToken }) => ({
      issuer,
      accessToken: revocationInit(accessToken),
      ...(refreshToken && { refreshToken: revocationInit(refreshToken) }),
    })),
    problems: [...problems],
    remaining: remaining.map(({ url, tenant }) => ({ url, tenant })),
  });
}

export function signOutFromMessage(server: string, { wiped, problems, remaining }: SignOutResponse): SignOutReport {
  return {
    server,
    wiped: wiped.map(({ issuer, accessToken, refreshToken }) => ({
      issuer,
      accessToken: revocationFromMessage(accessToken),
      refreshToken: refreshToken && revocationFromMessage(refreshToken),
    })),
    problems,
    remaining: remaining.map(({ url, tenant }) => ({ url, tenant })),
  };
}

function revocationFromMessage(message: Revocation | undefined): RevocationResult {
  const kind = nameOf(revocations, message?.outcome ?? 0) ?? "failed";
  return kind === "failed" ? { kind, reason: message?.reason ?? "The gateway gives no reason." } : { kind };
}

function revocationInit(result: RevocationResult): MessageInitShape<typeof RevocationSchema> {
  return { outcome: revocations[result.kind], reason: "reason" in result ? result.reason : "" };
}
