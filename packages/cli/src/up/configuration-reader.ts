import { resolve } from "node:path";
import type { GatewayConfiguration } from "@wirescope/gateway/internal";
import {
  approvalKey,
  type DefinedTool,
  type OAuthSettings,
  type Redact,
  type SandboxSettings,
  type SecretRegistry,
  type ToolChange,
  ToolServerError,
  type TrustDecision,
} from "@wirescope/tool-server";
import { createMemoryVault, type Vault } from "@wirescope/tool-server/auth";
import {
  type Entry,
  type Finding,
  pluginRootOf,
  readConfiguration,
  type Variables,
} from "@wirescope/tool-server/config";
import {
  inputPrefix,
  oauthFilePath,
  readVariables,
  sandboxSettings,
  usesInputs,
  usesOAuth,
} from "@wirescope/tool-server/internal";
import { commandLine, shellWord } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { approvalsOf, createTrustPrompt, trustFor } from "../tool-server/ask-for-trust.js";
import { isGatewayEntry } from "../tool-server/gateway-entry.js";
import { openInputValues } from "../tool-server/input-values.js";
import { assertReadable, asUsageError, invalidEntries } from "../tool-server/loaded-configuration.js";
import { readOAuthFile } from "../tool-server/oauth-file.js";
import { openVaultForGateway } from "../tool-server/open-vault.js";
import { readPem } from "../tool-server/read-pem.js";
import { createVaultExposure } from "../tool-server/vault-exposure.js";
import type { ServerCommands, ToDo } from "./to-do.js";
import type { upOptions } from "./up-options.js";

/** Reads the configurations of a gateway, at its start and after each change. */
export interface ConfigurationReader {
  /** All files that it reads, whether or not they exist: configurations, environment files, and the user's OAuth settings. */
  readonly files: readonly string[];
  /** Throws a UsageError with the position if a file is invalid. */
  read(): Promise<readonly GatewayConfiguration[]>;
  /** The first file that contains a server, as of the last read. */
  fileOf(server: string): string | undefined;
  /**
   * Problems found by the last read that are not problems of a server: invalid entries, files without servers, ignored lines of
   * environment files.
   */
  toDo(commands: ServerCommands): readonly ToDo[];
  /** What the user should know about the protection of the stored tokens. */
  notes(): readonly string[];
}

export interface ConfigurationReaderOptions {
  readonly secrets: SecretRegistry;
  /** Variables in addition to those of the user. */
  readonly extra?: Variables;
  /** The command by which a person signs in to a server. */
  readonly loginCommand: (server: string) => string;
  /** Called once with each reason why servers or helpers run without a sandbox. */
  readonly onNoSandbox?: SandboxSettings["onMissing"];
  /** Called once with each note about the user's OAuth settings. */
  readonly onOAuthNote?: (note: string) => void;
}

/** Creates a reader; the plugin root of each configuration is its folder. */
export function createConfigurationReader(
  files: readonly string[],
  values: OptionValues<typeof upOptions>,
  io: Io,
  { secrets, extra = {}, loginCommand, onNoSandbox, onOAuthNote }: ConfigurationReaderOptions,
): ConfigurationReader {
  let used: Vault | undefined;
  const exposure = createVaultExposure(() => used);
  const openOAuth = async (): Promise<OAuthSettings> => {
    const vault = await openVaultForGateway(values.vault, io, secrets);
    used = vault;
    return {
      vault,
      profile: values.profile ?? (io.env.WIRESCOPE_PROFILE || undefined),
      allowInsecureLoopback: values["allow-insecure-loopback"],
      loginCommand,
    };
  };
  let oauth: Promise<OAuthSettings> | undefined;
  const oauthOf = (isNeeded: boolean): Promise<OAuthSettings> => {
    if (isNeeded && oauth === undefined) {
      oauth = openOAuth();
      oauth.catch(() => {
        oauth = undefined;
      });
    }
    return oauth ?? Promise.resolve({ vault: createMemoryVault() });
  };
  const notes = new Set<string>();
  const readOverrides = (variables: Variables): OAuthSettings["overrides"] =>
    readOAuthFile(io, variables, (note) => {
      if (!notes.has(note)) onOAuthNote?.(note);
      notes.add(note);
    });
  const trust = trustFor(io, values.trust);
  const store = approvalsOf(io);
  const tokenFile = values["token-file"];
  const hidden = tokenFile === undefined ? [] : [resolve(tokenFile)];
  const sandbox = {
    ...sandboxSettings(io.env, trust, hidden),
    onMissing: onceEach(onNoSandbox),
    onUnsandboxed: exposure.onUnsandboxed,
  };
  let isFirst = true;
  const silentIo = { ...io, ask: undefined, stderr: { write: () => {} } };
  let last: readonly GatewayConfiguration[] = [];
  let ignoredLines: readonly Finding[] = [];
  const envFiles = values["env-file"].map((each) => resolve(each));
  return {
    files: [...files, ...envFiles, oauthFilePath(io.env)],
    fileOf: (server) =>
      last.find(({ configuration }) => configuration.entries.some(({ name }) => name === server))?.configurationPath,
    notes: exposure.notes,
    toDo: (commands) => [
      ...last.flatMap((configured) => problemsOf(configured, commands)),
      ...ignoredLines.map(({ file = "", line, column, message, fix }) => ({
        server: file,
        problem: `${line}:${column}: ${message} ${fix} The line is ignored.`,
        command: `${commands.checkFile(files[0])} --env-file ${shellWord(file)}`,
      })),
    ],
    async read() {
      // Opens a vault that could not be opened before.
      if (oauth !== undefined) void oauth.then(({ vault }) => vault.list()).catch(() => {});
      const { variables, findings } = await asUsageError(() => readVariables(envFiles, io.env));
      last = await Promise.all(
        files.map(async (file): Promise<GatewayConfiguration> => {
          // A literal value in one file is not redacted in messages about servers of another.
          const options = { secrets: secrets.scope() };
          const parsed = await asUsageError(() => readConfiguration(file, options));
          assertReadable(parsed, file);
          const configuration = { ...parsed, entries: parsed.entries.filter((entry) => !isGatewayEntry(entry)) };
          const pluginRoot = pluginRootOf(file);
          const evaluate = (entry: Entry, known: Variables): Promise<TrustDecision> =>
            trust.evaluate({ entry, configurationPath: file, pluginRoot, variables: known });
          const all: Record<string, string | undefined> = { ...variables, ...extra };
          const withInputs = configuration.entries.filter((entry) => !entry.isDisabled && usesInputs(entry));
          const { vault, profile } = await oauthOf(withInputs.length > 0);
          const inputs = openInputValues({ configuration, file, variables: all, profile, vault, secrets, io });
          const unreadInputs = new Set<string>();
          const readInputs = async (entry: Entry): Promise<void> => {
            Object.assign(all, await inputs.variablesOf([entry]));
            // Values are asked for only if the entry is approved.
            if (!isFirst || io.ask === undefined || (await evaluate(entry, all)).state !== "trusted") return;
            await inputs.askFor(entry);
            Object.assign(all, await inputs.variablesOf([entry]));
          };
          for (const entry of withInputs) {
            await readInputs(entry).catch((error: unknown) => {
              if (!ToolServerError.is(error)) throw error;
              unreadInputs.add(entry.name);
            });
          }
          const hasOAuth = configuration.entries.some(usesOAuth);
          // No prompts here: servers that are not trusted are in the to-do list.
          const assertTrusted = createTrustPrompt({ file, pluginRoot, io: silentIo, trustsAll: values.trust });
          return {
            configuration,
            configurationPath: file,
            variables: all,
            pluginRoot,
            setVariable: variableAdvice(envFiles, io.env),
            async assertTrusted(entry, known) {
              if (unreadInputs.has(entry.name)) {
                // Otherwise the error would be that the inputs are missing.
                Object.assign(all, await inputs.variablesOf([entry]));
                unreadInputs.delete(entry.name);
              }
              await assertTrusted(entry, known);
            },
            trust: {
              evaluate: (entry) => evaluate(entry, all),
              approve: (subject) => trust.approve(subject),
              // With --trust, nothing is stored.
              ...(!values.trust && {
                compareTools: async (entry: Entry, tools: readonly DefinedTool[], redact: Redact) =>
                  store.compareTools(await approvalKey(file, entry.name), tools, redact),
                acceptTools: async (entry: Entry, changes: readonly ToolChange[]) =>
                  store.acceptTools(await approvalKey(file, entry.name), changes),
              }),
            },
            ca: readPem(values.ca, "--ca"),
            sandbox,
            oauth: { ...(await oauthOf(hasOAuth)), overrides: hasOAuth ? readOverrides(variables) : undefined },
          };
        }),
      );
      isFirst = false;
      ignoredLines = findings.filter(({ severity }) => severity === "error");
      return last;
    },
  };
}

/** Reports each reason once for servers, and once for helpers. */
function onceEach(report: SandboxSettings["onMissing"]): SandboxSettings["onMissing"] {
  const reported = new Set<string>();
  return (reason, program) => {
    const key = `${program} ${reason}`;
    if (!reported.has(key)) report?.(reason, program);
    reported.add(key);
  };
}

/** How to set a variable for a running gateway: its environment cannot be changed, and takes precedence over its files. */
function variableAdvice(envFiles: readonly string[], env: Variables): (name: string) => string {
  const file = envFiles.at(-1);
  return (name) => {
    if (name.startsWith(inputPrefix)) {
      const command = commandLine("inputs", name.slice(inputPrefix.length));
      return `Enter it at a terminal: ${command}. Then reload the gateway: ${commandLine("reload")}.`;
    }
    if (file === undefined) {
      return `Stop the gateway, export ${name}, and start it again; or start it with --env-file <file>.`;
    }
    return env[name] === undefined
      ? `Set ${name}=… in ${file}. The gateway reloads the file when it changes.`
      : `The gateway was started with ${name} in its environment, which overrides ${file}. Stop it, export the new value or unset it, and start it again.`;
  };
}

function problemsOf({ configuration, configurationPath = "" }: GatewayConfiguration, commands: ServerCommands): ToDo[] {
  const lost = invalidEntries(configuration);
  const command = commands.checkFile(configurationPath);
  if (configuration.entries.length === 0 && lost.length === 0) {
    return [{ server: configurationPath, problem: "has no servers", command }];
  }
  return lost.map(({ server, line, column, message, fix }) => ({
    server,
    problem: `${line}:${column}: ${message} ${fix}`,
    command,
  }));
}
