import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type ToolChange, ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import type { CredentialDescription, OAuthDescription } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import { describeListProblems } from "@wirescope/tool-server/internal";
import {
  ConnectivityState,
  type Failure,
  type FailureSchema,
  type OAuthState,
  type OAuthStateSchema,
  type Server,
  ServerSchema,
} from "../../gen/wirescope/v1/admin_pb.js";
import type { ServerStatus } from "../../servers/server.js";
import type { ServerFailure } from "../../servers/server-connection.js";
import { changeInit } from "./approval-message.js";
import { authMethods, connectivityStates, nameOf, transports } from "./enums.js";

/** Values for a server message in addition to the status. */
export interface ServerMessageContext {
  readonly type: Entry["type"];
  readonly configuration: string | undefined;
  readonly channelId: number | undefined;
}

const maxListProblems = 100;
const maxToolChanges = 100;

/** A server as a message, not yet redacted. */
export function serverToMessage(status: ServerStatus, context: ServerMessageContext): Server {
  const { name, state, target, server, protocolVersion, authentication, failure, tools, listProblems, toolChanges } =
    status;
  return create(ServerSchema, {
    name,
    configuration: context.configuration ?? "",
    transport: transports[context.type],
    target: target ?? "",
    state: connectivityStates[state],
    ...(failure && { failure: failureInit(failure) }),
    ...(authentication && {
      authentication: {
        method: authMethods[authentication.kind],
        summary: authentication.summary,
        ...(authentication.oauth && { oauth: oauthInit(authentication.oauth) }),
      },
    }),
    ...(tools !== undefined && { toolCount: tools }),
    channelId: BigInt(context.channelId ?? 0),
    serverName: server?.name ?? "",
    serverVersion: server?.version ?? "",
    protocolVersion: protocolVersion ?? "",
    listProblems: listProblems.slice(0, maxListProblems).map((problem) => describeListProblems([problem])),
    toolChanges: toolChanges.slice(0, maxToolChanges).map(changeInit),
  });
}

/** A server behind a gateway, as its messages describe it. */
export interface ServerReport {
  readonly name: string;
  readonly type: Entry["type"] | undefined;
  readonly state: ServerStatus["state"];
  readonly isConnected: boolean;
  /** How many tools it offers; undefined if that is not known. */
  readonly tools: number | undefined;
  /** Name and version, while it is connected; empty if it does not state them. */
  readonly description: { readonly name: string; readonly version: string; readonly protocolVersion: string };
  /** Undefined if the entry could not be opened yet. */
  readonly credential: Pick<CredentialDescription, "kind" | "summary" | "oauth"> | undefined;
  /** The last failure; with a code if the gateway has one for it. */
  readonly failure:
    | ToolServerError
    | { readonly code: undefined; readonly message: string; readonly details?: undefined }
    | undefined;
  /** When it began to fail, in milliseconds since the epoch; undefined if that is not known. */
  readonly failingSince?: number | undefined;
  /** What is omitted from its lists because it is invalid. Default: nothing. */
  readonly listProblems?: readonly string[] | undefined;
  /** How its tools differ from their first definitions since its approval. Default: none. */
  readonly toolChanges?: readonly ToolChange[] | undefined;
}

export function serverFromMessage(message: Server): ServerReport {
  const { name, transport, state, serverName, serverVersion, protocolVersion, authentication, failure } = message;
  return {
    name,
    type: nameOf(transports, transport),
    state: nameOf(connectivityStates, state) ?? "IDLE",
    isConnected: state === ConnectivityState.READY,
    tools: message.toolCount,
    description: { name: serverName, version: serverVersion, protocolVersion },
    credential: authentication && {
      kind: nameOf(authMethods, authentication.method) ?? "none",
      summary: authentication.summary,
      oauth: authentication.oauth && oauthFromMessage(authentication.oauth),
    },
    failure: failureReport(failure),
    failingSince: msOf(failure?.beginTime),
    listProblems: message.listProblems,
    toolChanges: message.toolChanges.map(({ tool, field, before, after }) => ({
      kind: "tool",
      tool,
      field,
      before,
      after,
    })),
  };
}

/** The failure in a message, with a code if the gateway has one for it. */
export function failureReport(failure: Failure | undefined): ServerReport["failure"] {
  return failure && (failureFromMessage(failure) ?? { code: undefined, message: failure.message });
}

function oauthFromMessage(message: OAuthState): OAuthDescription {
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

function failureInit({ code, message, error, at, since }: ServerFailure): MessageInitShape<typeof FailureSchema> {
  const known = error === undefined ? { code: code ?? "", message } : failureToMessage(error);
  return { ...known, message, ...timeOf("time", at || undefined), ...timeOf("beginTime", since) };
}

function oauthInit(oauth: OAuthDescription): MessageInitShape<typeof OAuthStateSchema> {
  return {
    signedIn: oauth.isSignedIn,
    signingIn: oauth.isSigningIn ?? false,
    issuer: oauth.issuer ?? "",
    account: oauth.account ?? "",
    scopes: [...(oauth.scopes ?? [])],
    renewable: oauth.canRefresh,
    tokenType: oauth.tokenType ?? "",
    ...timeOf("expireTime", oauth.expiresAt),
    ...timeOf("obtainTime", oauth.obtainedAt),
    ...timeOf("pauseEndTime", oauth.pausedUntil),
  };
}

/** The time of a field, in milliseconds since the epoch. */
export function msOf(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : Number(time.seconds) * 1000 + Math.round(time.nanos / 1e6);
}

/** A time field, if there is a time. */
export function timeOf<Name extends string>(
  name: Name,
  ms: number | undefined,
): { readonly [Key in Name]?: Timestamp } {
  return ms === undefined ? {} : ({ [name]: timestampFromMs(ms) } as { readonly [Key in Name]: Timestamp });
}

/** A failure as a message, not yet redacted. */
export function failureToMessage(error: ToolServerError): MessageInitShape<typeof FailureSchema> {
  const { code, message, subject, problem, evidence, advice } = error;
  const { issuerChange, foreignOrigin, signIn, unsetVariables = [] } = error.details;
  return {
    code,
    message,
    subject,
    problem,
    evidence,
    advice,
    unsetVariables: [...unsetVariables],
    ...(signIn && { signIn: { scopes: [...signIn.scopes] } }),
    ...(issuerChange && { issuerChange: { ...issuerChange } }),
    ...(foreignOrigin && { foreignOrigin: { ...foreignOrigin, tokenOrigin: foreignOrigin.tokenOrigin ?? "" } }),
  };
}

/** The failure that a message holds; undefined if the gateway has no code for it. */
export function failureFromMessage(message: Failure, cause?: unknown): ToolServerError | undefined {
  if (message.code === "") return undefined;
  const { subject, problem, evidence, advice, issuerChange, foreignOrigin, signIn, unsetVariables } = message;
  return new ToolServerError(
    message.code as ToolServerErrorCode,
    // An older gateway sends only the message.
    problem === "" ? { problem: message.message, advice: "" } : { subject, problem, evidence, advice },
    {
      ...(cause === undefined ? {} : { cause }),
      details: {
        ...(unsetVariables.length > 0 && { unsetVariables }),
        ...(signIn && { signIn: { scopes: signIn.scopes } }),
        ...(issuerChange && { issuerChange: { from: issuerChange.from, to: issuerChange.to } }),
        ...(foreignOrigin && {
          foreignOrigin: {
            issuer: foreignOrigin.issuer,
            origin: foreignOrigin.origin,
            ...(foreignOrigin.tokenOrigin && { tokenOrigin: foreignOrigin.tokenOrigin }),
          },
        }),
      },
    },
  );
}
