/** What the dialler knew when a connection failed. */
export interface Dialled {
  readonly isTls: boolean;
  readonly isUnix: boolean;
}

const byCode: Readonly<Record<string, string>> = {
  ENOTFOUND: "Check the name of the host.",
  EAI_AGAIN: "The name could not be looked up; check the name and the network.",
  ENOENT: "No such socket file: check the path, and that the process runs.",
  EACCES: "This user may not open it: check the permissions of the socket file.",
  EPERM: "This user may not open it: check the permissions.",
  ENOTSOCK: "The path is not a socket.",
  EHOSTUNREACH: "Check the address and the network.",
  ENETUNREACH: "Check the address and the network.",
  ETIMEDOUT: "Check the address, and that no firewall blocks it.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The certificate is self-signed: give it, or its authority, as the CA to trust.",
  SELF_SIGNED_CERT_IN_CHAIN: "The authority is private: give its certificate as the CA to trust.",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The authority is not known here: give its certificate as the CA to trust.",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "The authority is not known here: give its certificate as the CA to trust.",
  CERT_HAS_EXPIRED: "The certificate of the peer has expired: its operator has to renew it.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The certificate is for another name: give that as the server name.",
};

/** What to do next about a connection that failed for this cause. */
export function adviseOnConnection(cause: unknown, dialled: Dialled): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const known = byCode[code];
  if (known !== undefined) return known;
  if (code === "ECONNREFUSED") {
    return dialled.isUnix
      ? "Nobody listens on that socket file: is the process running?"
      : "Nobody listens on that port: is the process running, and is the port right?";
  }
  if (/^ERR_SSL_\w*ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/.test(code)) {
    return "The peer asks for a client certificate that it trusts: give one with its key.";
  }
  if (dialled.isTls) {
    return /^(ERR_SSL_(WRONG_VERSION|PACKET_LENGTH|TLSV1_ALERT_NO_APPLICATION|NO_APPLICATION)|EPROTO|ERR_TLS_HANDSHAKE_TIMEOUT)/.test(
      code,
    )
      ? "The port does not seem to speak TLS with HTTP/2: try without TLS, or check the port."
      : "Check that the port speaks gRPC over TLS.";
  }
  return "Is it a gRPC port? If it speaks TLS, ask for TLS: --tls in the shell, `tls: true` in code.";
}
