import { BlockList, isIP } from "node:net";

/** The part of the address space of an address, as far as it matters for redirection attacks. */
export type AddressRange =
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
    listOf(["169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32"], ["fd00:ec2::254/128"]),
  ],
  ["loopback", listOf(["127.0.0.0/8"], ["::1/128"])],
  [
    "private",
    listOf(
      ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15"],
      ["fc00::/7", "fec0::/10", "64:ff9b:1::/48"],
    ),
  ],
  ["link-local", listOf(["169.254.0.0/16"], ["fe80::/10"])],
  [
    "reserved",
    listOf(
      ["0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
      // Teredo, benchmarking and ORCHID are parts of 2001::/23; ::ffff:0:0:0/96 is IPv4-translated.
      [
        "::/128",
        "::ffff:0:0:0/96",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "ff00::/8",
      ],
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
const carriers: ReadonlySet<string> = new Set(["0:0:0:0:0:65535", "0:0:0:0:65535:0", "100:65435:0:0:0:0"]);

/**
 * The IPv4 address within one of IPv6: mapped (::ffff:0:0/96), compatible (::/96), translated (::ffff:0:0:0/96, 64:ff9b::/96,
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
  if (carriers.has(prefix) || isCompatible || isLocalTranslation) return dotted(high, low);
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

function listOf(four: readonly string[], six: readonly string[]): BlockList {
  const list = new BlockList();
  for (const [nets, family] of [
    [four, "ipv4"],
    [six, "ipv6"],
  ] as const) {
    for (const net of nets) {
      const [address = "", bits] = net.split("/");
      list.addSubnet(address, Number(bits), family);
    }
  }
  return list;
}
