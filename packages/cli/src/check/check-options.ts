import { commonOptions } from "../options.js";
import { serverOptions } from "../tool-server/server-options.js";

const ownOptions = {
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "take variables from this file too; what the environment sets counts before it",
  },
  "plugin-root": {
    type: "string",
    placeholder: "directory",
    help: "the value of HOST_PLUGIN_ROOT; default: where the file is",
  },
  "file-only": { type: "boolean", help: "judge the file without the values of variables, as in a build" },
  "allow-insecure-loopback": { type: "boolean", help: "accept http and ws to this machine" },
  strict: { type: "boolean", help: "exit with 1 for warnings too" },
  live: { type: "boolean", help: "then walk each server up to a token, and say what it does not meet; needs trust" },
  trust: { type: "boolean", help: "with --live: trust the entries for this run, without remembering" },
  ca: { type: "string", placeholder: "file", help: "with --live: trust this authority (PEM) besides the usual ones" },
  timeout: { type: "string", placeholder: "duration", help: "with --live: how long an answer may take; default 10s" },
  debug: { type: "boolean", help: "with --live: tell on standard error what happens; no secrets" },
  json: { type: "boolean", help: "print JSON in place of text" },
} as const;

/** Options of the check. */
export const checkOptions: typeof ownOptions & Pick<typeof serverOptions, "profile" | "vault"> & typeof commonOptions =
  {
    ...ownOptions,
    profile: serverOptions.profile,
    vault: serverOptions.vault,
    ...commonOptions,
  };
