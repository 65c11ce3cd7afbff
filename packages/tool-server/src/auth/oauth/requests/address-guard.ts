import { BlockList, isIP } from "node:net";
import type { HttpClient } from "../../../http/http-client.js";
import { hostOf, isLoopbackHost } from "../../../url.js";

/**
 * Prevents a tool server from making us connect to addresses that it cannot reach itself (SSRF). Public addresses are allowed. Loopback,
 * private and link-local ones are allowed if the tool server has such an address itself; those of metadata services, and reserved
 * ones, never. The host of the tool server, and hosts that the user configured, are not restricted.
 */
export interface AddressGuard {
  /** Why the host of a url is a forbidden address; undefined if it is allowed, or a name. */
  hostDefect(url: URL): string | undefined;
  /** Whether an address is allowed, as far as the address of the tool server is known. */
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
      return `its host is ${rangeNames[range]}, unlike the server itself`;
    },
    isAllowed,
    async reconsider(address, host, signal) {
      if (server === undefined) {
        const { socket } = await http.openSocket(url, { signal });
        server = addressRangeOf(socket.remoteAddress ?? "");
        socket.destroy();
      }
      return isAllowed(address, host);
    },
  };
}

/** The ranges, for messages. */
export const rangeNames: Readonly<Record<AddressRange, string>> = {
  public: "a public address",
  loopback: "this machine",
  private: "a private address",
  "link-local": "a link-local address",
  metadata: "the address of a metadata service",
  reserved: "a reserved address",
};

function isOpen(range: AddressRange, server: AddressRange | undefined): boolean {
  if (range === "metadata" || range === "reserved") return false;
  // A server on this machine can reach its networks without us.
  return range === server || (server === "loopback" && range === "private");
}

function rangeOfHost(hostname: string): AddressRange | undefined {
  return isLoopbackHost(hostname) ? "loopback" : addressRangeOf(hostname);
}

/** The range of an address, as far as it matters for SSRF. */
type AddressRange =
  | "public"
  /** This machine. */
  | "loopback"
  /** A private network: RFC 1918, shared address space, unique local addresses, local translation prefixes. */
  | "private"
  | "link-local"
  /** Cloud metadata services, which give credentials to every caller. */
  | "metadata"
  /** Not a host: unspecified, multicast, documentation, reserved. */
  | "reserved";

// The first match counts: metadata services are within link-local and private ranges.
const ranges: readonly [AddressRange, BlockList][] = [
  [
    "metadata",
    listOf(
      ...["169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32"],
      "fd00:ec2::254/128",
    ),
  ],
  ["loopback", listOf("127.0.0.0/8", "::1/128")],
  [
    "private",
    listOf(
      ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15"],
      ...["fc00::/7", "fec0::/10", "64:ff9b:1::/48"],
    ),
  ],
  ["link-local", listOf("169.254.0.0/16", "fe80::/10")],
  [
    "reserved",
    listOf(
      ...["0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
      // Teredo, benchmarking and ORCHID are parts of 2001::/23; ::ffff:0:0:0/96 is IPv4-translated.
      ...["::/128", "::ffff:0:0:0/96", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "3fff::/20"],
      ...["5f00::/16", "ff00::/8"],
    ),
  ],
];

/**
 * The range of an IP address, in any notation; undefined if the string is not one. An IPv6 address that embeds an IPv4 address
 * has the range of that one, except that a prefix which is not public makes no address public.
 */
export function addressRangeOf(text: string): AddressRange | undefined {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  const kind = isIP(bare);
  if (kind === 0) return undefined;
  const inner = kind === 6 ? embeddedAddress(bare) : undefined;
  const outer = rangeIn(bare, kind === 6 ? "ipv6" : "ipv4");
  if (inner === undefined) return outer;
  const range = rangeIn(inner, "ipv4");
  return range === "public" ? outer : range;
}

function rangeIn(address: string, family: "ipv4" | "ipv6"): AddressRange {
  return ranges.find(([, list]) => list.check(address, family))?.[0] ?? "public";
}

/** Prefixes of 96 bits, in decimal groups, that an IPv4 address follows: mapped, translated (two of them). */
const embeddingPrefixes: ReadonlySet<string> = new Set(["0:0:0:0:0:65535", "0:0:0:0:65535:0", "100:65435:0:0:0:0"]);

/**
 * The IPv4 address embedded in an IPv6 address: mapped (::ffff:0:0/96), compatible (::/96), translated (::ffff:0:0:0/96, 64:ff9b::/96,
 * 64:ff9b:1::/48), 6to4 (2002::/16), or that of the client of Teredo (2001::/32).
 */
function embeddedAddress(address: string): string | undefined {
  // The URL parser writes an address in its canonical form, without dots.
  const groups = expand(new URL(`http://[${address}]`).hostname.slice(1, -1));
  const dotted = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const [first, second, third, , , , high = 0, low = 0] = groups;
  const prefix = groups.slice(0, 6).join(":");
  const isCompatible = prefix === "0:0:0:0:0:0" && high > 0;
  const isLocalTranslation = first === 0x64 && second === 0xff9b && third === 1;
  if (embeddingPrefixes.has(prefix) || isCompatible || isLocalTranslation) return dotted(high, low);
  // Teredo inverts each bit, so that translators do not rewrite it.
  if (first === 0x2001 && second === 0) return dotted(high ^ 0xffff, low ^ 0xffff);
  return first === 0x2002 ? dotted(second, third) : undefined;
}

function expand(canonical: string): number[] {
  const [head = "", tail] = canonical.split("::");
  const read = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = read(head);
  const after = read(tail ?? "");
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function listOf(...nets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const net of nets) {
    const [address = "", bits] = net.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
