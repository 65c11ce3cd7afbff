import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether an IP address is a loopback address, also if it is IPv4 mapped to IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** The host of a `Host` header in lower case, without port, brackets and IPv6 zone; undefined if it is invalid. */
export function hostNameOf(authority: string): string | undefined {
  if (!/^(\[[0-9a-f:.]+(%[a-z0-9._~%-]+)?\]|[a-z0-9._-]+)(:\d{1,5})?$/i.test(authority)) return undefined;
  const end = authority.startsWith("[") ? authority.indexOf("]") + 1 : authority.indexOf(":");
  const host = (end > 0 ? authority.slice(0, end) : authority).toLowerCase();
  return host.startsWith("[") ? host.slice(1, -1).replace(/%.*$/, "") : host.replace(/\.$/, "");
}
