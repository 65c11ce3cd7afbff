import type { Socket } from "node:net";
import type { CredentialDescription } from "./credential-description.js";

/** The kinds of servers, and so of transports to them. */
export type TransportKind = "http" | "sse" | "ws" | "stdio";

/** The states of Channelz, in its words. */
export type ConnectivityState = "IDLE" | "CONNECTING" | "READY" | "TRANSIENT_FAILURE" | "SHUTDOWN";

/** A connection to a tool server, as those see it who watch. The same object for its whole life. Holds no secret. */
export interface ConnectionFacts {
  readonly kind: TransportKind;
  /** The name of the entry. */
  readonly name: string;
  /** The url, or `stdio:` and the command. */
  readonly target: string;
  /** The values of the variables that choose a tenant, by name. */
  readonly tenant: Readonly<Record<string, string>>;
  /** How it signs in, as of now. */
  credential(): CredentialDescription;
}

/** One transport of a connection: to a resolved origin, or one run of a process. The same object for its whole life. */
export interface TransportFacts {
  readonly connection: ConnectionFacts;
  /** The origin, or the command with its arguments' number. */
  readonly target: string;
}

/** What bytes run through: a socket, or the pipes of a child. The same object for its whole life. */
export type WireFacts = SocketWire | ChildWire;

export interface SocketWire {
  readonly kind: "socket";
  readonly transport: TransportFacts;
  /** Of TCP, or of TLS over it. */
  readonly socket: Socket;
  /** The host and port that was asked for; where there is a proxy, it is behind the proxy. */
  readonly remoteName: string;
}

export interface ChildWire {
  readonly kind: "child";
  readonly transport: TransportFacts;
  readonly pid: number;
  /** The file that runs. */
  readonly command: string;
}
