import type { OAuthLogin } from "./auth/oauth/login/oauth-login.js";
import type { Finding } from "./config/finding.js";
import type { Configuration } from "./config/parse-configuration.js";
import type { Variables } from "./config/substitute-entry.js";
import type { ClientSettings } from "./connection/client-settings.js";
import type { Connection } from "./connection/connection.js";
import type { ToolServerSettings } from "./connection/servers/open-tool-server.js";
import { createToolServers } from "./connection/servers/tool-servers.js";
import type { ConnectivityState } from "./connection-info.js";
import { type LoadedToolServers, type LoadToolServersOptions, loadToolServers } from "./load-tool-servers.js";
import { createSecretRegistry, type SecretRegistry } from "./secrets/redactor.js";
import type { Explanation } from "./why/explanation.js";
import { explainServer } from "./why/lazy-explain.js";

/** Options for opening the servers of a configuration from code. */
export interface OpenToolServersOptions
  extends LoadToolServersOptions,
    Pick<ToolServerSettings, "idleTimeoutMs" | "connectTimeoutMs" | "backOff" | "limits" | "clock"> {
  /** The client info and capabilities that servers see. Default: `wirescope`, without capabilities. */
  readonly client?: ClientSettings | undefined;
  /** Where secrets are registered, so that no message contains them. Default: a new registry. */
  readonly secrets?: SecretRegistry | undefined;
}

/** The current status of a configured server. */
export interface ToolServerStatus {
  readonly name: string;
  /** The state of its connection; IDLE before it is opened. Or why it cannot be opened: its entry has errors, is turned off, or is not trusted. */
  readonly state: ConnectivityState | "INVALID" | "DISABLED" | "NOT_TRUSTED";
  /** What is wrong and what to do, for INVALID and NOT_TRUSTED. */
  readonly reason?: string | undefined;
}

/** The servers of a configuration file. */
export interface OpenToolServers extends AsyncDisposable {
  /** The configuration file. */
  readonly file: string;
  /** The names of all servers, in the order of the file, including those whose entry is invalid. */
  readonly names: readonly string[];
  /** The findings in the configuration and the environment files. */
  readonly findings: readonly Finding[];
  /** The secrets that are redacted in every message. */
  readonly secrets: SecretRegistry;
  /**
   * The connection to a server; the same one each time for the same variables, which override those of the environment. It connects
   * at the first call. Rejects with a ToolServerError: SERVER_UNKNOWN, ENTRY_INVALID, VARIABLE_UNUSABLE or NOT_TRUSTED.
   */
  open(name: string, variables?: Variables): Promise<Connection>;
  /** The OAuth session of a server, to sign in and out; undefined if its entry has a credential. Rejects as `open` does. */
  oauth(name: string, variables?: Variables): Promise<OAuthLogin | undefined>;
  /** The status of all servers, without connecting to any. */
  status(): Promise<readonly ToolServerStatus[]>;
  /** Diagnoses a server, as `wirescope why` does. Rejects with SERVER_UNKNOWN. */
  explain(name: string): Promise<Explanation>;
  /** Closes all connections and the vault. */
  close(): Promise<void>;
}

/**
 * Opens the servers of a configuration as the command line does: with the user's approvals, the policy of the machine, the stored
 * tokens and the sandbox. `source` is a file, a folder with a `.mcp.json`, or a parsed configuration; without it, the `.mcp.json` of the
 * working directory or of a parent folder, up to the root of the repository. Nothing runs or connects before it is used.
 *
 * Rejects with a ToolServerError: CONFIGURATION_UNREADABLE, VAULT_KEY_WRONG or VAULT_UNREADABLE.
 */
export async function openToolServers(
  source?: string | Configuration,
  options: OpenToolServersOptions = {},
): Promise<OpenToolServers> {
  const { secrets = createSecretRegistry(), client = {} } = options;
  const loaded = await loadToolServers(source, secrets, options);
  const { configuration, configurationPath } = loaded;
  const { idleTimeoutMs, connectTimeoutMs, backOff, limits, clock } = options;
  const settings = { idleTimeoutMs, connectTimeoutMs, backOff, limits, clock };
  const servers = createToolServers({ ...settings, ...loaded, secrets, settings: client });
  const names = namesOf(configuration);
  const statusOf = async (name: string): Promise<ToolServerStatus> => {
    const entry = configuration.entries.find((each) => each.name === name);
    const broken = configuration.findings.find(({ server, severity }) => server === name && severity === "error");
    if (entry === undefined || broken !== undefined) {
      return { name, state: "INVALID", reason: broken && `${broken.message} ${broken.fix}` };
    }
    if (entry.isDisabled) return { name, state: "DISABLED" };
    const connection = servers.connections.find(({ info }) => info.name === name);
    if (connection !== undefined) return { name, state: connection.state };
    const decision = await loaded.trust.evaluate(entry);
    if (decision.state === "trusted") return { name, state: "IDLE" };
    return { name, state: "NOT_TRUSTED", reason: loaded.distrust(name, decision).message };
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= servers.close().then(() => loaded.dispose());
    return closing;
  };
  return {
    file: configurationPath,
    names,
    findings: [...configuration.findings, ...loaded.envFindings],
    secrets,
    open: (name, variables) => servers.open(name, variables),
    oauth: (name, variables) => servers.oauth(name, variables),
    status: () => Promise.all(names.map(statusOf)),
    explain: (server) => explainServer({ ...explainOptions(loaded), server, secrets, settings: client, clock }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function namesOf({ entries, findings }: Configuration): string[] {
  const broken = findings.flatMap(({ server, severity }) =>
    server !== undefined && severity === "error" ? [server] : [],
  );
  return [...new Set([...entries.map(({ name }) => name), ...broken])];
}

function explainOptions(
  loaded: LoadedToolServers,
): Omit<Parameters<typeof explainServer>[0], "server" | "secrets" | "settings"> {
  const { configuration, configurationPath, variables, pluginRoot, ca, sandbox, oauth, trust } = loaded;
  return {
    configuration,
    configurationPath,
    variables,
    pluginRoot,
    evaluateTrust: (entry) => trust.evaluate(entry),
    ca,
    sandbox,
    allowInsecureLoopback: oauth?.allowInsecureLoopback,
    oauth: oauth && {
      profile: oauth.profile,
      overrides: oauth.overrides,
      // The vault outlives the diagnosis.
      openVault: async () => ({ ...oauth.vault, dispose: async () => {} }),
    },
    commandArguments: ["--config", configurationPath],
  };
}
