import type { Security } from "../gen/rpc/channelz/v1/channelz_pb.js";

/** The security of a socket in one word: its cipher, its name, or `-`. */
export function securityName(security: Security | undefined): string {
  switch (security?.model.case) {
    case "tls":
      return security.model.value.cipherSuite.value || "TLS";
    case "other":
      return security.model.value.name || "(other)";
    default:
      return "-";
  }
}
