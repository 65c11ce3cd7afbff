/** Options of every command that reads a peer. */
export const connectionOptions = {
  target: {
    type: "string",
    placeholder: "host:port|unix:/path|url",
    help: "the peer to read; default WIRESCOPE_TARGET, else the gateway that runs, else 127.0.0.1:4690",
  },
  tls: { type: "boolean", help: "speak TLS; the options on certificates imply it" },
  ca: { type: "string", placeholder: "file", help: "trust this authority (PEM) instead of the usual ones" },
  cert: { type: "string", placeholder: "file", help: "client certificate (PEM), with --key" },
  key: { type: "string", placeholder: "file", help: "private key of the client certificate (PEM)" },
  "server-name": { type: "string", placeholder: "name", help: "the name that the peer's certificate must carry" },
  "token-file": {
    type: "string",
    placeholder: "file",
    help: "send the bearer token in this file; default WIRESCOPE_TOKEN, else that of the running gateway if it is the target",
  },
  "allow-insecure-token": { type: "boolean", help: "send the token in clear to another machine" },
  header: { type: "string", multiple: true, placeholder: "'name: value'", help: "send this header" },
  package: {
    type: "string",
    choices: ["rpc.channelz.v1", "grpc.channelz.v1"],
    help: "the package that the peer serves; default: found out",
  },
  timeout: { type: "string", placeholder: "duration", help: "how long a call may take, like 500ms or 5s; default 10s" },
} as const;
