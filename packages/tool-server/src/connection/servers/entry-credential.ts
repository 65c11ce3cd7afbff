import { isDeepStrictEqual } from "node:util";
import type { Credential } from "../../auth/credentials/credential.js";
import {
  createEnvironmentCredential,
  createHeaderCredential,
  createNoCredential,
} from "../../auth/credentials/fixed-credential.js";
import type { HeaderSource } from "../../auth/credentials/header-fields.js";
import { createHelperCredential, type HelperRunReport } from "../../auth/credentials/helper-credential.js";
import { runSecretCommand } from "../../auth/credentials/run-program.js";
import { createOAuthCredential, type OAuthCredentialOptions } from "../../auth/oauth/login/oauth-credential.js";
import { type Clock, systemClock } from "../../clock.js";
import type { Entry, NamedField } from "../../config/entry.js";
import { withEnvFile } from "../../config/env-file.js";
import type { ResolvedCommand, ResolvedEntry, Variables } from "../../config/substitute-entry.js";
import { inputPrefix, inputVariable, variablesOf } from "../../config/template.js";
import { variableUses } from "../../config/variable-uses.js";
import type { TrackOperation } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import type { Sandbox } from "../../process/sandbox.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { createSingleFlight } from "../../single-flight.js";
import type { OwnSecretCommand } from "./entry-oauth.js";
import { prepareEntrySandbox, type SandboxSettings } from "./entry-sandbox.js";

/** The dependencies of an entry's credential. */
export interface EntryCredentialOptions {
  /** The entry as written, which contains the variables. */
  readonly entry: Entry;
  /** The same entry with its variables substituted. */
  readonly resolved: ResolvedEntry;
  /** All entries of the configuration: a helper does not get the secrets that only others use. */
  readonly entries: readonly Entry[];
  /** The user's variables. */
  readonly variables: Variables;
  readonly pluginRoot: string;
  readonly secrets: SecretRegistry;
  /** Receives the secrets of `envFile`. Default: `secrets`. */
  readonly userSecrets?: SecretRegistry | undefined;
  /** Signs in if the entry has no credential. Default: nothing. */
  readonly oauth?: Pick<OAuthCredentialOptions, "session" | "signIn" | "login"> | undefined;
  readonly clock?: Clock;
  /** How a helper is isolated from tokens. Default: a sandbox that hides our own folders, if available; false: none. */
  readonly sandbox?: SandboxSettings | false | undefined;
  /** Called once per reason why the helper runs without a sandbox. */
  readonly onNoSandbox?: (reason: string) => void;
  /** Awaited before each run of a helper and each use of `envFile`; if it rejects, the helper is not run, or the process not started. */
  readonly beforeRun?: (() => Promise<void>) | undefined;
  /** Called after each run of a helper. */
  readonly onRun?: (run: HelperRunReport) => void;
  /** Publishes each run of a helper. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

/** Creates the credential of an entry. Throws a TypeError if `resolved` is of another type than `entry`. */
export function createEntryCredential(options: EntryCredentialOptions): Credential {
  const { entry, resolved, entries, variables, pluginRoot, secrets, clock, beforeRun, onRun, track } = options;
  const server = entry.name;
  if (entry.type === "stdio" && resolved.type === "stdio") {
    const written = entry.env.filter(({ name }) => Object.hasOwn(resolved.env, name));
    const env = sourcesOf(written, resolved.env);
    const { secretCommands: commands, envFile } = resolved;
    if (commands.length === 0 && envFile === undefined) return createEnvironmentCredential({ server, secrets, env });
    const run = createCommandRunner(options);
    const obtain = async (signal: AbortSignal): Promise<Readonly<Record<string, string>>> => {
      const values = commands.length === 0 ? {} : await run(commands, signal);
      return { ...(await readEnvironment(resolved, options, signal)), ...values };
    };
    return createEnvironmentCredential({ server, secrets, env, commands, obtain });
  }
  if (entry.type === "stdio" || resolved.type === "stdio") {
    throw new TypeError("The two entries have different types.");
  }
  const headers = sourcesOf(entry.headers, resolved.headers);
  const commands = resolved.secretCommands.filter(({ target }) => target === "header");
  if (resolved.headersHelper !== undefined || commands.length > 0) {
    return createHelperCredential({
      server,
      url: resolved.url,
      helper: resolved.headersHelper,
      commands,
      pluginRoot,
      headers,
      environment: variables,
      scrubbed: secretsOfOthers(entry, entries),
      secrets,
      timeLimitMs: entry.helperTimeoutMs,
      ttlMs: entry.helperTtlMs,
      ...(clock === undefined ? {} : { clock }),
      beforeRun,
      prepareSandbox: helperSandbox(options),
      ...(onRun === undefined ? {} : { onRun }),
      track,
    });
  }
  if (options.oauth !== undefined) return createOAuthCredential({ ...options.oauth, headers });
  return headers.length === 0 ? createNoCredential({ server }) : createHeaderCredential({ server, secrets, headers });
}

/** Prepares the sandbox of helpers and secret commands; undefined if there is none. */
function helperSandbox(options: EntryCredentialOptions): (() => Promise<Sandbox | undefined>) | undefined {
  const { entry, resolved, pluginRoot, sandbox: settings = {}, onNoSandbox } = options;
  if (!settings) return undefined;
  const reported = new Set<string>();
  const onUnsandboxed = (reason: string): void => {
    if (!reported.has(reason)) onNoSandbox?.(reason);
    reported.add(reason);
  };
  const isEnabled = resolved.sandbox;
  return () =>
    prepareEntrySandbox({ settings, server: entry.name, program: "helper", isEnabled, cwd: pluginRoot, onUnsandboxed });
}

/** Runs the client-secret command of an entry, or the user's own; undefined if there is none. Concurrent callers share one run. */
export function createSecretReader(
  options: EntryCredentialOptions,
  own?: OwnSecretCommand,
): (() => Promise<string>) | undefined {
  const command = own?.command ?? options.resolved.secretCommands.find(({ target }) => target === "clientSecret");
  if (command === undefined) return undefined;
  // The sandbox hides the folder of the user's own file.
  const run = createCommandRunner(own === undefined ? options : { ...options, pluginRoot: own.folder, sandbox: false });
  const flight = createSingleFlight(async (signal) => (await run([command], signal))[command.name] ?? "");
  return () => flight.join();
}

/** Runs commands one after the other, after checking trust; resolves with the values by name. */
function createCommandRunner(
  options: EntryCredentialOptions,
): (commands: readonly ResolvedCommand[], signal: AbortSignal) => Promise<Record<string, string>> {
  const { entry, resolved, entries, variables, pluginRoot, secrets, clock = systemClock, beforeRun } = options;
  const prepareSandbox = helperSandbox(options);
  const tokens = secrets.rotating(64);
  return async (commands, signal) => {
    await beforeRun?.();
    const task = {
      server: entry.name,
      url: resolved.type === "stdio" ? undefined : resolved.url,
      pluginRoot,
      environment: variables,
      scrubbed: secretsOfOthers(entry, entries),
      sandbox: await prepareSandbox?.(),
      secrets,
      tokens,
      timeLimitMs: 10_000,
      maxOutputBytes: 64 * 1024,
      clock,
    };
    const values: [string, string][] = [];
    for (const command of commands) {
      const { result } = await runSecretCommand(task, command, signal);
      signal.throwIfAborted();
      if (result instanceof ToolServerError) throw result;
      values.push([command.name, result]);
    }
    return Object.fromEntries(values);
  };
}

/**
 * The variables of `env` and `envFile`. The file may change while its approval is checked, so it is read before and after the check,
 * until both have the same variables.
 */
async function readEnvironment(
  resolved: ResolvedEntry & { readonly type: "stdio" },
  { beforeRun, secrets, userSecrets = secrets }: EntryCredentialOptions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  for (;;) {
    signal.throwIfAborted();
    const { env } = await withEnvFile(resolved, userSecrets);
    if (resolved.envFile === undefined) return env;
    await beforeRun?.();
    if (isDeepStrictEqual((await withEnvFile(resolved, userSecrets)).env, env)) return env;
  }
}

function sourcesOf(fields: readonly NamedField[], values: Readonly<Record<string, string>>): HeaderSource[] {
  return fields.map(({ name, template }) => {
    const names = new Set(variablesOf(template).map((variable) => variable.name));
    return { name, value: values[name] ?? "", variables: [...names] };
  });
}

function secretsOfOthers(entry: Entry, entries: readonly Entry[]): Set<string> {
  const own = new Set(variableUses(entry).map(({ variable }) => variable));
  const others = entries
    .filter((other) => other.name !== entry.name)
    .flatMap(variableUses)
    .filter(({ variable, isSecret }) => isSecret && !own.has(variable));
  // An input may be set by a variable of another name.
  return new Set(
    others.flatMap(({ variable }) =>
      variable.startsWith(inputPrefix) ? [variable, inputVariable(variable)] : variable,
    ),
  );
}
