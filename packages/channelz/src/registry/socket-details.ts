/** An address: an IP address and port (-1 if it has none), the path of a Unix socket, or any other name. */
export type SocketAddress =
  | { readonly ip: string; readonly port: number }
  | { readonly path: string }
  | { readonly name: string; readonly value?: AnyPayload };

/**
 * The payload of an `Any`. A type without a dot is a Channelz type (`SocketOptionTcpInfo`), which gets the name of the served
 * package; any other is a full name.
 */
export interface AnyPayload {
  readonly type: string;
  readonly value: Uint8Array;
}

/** How a connection is secured. */
export type SocketSecurity =
  | {
      readonly tls: {
        /** The RFC name of the cipher suite, such as `TLS_AES_128_GCM_SHA256`. */
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

/** The details of a socket that are known when it is added. */
export interface SocketEndpoints {
  readonly local?: SocketAddress | undefined;
  readonly remote?: SocketAddress | undefined;
  readonly security?: SocketSecurity | undefined;
  /** The name of the remote endpoint, if it differs from the target. */
  readonly remoteName?: string | undefined;
}

/** The details that a describer may return, in addition to or instead of those known when the socket was added. */
export interface SocketDetails extends SocketEndpoints {
  /** The connection window that the remote endpoint granted to us, in bytes. 0 is returned as 0. */
  readonly localFlowControlWindow?: number | undefined;
  /** The connection window that we granted to the remote endpoint, in bytes. */
  readonly remoteFlowControlWindow?: number | undefined;
  readonly options?: readonly SocketOptionInit[] | undefined;
}

/** Returns the current details of a subject. Called only for full reads, and never after the socket closed. */
export type SocketDescriber<S extends object> = (subject: S) => SocketDetails;

/**
 * Throws a TypeError if the value of a field is not a string, such as a URL. It could not be encoded, so every list with the object would
 * fail.
 */
export function checkString(field: string, value: unknown): void {
  if (typeof value === "string") return;
  const kind =
    typeof value === "object" && value !== null ? `an instance of ${value.constructor?.name}` : String(value);
  throw new TypeError(`\`${field}\` must be a string, not ${kind}.`);
}

/** Throws a TypeError for invalid details, such as a port out of range or an option without a value. */
export function checkSocketDetails(details: SocketDetails): void {
  checkAddress("local", details.local);
  checkAddress("remote", details.remote);
  if (details.remoteName !== undefined) checkString("remoteName", details.remoteName);
  checkSecurity(details.security);
  for (const { name, value, additional } of details.options ?? []) {
    if (!name) throw new TypeError("A socket option requires a name, such as SO_KEEPALIVE.");
    if (!value && additional === undefined) {
      throw new TypeError(`The socket option ${name} has neither a value nor a payload; set at least one.`);
    }
  }
}

function checkAddress(field: "local" | "remote", address: SocketAddress | undefined): void {
  if (address === undefined) return;
  if (typeof address !== "object" || address === null) {
    throw new TypeError(
      `\`${field}\` must be an object with \`ip\` and \`port\`, a \`path\`, or a \`name\`, not ${address}.`,
    );
  }
  if ("path" in address) {
    checkString(`${field}.path`, address.path);
    return;
  }
  if ("ip" in address) {
    const { port } = address;
    if (Number.isInteger(port) && port >= -1 && port <= 65_535) return;
    throw new TypeError(`The port of \`${field}\` must be 0 to 65535, or -1 if it has none; it is ${port}.`);
  }
  if (!address.name)
    throw new TypeError(`\`${field}\` requires \`ip\` and \`port\`, a \`path\`, or a non-empty \`name\`.`);
  checkString(`${field}.name`, address.name);
}

function checkSecurity(security: SocketSecurity | undefined): void {
  if (security === undefined || "tls" in security) return;
  if (!("other" in security) || !security.other.name) {
    throw new TypeError("`security` requires `tls`, or `other` with a non-empty `name`.");
  }
}
