import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Connection, createToolServers, type SecretRegistry } from "@wirescope/tool-server";
import { createMemoryVault, createTerminalSignIn, type OAuthLogin, type Vault } from "@wirescope/tool-server/auth";
import type { Entry, Variables } from "@wirescope/tool-server/config";
import { readVariables, sandboxSettings, usesInputs, usesOAuth } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { parseDuration } from "../option-values.js";
import { version } from "../version.js";
import { reportStart } from "./ad-hoc-server.js";
import { createTrustPrompt, trustFor } from "./ask-for-trust.js";
import { printDebug } from "./debug-printer.js";
import { openInputValues } from "./input-values.js";
import { asUsageError, invalidEntries, loadConfiguration, reportEnvFindings } from "./loaded-configuration.js";
import { readOAuthFile } from "./oauth-file.js";
import { type KeyCreation, openVault, openVaultForServers } from "./open-vault.js";
import { readPem } from "./read-pem.js";
import { redactingConnection, redactingIo } from "./redaction.js";
import type { ServerValues } from "./server-options.js";
import { createVaultExposure } from "./vault-exposure.js";

/** The servers of the configuration that the options name. */
export interface ConfiguredServers extends AsyncDisposable {
  readonly file: string;
  readonly entries: readonly Entry[];
  readonly secrets: SecretRegistry;
  /** Opens the connection to a server. Prompts for approval if necessary. */
  open(name: string): Promise<Connection>;
  /** The OAuth session of the server; undefined if its entry has another credential. */
  oauth(name: string): Promise<OAuthLogin | undefined>;
  /**
   * Lets a server take over a sign-in that was made under another name, if both have the same url and OAuth settings. Resolves with its
   * scopes; undefined if there is none.
   */
  adoptSignIn(name: string, from: string): Promise<readonly string[] | undefined>;
  /** Token storage. */
  readonly vault: Vault;
  /** What the user should know about the protection of the stored tokens. */
  notes(): readonly string[];
  /** The names of the servers to use: the given one, or all. */
  namesOf(name: string | undefined): readonly string[];
}

/** A vault for one sign-in that is tried. Then only the caller starts sign-ins. */
export interface TriedSignIn {
  /** Wraps the vault that the servers use. The caller disposes of the wrapper. */
  stage(vault: Vault): Vault;
}

/** Reads the configuration that the options name. Nothing in it runs yet. */
export async function openConfiguredServers(
  values: ServerValues,
  io: Io,
  keyCreation: KeyCreation = "never",
  tried?: TriedSignIn,
): Promise<ConfiguredServers> {
  const asksPerson = io.ask !== undefined;
  const { file, pluginRoot, configuration, secrets } = await loadConfiguration(values);
  const envFiles = values["env-file"].map((each) => resolve(each));
  const variables = await variablesOf(envFiles, io);
  const safeIo = redactingIo(io, secrets);
  if (values.adHoc !== undefined) reportStart(values.adHoc, safeIo);
  const stopDebugging = values.debug ? printDebug(safeIo) : () => {};
  // A person who approves an entry sees it unredacted, because nothing may be hidden; a log is redacted.
  const assertTrusted = createTrustPrompt({ file, pluginRoot, io: asksPerson ? io : safeIo, trustsAll: values.trust });
  const overrides = readOAuthFile(io, variables);
  const ca = readPem(values.ca, "--ca");
  const idleTimeoutMs = values.timeout === undefined ? undefined : parseDuration(values.timeout, "--timeout");
  // A keychain may prompt or be slow, so it is opened only if a server needs it.
  const needsInputs = configuration.entries.some(usesInputs);
  const needsVault = needsInputs || configuration.entries.some(usesOAuth);
  const creation = needsInputs && asksPerson && keyCreation === "never" ? "offer" : keyCreation;
  // A command that may generate a key stores something, so it needs a vault that works.
  const open = keyCreation === "never" ? openVaultForServers : openVault;
  const vault = needsVault ? await open(values.vault, io, secrets, creation) : unneededVault();
  const profile = values.profile ?? (io.env.WIRESCOPE_PROFILE || undefined);
  const inputs = openInputValues({
    configuration,
    file,
    variables,
    profile,
    vault,
    secrets,
    io: safeIo,
  });
  /** The input values of a server. Missing ones are asked for, once the server is approved. */
  const inputsFor = async (name: string): Promise<Variables> => {
    const entry = configuration.entries.find((each) => each.name === name);
    if (entry === undefined || entry.isDisabled || !usesInputs(entry)) return {};
    if (asksPerson) {
      await assertTrusted(entry, { ...variables, ...(await inputs.variablesOf([entry])) });
      await inputs.askFor(entry);
    }
    return inputs.variablesOf([entry]);
  };
  const exposure = createVaultExposure(() => vault);
  const servers = createToolServers({
    oauth: {
      vault: tried?.stage(vault) ?? vault,
      profile,
      // A url on the command line is also a request to sign in. Without a terminal, the link is printed as `login` does.
      signIn: tried === undefined && (asksPerson || values.adHoc !== undefined) ? createTerminalSignIn(io) : undefined,
      allowInsecureLoopback: values["allow-insecure-loopback"],
      overrides,
    },
    configuration,
    variables,
    pluginRoot,
    secrets,
    assertTrusted,
    settings: { info: { name: "wirescope", version: version() } },
    ca,
    sandbox: { ...sandboxSettings(io.env, trustFor(io)), onUnsandboxed: exposure.onUnsandboxed },
    idleTimeoutMs,
    // A timeout that the user gives also applies before the first response.
    connectTimeoutMs: idleTimeoutMs,
  });
  // Invalid entries fail like other servers; they are not skipped.
  const lost = invalidEntries(configuration).map(({ server }) => server);
  const used = configuration.entries.filter(({ isDisabled }) => !isDisabled);
  const all = [...used.map((entry) => entry.name), ...lost];
  if (all.length === 0) {
    io.stderr.write(`wirescope: ${file} has no servers. Add one, or use another file: --config <file>.\n`);
  }
  return {
    file,
    entries: configuration.entries,
    secrets,
    vault,
    notes: exposure.notes,
    open: async (name) => redactingConnection(await servers.open(name, await inputsFor(name))),
    oauth: async (name) => servers.oauth(name, await inputsFor(name)),
    async adoptSignIn(name, from) {
      const session = await servers.oauth(name, await inputsFor(name));
      if (session === undefined) return undefined;
      const { href } = session.context.url;
      if (!isDeepStrictEqual(overrides(name, href), overrides(from, href))) return undefined;
      const adopted = await session.adoptSignIn(from);
      return adopted && (await session.status()).scopes;
    },
    namesOf: (name) => (name === undefined ? all : [name]),
    async [Symbol.asyncDispose]() {
      await servers.close();
      await vault.dispose();
      stopDebugging();
    },
  };
}

/** A vault without a warning, because no server uses it. */
function unneededVault(): Vault {
  const summary = "No server here uses OAuth, so no tokens are stored.";
  return { ...createMemoryVault(), describe: () => ({ kind: "memory", summary }) };
}

async function variablesOf(envFiles: readonly string[], io: Io): Promise<Variables> {
  const { variables, findings } = await asUsageError(() => readVariables(envFiles, io.env));
  reportEnvFindings(findings, io);
  return variables;
}
