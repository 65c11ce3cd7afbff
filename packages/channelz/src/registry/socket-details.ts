/** An address: an IP address and port (-1 where a port makes no sense), a Unix socket's path, or something else by name. */
export type SocketAddress =
  | { readonly ip: string; readonly port: number }
  | { readonly path: string }
  | { readonly name: string; readonly value?: AnyPayload };

/**
 * The payload of an `Any`. A type without a dot is one of Channelz itself (`SocketOptionTcpInfo`) and is named after the
 * package in which it is served; any other is a full name.
 */
export interface AnyPayload {
  readonly type: string;
  readonly value: Uint8Array;
}

/** How a connection is secured. */
export type SocketSecurity =
  | {
      readonly tls: {
        /** The cipher suite as the RFCs name it, such as `TLS_AES_128_GCM_SHA256`. */
        readonly standardName?: string;
        /** Another name, if it has no standard one. */
        readonly otherName?: string;
        /** DER. */
        readonly localCertificate?: Uint8Array;
        /** DER. */
        readonly remoteCertificate?: Uint8Array;
      };
    }
  | { readonly other: { readonly name: string; readonly value?: AnyPayload } };

/** An option as getsockopt() reports it; at least one of `value` and `additional`. */
export interface SocketOptionInit {
  readonly name: string;
  readonly value?: string;
  readonly additional?: AnyPayload;
}

/** What is known of a socket from the moment it is added, and so costs nothing to return. */
export interface SocketEndpoints {
  readonly local?: SocketAddress | undefined;
  readonly remote?: SocketAddress | undefined;
  readonly security?: SocketSecurity | undefined;
  /** The name of the remote endpoint, if it differs from the target's. */
  readonly remoteName?: string | undefined;
}

/** What a describer may return in addition to, or instead of, what was known when the socket was added. */
export interface SocketDetails extends SocketEndpoints {
  /** What the remote endpoint granted to us, in bytes; the connection's window. 0 is returned as 0. */
  readonly localFlowControlWindow?: number | undefined;
  /** What we granted to the remote endpoint, in bytes; the connection's window. */
  readonly remoteFlowControlWindow?: number | undefined;
  readonly options?: readonly SocketOptionInit[] | undefined;
}

/** Returns the details of a subject, live. Called only for a read that is no summary, never after the socket closed. */
export type SocketDescriber<S extends object> = (subject: S) => SocketDetails;

/** Throws a TypeError for what would be invalid on the wire, such as a port out of range or an option without a value. */
export function checkSocketDetails(details: SocketDetails): void {
  checkAddress("local", details.local);
  checkAddress("remote", details.remote);
  checkSecurity(details.security);
  for (const { name, value, additional } of details.options ?? []) {
    if (!name) throw new TypeError("A socket option requires a name, such as SO_KEEPALIVE.");
    if (!value && additional === undefined) {
      throw new TypeError(`The socket option ${name} has neither a value nor a payload; set at least one.`);
    }
  }
}

function checkAddress(field: "local" | "remote", address: SocketAddress | undefined): void {
  if (address === undefined || "path" in address) return;
  if ("ip" in address) {
    const { port } = address;
    if (Number.isInteger(port) && port >= -1 && port <= 65_535) return;
    throw new TypeError(`The port of \`${field}\` must be 0 to 65535, or -1 if it has none; it is ${port}.`);
  }
  if (!address.name)
    throw new TypeError(`\`${field}\` requires \`ip\` and \`port\`, a \`path\`, or a non-empty \`name\`.`);
}

function checkSecurity(security: SocketSecurity | undefined): void {
  if (security === undefined || "tls" in security) return;
  if (!("other" in security) || !security.other.name) {
    throw new TypeError("`security` requires `tls`, or `other` with a non-empty `name`.");
  }
}
