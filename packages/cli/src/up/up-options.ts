import { commonOptions } from "../options.js";

const ownOptions = {
  config: {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "configuration file; default: .mcp.json in this folder or, in a git repository, in a parent folder; else the demonstration",
  },
  demo: { type: "boolean", help: "run the demonstration even if there is a configuration file" },
  port: { type: "string", placeholder: "number", help: "port to listen on; 0 selects a free one; default: 4690" },
  host: {
    type: "string",
    placeholder: "address",
    help: "address to listen on; default: 127.0.0.1; one that other machines can reach requires --cert, --key and a token",
  },
  cert: { type: "string", placeholder: "file", help: "server certificate (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the certificate (PEM)" },
  "client-ca": {
    type: "string",
    placeholder: "file",
    help: "require a client certificate signed by this CA (PEM)",
  },
  "token-file": {
    type: "string",
    placeholder: "file",
    help: "file with the token that clients must send; default: a new token at each start",
  },
  "print-token": {
    type: "boolean",
    help: "print the token even if standard output is not a terminal; with --json also the administrator's token",
  },
  "no-token": { type: "boolean", help: "do not require a token; any program on this machine can call the gateway" },
  "allow-host": {
    type: "string",
    multiple: true,
    placeholder: "name",
    help: "additional Host name to accept",
  },
  "allow-origin": {
    type: "string",
    multiple: true,
    placeholder: "origin",
    help: "allow browser requests from pages of this origin",
  },
  settings: {
    type: "string",
    placeholder: "file",
    help: "file with tool filters and limits; default: wirescope/gateway.json in the configuration folder",
  },
  allow: {
    type: "string",
    multiple: true,
    placeholder: "server:tool",
    help: "offer only these tools of a server; * matches any text",
  },
  deny: { type: "string", multiple: true, placeholder: "server:tool", help: "do not offer these tools of a server" },
  stdio: {
    type: "boolean",
    help: "serve one client on standard input and output: forward to the running gateway of the configuration, or run a gateway that does not listen",
  },
  "no-browser": {
    type: "boolean",
    help: "do not open the browser when a call requires a sign-in; the error contains a link",
  },
  standalone: { type: "boolean", help: "with --stdio: start a new gateway even if one is running" },
  log: {
    type: "string",
    choices: ["pretty", "json", "off"],
    help: "log format on standard error; default: pretty, or json with --json and no terminal",
  },
  debug: {
    type: "boolean",
    help: "also log headers (without values), OAuth steps and token refreshes; to switch it on later: wirescope debug on",
  },
  "audit-file": {
    type: "string",
    placeholder: "file",
    help: "append one JSON line per call to this file, without arguments",
  },
  "audit-arguments": {
    type: "boolean",
    help: "include the arguments of calls in the audit file; they may contain secrets",
  },
  capture: {
    type: "boolean",
    help: "capture arguments and results of calls for 15 minutes, redacted and in memory, for administrators of the page; the page can turn it on again",
  },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "also read variables from this file; existing environment variables take precedence",
  },
  "allow-insecure-loopback": {
    type: "boolean",
    help: "allow http:// for sign-in endpoints on this machine; default: only for servers with an http:// url",
  },
  trust: { type: "boolean", help: "trust all servers for this run, without saving the approval" },
  profile: {
    type: "string",
    placeholder: "name",
    help: 'profile of stored tokens; default: WIRESCOPE_PROFILE, else "default"',
  },
  vault: { type: "string", choices: ["auto", "keychain", "file", "memory"], help: "token storage" },
  ca: { type: "string", placeholder: "file", help: "also trust this CA certificate (PEM)" },
  json: { type: "boolean", help: "print one line of JSON to standard output when the gateway is ready" },
} as const;

/** Options of the gateway. */
export const upOptions: typeof ownOptions & typeof commonOptions = { ...ownOptions, ...commonOptions };

export const defaultPort = 4690;
