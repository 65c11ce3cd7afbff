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

export interface ExplainOptions {
  /** The name of the server. */
  readonly server: string;
  readonly configuration: Configuration;
  /** The file of the configuration, as people are told of it. */
  readonly configurationPath: string;
  readonly variables: Variables;
  readonly pluginRoot: string;
  readonly secrets: SecretRegistry;
  /** Judges the entry, and does so again before each start and connection: `judgeTrust` does. Nothing is asked of a person here. */
  readonly judgeTrust: (entry: Entry) => Promise<TrustJudgement>;
  /** Who we are, to the server. */
  readonly settings: ClientSettings;
  /** Certificates of authorities to trust besides those that Node knows, in PEM. */
  readonly ca?: string | undefined;
  /** How stdio servers are kept away from tokens. Default as for `openToolServer`. */
  readonly sandbox?: ToolServerSettings["sandbox"];
  /** Whether http is accepted for a loopback host. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** How an entry without credentials signs in. Default: it cannot, and goes without. */
  readonly oauth?: ExplainOAuth | undefined;
  /** The last failure that the caller saw, where it was another than the walk will meet: that of a sign-in, say. */
  readonly lastFailure?: ToolServerError | undefined;
  /** What the commands of a mend have to be given besides the server, such as `--config`. */
  readonly commandArguments?: readonly string[] | undefined;
  /** The same, for commands that use tokens, such as `--profile`. */
  readonly signInArguments?: readonly string[] | undefined;
  /**
   * How a variable is set for the process that needs it, in a sentence: for a gateway that runs, whose variables no shell can change.
   * Default: a command starts again each time, so `export` is enough.
   */
  readonly setVariable?: ((name: string) => string) | undefined;
  /** How long one response may take, in milliseconds. Default 10,000; for a stdio server 30,000, for a launcher such as npx 120,000. */
  readonly answerMs?: number | undefined;
  /** How long the walk may take in all, in milliseconds; what is not come to by then is skipped. Default 60,000; for a launcher 180,000. */
  readonly totalMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** What is needed to look at a sign-in by OAuth. */
export interface ExplainOAuth extends Pick<OAuthSettings, "profile" | "overrides"> {
  /** Opens the vault, once, when the entry turns out to need it; the walk disposes of it. */
  readonly openVault: () => Promise<Vault>;
  /** What OAuth did before, where the caller knows: sign-ins that repeat are a loop. */
  readonly events?: readonly OAuthEvent[] | undefined;
}
