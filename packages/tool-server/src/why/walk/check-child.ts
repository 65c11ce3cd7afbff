import { states, variableNamesIn } from "../../causes/peer-text.js";
import { withEnvFile } from "../../config/env-file.js";
import type { ResolvedEntry, Variables } from "../../config/substitute-entry.js";
import { createEntryCredential } from "../../connection/servers/entry-credential.js";
import type { StdioTransport } from "../../connection/transports/stdio-transport.js";
import { ToolServerError } from "../../errors.js";
import { childEnvironment, withheldVariables } from "../../process/child-environment.js";
import { resolveCommand } from "../../process/resolve-command.js";
import { findSecretShapes, isSecretName } from "../../secrets/recognize-secrets.js";
import { type AttemptEvidence, type ChildEvidence, failureEvidence } from "../evidence.js";
import { attempt, describeConnection } from "./attempt.js";
import type { Walk } from "./walk.js";

/** Starts the process of a stdio server, connects to it, and stops it. */
export async function checkChild(
  walk: Walk,
  resolved: ResolvedEntry & { readonly type: "stdio" },
): Promise<{ readonly child: ChildEvidence; readonly attempt?: AttemptEvidence }> {
  const { entry, options, variables, pluginRoot, secrets, clock, sanitize, redact } = walk;
  const { command, args } = resolved;
  const { env } = await withEnvFile(resolved, secrets);
  const environment = childEnvironment(variables, command, env);
  const found = await resolveCommand(command, resolved.cwd, environment.PATH ?? "");
  // Redacts the values of the environment from here on.
  const { entries } = options.configuration;
  const credential = createEntryCredential({
    entry,
    resolved,
    entries,
    variables,
    pluginRoot,
    secrets,
    clock,
    sandbox: walk.sandbox,
    beforeRun: () => walk.ensureTrusted(),
  });
  const base = {
    command: sanitize(command, 200),
    args: args.map((each) => sanitize(each, 500)),
    cwd: sanitize(resolved.cwd, 500),
    env: Object.entries(env).map(([name, value]) => ({ name, value: printableValue(name, value, sanitize) })),
    path: found.kind === "found" ? sanitize(found.path, 500) : undefined,
    searched: found.kind === "not-found" ? found.searched.map((folder) => sanitize(folder, 200)) : [],
    stderr: [],
    strayOutput: undefined,
    missing: [],
    withheld: withheldVariables(variables, command, env),
  };
  if (found.kind !== "found") {
    await credential.dispose();
    return { child: { ...base, notStarted: found.kind } };
  }
  const transports: StdioTransport[] = [];
  const info = { ...describeConnection(walk, resolved), credential: () => credential.describe() };
  const { connected, failure } = await attempt(walk, {
    resolved,
    credential,
    http: undefined,
    info,
    onTransport: (transport) => transports.push(transport as StdioTransport),
  });
  await credential.dispose();
  const stderr = transports.at(-1)?.stderr() ?? [];
  const strayOutput = transports.map((transport) => transport.firstStrayOutput()).find((found) => found !== undefined);
  const isNotStarted = ToolServerError.is(failure, "CHILD_NOT_RUNNABLE");
  return {
    child: {
      ...base,
      notStarted: isNotStarted ? "not-started" : undefined,
      exit: failure?.details.exit,
      stderr: stderr.map((line) => sanitize(line, 300)),
      strayOutput: strayOutput === undefined ? undefined : sanitize(strayOutput, 300),
      missing: connected === undefined ? missingVariables(stderr, env, variables) : [],
    },
    attempt: {
      credential: credential.kind,
      connected,
      failure: failure === undefined ? undefined : failureEvidence(failure, redact),
    },
  };
}

/** The value of a variable for a command that users copy; undefined if it may be a secret, or if not all of it can be printed. */
function printableValue(name: string, value: string, sanitize: Walk["sanitize"]): string | undefined {
  const isSecret = isSecretName(name) || findSecretShapes(value).length > 0;
  return isSecret || sanitize(value, 500) !== value ? undefined : value;
}

/** The variables that the output of a process says are missing, and that the entry does not pass on. */
export function missingVariables(
  stderr: readonly string[],
  passed: Readonly<Record<string, string>>,
  variables: Variables,
): ChildEvidence["missing"] {
  const named = stderr
    .filter((line) => states(line, "variable-missing"))
    .flatMap(variableNamesIn)
    .filter((name) => !Object.hasOwn(passed, name));
  return [...new Set(named)].slice(0, 5).map((variable) => ({ variable, isSetHere: Boolean(variables[variable]) }));
}
