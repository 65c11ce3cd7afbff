import type { Readable, Writable } from "node:stream";
import { defaultLimits } from "../transports/transport.js";
import { createNetworkLink, type NetworkLinkOptions } from "./network-link.js";
import { relay } from "./relay.js";

export interface BridgeOptions extends NetworkLinkOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Told of what goes wrong without ending the bridge. */
  readonly onProblem: (text: string) => void;
}

/**
 * A stdio server that is another one, behind TLS with a client certificate: what an entry has no fields for, its `command`
 * does. Nothing is connected to before the first message; each request that fails on the way is answered with an error. Resolves
 * when the client is gone. Rejects with CREDENTIAL_UNUSABLE, CREDENTIAL_CONFLICT or MESSAGE_TOO_LARGE.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { url, input, output } = options;
  const link = createNetworkLink(options);
  const { redact } = link;
  try {
    await relay({
      openTransport: link.openTransport,
      input,
      output,
      messageBytes: options.limits?.messageBytes ?? defaultLimits.messageBytes,
      redact,
      // With TLS 1.3 a server judges the certificate after the handshake, and not every one says why it ends then.
      hint: url.protocol === "https:" || url.protocol === "wss:" ? certificateHint : "",
      onProblem: (text) => options.onProblem(redact(text)),
    });
  } finally {
    await link.close();
  }
}

const certificateHint =
  "A server that does not accept the client certificate, or misses one, may end the connection like this: check --cert and --key.";
