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
import { findSecretShapes } from "../secrets/secret-shapes.js";
import type { Variables } from "../substitution/substitute-entry.js";
import { networkTransports } from "../transports/network-transports.js";
import { defaultLimits, type TransportLimits } from "../transports/transport.js";
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
  readonly limits?: Partial<TransportLimits> | undefined;
  /** Told of what goes wrong without ending the bridge. */
  readonly onProblem: (text: string) => void;
}

/**
 * A stdio server that is another one, behind TLS with a client certificate: what an entry has no fields for, its `command`
 * does. Nothing is connected to before the first message; each request that fails on the way is answered with an error. Resolves
 * when the client is gone. Rejects with CREDENTIAL_UNUSABLE, CREDENTIAL_CONFLICT or MESSAGE_TOO_LARGE.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { url, type, tls, headers = [], variables, secrets, input, output } = options;
  const server = url.host;
  // What the server makes known is bounded: it may begin a session as often as it likes.
  const learned = secrets.scope();
  const { redact } = learned;
  const limits = { ...defaultLimits, ...options.limits };
  for (const secret of secretsOfUrl(url)) secrets.add(secret);
  const credential =
    headers.length === 0 ? createNoCredential({ server }) : createHeaderCredential({ server, secrets, headers });
  const connection: ConnectionFacts = {
    kind: type,
    name: server,
    target: redact(url.href),
    tenant: {},
    credential: () => credential.describe(),
  };
  const facts: TransportFacts = { connection, target: `${url.protocol}//${url.host}` };
  const clock = systemClock;
  const tell = createTell(learned);
  const { connectMs } = limits;
  const http = createHttpClient({ server, transport: () => facts, tls, variables, secrets, clock, connectMs });
  const context = {
    server,
    facts,
    credential,
    secrets: { add: learned.rotating().add, redact },
    tell,
    clock,
    limits,
    url,
    http,
  };
  publish("connection:opened", connection);
  publish("transport:opened", facts);
  try {
    await relay({
      openTransport: () => networkTransports[type](context),
      input,
      output,
      messageBytes: limits.messageBytes,
      redact,
      // With TLS 1.3 a server judges the certificate after the handshake, and not every one says why it ends then.
      hint: url.protocol === "https:" || url.protocol === "wss:" ? certificateHint : "",
      onProblem: (text) => options.onProblem(redact(text)),
    });
  } finally {
    await http.close();
    await credential.dispose();
    publish("transport:closed", { subject: facts, reason: "The bridge ended." });
    publish("connection:closed", { subject: connection, reason: "The bridge ended." });
  }
}

const certificateHint =
  "A server that does not accept the client certificate, or misses one, may end the connection like this: check --cert and --key.";

/** What may be secret in a url whose variables were put in by somebody else. */
function secretsOfUrl({ href, searchParams }: URL): string[] {
  return [...searchParams.values(), ...findSecretShapes(href).map(({ value }) => value)];
}
