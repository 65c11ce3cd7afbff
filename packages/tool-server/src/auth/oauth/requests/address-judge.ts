import type { HttpClient } from "../../../http/http-client.js";
import { hostOf, isLoopbackHost } from "../../../http/loopback.js";
import { type AddressRange, addressRangeOf } from "./address-range.js";

/**
 * Keeps a tool server from sending us to places that it cannot reach itself. Public addresses are open to all. Loopback,
 * private and link-local ones are open where the tool server is there itself; those of metadata services, and reserved
 * ones, to none. The host of the tool server itself is not judged, nor are hosts that the user named.
 */
export interface AddressJudge {
  /** Why the host of a url is an address that we must not be sent to; undefined where we may, or it is a name. */
  hostDefect(url: URL): string | undefined;
  /** Whether we may be sent to an address, by what is known so far. */
  isAllowed(address: string, host: string): boolean;
  /**
   * Finds out where the tool server is, where that is not known, and judges again. Only a connection that stands counts, with its
   * certificate: a name that resolves elsewhere for a moment proves nothing.
   */
  reconsider(address: string, host: string, signal: AbortSignal): Promise<boolean>;
}

/** `trusted` are the urls of the configuration. */
export function createAddressJudge(
  url: URL,
  http: Pick<HttpClient, "openSocket">,
  trusted: readonly URL[] = [],
): AddressJudge {
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
      // Where the tool server goes by a name, what that name stands for is looked at when we connect.
      if (server === undefined && range !== "metadata" && range !== "reserved") return undefined;
      return `its host is ${describeRange(range)}, where the server itself is not`;
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

/** A range in words. */
export function describeRange(range: AddressRange): string {
  switch (range) {
    case "loopback":
      return "this machine";
    case "private":
      return "an address of a private network";
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
  // What runs on this machine reaches its networks without our help.
  return range === server || (server === "loopback" && range === "private");
}

function rangeOfHost(hostname: string): AddressRange | undefined {
  return isLoopbackHost(hostname) ? "loopback" : addressRangeOf(hostname);
}
