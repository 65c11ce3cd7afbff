/** An environment variable that the command or a package reads. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly help: string;
  /** Listed only in the reference, not in `wirescope --help`. */
  readonly isOnlyInReference?: true;
}

/** Every environment variable that Wirescope reads. The help and docs/reference.md are generated from it. */
export const environmentVariables: readonly EnvironmentVariable[] = [
  { name: "WIRESCOPE_TARGET", help: "Channelz endpoint to read if --target is not given" },
  { name: "WIRESCOPE_TOKEN", help: "bearer token if --token-file is not given" },
  { name: "WIRESCOPE_POLICY", help: "policy file that decides which tool servers are trusted" },
  { name: "WIRESCOPE_PROFILE", help: "profile whose tokens are used if --profile is not given" },
  { name: "WIRESCOPE_VAULT", help: "token storage if --vault is not given" },
  { name: "WIRESCOPE_VAULT_KEY", help: "key of the encrypted token file, in base64" },
  { name: "WIRESCOPE_VAULT_KEY_FD", help: "file descriptor to read that key from", isOnlyInReference: true },
  { name: "WIRESCOPE_VAULT_KEY_FILE", help: "file to read that key from", isOnlyInReference: true },
  { name: "WIRESCOPE_VAULT_PASSPHRASE", help: "passphrase to derive that key from", isOnlyInReference: true },
  {
    name: "WIRESCOPE_OAUTH_FILE",
    help: "OAuth settings for each server; default wirescope/oauth.json in the configuration folder",
  },
  { name: "BROWSER", help: "program that opens the sign-in page, on Linux" },
  { name: "WIRESCOPE_DEBUG", help: "1 prints an error with its causes and stack" },
  { name: "NO_COLOR, FORCE_COLOR", help: "turn colors off, or on" },
  {
    name: "HTTPS_PROXY, HTTP_PROXY, NO_PROXY",
    help: "proxy for tool servers and sign-in, and the hosts that are reached directly; lower case works too",
    isOnlyInReference: true,
  },
  {
    name: "NODE_EXTRA_CA_CERTS",
    help: "PEM file of additional certificate authorities (read by Node)",
    isOnlyInReference: true,
  },
  { name: "XDG_CONFIG_HOME", help: "configuration folder; default ~/.config", isOnlyInReference: true },
  {
    name: "XDG_RUNTIME_DIR",
    help: "folder of the files that announce running gateways; default ~/.local/state",
    isOnlyInReference: true,
  },
  { name: "XDG_CACHE_HOME", help: "folder of the compile cache; default ~/.cache", isOnlyInReference: true },
  {
    name: "WIRESCOPE_LISTEN",
    help: "with --import @wirescope/instrument/auto: address to serve Channelz on",
    isOnlyInReference: true,
  },
  {
    name: "WIRESCOPE_TOKEN_FILE",
    help: "with auto: file of the bearer token that clients must send",
    isOnlyInReference: true,
  },
  {
    name: "WIRESCOPE_CERT_FILE, WIRESCOPE_KEY_FILE",
    help: "with auto: certificate and key for TLS",
    isOnlyInReference: true,
  },
  {
    name: "WIRESCOPE_CLIENT_CA_FILE",
    help: "with auto: CA that must have signed client certificates",
    isOnlyInReference: true,
  },
  {
    name: "OTEL_*",
    help: "OpenTelemetry settings of the gateway; docs/telemetry.md lists them",
    isOnlyInReference: true,
  },
];
