import { commonOptions, type OptionValues } from "../options.js";

const ownOptions = {
  scope: {
    type: "string",
    choices: ["user", "project"],
    help: "which file to change: the user's (default) or that of the project in this folder",
  },
  name: { type: "string", placeholder: "name", help: "name of the entry; default: wirescope" },
  http: { type: "boolean", help: "connect to the running gateway by url and token instead of starting one" },
  remove: { type: "boolean", help: "remove the entry" },
  replace: {
    type: "boolean",
    help: "also remove the entries of servers that the gateway serves from the client's files",
  },
  "dry-run": { type: "boolean", help: "show the change without writing it" },
  yes: { type: "boolean", help: "write without asking" },
  json: { type: "boolean", help: "print JSON instead of text" },
  config: {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "configuration file of the gateway; default: .mcp.json in this folder or, in a git repository, in a parent folder",
  },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "passed on to the gateway: also read variables from this file",
  },
  profile: { type: "string", placeholder: "name", help: "passed on to the gateway: profile of stored tokens" },
  vault: {
    type: "string",
    choices: ["auto", "keychain", "file", "memory"],
    help: "passed on to the gateway: token storage",
  },
  "allow-insecure-loopback": {
    type: "boolean",
    help: "passed on to the gateway: allow http:// for sign-in endpoints on this machine; default: only for servers with an http:// url",
  },
} as const;

/** Options of `install`. */
export const installOptions: typeof ownOptions & typeof commonOptions = { ...ownOptions, ...commonOptions };

/** Their parsed values. */
export type InstallValues = OptionValues<typeof installOptions>;
