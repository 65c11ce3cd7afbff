import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CredentialDescription, Entry, OAuthDescription } from "@wirescope/tool-server";
import {
  type AuthenticationSchema,
  type OAuthStateSchema,
  type Server,
  ServerSchema,
} from "../../gen/wirescope/v1/admin_pb.js";
import type { ServerStatus } from "../../upstream/upstream.js";
import { authMethods, connectivityStates, transports } from "./enums.js";

/** What is told of a server besides its status. */
export interface ServerContext {
  readonly type: Entry["type"];
  readonly configuration: string | undefined;
  readonly channelId: number | undefined;
  readonly isSigningIn: boolean;
}

/** A server as a message. What it holds is not redacted yet. */
export function serverToMessage(status: ServerStatus, context: ServerContext): Server {
  const { name, state, target, server, protocolVersion, authentication, failure, tools } = status;
  return create(ServerSchema, {
    name,
    configuration: context.configuration ?? "",
    transport: transports[context.type],
    target: target ?? "",
    state: connectivityStates[state],
    ...(failure && {
      failure: { code: failure.code ?? "", message: failure.message, ...timeOf("time", failure.at || undefined) },
    }),
    ...(authentication && { authentication: authenticationInit(authentication, context.isSigningIn) }),
    ...(tools !== undefined && { toolCount: tools }),
    channelId: BigInt(context.channelId ?? 0),
    serverName: server?.name ?? "",
    serverVersion: server?.version ?? "",
    protocolVersion: protocolVersion ?? "",
  });
}

function authenticationInit(
  { kind, summary, oauth }: CredentialDescription,
  isSigningIn: boolean,
): MessageInitShape<typeof AuthenticationSchema> {
  return { method: authMethods[kind], summary, ...(oauth && { oauth: oauthInit(oauth, isSigningIn) }) };
}

function oauthInit(oauth: OAuthDescription, signingIn: boolean): MessageInitShape<typeof OAuthStateSchema> {
  return {
    signedIn: oauth.isSignedIn,
    signingIn,
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

/** A field with a time, where there is one. */
export function timeOf<Name extends string>(
  name: Name,
  ms: number | undefined,
): { readonly [Key in Name]?: Timestamp } {
  return ms === undefined ? {} : ({ [name]: timestampFromMs(ms) } as { readonly [Key in Name]: Timestamp });
}
