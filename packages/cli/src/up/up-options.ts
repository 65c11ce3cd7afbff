import { commonOptions } from "../options.js";

const ownOptions = {
  config: {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "a configuration; default: .mcp.json here or, in a git repository, above; else a demonstration",
  },
  demo: { type: "boolean", help: "run the demonstration, whatever configuration there is" },
  port: { type: "string", placeholder: "number", help: "the port; 0 takes a free one; default 4690" },
  host: {
    type: "string",
    placeholder: "address",
    help: "the address; default 127.0.0.1; one that other machines reach needs --cert, --key and a token",
  },
  cert: { type: "string", placeholder: "file", help: "certificate of the gateway (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the certificate (PEM)" },
  "client-ca": {
    type: "string",
    placeholder: "file",
    help: "let in only who has a certificate of this authority (PEM)",
  },
  "token-file": {
    type: "string",
    placeholder: "file",
    help: "the token that clients send; default: a new one each time",
  },
  "no-token": { type: "boolean", help: "let every program of this machine in" },
  "allow-host": {
    type: "string",
    multiple: true,
    placeholder: "name",
    help: "a name by which it is called, besides localhost and its addresses",
  },
  "allow-origin": {
    type: "string",
    multiple: true,
    placeholder: "origin",
    help: "whose pages may call from a browser",
  },
  settings: {
    type: "string",
    placeholder: "file",
    help: "tools and limits; default: wirescope/gateway.json of the configuration folder",
  },
  allow: {
    type: "string",
    multiple: true,
    placeholder: "server:tool",
    help: "offer only these tools of a server; * stands for any text",
  },
  deny: { type: "string", multiple: true, placeholder: "server:tool", help: "do not offer these tools of a server" },
  stdio: {
    type: "boolean",
    help: "serve one client on standard input and output: forward to the running gateway of the configuration, or run one that does not listen",
  },
  "no-browser": { type: "boolean", help: "do not open the browser when a call needs a sign-in: its error has a link" },
  standalone: { type: "boolean", help: "with --stdio: run a gateway of its own even if one is running" },
  log: {
    type: "string",
    choices: ["pretty", "json", "off"],
    help: "how to log calls and servers on standard error; default: pretty on a terminal, else json",
  },
  debug: {
    type: "boolean",
    help: "log what happens with servers too: headers without values, OAuth steps, refreshes; while it runs: wirescope debug on",
  },
  "audit-file": {
    type: "string",
    placeholder: "file",
    help: "write a line of JSON for each call behind this file, without its arguments",
  },
  "audit-arguments": { type: "boolean", help: "with the arguments, which may hold what nobody should read" },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "take variables from this file too; what the environment sets counts before it",
  },
  "allow-insecure-loopback": { type: "boolean", help: "accept http and ws to this machine" },
  trust: { type: "boolean", help: "trust all entries for this run, without remembering" },
  profile: {
    type: "string",
    placeholder: "name",
    help: "whose tokens to use; default WIRESCOPE_PROFILE, else default",
  },
  vault: { type: "string", choices: ["auto", "keychain", "file", "memory"], help: "where to store tokens" },
  ca: { type: "string", placeholder: "file", help: "trust this authority (PEM) besides the usual ones" },
  json: { type: "boolean", help: "print one line of JSON on standard output once all is ready" },
} as const;

/** Options of the gateway. */
export const upOptions: typeof ownOptions & typeof commonOptions = { ...ownOptions, ...commonOptions };

/** Where the gateway listens unless told otherwise. */
export const defaultPort = 4690;
