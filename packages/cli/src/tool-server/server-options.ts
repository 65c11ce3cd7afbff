import { commonOptions, type OptionValues } from "../options.js";
import { UsageError } from "../usage-error.js";
import { type AdHocServer, adHocOptions } from "./ad-hoc-server.js";

/** Options of every command that reads a configuration. */
export const configurationOptions = {
  config: {
    type: "string",
    placeholder: "file",
    help: "configuration file; default: .mcp.json in this folder or, in a git repository, in a parent folder",
  },
  "plugin-root": {
    type: "string",
    placeholder: "directory",
    help: "value of HOST_PLUGIN_ROOT; default: the folder of the configuration file",
  },
  "allow-insecure-loopback": {
    type: "boolean",
    help: "allow http:// for sign-in endpoints on this machine; default: only for servers with an http:// url",
  },
} as const;

const ownOptions = {
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "also read variables from this file; existing environment variables take precedence",
  },
  endpoint: {
    type: "boolean",
    help: "use the servers of the running gateway instead of a configuration file",
  },
  trust: { type: "boolean", help: "trust the servers for this run, without asking and without saving the approval" },
  profile: {
    type: "string",
    placeholder: "name",
    help: 'profile of stored tokens, such as development or production; default: WIRESCOPE_PROFILE, else "default"',
  },
  vault: {
    type: "string",
    choices: ["auto", "keychain", "file", "memory"],
    help: "token storage; default: WIRESCOPE_VAULT, else the most secure that is available",
  },
  ca: { type: "string", placeholder: "file", help: "also trust this CA certificate (PEM)" },
  timeout: {
    type: "string",
    placeholder: "duration",
    help: "timeout, such as 500ms or 5s; restarts with each progress message; default: 60s for calls, 30s to connect",
  },
  debug: {
    type: "boolean",
    help: "log headers, helpers, retries and errors to standard error, without secrets",
  },
  json: { type: "boolean", help: "print JSON instead of text" },
} as const;

/** Options of every command that uses the servers of a configuration. */
export const serverOptions: typeof configurationOptions &
  typeof adHocOptions &
  typeof ownOptions &
  typeof commonOptions = {
  ...configurationOptions,
  ...adHocOptions,
  ...ownOptions,
  ...commonOptions,
};

/** The parsed options of such a command, and the server given by url or command. */
export type ServerValues = OptionValues<typeof serverOptions> & { readonly adHoc?: AdHocServer | undefined };

/**
 * The values for a server given by url or command: it is trusted, because the user typed it, unless the policy denies it. Throws a
 * UsageError for options that select other servers.
 */
export function withAdHocServer<T extends ServerValues>(values: T, adHoc: AdHocServer | undefined): T {
  if (adHoc === undefined) return values;
  const given = values.endpoint ? "--endpoint" : values.config === undefined ? undefined : "--config";
  if (given !== undefined) {
    throw new UsageError(`${given} has no effect on a server that is given by url or command. Remove one of them.`);
  }
  // A remote server must not redirect the sign-in to an authorization server on this machine.
  const isInsecure = values["allow-insecure-loopback"] || /^(?:http|ws):/i.test(adHoc.name);
  return { ...values, adHoc, trust: true, "allow-insecure-loopback": isInsecure };
}

/** The options with which another command finds the same servers, for commands in advice. */
export function sameServers({
  config,
  "plugin-root": root,
  endpoint,
  adHoc,
}: Partial<Pick<ServerValues, "config" | "plugin-root" | "endpoint" | "adHoc">>): string[] {
  if (adHoc !== undefined) return [];
  if (endpoint) return ["--endpoint"];
  return [
    ...(config === undefined ? [] : ["--config", config]),
    ...(root === undefined ? [] : ["--plugin-root", root]),
  ];
}

/** The options with which another command finds the same sign-ins. */
export function sameSignIns({ profile, vault }: Partial<Pick<ServerValues, "profile" | "vault">>): string[] {
  return [...(profile === undefined ? [] : ["--profile", profile]), ...(vault === undefined ? [] : ["--vault", vault])];
}
