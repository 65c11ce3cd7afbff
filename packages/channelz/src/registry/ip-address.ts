import { isIPv4, isIPv6 } from "node:net";

/**
 * The bytes of an IP address: 4 for IPv4, also if it is mapped into IPv6 (`::ffff:127.0.0.1`), as a dual-stack socket reports it;
 * else 16. Undefined if it is not an IP address. A zone (`%eth0`) is dropped.
 */
export function parseIpAddress(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return parseIpv4(text);
  if (!isIPv6(text)) return undefined;
  const zone = text.indexOf("%");
  const bytes = parseIpv6(zone === -1 ? text : text.slice(0, zone));
  return isMappedIpv4(bytes) ? bytes.subarray(12) : bytes;
}

function parseIpv4(text: string): Uint8Array {
  return Uint8Array.from(text.split("."), Number);
}

function parseIpv6(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  const [head = "", tail] = text.split("::");
  const front = groups(head);
  bytes.set(front);
  if (tail !== undefined) {
    const back = groups(tail);
    bytes.set(back, 16 - back.length);
  }
  return bytes;
}

function groups(text: string): number[] {
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return [...parseIpv4(group)];
    // An empty string, next to "::", becomes NaN and so two zero bytes, which "::" always includes.
    const value = Number.parseInt(group, 16);
    return [value >>> 8, value & 0xff];
  });
}

function isMappedIpv4(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
}
