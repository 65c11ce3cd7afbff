import { BlockList, isIP } from "node:net";

/** Which part of the address space an address is of, as far as it matters for who may send us there. */
export type AddressRange =
  | "public"
  /** This machine. */
  | "loopback"
  /** A private network: RFC 1918, shared address space, unique local addresses. */
  | "private"
  | "link-local"
  /** Where clouds hand out credentials to whoever asks. */
  | "metadata"
  /** No host: unspecified, multicast, documentation, reserved. */
  | "reserved";

// The first range that has an address counts: metadata services lie within link-local and private ranges.
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
      ["fc00::/7", "fec0::/10"],
    ),
  ],
  ["link-local", listOf(["169.254.0.0/16"], ["fe80::/10"])],
  [
    "reserved",
    listOf(
      ["0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
      ["::/128", "100::/64", "2001:db8::/32", "ff00::/8"],
    ),
  ],
];

/** The range of an IP address, written in any way; undefined where the text is none. A mapped or translated IPv4 address counts as itself. */
export function addressRangeOf(text: string): AddressRange | undefined {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  const kind = isIP(bare);
  if (kind === 0) return undefined;
  const address = kind === 6 ? (embeddedAddress(bare) ?? bare) : bare;
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return ranges.find(([, list]) => list.check(address, family))?.[0] ?? "public";
}

/** The IPv4 address within one of IPv6: mapped (::ffff:0:0/96), compatible (::/96), translated (64:ff9b::/96) or 6to4 (2002::/16). */
function embeddedAddress(address: string): string | undefined {
  // The parser of URLs writes an address in its one canonical form, without dots.
  const groups = expand(new URL(`http://[${address}]`).hostname.slice(1, -1));
  const dotted = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const prefix = groups.slice(0, 6).join(":");
  const isCompatible = prefix === "0:0:0:0:0:0" && (groups[6] ?? 0) > 0;
  if (prefix === "0:0:0:0:0:65535" || prefix === "100:65435:0:0:0:0" || isCompatible)
    return dotted(groups[6], groups[7]);
  return groups[0] === 0x2002 ? dotted(groups[1], groups[2]) : undefined;
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
