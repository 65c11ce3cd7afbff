/** Options of every command that reads a peer. */
export const connectionOptions = {
  target: {
    type: "string",
    multiple: true,
    placeholder: "host:port|unix:/path|url|dns:name:port|@file|file:recording",
    help: "a process to read: its address, every address of a DNS name, a file with one target per line, or a recording, each also as name=target; default: WIRESCOPE_TARGET, else the running gateway, else 127.0.0.1:4690",
  },
  tls: { type: "boolean", help: "use TLS; implied by the certificate options" },
  ca: { type: "string", placeholder: "file", help: "trust only this CA certificate (PEM)" },
  cert: { type: "string", placeholder: "file", help: "client certificate (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the client certificate (PEM)" },
  "server-name": { type: "string", placeholder: "name", help: "name to expect in the peer's certificate" },
  "token-file": {
    type: "string",
    placeholder: "file",
    help: "file with the bearer token to send; default: WIRESCOPE_TOKEN, else the token of the running gateway if it is the target",
  },
  "allow-insecure-token": { type: "boolean", help: "allow sending the token unencrypted to another machine" },
  header: { type: "string", multiple: true, placeholder: "'name: value'", help: "send this header" },
  package: {
    type: "string",
    choices: ["rpc.channelz.v1", "grpc.channelz.v1"],
    help: "Channelz package of the peer; default: detected",
  },
  timeout: { type: "string", placeholder: "duration", help: "timeout of each call, such as 500ms or 5s; default: 10s" },
  "no-corrections": { type: "boolean", help: "show what the peer sent, without corrections for known implementations" },
} as const;
