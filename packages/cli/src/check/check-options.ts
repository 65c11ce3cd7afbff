import { commonOptions } from "../options.js";
import { serverOptions } from "../tool-server/server-options.js";

const ownOptions = {
  config: { type: "string", placeholder: "file", help: "same as [file]" },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "also read variables from this file; existing environment variables take precedence",
  },
  "plugin-root": {
    type: "string",
    placeholder: "directory",
    help: "value of HOST_PLUGIN_ROOT; default: the folder of the file",
  },
  "file-only": { type: "boolean", help: "check the file without the values of variables, for example in CI" },
  "allow-insecure-loopback": {
    type: "boolean",
    help: "with --live: allow http:// for sign-in endpoints on this machine; default: only for servers with an http:// url",
  },
  strict: { type: "boolean", help: "exit with code 1 for warnings too" },
  live: {
    type: "boolean",
    help: "also connect to each trusted server and check it against the protocol, up to the sign-in",
  },
  trust: { type: "boolean", help: "with --live: trust the servers for this run, without saving the approval" },
  ca: { type: "string", placeholder: "file", help: "with --live: also trust this CA certificate (PEM)" },
  timeout: { type: "string", placeholder: "duration", help: "with --live: response timeout; default: 10s" },
  debug: { type: "boolean", help: "with --live: log headers, retries and errors to standard error, without secrets" },
  json: { type: "boolean", help: "print JSON instead of text" },
} as const;

/** Options of the check. */
export const checkOptions: typeof ownOptions & Pick<typeof serverOptions, "profile" | "vault"> & typeof commonOptions =
  {
    ...ownOptions,
    profile: serverOptions.profile,
    vault: serverOptions.vault,
    ...commonOptions,
  };
