import { create } from "@bufbuild/protobuf";
import type { SignInRequest } from "@wirescope/tool-server/auth";
import { type SignInPrompt, SignInPromptSchema } from "../../gen/wirescope/v1/admin_pb.js";
import type { ShownSignIn } from "../../sign-in/sign-ins.js";
import { msOf, timeOf } from "./server-message.js";

/** What a person has to do to sign in, as a message. */
export function promptToMessage({ id, request }: ShownSignIn): SignInPrompt {
  const { issuer, scopes, newScopes, vault, way } = request;
  return create(SignInPromptSchema, {
    signInId: id,
    issuer,
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

/** What a message asks a person to do. */
export function promptFromMessage(server: string, prompt: SignInPrompt): SignInRequest {
  const { issuer, scopes, newScopes, storage, way } = prompt;
  return {
    server,
    issuer,
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
