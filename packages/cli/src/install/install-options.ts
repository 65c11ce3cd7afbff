import { commonOptions, type OptionValues } from "../options.js";

const ownOptions = {
  scope: {
    type: "string",
    choices: ["user", "project"],
    help: "whose file: the user's (default), or that of the project here",
  },
  name: { type: "string", placeholder: "name", help: "what the entry is called; default wirescope" },
  http: { type: "boolean", help: "reach the gateway that runs, by its url and token, in place of starting one" },
  remove: { type: "boolean", help: "take the entry out again" },
  "dry-run": { type: "boolean", help: "show the change, and write nothing" },
  yes: { type: "boolean", help: "write it without asking" },
  json: { type: "boolean", help: "print JSON in place of text" },
  config: {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "the configuration of the gateway; default: .mcp.json here or, in a git repository, above",
  },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "handed on to the gateway: take variables from this file too",
  },
  profile: { type: "string", placeholder: "name", help: "handed on to the gateway: whose tokens to use" },
  vault: {
    type: "string",
    choices: ["auto", "keychain", "file", "memory"],
    help: "handed on to the gateway: where to store tokens",
  },
  "allow-insecure-loopback": { type: "boolean", help: "handed on to the gateway: accept http and ws to this machine" },
} as const;

/** Options of `install`. */
export const installOptions: typeof ownOptions & typeof commonOptions = { ...ownOptions, ...commonOptions };

/** What they are parsed to. */
export type InstallValues = OptionValues<typeof installOptions>;
