import type { Readable, Writable } from "node:stream";
import { defaultLimits } from "../transports/transport.js";
import { createNetworkLink, type NetworkLinkOptions } from "./network-link.js";
import { pumpMessages } from "./pump-messages.js";

/** The server that a bridge forwards to, and its client certificate. */
export interface BridgeOptions extends NetworkLinkOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Reports problems that do not end the bridge. */
  readonly onProblem: (text: string) => void;
}

/**
 * Runs a stdio server that proxies to a remote server with a client certificate, for which an entry has no fields. It connects
 * with the first message; a request that cannot be forwarded gets an error response. Resolves when the client is gone. Rejects
 * with CREDENTIAL_UNUSABLE, CREDENTIAL_CONFLICT or MESSAGE_TOO_LARGE.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { url, input, output } = options;
  const link = createNetworkLink(options);
  const { redact } = link;
  try {
    await pumpMessages({
      openTransport: link.openTransport,
      input,
      output,
      messageBytes: options.limits?.messageBytes ?? defaultLimits.messageBytes,
      redact,
      // With TLS 1.3 a server checks the certificate after the handshake, and not every server says why it closes then.
      hint: url.protocol === "https:" || url.protocol === "wss:" ? certificateHint : "",
      onProblem: (text) => options.onProblem(redact(text)),
    });
  } finally {
    await link.close();
  }
}

const certificateHint =
  "A server that rejects the client certificate, or requires one, may close the connection like this: check --cert and --key.";
