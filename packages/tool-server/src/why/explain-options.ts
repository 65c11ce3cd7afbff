import type { OAuthEvent } from "../auth/oauth/oauth-context.js";
import type { Vault } from "../auth/vault/vault.js";
import type { Clock } from "../clock.js";
import type { Entry } from "../config/entry.js";
import type { Configuration } from "../config/parse-configuration.js";
import type { Variables } from "../config/substitute-entry.js";
import type { ClientSettings } from "../connection/client-session.js";
import type { OAuthSettings } from "../connection/servers/entry-oauth.js";
import type { ToolServerSettings } from "../connection/servers/open-tool-server.js";
import type { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import type { TrustJudgement } from "../trust/judge-trust.js";

/** The server to diagnose, and what it is opened with. */
export interface ExplainOptions {
  /** The name of the server. */
  readonly server: string;
  readonly configuration: Configuration;
  /** The configuration file, as shown to users. */
  readonly configurationPath: string;
  readonly variables: Variables;
  readonly pluginRoot: string;
  readonly secrets: SecretRegistry;
  /** Judges the entry, and again before each start and connection; pass `judgeTrust`. Nobody is prompted. */
  readonly judgeTrust: (entry: Entry) => Promise<TrustJudgement>;
  /** How the client identifies itself to the server. */
  readonly settings: ClientSettings;
  /** Additional CA certificates, in PEM. */
  readonly ca?: string | undefined;
  /** The sandbox of stdio servers and helpers. Default as for `openToolServer`. */
  readonly sandbox?: ToolServerSettings["sandbox"];
  /** Whether http is accepted for a loopback host. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** OAuth for an entry without credentials. Default: requests carry no credential. */
  readonly oauth?: ExplainOAuth | undefined;
  /** The last failure that the caller saw, if the walk cannot reproduce it, such as that of a sign-in. */
  readonly lastFailure?: ToolServerError | undefined;
  /** Additional arguments for the commands in a fix, such as `--config`. */
  readonly commandArguments?: readonly string[] | undefined;
  /** The same, for commands that use tokens, such as `--profile`. */
  readonly signInArguments?: readonly string[] | undefined;
  /**
   * A sentence that says how to set a variable for the process that reads it, such as a running gateway, whose variables no shell
   * can change. Default: `export`, because a command starts again each time.
   */
  readonly setVariable?: ((name: string) => string) | undefined;
  /** The timeout of one response, in milliseconds. Default 10,000; for a stdio server 30,000, for a launcher such as npx 120,000. */
  readonly responseMs?: number | undefined;
  /** The timeout of the whole walk, in milliseconds; later steps are skipped. Default 60,000; for a launcher 180,000. */
  readonly totalMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** What the diagnosis of OAuth needs. */
export interface ExplainOAuth extends Pick<OAuthSettings, "profile" | "overrides"> {
  /** Opens the vault, once, if the entry needs it; the walk disposes of it. */
  readonly openVault: () => Promise<Vault>;
  /** Earlier OAuth events, if the caller knows them: repeated sign-ins are a loop. */
  readonly events?: readonly OAuthEvent[] | undefined;
}
