import type { Socket } from "node:net";

/** The kinds of servers, and so of the transports to them. */
export type TransportKind = "http" | "sse" | "ws" | "stdio";

/** The connectivity states of Channelz. */
export type ConnectivityState = "IDLE" | "CONNECTING" | "READY" | "TRANSIENT_FAILURE" | "SHUTDOWN";

/** Identifies a connection to observers: the same object for the connection's whole life. Contains no secret. */
export interface ConnectionInfo {
  readonly kind: TransportKind;
  /** The name of the entry. */
  readonly name: string;
  /** The URL, or `stdio:` and the command. */
  readonly target: string;
  /** The values of the variables that select a tenant, by name. */
  readonly tenant: Readonly<Record<string, string>>;
  /** Describes the credential in its current state. */
  credential(): CredentialDescription;
}

/**
 * Identifies one transport of a connection: to a resolved origin, or one run of a process. The same object for the transport's
 * whole life.
 */
export interface TransportInfo {
  readonly connection: ConnectionInfo;
  /** The origin, or the command with the number of its arguments. */
  readonly target: string;
}

/** Identifies a network socket or the pipes of a child process. The same object until it closes. */
export type SocketInfo = NetworkSocketInfo | ChildProcessInfo;

/** A TCP or TLS connection to a server. */
export interface NetworkSocketInfo {
  readonly kind: "socket";
  readonly transport: TransportInfo;
  /** A TCP socket, or the TLS socket on top of it. */
  readonly socket: Socket;
  /** The requested host and port; with a proxy, those of the server behind it. */
  readonly remoteName: string;
}

/** The process of a stdio server. */
export interface ChildProcessInfo {
  readonly kind: "child";
  readonly transport: TransportInfo;
  readonly pid: number;
  /** The executable file. */
  readonly command: string;
}

/** The ways to authenticate to a server. */
export type CredentialKind = "none" | "headers" | "helper" | "environment" | "oauth";

/** How a credential authenticates. Contains no secret. */
export interface CredentialDescription {
  readonly kind: CredentialKind;
  /** One line for people. */
  readonly summary: string;
  readonly headers: readonly HeaderDescription[];
  /** The variables that a stdio server gets, and the user's variables that they are built from. */
  readonly environment: readonly VariableDescription[];
  readonly helper?: HelperDescription | undefined;
  readonly oauth?: OAuthDescription | undefined;
}

/** The current state of an OAuth sign-in. Contains no token. Times are in milliseconds since the epoch. */
export interface OAuthDescription {
  /** Whether a token is available. */
  readonly isSignedIn: boolean;
  /** Whether a user is being asked to sign in now. Default false. */
  readonly isSigningIn?: boolean | undefined;
  /** The authorization server, once it is known. */
  readonly issuer: string | undefined;
  /** The signed-in account, as named by the authorization server. */
  readonly account: string | undefined;
  /** The granted scopes; undefined if the server did not list them. */
  readonly scopes: readonly string[] | undefined;
  /** When the access token expires; undefined if unknown. */
  readonly expiresAt: number | undefined;
  /** When the token was obtained, by a sign-in or a refresh. */
  readonly obtainedAt: number | undefined;
  /** How the token is sent: alone, or with a proof of possession. */
  readonly tokenType: "Bearer" | "DPoP" | undefined;
  readonly canRefresh: boolean;
  /** No new attempt is made before this time, after a failed refresh or a rejected token. */
  readonly pausedUntil: number | undefined;
}

/** A header that is sent, without its value. */
export interface HeaderDescription {
  readonly name: string;
  readonly from: "configuration" | "helper" | "oauth";
  /** The scheme of an Authorization header, if it is a known one. */
  readonly scheme: string | undefined;
  /** The variables that its value is built from. */
  readonly variables: readonly string[];
}

/** An environment variable of a child process, without its value. */
export interface VariableDescription {
  readonly name: string;
  readonly variables: readonly string[];
}

/** The current state of a headers helper. Times are in milliseconds since the epoch. */
export interface HelperDescription {
  readonly path: string;
  /** How often it ran. */
  readonly runs: number;
  /** How often it failed since its last success. */
  readonly failures: number;
  /** When the current headers were obtained, and when they expire. */
  readonly obtainedAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** The earliest time of the next run after a failure or a rejection; undefined if it can run now. */
  readonly pausedUntil: number | undefined;
}
