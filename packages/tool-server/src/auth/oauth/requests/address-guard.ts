import type { HttpClient } from "../../../http/http-client.js";
import { hostOf, isLoopbackHost } from "../../../http/loopback.js";
import { type AddressRange, addressRangeOf } from "./address-range.js";

/**
 * Prevents a tool server from making us connect to addresses that it cannot reach itself (SSRF). Public addresses are allowed. Loopback,
 * private and link-local ones are allowed if the tool server has such an address itself; those of metadata services, and reserved
 * ones, never. The host of the tool server, and hosts that the user configured, are not restricted.
 */
export interface AddressGuard {
  /** Why the host of a url is a forbidden address; undefined if it is allowed, or a name. */
  hostDefect(url: URL): string | undefined;
  /** Whether an address is allowed, as far as is known. */
  isAllowed(address: string, host: string): boolean;
  /**
   * Finds out the address of the tool server, if it is unknown, and checks again. Only an established connection with a valid
   * certificate counts: a name that resolves elsewhere for a moment proves nothing.
   */
  reconsider(address: string, host: string, signal: AbortSignal): Promise<boolean>;
}

/** `trusted` are the configured urls. */
export function createAddressGuard(
  url: URL,
  http: Pick<HttpClient, "openSocket">,
  trusted: readonly URL[] = [],
): AddressGuard {
  const named = new Set([url, ...trusted].map(({ hostname }) => hostOf(hostname)));
  let server = rangeOfHost(url.hostname);
  const isAllowed = (address: string, host: string): boolean => {
    if (named.has(hostOf(host).toLowerCase())) return true;
    const range = addressRangeOf(address) ?? "reserved";
    return range === "public" || isOpen(range, server);
  };
  return {
    hostDefect({ hostname }) {
      const range = rangeOfHost(hostname);
      if (range === undefined || isAllowed(range === "loopback" ? "127.0.0.1" : hostOf(hostname), hostname))
        return undefined;
      // If the tool server has a name, its address is checked when we connect.
      if (server === undefined && range !== "metadata" && range !== "reserved") return undefined;
      return `its host is ${describeRange(range)}, unlike the server itself`;
    },
    isAllowed,
    async reconsider(address, host, signal) {
      if (server === undefined) {
        const socket = await http.openSocket(url, { signal });
        server = addressRangeOf(socket.remoteAddress ?? "");
        socket.destroy();
      }
      return isAllowed(address, host);
    },
  };
}

/** A range, for messages. */
export function describeRange(range: AddressRange): string {
  switch (range) {
    case "loopback":
      return "this machine";
    case "private":
      return "a private address";
    case "link-local":
      return "a link-local address";
    case "metadata":
      return "the address of a metadata service";
    case "reserved":
      return "a reserved address";
    default:
      return "a public address";
  }
}

function isOpen(range: AddressRange, server: AddressRange | undefined): boolean {
  if (range === "metadata" || range === "reserved") return false;
  // A server on this machine can reach its networks without us.
  return range === server || (server === "loopback" && range === "private");
}

function rangeOfHost(hostname: string): AddressRange | undefined {
  return isLoopbackHost(hostname) ? "loopback" : addressRangeOf(hostname);
}
