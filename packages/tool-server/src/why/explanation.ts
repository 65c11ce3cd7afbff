import type { Vault } from "../auth/vault/vault.js";
import type { Cause } from "../causes/cause-table.js";
import type { Clock } from "../clock.js";
import type { Entry } from "../config/entry.js";
import type { Configuration } from "../config/parse-configuration.js";
import type { Variables } from "../config/substitute-entry.js";
import type { ClientSettings } from "../connection/client-settings.js";
import type { OAuthSettings } from "../connection/servers/entry-oauth.js";
import type { ToolServerSettings } from "../connection/servers/open-tool-server.js";
import type { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import type { TrustDecision } from "../trust/evaluate-trust.js";

/** The server to diagnose, and the options that it is opened with. */
export interface ExplainOptions {
  /** The name of the server. */
  readonly server: string;
  readonly configuration: Configuration;
  /** The configuration file, as shown to users. */
  readonly configurationPath: string;
  readonly variables: Variables;
  readonly pluginRoot: string;
  readonly secrets: SecretRegistry;
  /** Evaluates the entry, and again before each start and connection; pass `evaluateTrust`. The user is not prompted. */
  readonly evaluateTrust: (entry: Entry) => Promise<TrustDecision>;
  /** How the client identifies itself to the server. */
  readonly settings: ClientSettings;
  /** Additional CA certificates, in PEM. */
  readonly ca?: string | undefined;
  /** The sandbox of stdio servers and helpers. Default as for `openToolServer`. */
  readonly sandbox?: ToolServerSettings["sandbox"];
  /** Whether sign-in endpoints on a loopback host may use http. Default: only for servers with an http url. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** OAuth for an entry without credentials. Default: requests have no credential. */
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
  /**
   * Called with each step while the walk runs, when its outcome is known, and again if more is known about it. Skipped steps are in the
   * explanation only. Must not throw. Default: none.
   */
  readonly onStep?: ((step: Step) => void) | undefined;
}

/** The dependencies of the OAuth diagnosis. */
export interface ExplainOAuth extends Pick<OAuthSettings, "profile" | "overrides"> {
  /** Opens the vault, once, if the entry needs it; the walk disposes of it. */
  readonly openVault: () => Promise<Vault>;
}

/** The steps of a walk, in order. A server has the steps of its type. */
export type StepName =
  | "configuration"
  | "variables"
  | "trust"
  | "helper"
  | "command"
  | "process"
  | "proxy"
  | "name"
  | "connection"
  | "tls"
  | "sign-in"
  | "http"
  | "credential"
  | "authorization-server"
  | "client"
  | "protocol";

/** `skipped`: not reached, or there was nothing to check. */
export type CheckOutcome = "ok" | "failed" | "skipped";

/** One step of a walk and what was observed. Contains no secret. */
export interface Step {
  readonly step: StepName;
  readonly outcome: CheckOutcome;
  readonly evidence: readonly string[];
}

/** A requirement of the protocol or of a lower layer, and whether the server meets it. Contains no secret. */
export interface Requirement {
  readonly requirement: string;
  readonly outcome: CheckOutcome;
  readonly evidence: readonly string[];
}

/** A possible improvement, whether or not the server works. Contains no secret. */
export type Note = Omit<Cause, "weight">;

/** Why a server does not work, or that it does. Contains no secret. */
export interface Explanation {
  readonly server: string;
  /** Undefined if the entry is invalid. */
  readonly type: Entry["type"] | undefined;
  /** Whether no step failed. */
  readonly isWell: boolean;
  /** The likeliest first; none if the server works. */
  readonly causes: readonly Cause[];
  readonly notes: readonly Note[];
  readonly steps: readonly Step[];
  readonly requirements: readonly Requirement[];
  /** The permissions that the server asks for: in its challenge, its metadata, or those granted; undefined if none are named. */
  readonly permissions: readonly string[] | undefined;
}
