import type { Readable, Writable } from "node:stream";
import type { NetworkType } from "../configuration/entry.js";
import { createHeaderCredential, createNoCredential } from "../credentials/fixed-credential.js";
import type { HeaderSource } from "../credentials/header-fields.js";
import { publish } from "../diagnostics/channels.js";
import type { ConnectionFacts, TransportFacts } from "../diagnostics/facts.js";
import { createTell } from "../diagnostics/tell.js";
import { createHttpClient } from "../http/create-http-client.js";
import type { TlsSettings } from "../http/tls-settings.js";
import { systemClock } from "../process/clock.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import type { Variables } from "../substitution/substitute-entry.js";
import { networkTransports } from "../transports/network-transports.js";
import { defaultLimits } from "../transports/transport.js";
import { relay } from "./relay.js";

export interface BridgeOptions {
  readonly url: URL;
  readonly type: NetworkType;
  /** The client's certificate and key, and authorities to trust besides the usual ones. */
  readonly tls: TlsSettings;
  /** Headers to send with every request. */
  readonly headers?: readonly HeaderSource[] | undefined;
  /** The environment, for the proxy. */
  readonly variables: Variables;
  readonly secrets: SecretRegistry;
  readonly input: Readable;
  readonly output: Writable;
  /** Told of what goes wrong without ending the bridge. */
  readonly onProblem: (text: string) => void;
}

/**
 * A stdio server that is another one, behind TLS with a client certificate: what an entry has no fields for, its `command`
 * does. Resolves when the client is gone; rejects with a ToolServerError.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { url, type, tls, headers = [], variables, secrets, input, output, onProblem } = options;
  const server = url.host;
  const credential =
    headers.length === 0 ? createNoCredential({ server }) : createHeaderCredential({ server, secrets, headers });
  const connection: ConnectionFacts = {
    kind: type,
    name: server,
    target: secrets.redact(url.href),
    tenant: {},
    credential: () => credential.describe(),
  };
  const facts: TransportFacts = { connection, target: `${url.protocol}//${url.host}` };
  const clock = systemClock;
  const tell = createTell(secrets);
  const http = createHttpClient({ server, transport: () => facts, tls, variables, secrets, clock });
  const context = { server, facts, credential, secrets, tell, clock, limits: defaultLimits, url, http };
  publish("connection:opened", connection);
  publish("transport:opened", facts);
  try {
    const transport = networkTransports[type](context);
    await relay({ transport, input, output, messageBytes: defaultLimits.messageBytes, onProblem });
  } finally {
    await http.close();
    await credential.dispose();
    publish("transport:closed", { subject: facts, reason: "The bridge ended." });
    publish("connection:closed", { subject: connection, reason: "The bridge ended." });
  }
}
