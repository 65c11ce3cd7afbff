/**
 * Whether a connection ended for a reason of the application: a request that it aborted, a time-out of its own, a client that
 * it closed, or a connection that was idle for too long. undici destroys the socket of such a request with the reason,
 * which may be any value. What the other side did is an error of the system, of TLS, of the parser, or UND_ERR_SOCKET.
 */
export function isOwnAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== "string" || error.name === "AbortError") return true;
  if ("syscall" in error || "library" in error) return false;
  return !/^(UND_ERR_SOCKET|HPE_|E[A-Z]+$|ERR_SSL_|ERR_TLS_|CERT_)/.test(code);
}

/** Whether the other side closed the connection in good order, which is no failure while nothing is in progress. */
export function isOrderlyEnd(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === "UND_ERR_SOCKET";
}
