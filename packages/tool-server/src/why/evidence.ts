import type { PublishedServer } from "../auth/oauth/discovery/metadata.js";
import { isTransientCode } from "../auth/oauth/oauth-errors.js";
import type { OAuthEvent, OAuthOperation } from "../auth/oauth/oauth-log.js";
import type { FixTarget } from "../causes/fixes.js";
import type { RefusalEvidence, ResponseEvidence } from "../causes/refusal-evidence.js";
import type { Entry, TenantVariable } from "../config/entry.js";
import type { Finding } from "../config/finding.js";
import type { ServerDescription } from "../connection/client-settings.js";
import type { CredentialKind, OAuthDescription } from "../connection-info.js";
import {
  type ConnectingDetails,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "../errors.js";
import type { NotStarted, ProcessExit, ProcessOutcome } from "../process/process-outcome.js";
import type { Redact } from "../secrets/redactor.js";

/**
 * Everything that a walk observed; steps that it did not reach are undefined. All text was redacted when it was collected. Causes, steps and
 * requirements are computed from this alone.
 */
export interface WalkEvidence extends FixTarget {
  /** Whether a gateway runs the walk, so that its own options and variables apply. */
  readonly isGateway: boolean;
  /** Undefined if the entry is invalid. */
  readonly type: Entry["type"] | undefined;
  /** Whether the entry is disabled: then nothing is run or connected to. Default false. */
  readonly isDisabled?: boolean | undefined;
  readonly file: string;
  readonly positions: NonNullable<FixTarget["positions"]>;
  /** The findings about the text of the entry. */
  readonly findings: readonly Finding[];
  /** The findings about the values of its variables. */
  readonly values: readonly Finding[];
  /** The variables that the entry uses. */
  readonly variables: readonly string[];
  readonly tenants: readonly TenantVariable[];
  readonly trust?: TrustEvidence | undefined;
  readonly helper?: HelperEvidence | undefined;
  readonly network?: NetworkEvidence | undefined;
  readonly attempt?: AttemptEvidence | undefined;
  /** Another url or type that does respond with the protocol. */
  readonly alternative?: Alternative | undefined;
  readonly oauth?: OAuthEvidence | undefined;
  readonly offer?: OAuthOffer | undefined;
  readonly child?: ChildEvidence | undefined;
  /** A failure from before the walk, which the caller knows. */
  readonly earlier?: FailureEvidence | undefined;
}

export interface TrustEvidence {
  readonly state: "trusted" | "new" | "changed" | "denied" | "unreadable";
  readonly reason: string;
  /** The helper, if it does not exist: to approve the entry would not help. */
  readonly missingHelper?: string | undefined;
}

export interface HelperEvidence {
  readonly path: string;
  /** The helper, or a secret command. Default: the helper. */
  readonly program?: "helper" | "command" | undefined;
  /** How the run ended; undefined if it was not run. */
  readonly outcome: ProcessOutcome["kind"] | undefined;
  readonly durationMs: number;
  /** The names of the headers that it returned. */
  readonly headers: readonly string[];
  readonly failure?: FailureEvidence | undefined;
}

export interface NetworkEvidence {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly proxy?: { readonly name: string; readonly variable: string } | undefined;
  /** The variable with the hosts that bypass the proxy; undefined if none is set. */
  readonly noProxy?: string | undefined;
  /** The sources of additional CA certificates. */
  readonly authorities: readonly string[];
  /** The addresses of the host, or of the proxy. */
  readonly addresses: readonly string[];
  /** The established connection. */
  readonly connected?: { readonly address: string; readonly tls: string | undefined } | undefined;
  readonly failure?: NetworkFailure | undefined;
  /** The certificate that TLS rejected. */
  readonly certificate?: CertificateEvidence | undefined;
}

export interface NetworkFailure {
  readonly stage: "settings" | "proxy" | "name" | "connection" | "tls";
  /** The system or TLS error code; empty if there is none. */
  readonly code: string;
  /** The status of the proxy's response. */
  readonly proxyStatus?: number | undefined;
  /** The variable that does not contain a proxy URL. */
  readonly variable?: string | undefined;
  readonly message: string;
}

export interface CertificateEvidence {
  readonly subject: string;
  readonly issuer: string;
  readonly names: string;
  /** As ISO 8601. */
  readonly validFrom: string;
  readonly validTo: string;
}

/** A certificate, in a line. */
export function describeCertificate(certificate: CertificateEvidence): string {
  const { names, subject, issuer, validFrom, validTo } = certificate;
  return `The certificate is for ${names || subject}, signed by ${issuer}, valid from ${validFrom} until ${validTo}.`;
}

/** The result of connecting and listing the tools. */
export interface AttemptEvidence {
  readonly credential: CredentialKind;
  /** The server's description of itself. */
  readonly connected?: ServerEvidence | undefined;
  readonly failure?: FailureEvidence | undefined;
  /** The last HTTP response of the server. */
  readonly response?: ResponseEvidence | undefined;
  readonly refusal?: RefusalEvidence | undefined;
}

export interface ServerEvidence extends Pick<ServerDescription, "name" | "version" | "protocolVersion" | "era"> {
  /** The number of tools on the first page; undefined if the server has no tools. */
  readonly tools: number | undefined;
  /** What is omitted from the list of tools, in a line; undefined if nothing is. */
  readonly omitted?: string | undefined;
}

export interface Alternative {
  readonly url: string;
  readonly type: "http" | "sse" | "ws";
  readonly evidence: string;
}

export interface ChildEvidence {
  readonly command: string;
  /** Its arguments, without secrets. Default none. */
  readonly args?: readonly string[] | undefined;
  /** The folder that it runs in. */
  readonly cwd?: string | undefined;
  /** The variables in `env` of the entry; without a value that is a secret or cannot be printed. Default none. */
  readonly env?: readonly { readonly name: string; readonly value: string | undefined }[] | undefined;
  /** The file that the command resolves to. */
  readonly path: string | undefined;
  readonly searched: readonly string[];
  readonly notStarted?: NotStarted["kind"] | undefined;
  readonly exit?: ProcessExit | undefined;
  readonly stderr: readonly string[];
  /** The first line on standard output that is not a message. */
  readonly strayOutput: string | undefined;
  /** Variables that its output says are missing, and whether they are set here. */
  readonly missing: readonly { readonly variable: string; readonly isSetHere: boolean }[];
  /** Variables that the process would get, but that were withheld because they contain a credential. */
  readonly withheld: readonly string[];
}

/** What a walk observed about a sign-in with OAuth. */
export interface OAuthEvidence {
  /** Where tokens are stored, and a warning about it. */
  readonly vault?: { readonly summary: string; readonly warning: string | undefined } | undefined;
  readonly vaultFailure?: FailureEvidence | undefined;
  /** What was stored before the walk; undefined if it could not be read. */
  readonly before?: OAuthDescription | undefined;
  /** The last failure that was stored before the walk. */
  readonly lastFailure?: StoredFailure | undefined;
  /** What OAuth did during the walk, and earlier if the caller knows it. */
  readonly events: readonly OAuthEvent[];
  /** The resource metadata of the tool server; undefined if it was not requested. */
  readonly resource?: ResourceEvidence | undefined;
  /** Undefined if none was looked for. */
  readonly authorization?: AuthorizationServerEvidence | undefined;
  readonly client?: ClientEvidence | undefined;
}

/** A failure of an earlier sign-in, renewal or request for more scopes. */
export interface StoredFailure extends FailureEvidence {
  readonly operation: OAuthOperation;
  readonly ageMs: number;
}

/** A server supports OAuth, but the entry contains a token. */
export interface OAuthOffer {
  /** The names of the headers with the token. */
  readonly headers: readonly string[];
  readonly issuer: string;
  /** Whether the authorization server supports dynamic client registration. */
  readonly canRegister: boolean;
  readonly evidence: readonly string[];
}

export interface ResourceEvidence {
  /** `foreign`: the metadata describes another resource. */
  readonly outcome: "found" | "absent" | "foreign" | "failed";
  /** The urls that were requested, and the result of each. */
  readonly evidence: readonly string[];
  readonly resource: string | undefined;
  readonly scopes: readonly string[] | undefined;
}

export interface AuthorizationServerEvidence extends PublishedServer {
  /** `default`: no metadata, so the server's origin has the default endpoints of revision 2025-03-26. */
  readonly outcome: "found" | "default" | "absent" | "invalid" | "failed";
  readonly evidence: readonly string[];
  /** The issuer that was requested. */
  readonly expectedIssuer: string;
  /** Whether PKCE is used although the metadata does not list it: by a setting, or because the issuer is known. Default false. */
  readonly assumesPkce?: boolean | undefined;
  /** The issuer of the last sign-in, if the server no longer names it. */
  readonly changedFrom: string | undefined;
}

export interface ClientEvidence {
  readonly kind: "configured" | "metadata-document" | "registered" | "none";
  /** `closed`: no dynamic registration. `unclear`: only a browser can find out. */
  readonly outcome: "accepted" | "dead" | "redirect-mismatch" | "closed" | "to-register" | "unclear";
  readonly redirectUri: string | undefined;
  readonly evidence: readonly string[];
}

/** A ToolServerError, redacted. */
export interface FailureEvidence
  extends Pick<ToolServerErrorDetails, "status" | "rpcCode" | "said" | "issuer">,
    Pick<ConnectingDetails, "needsClientCertificate"> {
  readonly code: ToolServerErrorCode;
  readonly message: string;
  readonly advice?: string | undefined;
}

/** Converts a ToolServerError. Throws any other error: that is a bug in this package, not a failure of the server. */
export function failureEvidence(error: unknown, redact: Redact): FailureEvidence {
  if (!ToolServerError.is(error)) throw error;
  const { code, message, advice, details } = error;
  const { status, rpcCode, said, issuer, connecting } = details;
  return {
    code,
    message: redact(message, "own"),
    advice: advice && redact(advice, "own"),
    status,
    rpcCode,
    said: said && redact(said),
    issuer: issuer && redact(issuer),
    needsClientCertificate: connecting?.needsClientCertificate,
  };
}

/** Whether an error is part of the evidence: any ToolServerError except NOT_TRUSTED, which ends the walk. */
export function isEvidence(error: unknown): error is ToolServerError {
  return ToolServerError.is(error) && error.code !== "NOT_TRUSTED";
}

/** Whether tokens were renewed, or obtained without a user. */
export function isRenewal(event: OAuthEvent): boolean {
  return event.kind === "ended" && event.operation === "refresh" && event.outcome === "done";
}

/** Whether an attempt to renew tokens failed, for a reason that may pass. */
export function isFailedRenewal(event: OAuthEvent): boolean {
  if (event.kind !== "ended") return event.kind === "renewal-retry";
  return event.operation === "refresh" && event.outcome === "failed" && isTransientCode(event.code);
}
