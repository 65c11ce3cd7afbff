import { systemClock } from "../../clock.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { ProgramTask } from "./run-program.js";

/** A task for a program in this folder, without a sandbox and with generous limits. */
export function programTask(pluginRoot: string): ProgramTask {
  const secrets = createSecretRegistry();
  return {
    server: "notes",
    url: undefined,
    pluginRoot,
    environment: { PATH: process.env.PATH },
    scrubbed: [],
    sandbox: undefined,
    secrets,
    tokens: secrets,
    timeLimitMs: 20_000,
    maxOutputBytes: 65_536,
    clock: systemClock,
  };
}
