import type { Entry, TenantVariable } from "../config/entry.js";
import type { Finding } from "../config/finding.js";
import type { Position } from "../config/json-with-positions.js";
import type { CredentialKind } from "../connection-info.js";
import type { NotStarted, ProcessExit, ProcessOutcome } from "../process/process-outcome.js";
import type { RefusalFinding } from "../refusal-finding.js";
import type { FailureFacts } from "./failure-facts.js";
import type { OAuthFacts, OAuthOffer } from "./oauth-facts.js";

/**
 * All that a walk found. What a walk did not come to is undefined. Everything was redacted when it was found: causes, steps
 * and demands are made of this alone.
 */
export interface WalkFacts {
  /** Whether a gateway walks for itself, so that its own options and variables are meant. */
  readonly isGateway: boolean;
  readonly server: string;
  /** Undefined where the entry cannot be understood. */
  readonly type: Entry["type"] | undefined;
  /** The configuration, for who has to change it. */
  readonly file: string;
  /** Where the fields of the entry stand, as `url` or `headers.Authorization`; `entry` is its name. */
  readonly places: Readonly<Record<string, Position>>;
  /** What `wirescope` has to be given besides, such as `--config`. */
  readonly commandArguments: readonly string[];
  /** The same, for commands that use tokens, such as `--profile`. */
  readonly signInArguments: readonly string[];
  /** What is wrong with the text of the entry. */
  readonly findings: readonly Finding[];
  /** What is wrong with the values of its variables. */
  readonly values: readonly Finding[];
  /** The variables that it refers to. */
  readonly variables: readonly string[];
  readonly tenants: readonly TenantVariable[];
  readonly trust?: TrustFacts | undefined;
  readonly helper?: HelperFacts | undefined;
  readonly network?: NetworkFacts | undefined;
  readonly attempt?: AttemptFacts | undefined;
  /** A place where something does speak the protocol, where the url of the entry does not. */
  readonly alternative?: Alternative | undefined;
  readonly oauth?: OAuthFacts | undefined;
  readonly offer?: OAuthOffer | undefined;
  readonly child?: ChildFacts | undefined;
  /** A failure from before the walk, that the caller knows of. */
  readonly earlier?: FailureFacts | undefined;
}

export interface TrustFacts {
  readonly state: "trusted" | "new" | "changed" | "denied" | "unreadable";
  readonly words: string;
}

export interface HelperFacts {
  readonly path: string;
  /** How the run ended; undefined where there was none. */
  readonly outcome: ProcessOutcome["kind"] | undefined;
  readonly durationMs: number;
  /** The names of the headers that it gave. */
  readonly headers: readonly string[];
  readonly failure?: FailureFacts | undefined;
}

export interface NetworkFacts {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly proxy?: { readonly name: string; readonly variable: string } | undefined;
  /** Where authorities come from that are trusted besides the usual ones. */
  readonly authorities: readonly string[];
  /** What the name of the host, or of the proxy, stands for. */
  readonly addresses: readonly string[];
  /** The connection that stood. */
  readonly connected?: { readonly address: string; readonly tls: string | undefined } | undefined;
  readonly failure?: NetworkFailure | undefined;
  /** The certificate that was shown, where TLS failed for it. */
  readonly certificate?: CertificateFacts | undefined;
}

export interface NetworkFailure {
  readonly stage: "settings" | "proxy" | "name" | "connection" | "tls";
  /** The code of the system or of TLS; empty where there is none. */
  readonly code: string;
  /** The status that a proxy answered with. */
  readonly proxyStatus?: number | undefined;
  /** The variable that does not hold the url of a proxy. */
  readonly variable?: string | undefined;
  readonly message: string;
}

export interface CertificateFacts {
  readonly subject: string;
  readonly issuer: string;
  readonly names: string;
  /** As ISO 8601. */
  readonly validFrom: string;
  readonly validTo: string;
}

/** What came of connecting, and of reading the list of tools. */
export interface AttemptFacts {
  readonly credential: CredentialKind;
  /** What the server said of itself. */
  readonly connected?: ConnectedFacts | undefined;
  readonly failure?: FailureFacts | undefined;
  /** The last answer of the server, where it speaks HTTP. */
  readonly answer?: AnswerFacts | undefined;
  readonly refusal?: RefusalFacts | undefined;
}

export interface ConnectedFacts {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly protocolVersion: string;
  readonly era: "modern" | "legacy";
  /** How many tools it listed first; undefined where it has none. */
  readonly tools: number | undefined;
}

export interface AnswerFacts {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly mediaType: string;
  /** The title of a page in HTML; undefined where it is none. */
  readonly title: string | undefined;
  /** The beginning of what it said, on one line. */
  readonly excerpt: string;
  /** Where it sends to, without query. */
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
}

export interface RefusalFacts {
  readonly status: number;
  /** When it was, by the clock here, in milliseconds since the epoch. */
  readonly now: number;
  readonly findings: readonly RefusalFinding[];
  /** Whether the request carried a header that is a credential by its name. */
  readonly carriesCredential: boolean;
  /** The challenge, where there was one. */
  readonly challenge?: ChallengeFacts | undefined;
  /** The tokens that were sent and could be looked into. */
  readonly tokens: readonly TokenFacts[];
  /** The values of headers that choose a tenant. */
  readonly tenants: readonly { readonly header: string; readonly value: string }[];
  /** By how much the server's clock is ahead of the one here, in milliseconds; undefined where it does not tell. */
  readonly skewMs: number | undefined;
}

export interface ChallengeFacts {
  readonly schemes: readonly string[];
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly scopes: readonly string[];
  readonly resourceMetadata: readonly string[];
}

/** What a JSON Web Token says of itself, without any trust in it. */
export interface TokenFacts {
  readonly header: string;
  readonly variables: readonly string[];
  readonly from: "configuration" | "helper" | "oauth";
  readonly issuedAt: number | undefined;
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
  readonly audience: readonly string[];
  /** Whether it is meant for the server, as far as audience and url tell; undefined where they do not. */
  readonly isForServer: boolean | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly tenants: readonly { readonly claim: string; readonly value: string }[];
}

export interface Alternative {
  readonly url: string;
  readonly type: "http" | "sse" | "ws";
  readonly evidence: string;
}

export interface ChildFacts {
  readonly command: string;
  /** Its arguments, without secrets. Default none. */
  readonly args?: readonly string[] | undefined;
  /** The file that the command is. */
  readonly path: string | undefined;
  /** The folders that were searched. */
  readonly searched: readonly string[];
  readonly notStarted?: NotStarted["kind"] | undefined;
  readonly exit?: ProcessExit | undefined;
  readonly stderr: readonly string[];
  /** The first that it wrote to standard output and that was no message. */
  readonly stray: string | undefined;
  /** Variables that its last words miss: whether the user has them set, though the entry does not pass them on. */
  readonly missing: readonly { readonly variable: string; readonly isSetHere: boolean }[];
  /** Variables that every process, or this launcher, gets, but which hold a credential here and so were not passed on. */
  readonly withheld: readonly string[];
}
