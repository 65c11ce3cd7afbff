import { resolve } from "node:path";
import { openUserVault, vaultKinds, vaultVariables } from "./auth/vault/choose-vault.js";
import { createMemoryVault } from "./auth/vault/memory-vault.js";
import type { Vault, VaultKind } from "./auth/vault/vault.js";
import { commandLine } from "./command-line.js";
import { configurationFileAt, findConfigurationFile, pluginRootOf } from "./config/configuration-file.js";
import type { Entry } from "./config/entry.js";
import { readVariables } from "./config/env-file.js";
import type { Finding } from "./config/finding.js";
import { type Configuration, readConfiguration } from "./config/parse-configuration.js";
import type { Variables } from "./config/substitute-entry.js";
import { usesOAuth } from "./config/variable-uses.js";
import type { OAuthSettings } from "./connection/servers/entry-oauth.js";
import type { SandboxSettings } from "./connection/servers/entry-sandbox.js";
import { oauthFilePath, readOAuthFile } from "./connection/servers/oauth-file.js";
import type { ToolServersOptions } from "./connection/servers/tool-servers.js";
import { ToolServerError } from "./errors.js";
import type { Environment } from "./process/child-environment.js";
import { ownFolders } from "./process/sandbox.js";
import type { SecretRegistry } from "./secrets/redactor.js";
import { openStoredInputs, usesInputs } from "./stored-inputs.js";
import type { ApprovalSubject } from "./trust/approval.js";
import { type Distrust, notTrusted, type TrustDecision } from "./trust/evaluate-trust.js";
import { approvals, type Trust } from "./trust/trust.js";

/** Options for opening the servers of a configuration. The defaults are those of the command line. */
export interface LoadToolServersOptions {
  /** Which entries may be used. Default `approvals()`: those that the user approved with `wirescope trust`, or a policy allows. */
  readonly trust?: Trust | undefined;
  /** Where OAuth tokens are stored. Default: as WIRESCOPE_VAULT says, else "auto", which is where `wirescope login` stores them. */
  readonly vault?: VaultKind | "auto" | Vault | undefined;
  /** Variables for the entries, approvals and the vault. Default: the environment of this process. */
  readonly environment?: Environment | undefined;
  /** Environment files with more variables for the entries; those of the environment take precedence. */
  readonly envFiles?: readonly string[] | undefined;
  /** What HOST_PLUGIN_ROOT refers to, and the working directory of stdio servers. Default: the folder of the configuration. */
  readonly root?: string | undefined;
  /** The file that a parsed configuration is from, which approvals name. Default: none, so that its entries cannot be approved. */
  readonly configurationPath?: string | undefined;
  /** Whether sign-in endpoints on a loopback host may use http. Default: only for servers with an http url. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** How to sign in to servers that require OAuth: the profile, how the user is asked, and settings that an entry does not have. */
  readonly oauth?: Omit<OAuthSettings, "vault"> | undefined;
  /** CA certificates to trust in addition to Node's, in PEM. */
  readonly ca?: string | undefined;
  /** How stdio servers and helpers are isolated from tokens. Default: a sandbox if available, as the policy says; false: none. */
  readonly sandbox?: SandboxSettings | false | undefined;
}

/** A loaded configuration, and the dependencies of its servers. */
export interface LoadedToolServers extends Omit<ToolServersOptions, "settings" | "secrets"> {
  readonly configurationPath: string;
  /** The findings in environment files. */
  readonly envFindings: readonly Finding[];
  /** Evaluates the trust of entries, and stores approvals. */
  readonly trust: {
    evaluate(entry: Entry): Promise<TrustDecision>;
    approve(subject: ApprovalSubject): Promise<unknown>;
  };
  /** The error for an entry that is not trusted, with what to do. */
  distrust(server: string, decision: Distrust): ToolServerError;
  /** Closes the vault, unless it was given. */
  dispose(): Promise<void>;
}

/**
 * Reads a configuration, from a file or a folder, or the default one if no path is given, and prepares trust, variables, the vault and
 * the sandbox. Nothing of it runs or connects. Rejects with CONFIGURATION_UNREADABLE, or as opening the vault does.
 */
export async function loadToolServers(
  source: string | Configuration | undefined,
  secrets: SecretRegistry,
  options: LoadToolServersOptions = {},
): Promise<LoadedToolServers> {
  const { environment = process.env, envFiles = [], allowInsecureLoopback = false } = options;
  const trust = options.trust ?? approvals({ environment });
  const isParsed = typeof source === "object";
  // Without a file, trust is evaluated as for a configuration in its folder.
  const file = isParsed
    ? resolve(options.configurationPath ?? options.root ?? ".")
    : await (source === undefined ? findConfigurationFile(process.cwd(), options.root) : configurationFileAt(source));
  const approvable = isParsed && options.configurationPath === undefined ? undefined : file;
  const configuration = isParsed ? source : await readConfiguration(file, { secrets: secrets.scope() });
  assertReadable(configuration, file);
  const pluginRoot = resolve(options.root ?? (approvable === undefined ? "." : pluginRootOf(file)));
  const { variables: given, findings } = await readVariables(envFiles, environment);
  const variables: Record<string, string | undefined> = { ...given };
  // Read before the vault is opened: if the file is invalid, no vault has to be disposed of. The inputs are added to `variables` below.
  const overrides = options.oauth?.overrides ?? readOAuthFile(environment, { variables });
  const { vault, dispose } = await openVault(configuration, environment, secrets, options.vault);
  const profile = options.oauth?.profile ?? (environment.WIRESCOPE_PROFILE || undefined);
  const inputs = openStoredInputs({ configuration, file, variables: given, profile, vault, secrets });
  try {
    Object.assign(variables, await inputs.variablesOf(configuration.entries));
  } catch (error) {
    await dispose();
    throw error;
  }
  const evaluate = (entry: Entry, known: Variables = variables): Promise<TrustDecision> =>
    trust.evaluate({ entry, configurationPath: file, pluginRoot, variables: known });
  const distrust = (name: string, decision: Distrust): ToolServerError => notTrustedInCode(name, decision, approvable);
  return {
    configuration,
    configurationPath: file,
    variables,
    envFindings: findings,
    pluginRoot,
    ca: options.ca,
    sandbox: options.sandbox ?? sandboxSettings(environment, trust),
    oauth: {
      allowInsecureLoopback,
      ...options.oauth,
      profile,
      overrides,
      vault,
    },
    async assertTrusted(entry, known) {
      const decision = await evaluate(entry, known);
      if (decision.state !== "trusted") throw distrust(entry.name, decision);
    },
    trust: { evaluate, approve: (subject) => trust.approve(subject) },
    distrust,
    dispose,
  };
}

/** Creates NOT_TRUSTED with advice for programs, which cannot pass `--trust` to a command. */
function notTrustedInCode(server: string, decision: Distrust, file: string | undefined): ToolServerError {
  const error = notTrusted(server, decision);
  if (decision.state === "denied") return error;
  const { subject, problem, evidence } = error;
  const advice =
    file === undefined
      ? "Pass `trust: trustAll()` if the program itself wrote this configuration, or open its file by path."
      : `Review and approve it: ${commandLine("trust", server, "--config", file)}`;
  return new ToolServerError("NOT_TRUSTED", { subject, problem, evidence, advice });
}

/** Fails on the first error that concerns the whole file. An error within one entry concerns that server only. */
function assertReadable({ findings }: Configuration, file: string): void {
  const broken = findings.find(({ server, severity }) => severity === "error" && server === undefined);
  if (broken === undefined) return;
  const { line, column, message, fix } = broken;
  throw new ToolServerError("CONFIGURATION_UNREADABLE", {
    problem: `${file}:${line}:${column}: ${message}`,
    advice: `${fix} To see all problems: ${commandLine("check", file)}`,
  });
}

/** A keychain may prompt the user, so it is opened only if a server uses OAuth or inputs. */
async function openVault(
  { entries }: Configuration,
  environment: Environment,
  secrets: SecretRegistry,
  given: VaultKind | "auto" | Vault | undefined,
): Promise<{ readonly vault: Vault; dispose(): Promise<void> }> {
  if (typeof given === "object") return { vault: given, dispose: async () => {} };
  const named = given ?? (environment.WIRESCOPE_VAULT || "auto");
  const kind = vaultKinds.find((each) => each === named);
  if (kind === undefined)
    throw new TypeError(`WIRESCOPE_VAULT must be one of ${vaultKinds.join(", ")}, not "${named}".`);
  const isNeeded = entries.some((entry) => usesOAuth(entry) || usesInputs(entry));
  const vault = isNeeded ? await openUserVault(kind, environment, secrets) : createMemoryVault();
  return { vault, dispose: () => vault.dispose() };
}

/**
 * The settings that hide the vault, its key, the folders of Wirescope and `files` from stdio servers and helpers, as the policy says.
 */
export function sandboxSettings(
  environment: Environment,
  trust: Pick<Trust, "policy">,
  files: readonly string[] = [],
): SandboxSettings {
  const { PATH, CREDENTIALS_DIRECTORY, [vaultVariables.keyFile]: keyFile } = environment;
  const named = [keyFile, oauthFilePath(environment), CREDENTIALS_DIRECTORY].filter((each) => each);
  return {
    hidden: [...ownFolders(environment), ...(named as string[]), ...files],
    rule: async () => (await trust.policy())?.sandbox ?? "auto",
    searchPath: PATH,
  };
}
