import { onTestFinished } from "vitest";
import { createReporter } from "../diagnostics.js";
import { createFakeClock, type FakeClock } from "../fake-clock.test.helper.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import type { Connection } from "./connection.js";
import { type ConnectionOptions, createConnection } from "./create-connection.js";
import { createMemoryServer, type MemoryServer } from "./memory-server.test.helper.js";

/** A server in this process and a connection to it, at a clock that stands still. */
export interface MemoryConnection {
  readonly server: MemoryServer;
  readonly clock: FakeClock;
  readonly secrets: SecretRegistry;
  readonly connection: Connection;
}

/** Makes a connection, which closes with the test. Nothing of when it connects again is left to chance. */
export function createMemoryConnection(
  options: Partial<ConnectionOptions> = {},
  server: MemoryServer = createMemoryServer(),
): MemoryConnection {
  const clock = createFakeClock();
  const secrets = createSecretRegistry();
  const connection = createConnection({
    info: server.info,
    openTransport: () => server.openTransport(),
    settings: { info: { name: "test", version: "0" } },
    report: createReporter(secrets),
    redact: secrets.redact,
    clock,
    random: () => 1,
    ...options,
  });
  onTestFinished(() => connection.close());
  return { server, clock, secrets, connection };
}
