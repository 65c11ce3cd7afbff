import { createHeaderCredential, createNoCredential } from "../../auth/credentials/fixed-credential.js";
import type { HeaderSource } from "../../auth/credentials/header-fields.js";
import { systemClock } from "../../clock.js";
import type { NetworkType } from "../../config/entry.js";
import type { Variables } from "../../config/substitute-entry.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import { createReporter, publish } from "../../diagnostics.js";
import { createHttpClient } from "../../http/create-http-client.js";
import type { TlsSettings } from "../../http/tls-settings.js";
import { findSecretShapes } from "../../secrets/recognize-secrets.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { networkTransports } from "../servers/entry-transport.js";
import { defaultLimits, type ToolTransport, type TransportLimits } from "../transports/transport.js";

export interface NetworkLinkOptions {
  readonly url: URL;
  readonly type: NetworkType;
  /** The client's certificate and key, and authorities to trust in addition to the usual ones. */
  readonly tls: TlsSettings;
  /** Headers to send with every request. */
  readonly headers?: readonly HeaderSource[] | undefined;
  /** The environment, for the proxy. */
  readonly variables: Variables;
  readonly secrets: SecretRegistry;
  readonly limits?: Partial<TransportLimits> | undefined;
}

/** The HTTP client and the credential that all transports to one URL share. */
export interface NetworkLink {
  /** A new transport to the server, not yet started. */
  openTransport(): ToolTransport;
  /** Redacts the secrets of the process, and those learned from the server. */
  redact(text: string): string;
  /** Closes the HTTP client and disposes of the credential. Close the transports first. */
  close(): Promise<void>;
}

/** Creates a link to a URL. It does not connect yet. Throws CREDENTIAL_UNUSABLE or CREDENTIAL_CONFLICT. */
export function createNetworkLink(options: NetworkLinkOptions): NetworkLink {
  const { url, type, tls, headers = [], variables, secrets } = options;
  const server = url.host;
  // Bounded, because a server may start any number of sessions.
  const learned = secrets.scope();
  const { redact } = learned;
  const limits = { ...defaultLimits, ...options.limits };
  for (const secret of secretsOfUrl(url)) secrets.add(secret);
  const credential =
    headers.length === 0 ? createNoCredential({ server }) : createHeaderCredential({ server, secrets, headers });
  const connection: ConnectionInfo = {
    kind: type,
    name: server,
    target: redact(url.href),
    tenant: {},
    credential: () => credential.describe(),
  };
  const info: TransportInfo = { connection, target: url.origin };
  const clock = systemClock;
  const report = createReporter(learned);
  const { connectMs } = limits;
  const http = createHttpClient({ server, transport: () => info, tls, variables, secrets, clock, connectMs });
  const context = {
    server,
    info,
    credential,
    secrets: { add: learned.rotating().add, redact },
    report,
    clock,
    limits,
    url,
    http,
  };
  publish("connection:opened", connection);
  publish("transport:opened", info);
  return {
    openTransport: () => networkTransports[type](context),
    redact,
    async close() {
      await http.close();
      await credential.dispose();
      publish("transport:closed", { subject: info, reason: "The bridge ended." });
      publish("connection:closed", { subject: connection, reason: "The bridge ended." });
    },
  };
}

/** Values that may be secret in a URL whose variables were substituted elsewhere. */
function secretsOfUrl({ href, searchParams }: URL): string[] {
  return [...searchParams.values(), ...findSecretShapes(href).map(({ value }) => value)];
}
