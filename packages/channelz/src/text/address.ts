import type { Address } from "../gen/rpc/channelz/v1/channelz_pb.js";

/** An address as people write it: `127.0.0.1:80`, `[::1]:80`, `unix:/path`; `-` if it is missing. */
export function formatAddress(address: Address | undefined): string {
  switch (address?.address.case) {
    case "tcpipAddress": {
      const { ipAddress, port } = address.address.value;
      const ip = formatIp(ipAddress);
      // -1 means "no port".
      return port < 0 ? ip.replace(/^\[|\]$/g, "") : `${ip}:${port}`;
    }
    case "udsAddress":
      return `unix:${address.address.value.filename}`;
    case "otherAddress":
      return address.address.value.name || "(other)";
    default:
      return "-";
  }
}

function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return `(${bytes.length} bytes)`;
  const words = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  // An IPv4 address inside IPv6, as dual-stack listeners report it.
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff) return bytes.slice(12).join(".");
  // The URL parser writes IPv6 in its canonical short form, including brackets.
  return new URL(`http://[${words.map((word) => word.toString(16)).join(":")}]`).hostname;
}
