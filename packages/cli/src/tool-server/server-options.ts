import { commonOptions } from "../options.js";

/** Options of every command that reads a configuration. */
export const configurationOptions = {
  config: {
    type: "string",
    placeholder: "file",
    help: "the configuration; default: .mcp.json here or, in a git repository, above",
  },
  "plugin-root": {
    type: "string",
    placeholder: "directory",
    help: "the value of HOST_PLUGIN_ROOT; default: where the configuration is",
  },
  "allow-insecure-loopback": { type: "boolean", help: "accept http and ws to this machine" },
} as const;

const ownOptions = {
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "take variables from this file too; what the environment sets counts before it",
  },
  endpoint: { type: "boolean", help: "use the gateway that runs in place of a configuration, as the server gateway" },
  trust: { type: "boolean", help: "trust the entry for this run, without asking and without remembering" },
  profile: {
    type: "string",
    placeholder: "name",
    help: "whose tokens to use, as development or production; default WIRESCOPE_PROFILE, else default",
  },
  vault: {
    type: "string",
    choices: ["auto", "keychain", "file", "memory"],
    help: "where to store tokens; default WIRESCOPE_VAULT, else the best that can be had",
  },
  ca: { type: "string", placeholder: "file", help: "trust this authority (PEM) besides the usual ones" },
  timeout: {
    type: "string",
    placeholder: "duration",
    help: "how long a server may be silent, like 500ms or 5s; progress begins it anew; default 60s, and 30s to connect",
  },
  debug: {
    type: "boolean",
    help: "tell on standard error what happens: headers, helpers, retries, errors; no secrets",
  },
  json: { type: "boolean", help: "print JSON in place of text" },
} as const;

/** What `--endpoint` means to commands that look after the servers of a gateway. */
export const adminOptions = {
  endpoint: { type: "boolean", help: "use the gateway that runs in place of a configuration, with its servers" },
} as const;

/** Options of every command that uses the servers of a configuration. */
export const serverOptions: typeof configurationOptions & typeof ownOptions & typeof commonOptions = {
  ...configurationOptions,
  ...ownOptions,
  ...commonOptions,
};
